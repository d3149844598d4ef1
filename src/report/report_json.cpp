#include "cost/energy.hpp"
#include "cost/figures.hpp"
#include "report/explanation.hpp"
#include "report/holds_json.hpp"
#include "report/report.hpp"

namespace einflow {

namespace {

const std::string& tensor_name(const Report& report, int tensor) {
  return report.spec.einsum.tensors[static_cast<std::size_t>(tensor)].name;
}

template <typename T>
void set_if(Json& object, const char* key, const std::optional<T>& value) {
  if (value) object.set(key, *value);
}

Json level_json(const Report& report, const LevelCost& level) {
  Json reads = Json::object();
  Json writes = Json::object();
  reads.set("total", level.reads);
  writes.set("total", level.writes);
  for (const TensorTraffic& traffic : level.tensors) {
    set_named(reads, tensor_name(report, traffic.tensor), "tensor", traffic.reads);
    set_named(writes, tensor_name(report, traffic.tensor), "tensor", traffic.writes);
  }
  Json entry = Json::object();
  entry.set("level", report.spec.machine.level_name(level.level)).set("instances", level.instances);
  entry.set("reads", std::move(reads)).set("writes", std::move(writes));
  entry.set("bytes_read", level.bytes_read).set("bytes_written", level.bytes_written);
  entry.set("occupancy_bytes", level.occupancy_bytes);
  set_if(entry, "capacity_bytes", level.capacity_bytes);
  set_if(entry, "cycles", level.cycles);
  set_if(entry, "energy_pj", level.energy_picojoules);
  return entry;
}

Json network_json(const Report& report, const NetworkCost& network) {
  const NetworkCounts& counts = network.counts;
  Json entry = Json::object();
  entry.set("mesh", report.spec.machine.level_name(counts.mesh)).set("tensor", tensor_name(report, counts.tensor));
  const bool output = report.spec.einsum.is_output(counts.tensor);
  entry.set("injected", output ? counts.collected : counts.injected).set("delivered", counts.delivered);
  entry.set(output ? "reduced" : "forwarded", output ? counts.reduced : counts.forwarded).set("hops", network.hops);
  set_if(entry, "energy_pj", network.energy_picojoules);
  return entry;
}

Json cycles_json(const Report& report) {
  const TimeCost& time = report.cost.time;
  Json cycles = Json::object();
  cycles.set("steps", time.steps);
  set_if(cycles, "compute", time.compute);
  set_if(cycles, "systolic", time.systolic);
  set_if(cycles, "overlapped", time.overlapped);
  if (time.overlapped) cycles.set("limited_by", time.limited_by);
  for (const LevelCost& level : report.cost.levels) {
    if (level.cycles) set_named(cycles, report.spec.machine.level_name(level.level), "level", *level.cycles);
  }
  if (!time.arrays.empty()) {
    Json arrays = Json::array();
    for (const SystolicCost& array : time.arrays) {
      Json entry = Json::object();
      entry.set("mesh", report.spec.machine.level_name(array.mesh));
      entry.set("stationary", tensor_name(report, array.stationary)).set("folds", array.folds);
      entry.set("rows", array.rows).set("columns", array.columns).set("cycles_per_fold", array.cycles_per_fold);
      arrays.push(std::move(entry));
    }
    set_named(cycles, "systolic_arrays", "detail", std::move(arrays));
  }
  return cycles;
}

/// By level, the compute level and meshes included, and the total.
Json energy_json(const Report& report) {
  const Machine& machine = report.spec.machine;
  const EnergyCost& energy = report.cost.energy;
  Json parts = Json::object();
  parts.set("total", *energy.total);
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    const std::optional<double> part = energy_of_level(machine, report.cost, level);
    if (part) set_named(parts, machine.level_name(level), "level", *part);
  }
  return parts;
}

Json intensity_json(const Report& report) {
  Json intensity = Json::object();
  for (const LevelCost& level : report.cost.levels) {
    if (level.flop_per_byte) intensity.set(report.spec.machine.level_name(level.level), *level.flop_per_byte);
  }
  return intensity;
}

Json roofline_json(const Report& report, const RooflineCost& roofline) {
  const std::string work = roofline.in_flops ? "flop" : "operations";
  Json entry = Json::object();
  entry.set("level", report.spec.machine.level_name(roofline.level));
  entry.set("bound", roofline.memory_bound() ? "memory" : "compute");
  entry.set("side", roofline.memory_bound() ? "below the ridge" : "at or above the ridge");
  entry.set(work + "_per_byte", roofline.intensity).set("ridge_" + work + "_per_byte", roofline.ridge);
  entry.set("ideal_" + work + "_per_byte", roofline.ideal_intensity);
  entry.set("attainable_" + work + "_per_cycle", roofline.attainable).set("peak_" + work + "_per_cycle", roofline.peak);
  entry.set("bandwidth_bytes_per_cycle", roofline.bandwidth);
  if (roofline.hertz) {
    entry.set("attainable_" + work + "_per_second", roofline.attainable * *roofline.hertz);
    entry.set("peak_" + work + "_per_second", roofline.peak * *roofline.hertz);
    entry.set("bandwidth_bytes_per_second", roofline.bandwidth * *roofline.hertz);
  }
  return entry;
}

Json derivations_json(const Report& report) {
  const Spec& spec = report.spec;
  Json list = Json::array();
  for (const Derivation& derivation : report.derivations) {
    const Hold& hold =
        spec.mapping.holds[static_cast<std::size_t>(derivation.tensor)][static_cast<std::size_t>(derivation.hold)];
    Json loops = Json::array();
    for (const LoopRole& role : loop_roles(spec, derivation.tensor, derivation.hold)) {
      const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(role.loop)];
      Json entry = Json::object();
      loops.push(entry.set("loop", to_text(loop, spec.einsum, spec.machine)).set("role", to_text(role.role)));
    }
    Json entry = Json::object();
    entry.set("level", spec.machine.level_name(hold.level)).set("tensor", tensor_name(report, derivation.tensor));
    entry.set("quantity", derivation.quantity).set("value", derivation.value);
    entry.set("symbolic", derivation.symbolic).set("formula", derivation.formula);
    entry.set("meaning", derivation.meaning).set("loops", std::move(loops));
    list.push(std::move(entry));
  }
  for (const LevelDerivation& derivation : report.level_derivations) {
    Json entry = Json::object();
    entry.set("level", derivation.level).set("quantity", derivation.quantity);
    std::visit([&entry](const auto& value) { entry.set("value", value); }, derivation.value);
    list.push(entry.set("symbolic", derivation.symbolic).set("formula", derivation.formula));
  }
  return list;
}

