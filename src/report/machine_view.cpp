#include "report/machine_view.hpp"

#include <fmt/format.h>

#include "cost/figures.hpp"
#include "report/nest_text.hpp"

namespace einflow {

namespace {

const char* unit_of(AccessEnergy::Per per) {
  switch (per) {
    case AccessEnergy::Per::byte:
      return "pJ/B";
    case AccessEnergy::Per::element:
      return "pJ/element";
    case AccessEnergy::Per::access:
      return "pJ/access";
  }
  return "";
}

std::string energy_text(const AccessEnergy& energy) {
  return fmt::format("{} {}", energy.picojoules, unit_of(energy.per));
}

std::string type_text(const std::string& type) { return type.empty() ? "any type" : type; }

std::string rate_text(const Machine& machine, const Ratio& per_cycle) {
  std::string text = grouped(per_cycle) + " op/cycle";
  if (machine.clock_stated) text += " = " + scaled(per_cycle.to_double() * machine.clock_hz.to_double(), "op/s");
  return text;
}

std::string bandwidth_text(const Machine& machine, const Ratio& per_cycle) {
  std::string text = grouped(per_cycle) + " B/cycle";
  if (machine.clock_stated) text += " = " + scaled(per_cycle.to_double() * machine.clock_hz.to_double(), "B/s");
  return text;
}

std::string list(const std::string& text, const std::string& more) { return text.empty() ? more : text + "; " + more; }

std::string describe(const Machine& machine, const Storage& storage) {
  std::string text;
  if (storage.capacity_bits) {
    const Ratio bytes = bytes_of_bits(*storage.capacity_bits);
    text = "capacity " + bytes_text(bytes) + (Ratio(Count(1023)) < bytes ? fmt::format(" ({} B)", grouped(bytes)) : "");
  } else {
    text = "capacity not stated: unbounded";
  }
  if (storage.double_buffered) text = list(text, "double-buffered");
  if (storage.shared_port && storage.read_bandwidth) {
    text = list(text, "one port " + bandwidth_text(machine, *storage.read_bandwidth));
  } else {
    if (storage.read_bandwidth) text = list(text, "reads " + bandwidth_text(machine, *storage.read_bandwidth));
    if (storage.write_bandwidth) text = list(text, "writes " + bandwidth_text(machine, *storage.write_bandwidth));
    if (!storage.read_bandwidth && !storage.write_bandwidth) text = list(text, "bandwidth not stated");
  }
  if (storage.read_energy) text = list(text, "read " + energy_text(*storage.read_energy));
  if (storage.write_energy) text = list(text, "write " + energy_text(*storage.write_energy));
  if (!storage.read_energy && !storage.write_energy) text = list(text, "energy not stated");
  if (storage.access_bits) text = list(text, fmt::format("access {} bit", storage.access_bits->str()));
  return text;
}

std::string describe(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", axis.name, axis.size);
  const auto able = [&](bool ability, const char* name) {
    text = list(text, (ability ? "" : "no ") + std::string(name));
  };
  able(mesh.multicast, "multicast");
  able(mesh.reduction, "reduction");
  able(mesh.forwarding, "forwarding");
  if (mesh.systolic == SystolicTiming::last_operation) text = list(text, "systolic, until the last operation");
  if (mesh.systolic == SystolicTiming::drained) text = list(text, "systolic, until drained");
  if (mesh.hop_energy) text = list(text, energy_text(*mesh.hop_energy) + " a hop");
  return text;
}

std::string describe(const Machine& machine, const Compute& compute) {
  std::string text;
  for (const auto& [type, rate] : compute.rate) text = list(text, type_text(type) + " " + rate_text(machine, rate));
  if (compute.rate.empty()) text = "rate not stated";
  for (const auto& [type, energy] : compute.energy)
    text = list(text, fmt::format("{} {} pJ/op", type_text(type), energy));
  if (compute.energy.empty()) text = list(text, "energy not stated");
  if (!compute.atomic.empty()) {
    std::string shape = "atomic shape";
    for (const auto& [rank, extent] : compute.atomic) shape += fmt::format(" {} {}", rank, extent);
    text = list(text, shape);
  }
  return list(text, compute.operand_latches ? "operand latches" : "no operand latches");
}

std::string level_text(const Machine& machine, int level, const TextStyle& style) {
  std::string kind;
  std::string words;
  std::string source;
  if (const Storage* storage = machine.storage(level)) {
    kind = "storage";
    words = describe(machine, *storage);
    source = storage->source;
  } else if (const Mesh* mesh = machine.mesh(level)) {
    kind = "mesh";
    words = describe(*mesh);
    source = mesh->source;
  } else {
    kind = "compute";
    words = describe(machine, machine.compute());
    source = machine.compute().source;
  }
  std::string out = heading(
      fmt::format("{} {}, {} in all", kind, machine.level_name(level), grouped(instances_of(machine, level))), style);
  out += wrapped(words, style.width, "  ", "  ");
  if (!source.empty()) out += wrapped("source: " + source, style.width, "  ", "    ");
  return out;
}

Json energy_json(const AccessEnergy& energy) {
  Json entry = Json::object();
  return entry.set("value", energy.picojoules).set("unit", unit_of(energy.per));
}

Json storage_json(const Storage& storage) {
  Json entry = Json::object();
  entry.set("storage", storage.name);
  if (storage.capacity_bits) entry.set("capacity_bytes", bytes_of_bits(*storage.capacity_bits));
  if (storage.shared_port) {
    if (storage.read_bandwidth) entry.set("shared_bytes_per_cycle", *storage.read_bandwidth);
  } else {
    if (storage.read_bandwidth) entry.set("read_bytes_per_cycle", *storage.read_bandwidth);
    if (storage.write_bandwidth) entry.set("write_bytes_per_cycle", *storage.write_bandwidth);
  }
  if (storage.read_energy) entry.set("read_energy", energy_json(*storage.read_energy));
  if (storage.write_energy) entry.set("write_energy", energy_json(*storage.write_energy));
  if (storage.access_bits) entry.set("access_bits", *storage.access_bits);
  return entry.set("double_buffered", storage.double_buffered);
}

Json mesh_json(const Mesh& mesh) {
  Json axes = Json::object();
  for (const MeshAxis& axis : mesh.axes) axes.set(axis.name, Count(axis.size));
  Json entry = Json::object();
  entry.set("mesh", mesh.name).set("axes", std::move(axes)).set("multicast", mesh.multicast);
  entry.set("reduction", mesh.reduction).set("forwarding", mesh.forwarding);
  if (mesh.systolic != SystolicTiming::none) {
    entry.set("systolic", mesh.systolic == SystolicTiming::drained ? "drained" : "last-operation");
  }
  if (mesh.hop_energy) entry.set("hop_energy", energy_json(*mesh.hop_energy));
  return entry;
}

Json compute_json(const Machine& machine) {
  const Compute& compute = machine.compute();
  Json rates = Json::object();
  Json peaks = Json::object();
  for (const auto& [type, rate] : compute.rate) {
    const Ratio peak = rate * Ratio(machine.compute_instances());
    rates.set(type.empty() ? "any" : type, rate);
    Json entry = Json::object();
    entry.set("operations_per_cycle", peak);
    if (machine.clock_stated) entry.set("operations_per_second", peak.to_double() * machine.clock_hz.to_double());
    peaks.set(type.empty() ? "any" : type, std::move(entry));
  }
  Json energies = Json::object();
  for (const auto& [type, energy] : compute.energy) energies.set(type.empty() ? "any" : type, energy);
  Json atomic = Json::object();
  for (const auto& [rank, extent] : compute.atomic) atomic.set(rank, Count(extent));
  Json entry = Json::object();
  entry.set("compute", compute.name).set("operations_per_cycle", std::move(rates)).set("peak", std::move(peaks));
  entry.set("pj_per_operation", std::move(energies)).set("atomic", std::move(atomic));
  return entry.set("latches", compute.operand_latches);
}

const std::string& source_of(const Machine& machine, int level) {
  if (const Storage* storage = machine.storage(level)) return storage->source;
  if (const Mesh* mesh = machine.mesh(level)) return mesh->source;
  return machine.compute().source;
}

}  // namespace

Json machine_json(const Machine& machine) {
  Json levels = Json::array();
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    const Storage* storage = machine.storage(level);
    const Mesh* mesh = machine.mesh(level);
    Json entry = storage ? storage_json(*storage) : mesh ? mesh_json(*mesh) : compute_json(machine);
    entry.set("instances", instances_of(machine, level));
    if (!source_of(machine, level).empty()) entry.set("source", source_of(machine, level));
    levels.push(std::move(entry));
  }
  Json document = Json::object();
  document.set("format", "einflow-machine-1").set("name", machine.name);
  if (machine.clock_stated) document.set("clock_hz", machine.clock_hz);
  document.set("levels", std::move(levels));
  if (!machine.source.empty()) document.set("source", machine.source);
  return document.set("notes", Json::array_of(machine.notes));
}

