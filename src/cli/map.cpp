// einflow map: the best mapping of a problem, or of every layer of a network, with the proof that none is better.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <memory>
#include <thread>

#include "base/message.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/map_input.hpp"
#include "cli/map_problem.hpp"
#include "cli/terminal.hpp"
#include "notation/spec_writer.hpp"
#include "report/map_view.hpp"
#include "report/network_map_view.hpp"
#include "search/imperfect.hpp"

namespace einflow {

namespace {

// Where no limit is given: of one problem.
constexpr double kMostSeconds = 60;

struct Arguments {
  MapProblemArguments problem;
  MapFlags given;
  std::string objective;
  std::string time_limit;
  std::uint64_t threads = 0;
  std::uint64_t nest = 0;
  std::uint64_t imperfect = 0;  ///< nests counted at most; 0: dividing tiles
  bool front = false;
  bool all = false;
  bool json = false;
  bool spec = false;
};

int fail_with(const Diagnostics& errors) {
  print_errors(errors, {"<command line>", {}});
  return kBadInput;
}

int fail_with(std::string message, std::string hint) {
  return fail_with({{{}, std::move(message), std::move(hint), {}}});
}

volatile std::sig_atomic_t interrupted = 0;

extern "C" void note_interrupt(int) { interrupted = 1; }

/// While it lives, the first Ctrl-C only sets `interrupted`; a second one ends the program.
class Interruption {
 public:
  Interruption() {
    interrupted = 0;
    struct sigaction action{};
    action.sa_handler = note_interrupt;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, &before_);
  }
  ~Interruption() { sigaction(SIGINT, &before_, nullptr); }
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  static bool came() { return interrupted != 0; }