Json rejection_json(const Report& report) {
  Json rejected = Json::array();
  for (const Misfit& misfit : report.misfits) {
    Json tensors = Json::array();
    for (const Misfit::Part& part : misfit.parts) {
      Json entry = Json::object();
      tensors.push(entry.set("tensor", tensor_name(report, part.tensor))
                       .set("tile_elements", part.elements)
                       .set("bytes", part.bytes));
    }
    Json entry = Json::object();
    entry.set("level", report.spec.machine.level_name(misfit.level)).set("need_bytes", misfit.need_bytes);
    entry.set("room_bytes", misfit.room_bytes).set("double_buffered", misfit.double_buffered);
    rejected.push(entry.set("tensors", std::move(tensors)));
  }
  return rejected;
}

}  // namespace

Json to_json(const Report& report) {
  Json document = Json::object();
  document.set("format", "einflow-report-1");
  document.set("problem", problem_json(report.spec, report.counts));
  document.set("machine", report.spec.machine.name);
  if (!report.misfits.empty()) return document.set("rejected", rejection_json(report));

  document.set("mapping", to_text(report.spec.mapping, report.spec.einsum, report.spec.machine));
  document.set("holds", holds_json(report.spec, report.counts));
  Json levels = Json::array();
  for (const LevelCost& level : report.cost.levels) levels.push(level_json(report, level));
  document.set("levels", std::move(levels));
  Json networks = Json::array();
  for (const NetworkCost& network : report.cost.networks) networks.push(network_json(report, network));
  document.set("networks", std::move(networks));
  document.set("cycles", cycles_json(report));
  set_if(document, "seconds", report.cost.time.seconds);
  set_if(document, "utilization", report.cost.time.utilization);
  if (report.cost.energy.total) document.set("energy_pj", energy_json(report));
  set_if(document, "edp", report.cost.energy.energy_delay);
  if (report.spec.einsum.is_mac()) document.set("intensity", intensity_json(report));
  if (report.cost.roofline) document.set("roofline", roofline_json(report, *report.cost.roofline));
  document.set("stationarity", stationarity_json(report.spec, report.orders));
  if (!report.derivations.empty()) document.set("derivations", derivations_json(report));
  document.set("conventions", Json::array_of(report.conventions));
  document.set("uncounted", Json::array_of(report.cost.uncounted));
  return document;
}

}  // namespace einflow
