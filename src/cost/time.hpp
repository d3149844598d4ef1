// Cycles (docs/law.md section 6).
#pragma once

#include "cost/cost.hpp"

namespace einflow {

/// Cycles of the busiest instance of a level: the slower direction, or the shared port. Nothing where no
/// bandwidth is stated for what it moves.
std::optional<Count> level_cycles(const Storage& storage, const BusiestInstance& busiest);

/// Cycles of one step: the operations of a whole atomic shape at the compute level's rate, rounded up. Nothing
/// where no rate is stated for the problem's type.
std::optional<Count> cycles_per_step(const Spec& spec);

/// Fill and drain of every mesh declared systolic, outermost first.
Result<std::vector<SystolicCost>> systolic_costs(const Spec& spec);

/// All of TimeCost. `levels` have their cycles.
Result<TimeCost> time_cost(const Spec& spec, const Counts& counts, const std::vector<LevelCost>& levels);

}  // namespace einflow
