// einflow simulate: executes every step on real numbers, checks the result and the analysis.
#include <cstdint>
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "cost/capacity.hpp"
#include "cost/cost.hpp"
#include "movement/movement.hpp"
#include "report/simulation_view.hpp"
#include "simulate/simulate.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  bool json = false;
  bool counts_only = false;
  std::uint64_t limit = 20'000'000;
};

int run(const Arguments& arguments) {
  std::optional<LoadedSpec> loaded = load_spec(arguments.spec);
  if (!loaded) return kBadInput;
  tell_conventions(*loaded);
  const Spec& spec = loaded->read.spec;
  const Result<Counts> analysis = count_movement(spec);
  if (!analysis) {
    print_errors(analysis.error(), loaded->source);
    return kBadInput;
  }
  const Result<Cost> cost = cost_of(spec, *analysis);
  if (!cost) {
    print_errors(cost.error(), loaded->source);
    return kBadInput;
  }
  Diagnostics too_large;
  for (const Misfit& misfit : misfits(spec, *analysis, *cost)) too_large.push_back(to_diagnostic(misfit, spec));
  if (!too_large.empty()) {
    print_errors(too_large, loaded->source);
    return kCheckFailed;
  }
  SimulateOptions options;
  options.limit_operations = Count(arguments.limit);
  options.values = !arguments.counts_only;
  options.progress = progress_bar();
  Result<Simulation> simulation = simulate(spec, options);
  clear_progress_bar();
  if (!simulation) {
    print_errors(simulation.error(), loaded->source);
    return kBadInput;
  }
  const SimulationReport report{spec, std::move(*simulation), *analysis, options.values};
  print(arguments.json ? to_json(report).str() : to_text(report, output_style()));
  if (!report.passed())
    print_message("error: the simulation does not confirm the analysis; this is a fault of einflow");
  return report.passed() ? kDone : kCheckFailed;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.flag("--json", arguments->json, "One JSON document on standard output");
  command.number("--limit", arguments->limit, "N", "Most operations to execute (20000000)");
  command.flag("--counts-only", arguments->counts_only, "Move no values; the result is not checked");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command simulate_command() {
  return {"simulate", "Executes every step, checks result and counts",
          "Example:\n"
          "  einflow simulate matmul.yaml --limit 2000000000\n"
          "Exit status: 0 counts and result agree, 1 they do not, 2 bad input, 3 internal error.",
          declare};
}

}  // namespace einflow
