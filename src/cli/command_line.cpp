#include "cli/command_line.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "base/count.hpp"
#include "base/diagnostic.hpp"
#include "cli/exit_status.hpp"
#include "cli/terminal.hpp"

namespace einflow {

namespace {

const char* const kFooter =
    "Examples:\n"
    "  einflow analyze matmul.yaml             a spec: problem, machine, mapping\n"
    "  einflow analyze matmul.yaml --derive    each number with its formula\n"
    "  einflow explain matmul.yaml             who stays and who moves at each level\n"
    "  einflow simulate matmul.yaml            execute it and compare\n"
    "  einflow map resnet50/fc toy             the best mapping, with its proof\n"
    "  einflow bound matmul.yaml               least traffic for every buffer size\n"
    "  einflow translate matmul.yaml --to loops\n"
    "                                          the same in another notation\n"
    "  einflow machines h100-sxm               one machine of the library\n"
    "  einflow problems resnet50/conv1         one layer, to paste into a spec\n"
    "Exit status: 0 done, 1 a check failed, 2 bad input, 3 internal error.";

/// A first word that is no command: says so and names the nearest.
bool is_unknown_command(const std::string& word, const std::vector<Command>& commands) {
  if (word.empty() || word.front() == '-') return false;
  std::vector<std::string> names;
  for (const Command& command : commands) {
    if (word == command.name) return false;
    names.emplace_back(command.name);
  }
  for (const char* planned : {"shard", "clarify", "report", "terms"}) {
    if (word != planned) continue;
    print_errors({{{}, fmt::format("the command '{}' is not there yet", word), "`einflow --help` lists what is", {}}},
                 {"einflow", {}});
    return true;
  }
  const std::string nearest = nearest_name(word, names);
  print_errors({{{},
                 fmt::format("there is no command '{}'", word),
                 nearest.empty() ? "`einflow --help` lists the commands" : fmt::format("did you mean '{}'?", nearest),
                 {}}},
               {"einflow", {}});
  return true;
}

/// Says what is wrong with a number, or nothing. (Read as it stands, "-1" would become a huge one.)
std::string whole_number(const std::string& text) {
  if (text.size() <= 18 && parse_count(text)) return {};
  return fmt::format("found '{}', expected a whole number below 10^18", text);
}

}  // namespace

void CommandArguments::positional(const char* name, std::string& value, const char* help) {
  app_.add_option(name, value, help)->type_name("");
}

void CommandArguments::positionals(const char* name, std::vector<std::string>& values, const char* help) {
  app_.add_option(name, values, help)->type_name("");
}

void CommandArguments::flag(const char* names, bool& value, const char* help) { app_.add_flag(names, value, help); }

void CommandArguments::text(const char* names, std::string& value, const char* type, const char* help) {
  app_.add_option(names, value, help)->type_name(type);
}

void CommandArguments::number(const char* names, std::uint64_t& value, const char* type, const char* help) {
  app_.add_option(names, value, help)->check(whole_number)->type_name(type);
}

void CommandArguments::folders(const char* names, std::vector<std::string>& values, const char* type,
                               const char* help) {
  app_.add_option(names, values, help)->check(CLI::ExistingDirectory)->type_name(type)->allow_extra_args(false);
}

void CommandArguments::texts(const char* names, std::vector<std::string>& values, const char* type, const char* help) {
  app_.add_option(names, values, help)->type_name(type)->allow_extra_args(false);
}

void CommandArguments::comma_separated(const char* names, std::vector<std::string>& values, const char* type,
                                       const char* help) {
  app_.add_option(names, values, help)->type_name(type)->allow_extra_args(false)->delimiter(',');
}

int run_commands(const std::vector<Command>& commands, int argc, char** argv) {
  CLI::App program("einflow: exact analysis of deep-learning primitives on accelerators", "einflow");
  program.set_version_flag("--version", "einflow " EINFLOW_VERSION);
  program.require_subcommand(0, 1);
  program.footer(kFooter);
  program.get_formatter()->column_width(14);
  int status = kDone;
  for (const Command& command : commands) {
    CLI::App* app = program.add_subcommand(command.name, command.summary);
    app->footer(command.footer);
    CommandArguments arguments(*app);
    app->callback([run = command.declare(arguments), &status] { status = run(); });
  }
  if (argc == 1) {
    print(program.help());
    return kDone;
  }
  if (is_unknown_command(argv[1], commands)) return kBadInput;
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return program.exit(asked);
  } catch (const CLI::ParseError& error) {
    const std::string command = argv[1][0] == '-' ? "" : argv[1] + std::string(" ");
    print_errors({{{}, error.what(), fmt::format("`einflow {}--help` shows what it takes", command), {}}},
                 {"einflow", {}});
    return kBadInput;
  }
  if (!all_printed()) {
    print_errors({{{}, "standard output did not take all of the report", "is the disk full?", {}}}, {"einflow", {}});
    return kInternalError;
  }
  return status;
}

}  // namespace einflow
