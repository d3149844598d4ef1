// einflow explain: who stays, who moves, who is split, replicated, reduced at each level.
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "report/explanation.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  bool json = false;
};

int run(const Arguments& arguments) {
  const std::optional<LoadedSpec> loaded = load_spec(arguments.spec);
  if (!loaded) return kBadInput;
  tell_conventions(*loaded);
  const Spec& spec = loaded->read.spec;
  print(arguments.json ? explanation_json(spec).str() : explanation_text(spec, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  add_spec_arguments(command, arguments->spec);
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command explain_command() {
  return {"explain", "Who stays, moves, is split or replicated at each level",
          "Examples:\n"
          "  einflow explain matmul.yaml\n"
          "  einflow explain \"Y[m,n] += X[m,k] * W[k,n]\" -r m=64,n=64,k=64 --on toy \\\n"
          "      --mapping nest.txt",
          declare};
}

}  // namespace einflow
