#include "cost/time.hpp"

#include <algorithm>

#include "cost/figures.hpp"

namespace einflow {

namespace {

std::optional<Count> port_cycles(Count bits, const std::optional<Ratio>& bandwidth) {
  if (!bandwidth) return std::nullopt;
  return (bytes_of_bits(bits) / *bandwidth).ceil();
}

/// The hold that keeps a tensor in the cells of a systolic mesh: at the storage level directly inside it, or at
/// the compute level where no storage is inside.
int cell_level(const Machine& machine, int mesh) {
  int level = mesh + 1;
  while (machine.mesh(level)) ++level;
  return level;
}

/// Whether the innermost temporal loop that turns, anywhere in the nest, leaves the tensor in place.
bool stays_under_innermost(const Spec& spec, int tensor) {
  for (auto loop = spec.mapping.loops.rbegin(); loop != spec.mapping.loops.rend(); ++loop) {
    if (!loop->spatial && loop->trips > 1) return !spec.einsum.has_rank(tensor, loop->rank);
  }
  return true;
}

/// The tensor whose tile changes least often in the cells; among equals the one that the innermost loop
/// leaves in place.
Result<SystolicCost> stationary_tensor(const Spec& spec, int mesh) {
  const int level = cell_level(spec.machine, mesh);
  SystolicCost best;
  best.mesh = mesh;
  bool found = false;
  const bool any_held = [&] {
    for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
      if (hold_at(spec.mapping, tensor, level) >= 0) return true;
    }
    return false;
  }();
  for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
    // A cell that holds nothing by itself works on what the compute level touches.
    const int hold = hold_at(spec.mapping, tensor, any_held ? level : spec.machine.compute_level());
    if (hold < 0) continue;
    const Result<Count> changes = tile_changes(spec, tensor, hold);
    if (!changes) return tl::unexpected(changes.error());
    const bool fewer = !found || *changes < best.folds;
    const bool tie = found && *changes == best.folds && stays_under_innermost(spec, tensor) &&
                     !stays_under_innermost(spec, best.stationary);
    if (!fewer && !tie) continue;
    best.stationary = tensor;
    best.folds = *changes;
    found = true;
  }
  return best;
}

}  // namespace

std::optional<Count> level_cycles(const Storage& storage, const BusiestInstance& busiest) {
  if (storage.shared_port) return port_cycles(busiest.moved_bits, storage.read_bandwidth);
  const std::optional<Count> reading = port_cycles(busiest.read_bits, storage.read_bandwidth);
  const std::optional<Count> writing = port_cycles(busiest.written_bits, storage.write_bandwidth);
  if (!reading || !writing) return reading ? reading : writing;
  return reading->overflowed() || *writing < *reading ? reading : writing;
}

std::optional<Count> cycles_per_step(const Spec& spec) {
  const Compute& compute = spec.machine.compute();
  const std::optional<Ratio> rate = compute_rate(spec);
  if (!rate) return std::nullopt;
  return (Ratio(atomic_operations(compute)) / *rate).ceil();
}

Result<std::vector<SystolicCost>> systolic_costs(const Spec& spec) {
  std::vector<SystolicCost> costs;
  for (int level = 0; level < spec.machine.compute_level(); ++level) {
    const Mesh* mesh = spec.machine.mesh(level);
    if (!mesh || mesh->systolic == SystolicTiming::none) continue;
    Result<SystolicCost> cost = stationary_tensor(spec, level);
    if (!cost) return tl::unexpected(cost.error());
    cost->rows = mesh->axes.empty() ? Count(1) : Count(mesh->axes.front().size);
    cost->columns = 1;
    for (std::size_t axis = 1; axis < mesh->axes.size(); ++axis) cost->columns *= mesh->axes[axis].size;
    // Operands enter skewed, so the last cell starts R + C - 2 cycles after the first. An input tile is
    // loaded row by row before; output tiles are shifted out row by row after, where that is charged.
    cost->cycles_per_fold = cost->rows + cost->columns - 2;
    const bool output_stays = spec.einsum.is_output(cost->stationary);
    if (!output_stays || mesh->systolic == SystolicTiming::drained) cost->cycles_per_fold += cost->rows;
    costs.push_back(*cost);
  }
  return costs;
}

Result<TimeCost> time_cost(const Spec& spec, const Counts& counts, const std::vector<LevelCost>& levels) {
  TimeCost time;
  time.steps = counts.steps;
  if (const std::optional<Count> step = cycles_per_step(spec)) time.compute = counts.steps * *step;
  Result<std::vector<SystolicCost>> arrays = systolic_costs(spec);
  if (!arrays) return tl::unexpected(arrays.error());
  time.arrays = std::move(*arrays);
  if (!time.arrays.empty() && time.compute) {
    time.systolic = time.compute;
    for (const SystolicCost& array : time.arrays) *time.systolic += array.folds * array.cycles_per_fold;
  }

  auto consider = [&](const std::optional<Count>& cycles, const std::string& name) {
    if (!cycles) return;
    if (time.overlapped && (time.overlapped->overflowed() || (!cycles->overflowed() && *cycles <= *time.overlapped)))
      return;
    time.overlapped = cycles;
    time.limited_by = name;
  };
  consider(time.compute, "compute");
  consider(time.systolic, "systolic");
  for (const LevelCost& level : levels) consider(level.cycles, spec.machine.level_name(level.level));
  if (!time.overlapped || time.overlapped->overflowed()) return time;

  if (spec.machine.clock_stated) time.seconds = time.overlapped->to_double() / spec.machine.clock_hz.to_double();
  const std::optional<Ratio> peak = peak_rate(spec);
  if (peak && Count(0) < *time.overlapped) {
    time.utilization =
        spec.einsum.executed_operations().to_double() / (time.overlapped->to_double() * peak->to_double());
  }
  return time;
}

}  // namespace einflow
