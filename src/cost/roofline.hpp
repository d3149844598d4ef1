// Intensity and the roofline (Williams, Waterman, Patterson 2009).
#pragma once

#include "cost/cost.hpp"

namespace einflow {

/// The roofline at the outermost storage level that states a bandwidth; nothing where there is none, no rate
/// is stated, or nothing crosses that level.
std::optional<RooflineCost> roofline_cost(const Spec& spec, const Counts& counts, const std::vector<LevelCost>& levels);

/// FLOPs that are executed: two for each multiply-add; nothing for other operators.
std::optional<Count> executed_flops(const Einsum& einsum);

}  // namespace einflow
