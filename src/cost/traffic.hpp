// What each storage level reads and writes (the end of docs/law.md section 4).
#pragma once

#include "cost/cost.hpp"

namespace einflow {

/// Traffic, bytes and occupancy of every storage level; cycles and energy are still absent.
std::vector<LevelCost> level_traffic(const Spec& spec, const Counts& counts);

}  // namespace einflow
