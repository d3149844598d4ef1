#include "cost/wording.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cost/figures.hpp"
#include "mapping/atomic.hpp"

namespace einflow {

namespace {

using Lines = std::vector<std::string>;

std::string listed(const Lines& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

bool states_energy(const Storage& storage, AccessEnergy::Per per) {
  return (storage.read_energy && storage.read_energy->per == per) ||
         (storage.write_energy && storage.write_energy->per == per);
}

void say_counts(const Spec& spec, Lines& lines) {
  lines.push_back("counts: elements, totals over all instances of a level, as the law of movement defines them");
  lines.push_back("a hold keeps the tile of the step before; an idle instance keeps nothing");
  lines.push_back("outputs: nothing is read to start a sum; the first update of a residency is a plain write");
  if (spec.machine.compute().operand_latches) {
    lines.push_back(fmt::format("{} has operand latches: what a step shares with the one before is not moved again",
                                spec.machine.compute().name));
  }
  if (spec.einsum.is_mac()) {
    lines.push_back("1 operation = 1 multiply-add (MAC) = 2 FLOPs");
  } else {
    lines.push_back("1 operation = the map operator and one reduction of its result at one point; no FLOPs are given");
  }
  const ExecutedShare& executed = spec.einsum.executed;
  if (!(executed.share == Ratio(Count(1)))) {
    lines.push_back(fmt::format(
        "declared share {}/{} of the operations is executed{}: MACs, FLOPs, compute energy, utilization and "
        "intensity are of that share, in whole operations, rounded up; movement and steps are those of the whole "
        "iteration space",
        executed.share.numerator().str(), executed.share.denominator().str(),
        executed.because.empty() ? "" : " (" + executed.because + ")"));
  }
}

void say_time(const Spec& spec, const Cost& cost, Lines& lines) {
  const Compute& compute = spec.machine.compute();
  if (cost.time.compute) {
    std::string shape = "one operation";
    if (!compute.atomic.empty()) {
      shape = "the atomic shape";
      for (const auto& [rank, extent] : compute.atomic) shape += fmt::format(" {} {}", rank, extent);
    }
    lines.push_back(fmt::format(
        "compute cycles: steps x the cycles of {} at the rate for {}, the widest input type, in whole cycles; idle "
        "instances and partial tiles cost their step",
        shape, compute_type(spec.einsum).name));
    const auto rate = compute_rate(spec);
    if (rate && Ratio(atomic_operations(compute)) < *rate) {
      lines.push_back(fmt::format(
          "the rate of {} operations a cycle is not reached: a step is {}, and takes a whole cycle; to use the rate, "
          "give {} an atomic shape, or put a mesh before it",
          rate->is_whole() ? rate->numerator().str() : fmt::format("{:.4g}", rate->to_double()), shape, compute.name));
    }
  }
  for (const SystolicCost& array : cost.time.arrays) {
    const Mesh& mesh = *spec.machine.mesh(array.mesh);
    const bool output_stays = spec.einsum.is_output(array.stationary);
    const std::string& stays = spec.einsum.tensors[static_cast<std::size_t>(array.stationary)].name;
    std::string per_fold = "R + C - 2 of skew";
    if (!output_stays) per_fold += fmt::format(" and R to load {}", stays);
    if (output_stays && mesh.systolic == SystolicTiming::drained)
      per_fold += fmt::format(" and R to shift {} out", stays);
    lines.push_back(fmt::format(
        "systolic {}: {} stays in the array; a fold (its tile changes) adds {}, R x C = {} x {} the whole array; "
        "folds do not overlap; a fold ends when its last {}",
        mesh.name, stays, per_fold, array.rows.str(), array.columns.str(),
        mesh.systolic == SystolicTiming::drained ? "result has left the array" : "operation is done"));
  }
  const bool any_level = std::any_of(cost.levels.begin(), cost.levels.end(),
                                     [](const LevelCost& level) { return level.cycles.has_value(); });
  if (any_level) {
    lines.push_back(
        "a level's cycles: bytes of its busiest instance / bandwidth, the slower of reading and writing (or "
        "both on a shared port), rounded up");
  }
  if (cost.time.overlapped) {
    lines.push_back("cycles are overlapped: the largest of compute and every level, without start-up and tail");
  }
  if (cost.time.utilization) {
    lines.push_back("utilization: operations / (overlapped cycles x peak operations per cycle of all instances)");
  }
}

void say_space(const Spec& spec, Lines& lines) {
  std::string text = "occupancy: per instance, the sum of the largest tiles held";
  for (int level : storage_levels(spec.machine)) {
    if (spec.machine.storage(level)->double_buffered) {
      lines.push_back(text + ", twice where a level is double-buffered");
      return;
    }
  }
  lines.push_back(text);
}

void say_energy(const Spec& spec, const Cost& cost, Lines& lines) {
  Lines by_access;
  for (int level : storage_levels(spec.machine)) {
    const Storage& storage = *spec.machine.storage(level);
    if (states_energy(storage, AccessEnergy::Per::access)) {
      by_access.push_back(storage.access_bits ? fmt::format("{} ({} bit)", storage.name, storage.access_bits->str())
                                              : storage.name);
    }
  }
  if (!by_access.empty()) {
    lines.push_back("energy per access: partial accesses round up, tile by tile: " + listed(by_access));
  }
  if (cost.energy.network) {
    lines.push_back(
        "network energy: one hop for each element delivered to or forwarded between instances, and for "
        "each output element collected");
  }
  if (cost.energy.total) lines.push_back("energy total: the sum of every part that is stated");
  if (cost.energy.energy_delay) lines.push_back("edp: energy total x seconds, in joule seconds");
}

void say_intensity(const Spec& spec, const Cost& cost, Lines& lines) {
  if (spec.einsum.is_mac()) {
    lines.push_back(
        "intensity of a level: FLOPs / bytes exchanged between the level and what is below it (parent "
        "reads, read-modify-writes, updates)");
  }
  if (cost.roofline) {
    lines.push_back(fmt::format(
        "roofline: at {}, all its bytes read and written; its bandwidth at this mix of reads and writes; ideal "
        "intensity = every tensor moved once",
        spec.machine.level_name(cost.roofline->level)));
  }
}

}  // namespace

std::vector<std::string> cost_conventions(const Spec& spec, const Cost& cost) {
  Lines lines;
  say_counts(spec, lines);
  say_time(spec, cost, lines);
  say_space(spec, lines);
  say_energy(spec, cost, lines);
  say_intensity(spec, cost, lines);
  return lines;
}

std::vector<std::string> uncounted_figures(const Spec& spec, const Cost& cost) {
  Lines no_bandwidth;
  Lines no_energy;
  Lines no_hop_energy;
  for (const LevelCost& level : cost.levels) {
    if (level.tensors.empty()) continue;  // nothing passes through it
    const Storage& storage = *spec.machine.storage(level.level);
    const bool writes_stated = storage.write_bandwidth || storage.shared_port;
    if (!storage.read_bandwidth && !writes_stated) no_bandwidth.push_back(storage.name);
    if (!storage.read_bandwidth && writes_stated) no_bandwidth.push_back(storage.name + " (reading)");
    if (storage.read_bandwidth && !writes_stated) no_bandwidth.push_back(storage.name + " (writing)");
    if (!storage.read_energy && !storage.write_energy) no_energy.push_back(storage.name);
    if (!storage.read_energy && storage.write_energy) no_energy.push_back(storage.name + " (reading)");
    if (storage.read_energy && !storage.write_energy) no_energy.push_back(storage.name + " (writing)");
  }
  bool has_mesh = false;
  for (int level = 0; level < spec.machine.compute_level(); ++level) {
    const Mesh* mesh = spec.machine.mesh(level);
    if (!mesh) continue;
    has_mesh = true;
    if (!mesh->hop_energy) no_hop_energy.push_back(mesh->name);
  }
  const std::string& type = compute_type(spec.einsum).name;
  const Compute& compute = spec.machine.compute();
  const bool executed = executes(compute, spec.einsum);
  if (!executed || !figure_for(compute.energy, type)) no_energy.push_back(fmt::format("{} ({})", compute.name, type));

  Lines lines;
  if (!no_bandwidth.empty()) lines.push_back("time of levels that state no bandwidth: " + listed(no_bandwidth));
  if (!executed) {
    lines.push_back(fmt::format(
        "compute cycles, energy and utilization: {} is a matrix unit and does not execute this einsum; the machine "
        "states no unit that does",
        compute.name));
  } else if (!figure_for(compute.rate, type)) {
    lines.push_back(fmt::format("compute cycles and utilization: {} states no rate for {}", compute.name, type));
  }
  if (!spec.machine.clock_stated) lines.push_back("seconds and edp: the machine states no clock");
  if (!no_energy.empty()) lines.push_back("energy not stated: " + listed(no_energy));
  if (!no_hop_energy.empty()) lines.push_back("energy of networks that state no hop energy: " + listed(no_hop_energy));
  if (has_mesh) lines.push_back("network bandwidth and contention");
  lines.push_back("start-up and tail, latency and stalls: cycles are overlapped (simulate shows them pipelined)");
  lines.push_back("bank conflicts, refresh and other losses below the stated bandwidth");
  lines.push_back("leakage and refresh energy");
  lines.push_back("launch and synchronisation cost; address generation and control");
  return lines;
}

}  // namespace einflow
