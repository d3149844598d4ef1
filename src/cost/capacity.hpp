// Whether a mapping fits (docs/law.md section 6).
#pragma once

#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace einflow {

/// A level that would have to hold more than it has room for, per instance.
struct Misfit {
  struct Part {
    int tensor = 0;
    Count elements;  ///< of its largest tile
    Ratio bytes;     ///< twice the tile where the level is double-buffered
  };
  int level = 0;
  Ratio need_bytes;
  Ratio room_bytes;
  bool double_buffered = false;
  std::vector<Part> parts;  ///< largest first
};

/// Every level whose occupancy is above its capacity, outermost first.
std::vector<Misfit> misfits(const Spec& spec, const Counts& counts, const Cost& cost);

/// As an error: the level, the need, the room and the tensors by size.
Diagnostic to_diagnostic(const Misfit& misfit, const Spec& spec);

}  // namespace einflow
