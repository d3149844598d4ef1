// The walk through a nest: every step, in order, with the coordinates that are active in it (docs/law.md section 3).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mapping/mapping.hpp"
#include "simulate/elements.hpp"

namespace einflow::execution {

/// The active coordinates inside some of the loops, and what each has of every rank. A coordinate is the mixed-radix
/// number of the indices of the par loops so far, outermost first, each with its loop's trips as radix.
struct Active {
  std::vector<std::int64_t> coordinates;  ///< increasing
  std::vector<Interval> boxes;            ///< one row of intervals per coordinate
  Box box(std::size_t i) const { return boxes.data() + i * (boxes.size() / coordinates.size()); }
};

/// Appends the coordinate with its row, one rank of which a loop has cut to its index-th tile; a coordinate for which
/// nothing is left there is idle and not appended.
inline void append_cut(const Active& outer, std::size_t i, std::int64_t coordinate, const Loop& loop,
                       std::int64_t index, Active& inner) {
  const std::size_t ranks = outer.boxes.size() / outer.coordinates.size();
  const Interval whole = outer.box(i)[loop.rank];
  const Interval cut{whole.begin + index * loop.tile, std::min(whole.end, whole.begin + (index + 1) * loop.tile)};
  if (cut.begin >= cut.end) return;
  inner.coordinates.push_back(coordinate);
  inner.boxes.insert(inner.boxes.end(), outer.box(i), outer.box(i) + ranks);
  inner.boxes[inner.boxes.size() - ranks + static_cast<std::size_t>(loop.rank)] = cut;
}

/// Visits the nest in the order of execution. `enter(depth, active)` is called at each depth 0 .. loops.size() when a
/// new step of the temporal loops outside that depth begins, outer depths first; the call at the innermost depth is
/// the step itself. A step that no coordinate takes part in does not exist.
template <typename Enter>
class Walk {
 public:
  Walk(const Spec& spec, Enter enter) : loops_(spec.mapping.loops), enter_(enter), active_(loops_.size() + 1) {
    active_[0].coordinates.push_back(0);
    for (const Rank& rank : spec.einsum.ranks) active_[0].boxes.push_back({0, rank.extent});
  }

  void run() { descend(0); }

 private:
  void descend(std::size_t depth) {
    const Active& outer = active_[depth];
    enter_(static_cast<int>(depth), outer);
    if (depth == loops_.size()) return;
    const Loop& loop = loops_[depth];
    Active& inner = active_[depth + 1];
    const auto clear = [&inner] {
      inner.coordinates.clear();
      inner.boxes.clear();
    };
    if (loop.spatial) {
      clear();
      for (std::size_t i = 0; i < outer.coordinates.size(); ++i) {
        for (std::int64_t index = 0; index < loop.trips; ++index) {
          append_cut(outer, i, outer.coordinates[i] * loop.trips + index, loop, index, inner);
        }
      }
      descend(depth + 1);
      return;
    }
    for (std::int64_t index = 0; index < loop.trips; ++index) {
      clear();
      for (std::size_t i = 0; i < outer.coordinates.size(); ++i) {
        append_cut(outer, i, outer.coordinates[i], loop, index, inner);
      }
      if (!inner.coordinates.empty()) descend(depth + 1);
    }
  }

  const std::vector<Loop>& loops_;
  Enter enter_;
  std::vector<Active> active_;  ///< by depth
};

}  // namespace einflow::execution
