// Energy (docs/law.md section 6): accesses, operations and hops times what each costs.
#pragma once

#include "cost/cost.hpp"

namespace einflow {

/// Energy of a level's reads and writes in pJ. Nothing where none of the two that it needs is stated.
/// `accesses` are those of the same level; used where the energy is stated per access.
std::optional<double> level_energy(const Spec& spec, const LevelCost& level, const std::vector<AccessCounts>& accesses);

/// Hops and their energy for every mesh and tensor.
std::vector<NetworkCost> network_costs(const Spec& spec, const std::vector<NetworkCounts>& counts);

/// The sums. `levels` and `networks` have their energies.
EnergyCost energy_cost(const Spec& spec, const std::vector<LevelCost>& levels, const std::vector<NetworkCost>& networks,
                       const TimeCost& time);

/// Energy of any level, storage, mesh or compute, in pJ; nothing where none is stated.
std::optional<double> energy_of_level(const Machine& machine, const Cost& cost, int level);

}  // namespace einflow
