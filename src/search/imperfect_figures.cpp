#include "search/imperfect_figures.hpp"

#include <algorithm>
#include <cmath>

#include "cost/figures.hpp"
#include "cost/time.hpp"

namespace einflow::imperfect {
namespace {

/// Of one element. Accesses are never fewer than the bits divided by their width.
double per_element(const std::optional<AccessEnergy>& energy, double bits, const std::optional<Count>& width) {
  if (!energy) return 0;
  switch (energy->per) {
    case AccessEnergy::Per::byte:
      return energy->picojoules * bits / 8;
    case AccessEnergy::Per::element:
      return energy->picojoules;
    case AccessEnergy::Per::access:
      return width ? energy->picojoules * bits / width->to_double() : 0;
  }
  return 0;
}

bool is_per_access(const std::optional<AccessEnergy>& energy) {
  return energy && energy->per == AccessEnergy::Per::access;
}

bool wants(const MapRequest& request, Objective::Kind kind) {
  const Objective::Kind asked = request.objective.kind;
  return request.front || asked == kind || asked == Objective::Kind::edp;
}

Spec unmapped(const Space& space) { return {space.einsum, space.machine, {}}; }

bool states_energy(const Space& space) {
  const Machine& machine = space.machine;
  if (executes(machine.compute(), space.einsum) &&
      figure_for(machine.compute().energy, compute_type(space.einsum).name)) {
    return true;
  }
  return std::any_of(machine.levels.begin(), machine.levels.end(), [](const Level& level) {
    const auto* storage = std::get_if<Storage>(&level);
    const auto* mesh = std::get_if<Mesh>(&level);
    return (storage != nullptr && (storage->read_energy || storage->write_energy)) ||
           (mesh != nullptr && mesh->hop_energy);
  });
}

bool states_cycles(const Space& space) {
  if (cycles_per_step(unmapped(space))) return true;
  return std::any_of(space.machine.levels.begin(), space.machine.levels.end(), [](const Level& level) {
    const auto* storage = std::get_if<Storage>(&level);
    return storage != nullptr && (storage->read_bandwidth || (storage->write_bandwidth && !storage->shared_port));
  });
}

}  // namespace

Value Value::at_least(const Value& other) const {
  return {std::max(energy, other.energy), std::max(cycles, other.cycles), std::max(traffic, other.traffic)};
}

std::string missing_figure(const Space& space) {
  const MapRequest& request = space.request;
  const bool by_traffic = !request.front && request.objective.kind == Objective::Kind::traffic;
  if (by_traffic) {
    const int level = request.objective.level;
    const bool known = level >= 0 && level < space.machine.compute_level() && space.machine.storage(level) != nullptr;
    return known ? "" : "the level whose traffic is the objective is no storage of the machine";
  }
  if (wants(request, Objective::Kind::energy) && !states_energy(space)) return "the machine states no energies";
  if (wants(request, Objective::Kind::cycles) && !states_cycles(space)) {
    return "the machine states neither a rate for this problem nor a bandwidth";
  }
  return {};
}

Figures::Figures(const Space& space) : space_(space) {
  const MapRequest& request = space.request;
  if (!request.front && request.objective.kind == Objective::Kind::traffic) {
    add_traffic(request.objective.level);
    return;
  }
  if (wants(request, Objective::Kind::energy)) add_energy();
  if (wants(request, Objective::Kind::cycles)) add_ports();
}

void Figures::add_energy() {
  Weights weights(space_);
  const Machine& machine = space_.machine;
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      const auto t = static_cast<std::size_t>(tensor);
      const double bits = space_.bits(tensor);
      if (const auto* storage = std::get_if<Storage>(&machine.levels[level])) {
        weights.read[level][t] = per_element(storage->read_energy, bits, storage->access_bits);
        weights.write[level][t] = per_element(storage->write_energy, bits, storage->access_bits);
        // Rounding may make accesses to hand on vanish.
        weights.forward[level][t] = is_per_access(storage->read_energy) ? 0 : weights.read[level][t];
      } else if (const auto* mesh = std::get_if<Mesh>(&machine.levels[level])) {
        weights.hop[level][t] = mesh->hop_energy && is_per_access(mesh->hop_energy)
                                    ? mesh->hop_energy->picojoules
                                    : per_element(mesh->hop_energy, bits, std::nullopt);
      }
    }
  }
  linear_.push_back({Linear::Kind::energy, 0, LinearBound(space_, std::move(weights))});
  const Compute& compute = machine.compute();
  const auto operation =
      executes(compute, space_.einsum) ? figure_for(compute.energy, compute_type(space_.einsum).name) : std::nullopt;
  compute_energy_ = operation ? *operation * space_.einsum.executed_operations().to_double() : 0;
}

