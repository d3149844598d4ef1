#include "report/network_map_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "report/map_view.hpp"
#include "report/nest_text.hpp"
#include "report/problem_view.hpp"

namespace einflow {

namespace {

void add_once(std::vector<std::string>& lines, const std::vector<std::string>& more) {
  for (const std::string& line : more) {
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
}

const NetworkSearch& search_of(const NetworkMapReport& report, std::size_t layer) {
  return report.map.searches[report.map.search_of_layer[layer]];
}

const std::optional<Report>& analysis_of(const NetworkMapReport& report, std::size_t layer) {
  return report.searches[report.map.search_of_layer[layer]];
}

/// What analyses say beside the figures, each line once.
std::vector<std::string> gathered(const NetworkMapReport& report, bool uncounted) {
  std::vector<std::string> lines = uncounted ? report.uncounted : report.conventions;
  for (const auto& analysis : report.searches) {
    if (analysis) add_once(lines, uncounted ? analysis->cost.uncounted : analysis->conventions);
  }
  return lines;
}

/// Seconds of the whole, where every layer that has a mapping has seconds.
std::optional<double> total_seconds(const NetworkMapReport& report) {
  if (!report.totals.cycles) return std::nullopt;
  double seconds = 0;
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    const auto& analysis = analysis_of(report, i);
    if (!analysis) continue;
    if (!analysis->cost.time.seconds) return std::nullopt;
    seconds += *analysis->cost.time.seconds * static_cast<double>(report.layers[i].repeat);
  }
  return seconds;
}

std::vector<std::string> missing_names(const NetworkMapReport& report) {
  std::vector<std::string> names;
  for (const std::size_t layer : report.totals.missing) names.push_back(report.layers[layer].name);
  return names;
}

std::string machines_line(const NetworkMapReport& report) {
  const Machine& first = report.layers.front().machine;
  for (const NetworkLayer& layer : report.layers) {
    if (!(layer.machine == first)) return "several machines, one each layer";
  }
  return machine_line(first);
}

std::string layers_table(const NetworkMapReport& report, const TextStyle& style) {
  const bool own_column =
      report.objective.kind == Objective::Kind::edp || report.objective.kind == Objective::Kind::traffic;
  Table table({"layer", "times", objective_name(report.objective, report.layers.front().machine), "cycles", "energy",
               "used", "gap", "limited by"},
              1);
  for (std::size_t i = 0; i < report.layers.size(); ++i) {
    const NetworkLayer& layer = report.layers[i];
    const auto& analysis = analysis_of(report, i);
    if (!analysis) {
      table.add({layer.name, grouped(Count(layer.repeat)), "", "", "", "", "", "no mapping"});
      continue;
    }
    const MapProof& proof = search_of(report, i).found->proof;
    const TimeCost& time = analysis->cost.time;
    table.add({layer.name, grouped(Count(layer.repeat)),
               own_column ? value_text(report.objective, search_of(report, i).found->points.front().value) : "",
               time.overlapped ? grouped(*time.overlapped) : "",
               analysis->cost.energy.total ? scaled(*analysis->cost.energy.total * 1e-12, "J") : "",
               time.utilization ? percent(*time.utilization) : "", proof.optimal ? "" : percent(proof.gap()),
               time.limited_by});
  }
  return table.str(style);
}

std::string totals_text(const NetworkMapReport& report, const TextStyle& style) {
  const NetworkTotals& totals = report.totals;
  std::string out = section("In all, each layer times its occurrences", style);
  const auto line = [&](const std::string& text) { out += wrapped(text, style.width, "  ", "    "); };
  if (totals.missing.size() == report.layers.size()) {
    line("no layer has a mapping");
    return out;
  }
  const Machine& machine = report.layers.front().machine;
  if (totals.value) {
    line(fmt::format("{}: {}", objective_name(report.objective, machine), value_text(report.objective, *totals.value)));
  }
  if (totals.energy_picojoules && report.objective.kind != Objective::Kind::energy) {
    line("energy: " + scaled(*totals.energy_picojoules * 1e-12, "J"));
  }
  if (totals.cycles) {
    const auto seconds = total_seconds(report);
    line(fmt::format("cycles (overlapped), the layers one after the other: {}{}", grouped(*totals.cycles),
                     seconds ? " = " + scaled(*seconds, "s") : ""));
    if (seconds && totals.energy_picojoules) {
      line("energy x delay: " + scaled(*totals.energy_picojoules * 1e-12 * *seconds, "J s"));
    }
  }
  if (!totals.missing.empty()) line("without: " + comma_list(missing_names(report), 100));
  const bool all_proved = std::all_of(report.map.searches.begin(), report.map.searches.end(),
                                      [](const auto& search) { return !search.found || search.found->proof.optimal; });
  const char* which = totals.missing.empty() ? "each layer's mapping" : "the mapping of each other layer";
  line(all_proved ? fmt::format("{} is the optimum of its space", which)
                  : "not every layer's mapping is proved to be the optimum of its space: the gaps are in the table");
  return out;
}

/// Why layers have no mapping.
std::vector<std::string> reasons(const NetworkMapReport& report) {
  std::vector<std::string> lines;
  for (const std::size_t layer : report.totals.missing) {
    const NetworkSearch& search = search_of(report, layer);
    if (!search.stopped.empty()) lines.push_back(fmt::format("{}: {}", report.layers[layer].name, search.stopped));
    for (const Diagnostic& error : search.errors) {
      lines.push_back(fmt::format("{}: {}{}", report.layers[layer].name, error.message,
                                  error.hint.empty() ? "" : "; " + error.hint));
    }
  }
  return lines;
}

std::string list_text(const char* title, const std::vector<std::string>& lines, const TextStyle& style) {
  if (lines.empty()) return {};
  std::string out = section(title, style);
  for (const std::string& line : lines) out += wrapped(line, style.width, "  - ", "    ");
  return out;
}

Json layer_json(const NetworkMapReport& report, std::size_t i) {
  const NetworkLayer& layer = report.layers[i];
  const NetworkSearch& search = search_of(report, i);
  const auto& analysis = analysis_of(report, i);
  Json entry = Json::object();
  entry.set("layer", layer.name).set("repeat", Count(layer.repeat)).set("problem", einsum_json(layer.einsum));
  if (!analysis) {
    Json errors = Json::array();
    for (const Diagnostic& error : search.errors) errors.push(error.message);
    if (!search.errors.empty()) entry.set("errors", std::move(errors));
    if (!search.stopped.empty()) entry.set("stopped", search.stopped);
    return entry;
  }
  const MapProof& proof = search.found->proof;
  entry.set("value", search.found->points.front().value).set("optimal", proof.optimal);
  entry.set("bound", proof.bound).set("gap", proof.gap());
  if (!proof.stopped.empty()) entry.set("stopped", proof.stopped);
  const Cost& cost = analysis->cost;
  if (cost.energy.total) entry.set("energy_pj", *cost.energy.total);
  if (cost.time.overlapped) entry.set("cycles", *cost.time.overlapped);
  if (cost.time.utilization) entry.set("utilization", *cost.time.utilization);
  if (cost.time.overlapped) entry.set("limited_by", cost.time.limited_by);
  const Spec& spec = analysis->spec;
  return entry.set("mapping", to_text(spec.mapping, spec.einsum, spec.machine));
}

}  // namespace

Result<NetworkMapReport> network_map_report(const NetworkRequest& request, NetworkMap map,
                                            std::vector<std::string> conventions) {
  NetworkMapReport report;
  report.layers = request.layers;
  report.objective = request.objective;
  report.totals = totals_of(request, map);
  report.conventions = std::move(conventions);
  report.conventions.push_back("layers whose einsums are equal are searched once; nothing is kept between layers");
  for (const NetworkSearch& search : map.searches) {
    report.searches.emplace_back();
    if (!search.found) continue;
    add_once(report.conventions, search.found->conventions);
    auto analysed = analyze(search.found->points.front().spec, {}, false);
    if (!analysed) return tl::unexpected(analysed.error());
    report.searches.back() = std::move(*analysed);
  }
  if (request.objective.kind == Objective::Kind::edp) {
    report.conventions.push_back(
        "edp: made least layer by layer; in all it is the energy x the cycles of the whole, which this does not make "
        "least");
  }
  report.map = std::move(map);
  return report;
}

Json to_json(const NetworkMapReport& report) {
  const Machine& machine = report.layers.front().machine;
  Json document = Json::object();
  document.set("format", "einflow-network-map-1").set("name", report.name).set("machine", machine.name);
  document.set("objective", objective_name(report.objective, machine)).set("unit", objective_unit(report.objective));
  document.set("optimal", report.totals.optimal).set("given", Json::array_of(report.given));
  Json layers = Json::array();
  for (std::size_t i = 0; i < report.layers.size(); ++i) layers.push(layer_json(report, i));
  Json totals = Json::object();
  if (report.totals.value) totals.set("value", *report.totals.value);
  if (report.totals.energy_picojoules) totals.set("energy_pj", *report.totals.energy_picojoules);
  if (report.totals.cycles) totals.set("cycles", *report.totals.cycles);
  if (const auto seconds = total_seconds(report)) totals.set("seconds", *seconds);
  totals.set("missing", Json::array_of(missing_names(report)));
  document.set("layers", std::move(layers)).set("totals", std::move(totals));
  document.set("conventions", Json::array_of(gathered(report, false)));
  return document.set("uncounted", Json::array_of(gathered(report, true)));
}

std::string to_text(const NetworkMapReport& report, bool nests, const TextStyle& style) {
  std::string out = heading(report.name.empty() ? "A network" : report.name, style);
  out += wrapped("on " + machines_line(report), style.width, "", "  ");
  out += section(fmt::format("Best mappings for {}, each figure of one occurrence",
                             objective_name(report.objective, report.layers.front().machine)),
                 style);
  out += layers_table(report, style);
  out += wrapped(fmt::format("{} layers, {} different ones searched", report.layers.size(), report.map.searches.size()),
                 style.width, "  ", "    ");
  out += list_text("Layers without a mapping", reasons(report), style);
  out += totals_text(report, style);
  for (std::size_t i = 0; nests && i < report.layers.size(); ++i) {
    const auto& analysis = analysis_of(report, i);
    if (!analysis) continue;
    out += section(report.layers[i].name, style);
    out += wrapped(proof_text(report.objective, search_of(report, i).found->proof), style.width, "  ", "    ");
    out += nest_text(analysis->spec, style);
  }
  out += list_text("Given", report.given, style);
  out += list_text("Conventions", gathered(report, false), style);
  out += list_text("Not counted", gathered(report, true), style);
  out += section("Next", style);
  return out + wrapped("--all shows each nest; --layer NAME one layer with its proof", style.width, "  ", "    ");
}

}  // namespace einflow
