// The numbers that the law defines (docs/law.md section 4), as one value that both
// implementations of the law, movement/ and simulate/, fill and that must agree.
#pragma once

#include <vector>

#include "base/count.hpp"

namespace einflow {

/// Counts of one hold of one tensor: totals over all instances, in elements. Inputs use fills, parent_reads,
/// forwarded; outputs drains, parent_updates, parent_rmw_reads; the others stay 0. At the outermost hold all are 0.
struct HoldCounts {
  int tensor = 0;       ///< index into Einsum::tensors
  int hold = 0;         ///< index into Mapping::holds[tensor]
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

/// What the busiest instance of a storage level moves, in bits: the largest reads, the largest writes and
/// the largest sum of both over the level's instances (the three may be attained by different instances).
struct BusiestInstance {
  int level = 0;
  Count read_bits;
  Count written_bits;
  Count moved_bits;
  bool operator==(const BusiestInstance&) const = default;
};

/// What a tensor's elements do on one mesh between a hold and its parent; on every mesh that stands between the
/// two, used by one coordinate or by many.
struct NetworkCounts {
  int mesh = 0;  ///< level index
  int tensor = 0;
  int hold = 0;     ///< the child hold, index into Mapping::holds[tensor]
  Count injected;   ///< inputs: elements entering from the parent's side (forwarded ones are not among them)
  Count delivered;  ///< inputs: elements leaving towards children, forwarded ones included; outputs: leaving towards
                    ///< the parent
  Count forwarded;  ///< inputs: elements that came from siblings
  Count collected;  ///< outputs: elements entering from the children's side
  Count reduced;    ///< outputs: collected - delivered, merged on the way
  bool operator==(const NetworkCounts&) const = default;
};

/// Accesses of a given width, each transfer of a tile rounded up (docs/law.md section 6).
struct AccessCounts {
  int level = 0;
  int tensor = 0;
  Count reads;   ///< accesses that read the level
  Count writes;  ///< accesses that write it
  bool operator==(const AccessCounts&) const = default;
};

}  // namespace einflow
