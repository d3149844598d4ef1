// The numbers that the law defines (LAW.md section 4), as one value that both
// implementations of the law, movement/ and simulate/, fill and that must agree.
#pragma once

#include <vector>

#include "base/count.hpp"

namespace einflow {

/// Counts of one hold of one tensor: totals over all instances, in elements. Inputs use fills, parent_reads,
/// forwarded; outputs drains, parent_updates, parent_rmw_reads; the others stay 0. At the outermost hold all are 0.
struct HoldCounts {
  int tensor = 0;  ///< index into Einsum::tensors
  int hold = 0;    ///< index into Mapping::holds[tensor]
  Count instances;      ///< coordinates of the par loops outside it that are ever active
  Count tile_elements;  ///< largest tile of an instance
  Count fills;
  Count parent_reads;
  Count forwarded;
  Count drains;
  Count parent_updates;
  Count parent_rmw_reads;
  bool operator==(const HoldCounts&) const = default;
};

struct Counts {
  std::vector<HoldCounts> holds;  ///< tensors in order, each tensor's holds outermost first, compute last
  Count operations;               ///< points of the iteration space
  Count steps;                    ///< distinct steps of the whole nest with at least one active coordinate
  bool operator==(const Counts&) const = default;
};

}  // namespace einflow
