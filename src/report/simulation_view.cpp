#include "report/simulation_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/holds_json.hpp"
#include "report/nest_text.hpp"

namespace einflow {

namespace {

struct Figure {
  const char* name;
  Count HoldCounts::* count;
};

/// The figures of a hold that apply: instances and tile always, movement below the outermost hold.
std::vector<Figure> figures_of(const Einsum& einsum, const HoldCounts& hold) {
  std::vector<Figure> figures = {{"instances", &HoldCounts::instances}, {"tile", &HoldCounts::tile_elements}};
  if (hold.hold == 0) return figures;
  if (einsum.is_output(hold.tensor)) {
    figures.push_back({"drains", &HoldCounts::drains});
    figures.push_back({"parent updates", &HoldCounts::parent_updates});
    figures.push_back({"rmw reads", &HoldCounts::parent_rmw_reads});
  } else {
    figures.push_back({"fills", &HoldCounts::fills});
    figures.push_back({"parent reads", &HoldCounts::parent_reads});
    figures.push_back({"forwarded", &HoldCounts::forwarded});
  }
  return figures;
}

std::string verdict(const SimulationReport& report) {
  if (!report.values) return "values were not computed: the result is not checked";
  if (report.simulation.result_matches) return "the result equals the plain einsum in every element";
  return "THE RESULT IS WRONG: " + report.simulation.first_mismatch;
}

}  // namespace

Json to_json(const SimulationReport& report) {
  Json document = Json::object();
  document.set("format", "einflow-simulation-1");
  document.set("problem", problem_json(report.spec, report.simulation.counts));
  document.set("mapping", to_text(report.spec.mapping, report.spec.einsum, report.spec.machine));
  document.set("holds", holds_json(report.spec, report.simulation.counts));
  document.set("agrees", report.agrees());
  if (!report.agrees()) document.set("analysis_holds", holds_json(report.spec, report.analysis));
  if (report.values) {
    document.set("result_matches", report.simulation.result_matches);
    if (!report.simulation.result_matches) document.set("first_mismatch", report.simulation.first_mismatch);
  }
  Json cycles = Json::object();
  cycles.set("steps", report.simulation.counts.steps).set("pipelined", report.simulation.pipelined_cycles);
  return document.set("cycles", std::move(cycles));
}

std::string to_text(const SimulationReport& report, const TextStyle& style) {
  const Spec& spec = report.spec;
  std::string out = heading(to_text(spec.einsum), style) + wrapped(machine_line(spec.machine), style.width, "", "  ");
  Table table({"level", "tensor", "count", "executed", "analysis", ""}, 3);
  std::size_t compared = 0;
  const std::vector<HoldCounts>& executed = report.simulation.counts.holds;
  for (std::size_t i = 0; i < std::min(executed.size(), report.analysis.holds.size()); ++i) {
    const HoldCounts& hold = executed[i];
    const Hold& place = spec.mapping.holds[static_cast<std::size_t>(hold.tensor)][static_cast<std::size_t>(hold.hold)];
    for (const Figure& figure : figures_of(spec.einsum, hold)) {
      const Count mine = hold.*figure.count;
      const Count theirs = report.analysis.holds[i].*figure.count;
      ++compared;
      table.add({spec.machine.level_name(place.level), spec.einsum.tensors[static_cast<std::size_t>(hold.tensor)].name,
                 figure.name, grouped(mine), grouped(theirs), mine == theirs ? "=" : "DIFFERS"});
    }
  }
  table.add({"", "", "steps", grouped(report.simulation.counts.steps), grouped(report.analysis.steps),
             report.simulation.counts.steps == report.analysis.steps ? "=" : "DIFFERS"});
  out += section("Counts: executed step by step, and by the analysis", style) + table.str(style) + "\n";
  out += wrapped(
      report.agrees() ? fmt::format("counts: all {} agree", compared + 1) : "counts: THE TWO IMPLEMENTATIONS DISAGREE",
      style.width, "", "  ");
  out += wrapped(verdict(report), style.width, "", "  ");
  return out + wrapped(fmt::format(
                           "cycles (pipelined): {}, start-up and tail included; operand traffic of the compute level, "
                           "read-modify-writes and the skew of systolic arrays are not",
                           grouped(report.simulation.pipelined_cycles)),
                       style.width, "", "  ");
}

}  // namespace einflow
