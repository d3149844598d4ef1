#include "cost/energy.hpp"

#include "cost/figures.hpp"
#include "mapping/atomic.hpp"

namespace einflow {

namespace {

double energy_of(const AccessEnergy& energy, Count elements, Count bits, Count accesses) {
  switch (energy.per) {
    case AccessEnergy::Per::byte:
      return energy.picojoules * (elements * bits).to_double() / 8;
    case AccessEnergy::Per::element:
      return energy.picojoules * elements.to_double();
    case AccessEnergy::Per::access:
      return energy.picojoules * accesses.to_double();
  }
  return 0;
}

void add(std::optional<double>& total, const std::optional<double>& part) {
  if (part) total = total.value_or(0) + *part;
}

}  // namespace

std::optional<double> level_energy(const Spec& spec, const LevelCost& level,
                                   const std::vector<AccessCounts>& accesses) {
  const Storage& storage = *spec.machine.storage(level.level);
  std::optional<double> total;
  for (const TensorTraffic& traffic : level.tensors) {
    AccessCounts counted;
    for (const AccessCounts& entry : accesses) {
      if (entry.level == level.level && entry.tensor == traffic.tensor) counted = entry;
    }
    const Count bits = element_bits(spec, traffic.tensor);
    if (storage.read_energy) add(total, energy_of(*storage.read_energy, traffic.reads, bits, counted.reads));
    if (storage.write_energy) add(total, energy_of(*storage.write_energy, traffic.writes, bits, counted.writes));
  }
  return total;
}

std::vector<NetworkCost> network_costs(const Spec& spec, const std::vector<NetworkCounts>& counts) {
  std::vector<NetworkCost> costs;
  for (const NetworkCounts& entry : counts) {
    NetworkCost cost;
    cost.counts = entry;
    cost.hops = spec.einsum.is_output(entry.tensor) ? entry.collected : entry.delivered;
    const std::optional<AccessEnergy>& hop = spec.machine.mesh(entry.mesh)->hop_energy;
    if (hop) cost.energy_picojoules = energy_of(*hop, cost.hops, element_bits(spec, entry.tensor), cost.hops);
    costs.push_back(cost);
  }
  return costs;
}

EnergyCost energy_cost(const Spec& spec, const std::vector<LevelCost>& levels, const std::vector<NetworkCost>& networks,
                       const TimeCost& time) {
  EnergyCost energy;
  const Compute& compute = spec.machine.compute();
  const std::optional<double> operation =
      executes(compute, spec.einsum) ? figure_for(compute.energy, compute_type(spec.einsum).name) : std::nullopt;
  if (operation) energy.compute = *operation * spec.einsum.executed_operations().to_double();
  for (const NetworkCost& network : networks) add(energy.network, network.energy_picojoules);
  for (const LevelCost& level : levels) add(energy.total, level.energy_picojoules);
  add(energy.total, energy.compute);
  add(energy.total, energy.network);
  if (energy.total && time.seconds) energy.energy_delay = *energy.total * 1e-12 * *time.seconds;
  return energy;
}

std::optional<double> energy_of_level(const Machine& machine, const Cost& cost, int level) {
  if (level == machine.compute_level()) return cost.energy.compute;
  std::optional<double> energy;
  for (const LevelCost& storage : cost.levels) {
    if (storage.level == level) add(energy, storage.energy_picojoules);
  }
  for (const NetworkCost& network : cost.networks) {
    if (network.counts.mesh == level) add(energy, network.energy_picojoules);
  }
  return energy;
}

}  // namespace einflow