void Figures::add_traffic(int level) {
  Weights weights(space_);
  const auto l = static_cast<std::size_t>(level);
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    weights.read[l][t] = weights.write[l][t] = weights.forward[l][t] = space_.bits(tensor);
  }
  linear_.push_back({Linear::Kind::traffic, 0, LinearBound(space_, std::move(weights))});
}

void Figures::add_ports() {
  needs_cycles_ = true;
  cycles_per_step_ = cycles_per_step(unmapped(space_)).value_or(Count(0)).to_double();
  for (int block = 0; block < space_.last(); ++block) {
    const Storage& storage = *space_.machine.storage(space_.blocks[static_cast<std::size_t>(block)].level);
    if (storage.shared_port) {
      add_port(block, storage.read_bandwidth, true, true);
    } else {
      add_port(block, storage.read_bandwidth, true, false);
      add_port(block, storage.write_bandwidth, false, true);
    }
  }
}

void Figures::add_port(int block, const std::optional<Ratio>& bandwidth, bool reads, bool writes) {
  if (!bandwidth) return;
  Weights weights(space_);
  const auto level = static_cast<std::size_t>(space_.blocks[static_cast<std::size_t>(block)].level);
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    const double cycles = space_.bits(tensor) / 8 / bandwidth->to_double();
    if (reads) weights.read[level][t] = weights.forward[level][t] = cycles;
    if (writes) weights.write[level][t] = cycles;
  }
  linear_.push_back({Linear::Kind::port, block, LinearBound(space_, std::move(weights))});
}

Value Figures::value(const Sums& sums, double steps, const std::vector<double>& instances) const {
  Value value;
  value.cycles = needs_cycles_ ? steps * cycles_per_step_ : 0;
  for (std::size_t i = 0; i < linear_.size(); ++i) {
    const Linear& linear = linear_[i];
    switch (linear.kind) {
      case Linear::Kind::energy:
        value.energy = compute_energy_ + sums[i];
        break;
      case Linear::Kind::traffic:
        value.traffic = std::ceil(sums[i] * (1 - kEqual));
        break;
      case Linear::Kind::port: {
        const double average = sums[i] / instances[static_cast<std::size_t>(linear.block)];
        value.cycles = std::max(value.cycles, std::ceil(average * (1 - kEqual)));
        break;
      }
    }
  }
  return value;
}

Value Figures::exact(const Spec& spec, const Cost& cost) const {
  Value value;
  value.energy = cost.energy.total.value_or(0);
  value.cycles = cost.time.overlapped.value_or(Count(0)).to_double();
  for (const LevelCost& level : cost.levels) {
    if (level.level != space_.request.objective.level) continue;
    for (const TensorTraffic& traffic : level.tensors) {
      value.traffic += ((traffic.reads + traffic.writes) * element_bits(spec, traffic.tensor)).to_double();
    }
  }
  return value;
}

double Figures::objective(const Value& value) const {
  if (front()) return value.energy;
  switch (space_.request.objective.kind) {
    case Objective::Kind::energy:
      return value.energy;
    case Objective::Kind::cycles:
      return value.cycles;
    case Objective::Kind::edp:
      return value.energy * value.cycles;
    case Objective::Kind::traffic:
      return value.traffic;
  }
  return 0;
}

double Figures::order(const Value& value) const {
  return front() ? value.energy * std::max(value.cycles, 1.0) : objective(value);
}

}  // namespace einflow::imperfect
