// One crossing of a nest, counted by the law alone, without those further out.
#pragma once

#include <optional>

#include "movement/crossing.hpp"
#include "search/imperfect_bound.hpp"

namespace einflow::imperfect {

/// What passes into a hold, and its largest tile.
struct CountedCrossing {
  Passed passed;
  double tile = 0;  ///< elements
};

/// As count_movement() counts it. Nothing where the tile positions are too many.
std::optional<CountedCrossing> count_crossing(const Spec& nest, int tensor, int hold, PositionCache& cache);

}  // namespace einflow::imperfect
