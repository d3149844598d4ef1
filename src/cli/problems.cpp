// einflow problems: the networks of the library, their layers, and one layer as a part of a spec.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/library.hpp"
#include "report/problem_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  std::string name;
  std::vector<std::string> library;
  bool json = false;
};

int list_problems(const Library& library, bool json) {
  Json list = Json::array();
  Table table({"problem", "layers and MACs"}, 2);
  int status = kDone;
  for (const std::string& name : problem_names(library)) {
    const Result<ProblemFile> file = problem_named(name, library);
    if (!file) {
      print_errors(file.error(), {name, {}});
      status = kBadInput;
      continue;
    }
    table.add({name, problem_summary(*file)});
    std::vector<std::string> layers;
    for (const Layer& layer : file->layers) layers.push_back(layer.name);
    Json entry = Json::object();
    list.push(entry.set("name", name).set("source", file->source).set("layers", Json::array_of(layers)));
  }
  if (json) {
    Json document = Json::object();
    print(document.set("format", "einflow-problems-1").set("problems", std::move(list)).str());
  } else {
    print(table.empty() ? "no problems in the library\n" : table.str(output_style()));
  }
  return status;
}

int fail_with(const Diagnostics& errors) {
  print_errors(errors, {"<command line>", {}});
  return kBadInput;
}

/// Every einsum of one layer, or the one that "FILE/LAYER/PART" names, as parts of a spec.
int show_layer(const std::string& path, const Library& library, bool json) {
  const std::size_t slash = path.find('/');
  const Result<ProblemFile> file = problem_named(path.substr(0, slash), library);
  if (!file) return fail_with(file.error());
  std::vector<Einsum> einsums;
  for (const Layer& layer : file->layers) {
    if (path.substr(slash + 1) != layer.name || layer.cascade.einsums.size() == 1) continue;
    einsums = layer.cascade.einsums;
    for (Einsum& einsum : einsums) einsum.name = path + "/" + einsum.name;
  }
  if (einsums.empty()) {
    const Result<ChosenProblem> chosen = choose_problem(path, library);
    if (!chosen) return fail_with(chosen.error());
    einsums.push_back(chosen->einsum);
  }
  std::string text;
  Json fragments = Json::array();
  for (const Einsum& einsum : einsums) {
    if (!text.empty()) text += "\n# the next einsum of the layer\n";
    text += spec_fragment(einsum);
    fragments.push(einsum_json(einsum));
  }
  Json document = Json::object();
  print(json ? document.set("format", "einflow-layer-1").set("einsums", std::move(fragments)).str() : text);
  return kDone;
}

int run(const Arguments& arguments) {
  const Library library = library_of(arguments.library);
  if (arguments.name.empty()) return list_problems(library, arguments.json);
  if (arguments.name.find('/') != std::string::npos) return show_layer(arguments.name, library, arguments.json);
  const Result<ProblemFile> file = problem_named(arguments.name, library);
  if (!file) return fail_with(file.error());
  print(arguments.json ? problem_file_json(*file).str() : problem_file_text(*file, output_style()));
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  command.positional("NAME", arguments->name, "Problem, or problem/layer to paste into a spec");
  command.folders("--library", arguments->library, "DIR", "Folder with problems/, searched first");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command problems_command() {
  return {"problems", "The problems of the library, their layers, or one layer",
          "Examples:\n  einflow problems resnet50\n  einflow problems resnet50/conv1", declare};
}

}  // namespace einflow
