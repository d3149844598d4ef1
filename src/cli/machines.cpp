// einflow machines: the machines and clusters that the library has, and one of them in full.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/cluster_reader.hpp"
#include "notation/library.hpp"
#include "report/cluster_view.hpp"
#include "report/machine_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  std::string name;
  std::vector<std::string> library;
  bool json = false;
};

/// What is listed, as a table and as JSON; a file that cannot be read is told and left out.
struct Listing {
  std::string table;
  Json json = Json::array();
  int status = kDone;
};

std::string cut(const std::string& text, std::size_t taken, const TextStyle& style) {
  const std::size_t room = style.width - std::min(style.width, taken);
  return text.size() > room && room > 3 ? text.substr(0, room - 3) + "..." : text;
}

Listing list_machines(const Library& library, const TextStyle& style) {
  Listing listing;
  Table table({"machine", "levels"}, 2);
  for (const std::string& name : machine_names(library)) {
    const Result<ReadMachine> read = machine_named(name, library);
    if (!read) {
      print_errors(read.error(), {name, {}});
      listing.status = kBadInput;
      continue;
    }
    const std::string summary = machine_summary(read->machine);
    table.add({name, cut(summary, 26, style)});
    Json entry = Json::object();
    listing.json.push(entry.set("name", name).set("levels", summary).set("source", read->machine.source));
  }
  if (!table.empty()) listing.table = table.str(style);
  return listing;
}

Listing list_clusters(const Library& library, const TextStyle& style) {
  Listing listing;
  Table table({"cluster", "device", "devices", "networks"}, 4);
  for (const std::string& name : cluster_names(library)) {
    const Result<cluster::Cluster> read = cluster_named(name, library);
    if (!read) {
      print_errors(read.error(), {name, {}});
      listing.status = kBadInput;
      continue;
    }
    const std::string networks = networks_line(*read);
    table.add({name, read->device.name, std::to_string(read->devices()), cut(networks, 48, style)});
    Json entry = Json::object();
    entry.set("name", name).set("device", read->device.name).set("devices", Count(read->devices()));
    listing.json.push(entry.set("networks", networks).set("source", read->source));
  }
  if (!table.empty()) listing.table = table.str(style);
  return listing;
}

int list(const Library& library, bool json) {
  const TextStyle style = output_style();
  Listing machines = list_machines(library, style);
  Listing clusters = list_clusters(library, style);
  if (json) {
    Json document = Json::object();
    document.set("format", "einflow-machines-1").set("machines", std::move(machines.json));
    print(document.set("clusters", std::move(clusters.json)).str());
  } else {
    print(machines.table.empty() ? "no machines in the library\n" : machines.table);
    if (!clusters.table.empty()) print("\n" + clusters.table);
  }
  return std::max(machines.status, clusters.status);
}

/// Whether the text names a cluster, or resizes one ("dgx-h100-superpod:node=128").
bool names_cluster(const std::string& text, const Library& library) {
  const std::vector<std::string> clusters = cluster_names(library);
  return text.find(':') != text.npos || std::find(clusters.begin(), clusters.end(), text) != clusters.end();
}

int refuse(const Diagnostics& errors) {
  print_errors(errors, {"<command line>", {}});
  return kBadInput;
}

int run(const Arguments& arguments) {
  const Library library = library_of(arguments.library);
  if (arguments.name.empty()) return list(library, arguments.json);
  if (names_cluster(arguments.name, library)) {
    const Result<cluster::Cluster> cluster = load_cluster(library, arguments.name);
    if (!cluster) return refuse(cluster.error());
    print(arguments.json ? cluster_json(*cluster).str() : cluster_text(*cluster, output_style()));
    return kDone;
  }
  const Result<ReadMachine> read = machine_named(arguments.name, library);
  if (!read) {
    const bool near = !nearest_name(arguments.name, cluster_names(library)).empty();
    return refuse(near ? cluster_named(arguments.name, library).error() : read.error());
  }
  print(arguments.json ? machine_json(read->machine).str() : machine_text(read->machine, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  command.positional("NAME", arguments->name, "Machine or cluster to show");
  command.folders("--library", arguments->library, "DIR", "Folder with machines/, searched first");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command machines_command() {
  return {"machines", "The machines and clusters of the library, or one of them in full",
          "Examples:\n  einflow machines h100-sxm\n  einflow machines dgx-h100-superpod:node=128", declare};
}

}  // namespace einflow