std::string machine_text(const Machine& machine, const TextStyle& style) {
  std::string out = heading(machine_line(machine), style);
  if (!machine.source.empty()) out += wrapped("source: " + machine.source, style.width, "  ", "    ");
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    out += level_text(machine, level, style);
  }
  Table peaks({fmt::format("peak of all {}", grouped(machine.compute_instances())), "op/cycle", "FLOP/s"}, 1);
  for (const auto& [type, rate] : machine.compute().rate) {
    const Ratio peak = rate * Ratio(machine.compute_instances());
    peaks.add({type_text(type), grouped(peak),
               machine.clock_stated ? scaled(2 * peak.to_double() * machine.clock_hz.to_double(), "FLOP/s") : ""});
  }
  if (!peaks.empty()) {
    out += '\n';
    out += peaks.str(style);
    out += "  1 op = 1 MAC = 2 FLOPs\n";
  }
  if (!machine.notes.empty()) out += section("Notes", style);
  for (const std::string& note : machine.notes) out += wrapped(note, style.width, "  - ", "    ");
  return out;
}

std::string machine_summary(const Machine& machine) {
  std::string levels;
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    levels += (levels.empty() ? "" : " > ") + machine.level_name(level);
    if (const Mesh* mesh = machine.mesh(level)) levels += fmt::format(" {}", mesh->size());
  }
  return levels;
}

}  // namespace einflow
