// einflow analyze: counts, time, energy and space of a mapped problem.
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "report/report.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  bool json = false;
  bool derive = false;
};

int run(const Arguments& arguments) {
  std::optional<LoadedSpec> loaded = load_spec(arguments.spec);
  if (!loaded) return kBadInput;
  const Result<Report> report =
      analyze(std::move(loaded->read.spec), std::move(loaded->read.conventions), arguments.derive);
  if (!report) {
    print_errors(report.error(), loaded->source);
    return kBadInput;
  }
  if (!report->misfits.empty()) {
    Diagnostics errors;
    for (const Misfit& misfit : report->misfits) errors.push_back(to_diagnostic(misfit, report->spec));
    print_errors(errors, loaded->source);
    if (arguments.json) print(to_json(*report).str());
    return kCheckFailed;
  }
  print(arguments.json ? to_json(*report).str() : to_text(*report, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.flag("--json", arguments->json, "One JSON document on standard output");
  command.flag("--derive", arguments->derive, "Under each number its formula, with values put in");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command analyze_command() {
  return {"analyze", "Counts, time, energy and space of a mapped problem",
          "Examples:\n"
          "  einflow analyze matmul.yaml --derive\n"
          "  einflow analyze \"Y[m,n] += X[m,k] * W[k,n]\" -r m=64,n=64,k=64 --on toy \\\n"
          "      --mapping nest.txt --json\n"
          "  einflow analyze --problem resnet50/conv1 --on eyeriss-v1 --mapping nest.txt\n"
          "Exit status: 0 done, 1 the mapping does not fit, 2 bad input, 3 internal error.",
          declare};
}

}  // namespace einflow
