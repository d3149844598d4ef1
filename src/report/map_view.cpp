#include "report/map_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost/energy.hpp"
#include "report/nest_text.hpp"
#include "report/problem_view.hpp"

namespace einflow {

namespace {

const char* const kSpace[] = {
    "each storage level has one place in the nest and holds any of the tensors there; what it does not hold bypasses "
    "it",
    "every loop divides what it cuts; temporal loops in any number and order; the loops of a mesh stand inside the "
    "temporal loops of their part of the nest",
    "every tile fits its level"};

const char* const kImperfectLoops =
    "a loop may leave a tile of any size, the last being what remains; between two places a rank has at most one "
    "temporal "
    "loop, in any order, and one loop on each mesh axis, inside the temporal ones";

void add_once(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  for (const std::string& line : more) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
}

std::string energy_or_nothing(const std::optional<double>& picojoules) {
  return picojoules ? scaled(*picojoules * 1e-12, "J") : "";
}

std::string cycles_or_nothing(const std::optional<Count>& cycles) { return cycles ? grouped(*cycles) : ""; }

std::string energy_delay_or_nothing(const EnergyCost& energy) {
  return energy.energy_delay ? scaled(*energy.energy_delay, "J s") : "";
}

/// A figure in whole numbers where it is one that a double holds.
std::string whole(double value) {
  return value < 9e15 ? grouped(Count(static_cast<long long>(value))) : rounded(value);
}

std::string levels_table(const Report& report, const TextStyle& style) {
  const Machine& machine = report.spec.machine;
  Table table({"level", "reads", "writes", "held B", "room B", "used", "energy", "cycles"}, 1);
  for (int index = 0; index < static_cast<int>(machine.levels.size()); ++index) {
    const auto level = std::find_if(report.cost.levels.begin(), report.cost.levels.end(),
                                    [&](const LevelCost& cost) { return cost.level == index; });
    const std::string energy = energy_or_nothing(energy_of_level(machine, report.cost, index));
    if (level == report.cost.levels.end()) {  // a mesh or the compute level
      const bool compute = index == machine.compute_level();
      const std::string cycles = compute ? cycles_or_nothing(report.cost.time.compute) : "";
      if (!energy.empty() || !cycles.empty()) {
        table.add({machine.level_name(index), "", "", "", "", "", energy, cycles});
      }
      continue;
    }
    if (level->tensors.empty()) {
      table.add({machine.level_name(index), "holds nothing"});
      continue;
    }
    const auto& room = level->capacity_bytes;
    const bool has_room = room && Count(0) < room->numerator();
    table.add({machine.level_name(index), grouped(level->reads), grouped(level->writes),
               grouped(level->occupancy_bytes), room ? grouped(*room) : "",
               has_room ? percent(level->occupancy_bytes.to_double() / room->to_double()) : "", energy,
               cycles_or_nothing(level->cycles)});
  }
  return table.str(style);
}

std::string totals_text(const Report& report, const TextStyle& style) {
  const TimeCost& time = report.cost.time;
  const EnergyCost& energy = report.cost.energy;
  std::string out;
  if (energy.total) out += wrapped("energy: " + energy_or_nothing(energy.total), style.width, "  ", "    ");
  if (time.overlapped) {
    std::string line = "cycles (overlapped): " + grouped(*time.overlapped);
    if (time.seconds) line += " = " + scaled(*time.seconds, "s");
    line += ", limited by " + time.limited_by;
    if (time.utilization) line += "; utilization " + percent(*time.utilization);
    out += wrapped(line, style.width, "  ", "    ");
  }
  if (energy.energy_delay) {
    out += wrapped("energy x delay: " + energy_delay_or_nothing(energy), style.width, "  ", "    ");
  } else if (energy.total && time.overlapped) {
    out += wrapped(fmt::format("energy x delay: {} pJ cycles", rounded(*energy.total * time.overlapped->to_double())),
                   style.width, "  ", "    ");
  }
  return out.empty() ? out : section("Totals", style) + out;
}

std::string title_text(const MapReport& report, const TextStyle& style) {
  const Spec& spec = report.points.front().spec;
  std::string out =
      heading(fmt::format("{}{}", report.name.empty() ? "" : report.name + ": ", to_text(spec.einsum)), style);
  std::string sizes;
  for (const Rank& rank : spec.einsum.ranks) {
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", rank.name, grouped(Count(rank.extent)));
  }
  out += wrapped(sizes, style.width, "  ", "  ");
  return out + wrapped("on " + machine_line(spec.machine), style.width, "", "  ");
}

std::string front_table(const MapReport& report, const TextStyle& style) {
  Table table({"nest", "energy", "cycles", "energy x delay", "utilization"}, 1);
  for (std::size_t i = 0; i < report.points.size(); ++i) {
    const Cost& cost = report.points[i].cost;
    table.add({std::to_string(i + 1), energy_or_nothing(cost.energy.total), cycles_or_nothing(cost.time.overlapped),
               energy_delay_or_nothing(cost.energy), cost.time.utilization ? percent(*cost.time.utilization) : ""});
  }
  return table.str(style);
}

std::string proof_section(const MapReport& report, const TextStyle& style) {
  const MapProof& proof = report.proof;
  const auto line = [&](const std::string& text) { return wrapped(text, style.width, "  - ", "    "); };
  std::string out = section("The space and the proof", style);
  for (const char* text : kSpace) out += line(text == kSpace[1] && report.imperfect ? kImperfectLoops : text);
  for (const std::string& text : report.given) out += line("given: " + text);
  out += line(fmt::format("tile shapes of one place: {}", grouped(proof.tile_shapes)));
  out += line(
      fmt::format("mappings of the space: {} (loop orders, tile shapes, spatial loops and bypasses, before capacity)",
                  whole(proof.mappings)));
  out += line(
      fmt::format("partial mappings after joining those that do not differ in what stays: {}", grouped(proof.states)));
  out += line(
      fmt::format("looked into: {}; each other one is beaten by another or by the bound", grouped(proof.expanded)));
  if (report.front) {
    out += line(proof.optimal ? "every mapping of the space is beaten or equalled by a point of the front"
                              : "the front may miss points; it ended before the proof: " + proof.stopped);
  } else if (proof.optimal) {
    out += line(fmt::format("bound: {} = the value: no mapping of the space has less",
                            value_text(report.objective, proof.bound)));
  } else {
    out += line(fmt::format("bound: {}: every mapping of the space has at least this",
                            value_text(report.objective, proof.bound)));
  }
  return out + line(fmt::format("{} s of processor time", rounded(proof.seconds)));
}

std::string list_text(const char* title, const std::vector<std::string>& lines, const TextStyle& style) {
  if (lines.empty()) return {};
  std::string out = section(title, style);
  for (const std::string& line : lines) out += wrapped(line, style.width, "  - ", "    ");
  return out;
}

Json point_json(const Report& report, bool with_report) {
  Json entry = Json::object();
  const Cost& cost = report.cost;
  if (cost.energy.total) entry.set("energy_pj", *cost.energy.total);
  if (cost.time.overlapped) entry.set("cycles", *cost.time.overlapped);
  if (cost.energy.energy_delay) entry.set("edp", *cost.energy.energy_delay);
  if (cost.time.utilization) entry.set("utilization", *cost.time.utilization);
  if (cost.time.overlapped) entry.set("limited_by", cost.time.limited_by);
  entry.set("mapping", to_text(report.spec.mapping, report.spec.einsum, report.spec.machine));
  if (with_report) entry.set("report", to_json(report));
  return entry;
}

}  // namespace

std::vector<std::string> MapReport::all_conventions() const {
  std::vector<std::string> lines = conventions;
  for (const Report& point : points) add_once(lines, point.conventions);
  return lines;
}

std::vector<std::string> MapReport::uncounted() const {
  std::vector<std::string> lines;
  for (const Report& point : points) add_once(lines, point.cost.uncounted);
  return lines;
}

Result<MapReport> map_report(const MapRequest& request, const MapResult& result, std::vector<std::string> conventions) {
  MapReport report;
  report.name = request.einsum.name;
  report.objective = request.objective;
  report.front = request.front;
  report.proof = result.proof;
  report.conventions = std::move(conventions);
  add_once(report.conventions, result.conventions);
  for (const MapPoint& point : result.points) {
    auto analysed = analyze(point.spec, {}, false);
    if (!analysed) return tl::unexpected(analysed.error());
    report.points.push_back(std::move(*analysed));
    report.values.push_back(point.value);
  }
  return report;
}

std::string objective_name(const Objective& objective, const Machine& machine) {
  switch (objective.kind) {
    case Objective::Kind::energy:
      return "energy";
    case Objective::Kind::cycles:
      return "cycles";
    case Objective::Kind::edp:
      return "edp";
    case Objective::Kind::traffic:
      break;
  }
  return "traffic:" + machine.level_name(objective.level);
}

std::string objective_unit(const Objective& objective) {
  switch (objective.kind) {
    case Objective::Kind::energy:
      return "pJ";
    case Objective::Kind::cycles:
      return "cycles";
    case Objective::Kind::edp:
      return "pJ cycles";
    case Objective::Kind::traffic:
      break;
  }
  return "bits";
}

std::string value_text(const Objective& objective, double value) {
  switch (objective.kind) {
    case Objective::Kind::energy:
      return scaled(value * 1e-12, "J");
    case Objective::Kind::cycles:
      return whole(value) + " cycles";
    case Objective::Kind::edp:
      return rounded(value) + " pJ cycles";
    case Objective::Kind::traffic:
      break;
  }
  return value < 9e15 ? grouped(Ratio(Count(static_cast<long long>(value)), Count(8))) + " B"
                      : rounded(value / 8) + " B";
}

std::string proof_text(const Objective& objective, const MapProof& proof) {
  if (proof.optimal) return "the optimum of this space: no mapping of it has less";
  return fmt::format(
      "the best one found, not proved to be the optimum: the bound is {}, so another could have at most {} less. The "
      "search ended before the proof{}{}",
      value_text(objective, proof.bound), percent(proof.gap()), proof.stopped.empty() ? "" : ": ", proof.stopped);
}

std::string mapping_text(const Report& report, const TextStyle& style) {
  return nest_text(report.spec, style) + section("Levels: elements, all instances; held and room of one", style) +
         levels_table(report, style) + totals_text(report, style);
}

Json to_json(const MapReport& report, bool reports) {
  const Spec& spec = report.points.front().spec;
  Json document = Json::object();
  document.set("format", "einflow-map-1").set("problem", einsum_json(spec.einsum)).set("machine", spec.machine.name);
  const MapProof& proof = report.proof;
  if (report.front) {
    document.set("objective", "front").set("optimal", proof.optimal);
  } else {
    document.set("objective", objective_name(report.objective, spec.machine)).set("value", report.values.front());
    document.set("unit", objective_unit(report.objective)).set("optimal", proof.optimal);
    document.set("bound", proof.bound).set("gap", proof.gap());
  }
  if (!proof.stopped.empty()) document.set("stopped", proof.stopped);
  Json space = Json::object();
  space.set("tile_shapes", proof.tile_shapes).set("mappings", proof.mappings);
  document.set("space", space.set("given", Json::array_of(report.given)));
  document.set("states", proof.states).set("expanded", proof.expanded).set("seconds", proof.seconds);
  Json points = Json::array();
  for (const Report& point : report.points) points.push(point_json(point, reports || !report.front));
  document.set("points", std::move(points)).set("conventions", Json::array_of(report.all_conventions()));
  return document.set("uncounted", Json::array_of(report.uncounted()));
}

std::string to_text(const MapReport& report, const ShownNests& shown, const TextStyle& style) {
  const Spec& spec = report.points.front().spec;
  std::string out = title_text(report, style);
  if (report.front) {
    out += section("Mappings that none of this space beats in both energy and cycles", style);
    out += front_table(report, style);
    if (!shown.all && shown.number == 0) {
      out += wrapped("--nest N shows one of them, --all every one", style.width, "  ", "  ");
    }
    for (std::size_t i = 0; i < report.points.size(); ++i) {
      if (!shown.all && shown.number != i + 1) continue;
      out += section(fmt::format("Nest {}", i + 1), style) + mapping_text(report.points[i], style);
    }
  } else {
    out += section("Best mapping for " + objective_name(report.objective, spec.machine), style);
    out += wrapped("value: " + value_text(report.objective, report.values.front()), style.width, "  ", "    ");
    out += wrapped(proof_text(report.objective, report.proof), style.width, "  ", "    ");
    out += section("Mapping", style) + mapping_text(report.points.front(), style);
  }
  out += proof_section(report, style);
  out += list_text("Conventions", report.all_conventions(), style);
  out += list_text("Not counted", report.uncounted(), style);
  out += section("Next", style);
  return out + wrapped(fmt::format("einflow map ... --spec{} | einflow analyze - --derive: every count of it",
                                   report.front ? " --nest N" : ""),
                       style.width, "  ", "    ");
}

}  // namespace einflow
