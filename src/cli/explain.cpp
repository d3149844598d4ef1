// einflow explain: who stays, who moves, who is split, replicated, reduced at each level; and parallel schemes by name.
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/scheme_input.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "report/explanation.hpp"
#include "report/scheme_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  SpecArguments spec;
  SchemeArguments scheme;
  bool json = false;
};

const char* const kCommandLine = "<command line>";

int explain_term(const std::string& text, const Arguments& arguments) {
  const auto sizes = scheme_sizes(arguments.spec, arguments.scheme);
  if (!sizes) {
    print_errors(sizes.error(), {kCommandLine, {}});
    return kBadInput;
  }
  if (text == "schemes") {
    print(arguments.json ? schemes_json().str() : schemes_text(output_style()));
    return kDone;
  }
  const auto term = cluster::find_scheme(text);
  if (!term) {
    print_errors(term.error(), {kCommandLine, {}});
    return kBadInput;
  }
  if (term->ambiguous != nullptr) {
    print(arguments.json ? term_json(*term->ambiguous, *sizes).str()
                         : term_text(*term->ambiguous, *sizes, output_style()));
    return kDone;
  }
  const auto facts = scheme_facts(*term->scheme, *sizes);
  if (!facts) {
    print_errors(facts.error(), {kCommandLine, {}});
    return kBadInput;
  }
  print(arguments.json ? scheme_json(*facts).str() : scheme_text(*facts, output_style()));
  return kDone;
}

int run(const Arguments& arguments) {
  if (const auto term = term_of(arguments.spec)) return explain_term(*term, arguments);
  if (!arguments.scheme.devices.empty() || arguments.scheme.microbatches > 0) {
    print_errors({{{}, "--devices and --microbatches belong to a parallel scheme, not to a spec", {}, {}}},
                 {kCommandLine, {}});
    return kBadInput;
  }
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
  add_scheme_arguments(command, arguments->scheme);
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command explain_command() {
  return {"explain", "Who stays, moves, is split or replicated at each level",
          "Examples:\n"
          "  einflow explain matmul.yaml\n"
          "  einflow explain \"Y[m,n] += X[m,k] * W[k,n]\" -r m=64,n=64,k=64 --on toy \\\n"
          "      --mapping nest.txt\n"
          "  einflow explain \"column tensor parallel\" --devices 8 -r b=1,s=2048,h=4096\n"
          "  einflow explain schemes",
          declare};
}

}  // namespace einflow