 private:
  struct sigaction before_{};
};

std::string progress_text(const Objective& objective, bool front, const MapProgress& progress) {
  std::string text = fmt::format("{}, {} looked into", progress.stage, progress.expanded.str());
  if (front) return text;
  if (progress.best) text += ": value " + value_text(objective, *progress.best);
  text += (progress.best ? ", bound " : ": bound ") + value_text(objective, progress.bound);
  if (progress.best && *progress.best > 0) {
    text += fmt::format(", gap {:.1f} %", 100 * (*progress.best - progress.bound) / *progress.best);
  }
  return text;
}

/// Which options do not go together, or nothing.
std::optional<int> refused(const Arguments& arguments) {
  if (arguments.json && arguments.spec) return fail_with("--json and --spec are given", "leave one of them out");
  if (arguments.front && !arguments.objective.empty()) {
    return fail_with("--front and --objective are given",
                     "the front is over energy and cycles; an objective chooses one mapping");
  }
  if (arguments.nest > 0 && !arguments.front) return fail_with("--nest N shows one nest of --front", "");
  if (arguments.front && arguments.spec && arguments.nest == 0) {
    return fail_with("--spec with --front needs --nest", "--nest 1 is the one of least energy");
  }
  return std::nullopt;
}

std::string objective_list(const std::vector<Objective>& objectives, const Machine& machine) {
  std::vector<std::string> names;
  for (const Objective& objective : objectives) names.push_back(objective_name(objective, machine));
  return comma_list(names);
}

bool same_kind(const Objective& a, const Objective& b) { return a.kind == b.kind; }

bool has_kind(const std::vector<Objective>& objectives, const Objective& wanted) {
  return std::any_of(objectives.begin(), objectives.end(),
                     [&](const Objective& objective) { return same_kind(objective, wanted); });
}

/// The objective asked for, or the first that every layer has figures for.
Result<Objective> chosen_objective(const Arguments& arguments, const std::vector<NetworkLayer>& layers,
                                   std::vector<std::string>& conventions) {
  const NetworkLayer& first = layers.front();
  const std::vector<Objective> possible = objectives_of(first.einsum, first.machine);
  if (!arguments.objective.empty()) {
    auto asked = parse_objective(arguments.objective, first.machine);
    if (!asked) return asked;
    if (layers.size() > 1 || asked->kind == Objective::Kind::traffic || has_kind(possible, *asked)) return asked;
    return fail(fmt::format("--objective {}: the machine states no figures for it", arguments.objective),
                "objectives: " + objective_list(possible, first.machine));
  }
  std::vector<Objective> common = possible;
  for (const NetworkLayer& layer : layers) {
    const std::vector<Objective> others = objectives_of(layer.einsum, layer.machine);
    std::erase_if(common, [&](const Objective& objective) { return !has_kind(others, objective); });
  }
  if (common.empty()) return fail("the machine states no figures that a mapping could make least");
  conventions.push_back(
      fmt::format("objective: {}, the first that the machine has figures for; --objective takes another",
                  objective_name(common.front(), first.machine)));
  return common.front();
}

int threads_of(const Arguments& arguments) {
  if (arguments.threads > 0) return static_cast<int>(std::min<std::uint64_t>(arguments.threads, 1024));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

/// Prints the spec of the mapping chosen.
int print_spec(const MapReport& report, std::size_t point, const SourceText& source) {
  const auto text = spec_text(report.points[point].spec);
  if (!text) {
    print_errors(text.error(), source);
    return kBadInput;
  }
  if (!report.proof.optimal && !report.front) {
    print_message("note: " + proof_text(report.objective, report.proof));
  }
  print(*text);
  return kDone;
}

int print_answer(const Arguments& arguments, MapReport report, const SourceText& source) {
  report.given = arguments.given.written();
  if (arguments.nest > report.points.size()) {
    return fail_with(fmt::format("--nest {}: the front has {} nests", arguments.nest, report.points.size()), "");
  }
  if (arguments.spec) return print_spec(report, arguments.nest > 0 ? arguments.nest - 1 : 0, source);
  print(arguments.json ? to_json(report, arguments.all).str()
                       : to_text(report, {arguments.all, arguments.nest}, output_style()));
  return kDone;
}

Result<MapResult> solve(const Arguments& arguments, const MapRequest& request) {
  if (arguments.imperfect == 0) return best_mapping(request);
  return best_imperfect_mapping(request, Count(arguments.imperfect));
}

int map_one(const Arguments& arguments, MapProblem problem, std::optional<double> most_seconds) {
  MapRequest request;
  const NetworkLayer& layer = problem.layers.front();
  if (!arguments.front) {
    const auto objective = chosen_objective(arguments, problem.layers, problem.conventions);
    if (!objective) return fail_with(objective.error());
    request.objective = *objective;
  }
  auto constraints = map_constraints(arguments.given, layer.einsum, layer.machine);
  if (!constraints) return fail_with(constraints.error());
  request.einsum = layer.einsum;
  if (request.einsum.name.empty()) request.einsum.name = layer.name;
  request.machine = layer.machine;
  request.front = arguments.front;
  request.constraints = std::move(*constraints);
  request.most_seconds = most_seconds.value_or(kMostSeconds);
  request.threads = threads_of(arguments);
  const Interruption interruption;
  request.progress = [&, show = progress_line()](const MapProgress& progress) {
    if (show) show(progress_text(request.objective, request.front, progress));
    return !Interruption::came();
  };
  Result<MapResult> result = solve(arguments, request);
  clear_progress_bar();
  const bool nothing_yet = result ? result->points.empty() : Interruption::came();
  if (nothing_yet) {
    const std::string why = result ? result->proof.stopped : "";
    print_errors({{{}, "stopped before a mapping was found", why, {}}}, {"<command line>", {}});
    return kCheckFailed;
  }
  if (!result) {
    print_errors(result.error(), problem.source);
    return kCheckFailed;
  }
  auto report = map_report(request, *result, std::move(problem.conventions));
  if (!report) {
    print_errors(report.error(), problem.source);
    return kBadInput;
  }
  report->imperfect = arguments.imperfect > 0;
  return print_answer(arguments, std::move(*report), problem.source);
}

int map_all(const Arguments& arguments, MapProblem problem, std::optional<double> most_seconds) {
  const std::string of_one = arguments.front ? "--front" : arguments.spec ? "--spec" : arguments.given.of_one_problem();
  if (!of_one.empty()) {
    std::vector<std::string> names;
    for (const NetworkLayer& layer : problem.layers) names.push_back(layer.name);
    return fail_with(fmt::format("{} is for one problem, and {} has {} layers; choose one", of_one,
                                 problem.name.empty() ? "the text" : in_quotes(problem.name), problem.layers.size()),
                     "--layer NAME, layers: " + comma_list(names));
  }
  NetworkRequest request;
  const auto objective = chosen_objective(arguments, problem.layers, problem.conventions);
  if (!objective) return fail_with(objective.error());
  request.objective = *objective;
  // Of the flags, only the share in use is left, which names nothing of a layer.
  const auto constraints = map_constraints(arguments.given, problem.layers[0].einsum, problem.layers[0].machine);
  if (!constraints) return fail_with(constraints.error());
  request.constraints.least_utilization = constraints->least_utilization;
  request.layers = std::move(problem.layers);
  request.most_seconds = most_seconds.value_or(kMostSeconds * static_cast<double>(request.layers.size()));
  request.threads = threads_of(arguments);
  const Interruption interruption;
  request.progress = [&, show = progress_line()](const NetworkProgress& progress) {
    if (show) {
      show(fmt::format("{} of {}, {}: {}", progress.search, progress.searches, progress.layer,
                       progress_text(request.objective, false, progress.of_layer)));
    }
    return !Interruption::came();
  };
  NetworkMap map = map_network(request, [&](const MapRequest& one) { return solve(arguments, one); });
  clear_progress_bar();
  auto report = network_map_report(request, std::move(map), std::move(problem.conventions));
  if (!report) {
    print_errors(report.error(), problem.source);
    return kBadInput;
  }
  report->name = problem.name;
  report->given = arguments.given.written();
  report->uncounted = std::move(problem.uncounted);
  print(arguments.json ? to_json(*report).str() : to_text(*report, arguments.all, output_style()));
  return report->totals.missing.empty() ? kDone : kCheckFailed;
}

int run(const Arguments& arguments) {
  if (const auto status = refused(arguments)) return *status;
  std::optional<double> most_seconds;
  if (!arguments.time_limit.empty()) {
    const auto seconds = parse_duration(arguments.time_limit);
    if (!seconds) return fail_with(seconds.error());
    most_seconds = *seconds;
  }
  std::optional<MapProblem> problem = load_map_problem(arguments.problem);
  if (!problem) return kBadInput;
  if (problem->is_network()) return map_all(arguments, std::move(*problem), most_seconds);
  if (arguments.all && !arguments.front) return fail_with("--all shows the nests of --front or of a network", "");
  return map_one(arguments, std::move(*problem), most_seconds);
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_map_problem_arguments(command, arguments->problem);
  command.text("--objective", arguments->objective, "WHAT", "energy, cycles, edp or traffic:LEVEL is made least");
  command.flag("--front", arguments->front, "All mappings that none beats in both energy and cycles");
  command.flag("--all", arguments->all, "Every nest of the front or of the network");
  command.number("--nest", arguments->nest, "N", "Nest N of the front, from 1");
  add_map_flags(command, arguments->given);
  command.number("--imperfect", arguments->imperfect, "N", "Tiles of every size; at most N nests are counted");
  command.text("--time-limit", arguments->time_limit, "TIME", "Stop after it with the best so far (60 s a problem)");
  command.number("--threads", arguments->threads, "N", "Threads of the search (all cores)");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  command.flag("--spec", arguments->spec, "Only the spec with the mapping, to go on with");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command map_command() {
  return {"map", "The best mapping, with the proof that none is better",
          "Examples:\n"
          "  einflow map resnet50/conv1 eyeriss-v1\n"
          "  einflow map \"Y[m,n] += X[m,k] * W[k,n]\" toy -r m=256,n=256,k=256 \\\n"
          "      --objective edp --stationary W@RF\n"
          "  einflow map resnet50 toy --time-limit \"60 s\"\n"
          "  einflow map matmul.yaml --spec | einflow analyze -\n"
          "Ctrl-C stops the search and prints the best so far; a second one ends at once.\n"
          "Exit status: 0 done, 1 no mapping (of every layer), 2 bad input, 3 internal error.",
          declare};
}

}  // namespace einflow
