// einflow machines: what the library has, and one of them in full.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/library.hpp"
#include "report/machine_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  std::string name;
  std::vector<std::string> library;
  bool json = false;
};

int list_machines(const Library& library, bool json) {
  const TextStyle style = output_style();
  Json list = Json::array();
  Table table({"machine", "levels"}, 2);
  int status = kDone;
  for (const std::string& name : machine_names(library)) {
    const Result<ReadMachine> read = machine_named(name, library);
    if (!read) {
      print_errors(read.error(), {name, {}});
      status = kBadInput;
      continue;
    }
    const std::string summary = machine_summary(read->machine);
    const std::size_t room = style.width - std::min<std::size_t>(style.width, 26);
    table.add({name, summary.size() > room ? summary.substr(0, room - 3) + "..." : summary});
    Json entry = Json::object();
    list.push(entry.set("name", name).set("levels", summary).set("source", read->machine.source));
  }
  if (json) {
    Json document = Json::object();
    print(document.set("format", "einflow-machines-1").set("machines", std::move(list)).str());
  } else {
    print(table.empty() ? "no machines in the library\n" : table.str(style));
  }
  return status;
}

int run(const Arguments& arguments) {
  const Library library = library_of(arguments.library);
  if (arguments.name.empty()) return list_machines(library, arguments.json);
  const Result<ReadMachine> read = machine_named(arguments.name, library);
  if (!read) {
    print_errors(read.error(), {"<command line>", {}});
    return kBadInput;
  }
  print(arguments.json ? machine_json(read->machine).str() : machine_text(read->machine, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  command.positional("NAME", arguments->name, "Machine to show");
  command.folders("--library", arguments->library, "DIR", "Folder with machines/, searched first");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command machines_command() {
  return {"machines", "The machines of the library, or one of them in full", "Example:\n  einflow machines h100-sxm",
          declare};
}

}  // namespace einflow
