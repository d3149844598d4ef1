#include "cost/cost.hpp"

#include "cost/energy.hpp"
#include "cost/roofline.hpp"
#include "cost/time.hpp"
#include "cost/traffic.hpp"
#include "cost/wording.hpp"

namespace einflow {

namespace {

/// The first figure that left 128 bits, in words; empty where none did.
std::string overflowed_figure(const Spec& spec, const Cost& cost) {
  for (const LevelCost& level : cost.levels) {
    const bool left = level.reads.overflowed() || level.writes.overflowed() || level.bytes_read.overflowed() ||
                      level.bytes_written.overflowed() || level.bytes_exchanged_below.overflowed() ||
                      level.occupancy_bytes.overflowed() || (level.cycles && level.cycles->overflowed());
    if (left) return "the traffic of " + spec.machine.level_name(level.level);
  }
  for (const NetworkCost& network : cost.networks) {
    if (network.hops.overflowed()) return "the traffic over " + spec.machine.level_name(network.counts.mesh);
  }
  const TimeCost& time = cost.time;
  const bool left = time.steps.overflowed() || (time.compute && time.compute->overflowed()) ||
                    (time.systolic && time.systolic->overflowed()) ||
                    (time.overlapped && time.overlapped->overflowed());
  if (left) return "the cycles";
  const Count operations = spec.einsum.executed_operations() * 2;
  if (operations.overflowed()) return "the number of FLOPs";
  return {};
}

}  // namespace

Result<Cost> cost_of(const Spec& spec, const Counts& counts) {
  const Result<std::vector<BusiestInstance>> busiest = busiest_instances(spec);
  if (!busiest) return tl::unexpected(busiest.error());
  const Result<std::vector<NetworkCounts>> networks = network_counts(spec);
  if (!networks) return tl::unexpected(networks.error());
  const Result<std::vector<AccessCounts>> accesses = access_counts(spec);
  if (!accesses) return tl::unexpected(accesses.error());

  Cost cost;
  cost.levels = level_traffic(spec, counts);
  const std::optional<Count> flops = executed_flops(spec.einsum);
  for (LevelCost& level : cost.levels) {
    for (const BusiestInstance& entry : *busiest) {
      if (entry.level == level.level) level.cycles = level_cycles(*spec.machine.storage(level.level), entry);
    }
    level.energy_picojoules = level_energy(spec, level, *accesses);
    const double exchanged = level.bytes_exchanged_below.to_double();
    if (flops && exchanged > 0) level.flop_per_byte = flops->to_double() / exchanged;
  }
  cost.networks = network_costs(spec, *networks);
  Result<TimeCost> time = time_cost(spec, counts, cost.levels);
  if (!time) return tl::unexpected(time.error());
  cost.time = std::move(*time);
  cost.energy = energy_cost(spec, cost.levels, cost.networks, cost.time);
  cost.roofline = roofline_cost(spec, counts, cost.levels);

  const std::string overflowed = overflowed_figure(spec, cost);
  if (!overflowed.empty()) return fail(overflowed + " leaves 128 bits", "make the ranks smaller");
  cost.conventions = cost_conventions(spec, cost);
  cost.uncounted = uncounted_figures(spec, cost);
  return cost;
}

}  // namespace einflow
