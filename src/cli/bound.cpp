// einflow bound: the least traffic from a backing store for every buffer size.
#include <fmt/format.h>

#include <memory>

#include "base/message.hpp"
#include "base/quantity.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "notation/spec_writer.hpp"
#include "report/staircase_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  std::vector<std::string> whole;
  std::string nest;
  bool shared_tile = false;
  bool no_bypass = false;
  bool all = false;
  bool json = false;
};

int fail_with(const Diagnostics& errors, const SourceText& source) {
  print_errors(errors, source);
  return kBadInput;
}

/// The spec that moves the least with a buffer of the size given.
int print_nest(const StaircaseReport& report, const std::string& size, const SourceText& source) {
  const auto bits = parse_quantity(size, {Measure::size});
  if (!bits) return fail_with(bits.error(), {"--nest", size});
  const StaircaseStep* step =
      affordable(report.staircase, Count(bits->value.numerator().value() / bits->value.denominator().value()));
  if (step == nullptr) {
    return fail_with({{{},
                       fmt::format("no nest of this space fits in {}", in_quotes(size)),
                       fmt::format("the smallest buffer is {} bit", report.staircase.steps.front().buffer_bits.str()),
                       {}}},
                     source);
  }
  const auto text = spec_text(staircase_spec(report.einsum, *step));
  if (!text) return fail_with(text.error(), source);
  print(*text);
  return kDone;
}

int run(const Arguments& arguments) {
  std::optional<LoadedProblem> loaded = load_problem(arguments.spec);
  if (!loaded) return kBadInput;
  StaircaseReport report;
  report.einsum = std::move(loaded->einsum);
  report.machine = std::move(loaded->machine);
  report.conventions = std::move(loaded->conventions);
  report.space.shared_tile = arguments.shared_tile;
  report.space.bypass = !arguments.no_bypass;
  for (const std::string& name : arguments.whole) {
    const int rank = report.einsum.rank_named(name);
    if (rank < 0) {
      std::vector<std::string> names;
      for (const Rank& known : report.einsum.ranks) names.push_back(known.name);
      return fail_with(
          {{{}, fmt::format("--whole: there is no rank {}", in_quotes(name)), name_hint(name, names, "ranks"), {}}},
          loaded->source);
    }
    report.space.whole.push_back(rank);
  }
  if (!report.space.shared_tile && has_window(report.einsum)) {
    report.space.shared_tile = true;
    report.conventions.push_back(
        "a window slides or an axis is padded: only the shared tile is searched there; tensors held at places of their "
        "own may move less");
  }
  if (report.einsum.executed.share < Ratio(Count(1))) {
    report.conventions.push_back("movement is that of the whole iteration space, also where only a share is executed");
  }
  auto staircase = least_traffic(report.einsum, report.space);
  if (!staircase) return fail_with(staircase.error(), loaded->source);
  report.staircase = std::move(*staircase);
  if (!arguments.nest.empty()) return print_nest(report, arguments.nest, loaded->source);
  print(arguments.json ? to_json(report).str() : to_text(report, arguments.all, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.flag("--shared-tile", arguments->shared_tile, "All tensors are held at one place of the nest");
  command.flag("--no-bypass", arguments->no_bypass, "Every tensor goes through the buffer");
  command.comma_separated("--whole", arguments->whole, "RANK,...", "Ranks that stay whole in the buffer");
  command.text("--nest", arguments->nest, "SIZE", "A spec that moves the least with this buffer, to paste");
  command.flag("--all", arguments->all, "Every step of the staircase");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command bound_command() {
  return {"bound", "Least traffic for every buffer size",
          "Examples:\n"
          "  einflow bound \"Y[m,n] += X[m,k] * W[k,n]\" -r m=4096,n=4096,k=4096\n"
          "  einflow bound --problem resnet50/conv1 --whole r,s --on eyeriss-v1\n"
          "  einflow bound matmul.yaml --nest \"512 KiB\" > best.yaml",
          declare};
}

}  // namespace einflow
