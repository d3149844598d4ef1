// einflow problems: the networks of the library and of files in any notation, their layers, and one layer as a part of
// a spec.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/message.hpp"
#include "base/yaml.hpp"
#include "cli/commands.hpp"
#include "cli/document_input.hpp"
#include "cli/exit_status.hpp"
#include "cli/library_folders.hpp"
#include "cli/terminal.hpp"
#include "notation/library.hpp"
#include "notation/spec_writer.hpp"
#include "report/network_view.hpp"
#include "report/problem_view.hpp"

namespace einflow {

namespace {

struct Arguments {
  DocumentArguments document;
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

/// The einsums of a layer, as parts of a spec.
void print_einsums(const std::vector<Einsum>& einsums, bool json) {
  std::string text;
  Json fragments = Json::array();
  for (const Einsum& einsum : einsums) {
    if (!text.empty()) text += "\n# the next einsum of the layer\n";
    text += problem_text(einsum);
    fragments.push(einsum_json(einsum));
  }
  Json document = Json::object();
  print(json ? document.set("format", "einflow-layer-1").set("einsums", std::move(fragments)).str() : text);
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
  print_einsums(einsums, json);
  return kDone;
}

/// Options that only go with a text in some notation.
int refuse_options(const DocumentArguments& arguments) {
  for (const auto& [given, option] :
       {std::pair(!arguments.layer.empty(), "--layer"), std::pair(!arguments.ranks.empty(), "-r"),
        std::pair(!arguments.machine.empty(), "--on"), std::pair(!arguments.settings.empty(), "--set")}) {
    if (given) {
      return fail_with({{{},
                         fmt::format("{} goes with a text in some notation", option),
                         "a layer of the library is problems NAME/LAYER",
                         {}}});
    }
  }
  return kDone;
}

bool is_file(const std::string& path) {
  struct stat status{};
  return path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode));
}

/// Whether the arguments are texts in some notation rather than a name of the library.
bool are_texts(const DocumentArguments& arguments) {
  const std::vector<std::string>& texts = arguments.texts;
  if (!arguments.from.empty() || texts.size() > 1) return true;
  if (texts.empty()) return false;
  const std::string& text = texts.front();
  if (is_file(text) || text.find("->") != std::string::npos || text.find('(') != std::string::npos) return true;
  // A file that is not there is no problem of the library either.
  for (const Form& form : forms()) {
    for (std::size_t at = form.endings.find('.'); at != std::string_view::npos; at = form.endings.find('.', at + 1)) {
      const std::string_view ending = form.endings.substr(at, form.endings.find(' ', at) - at);
      if (text.size() > ending.size() && std::string_view(text).substr(text.size() - ending.size()) == ending)
        return true;
    }
  }
  return false;
}

void print_problem_file(const ProblemFile& file, bool json) {
  print(json ? problem_file_json(file).str() : problem_file_text(file, output_style()));
}

/// A problem file of the library's form, given by its path; nothing where it is none.
std::optional<int> show_problem_file(const Arguments& arguments) {
  const std::vector<std::string>& texts = arguments.document.texts;
  if (texts.size() != 1 || !arguments.document.from.empty() || texts.front() == "-" || !is_file(texts.front())) {
    return std::nullopt;
  }
  const Result<SourceText> source = read_file(texts.front());
  if (!source || source->text.size() > (std::size_t{1} << 20)) return std::nullopt;
  const Result<YamlNode> tree = parse_yaml(source->text);
  if (!tree || tree->find("layers") == nullptr || tree->find("name") == nullptr) return std::nullopt;
  if (const int status = refuse_options(arguments.document); status != kDone) return status;
  const Result<ProblemFile> file = read_problem_text(*source);
  if (!file) {
    print_errors(file.error(), *source);
    return kBadInput;
  }
  print_problem_file(*file, arguments.json);
  return kDone;
}

int show_document(const Arguments& arguments) {
  const std::optional<LoadedDocument> loaded = load_document(arguments.document);
  if (!loaded) return kBadInput;
  const Document& document = loaded->document;
  if (arguments.document.layer.empty()) {
    print(arguments.json ? network_json(document, loaded->form->name).str()
                         : network_text(document, loaded->form->name, output_style()));
    return kDone;
  }
  const auto [name, part] = layer_and_part(document, arguments.document.layer);
  const auto layer = choose_layer(document, name);
  if (!layer) return fail_with(layer.error());
  std::vector<Einsum> einsums = (*layer)->cascade.einsums;
  if (!part.empty()) {
    std::vector<std::string> parts;
    for (const Einsum& einsum : einsums) parts.push_back(einsum.name);
    std::erase_if(einsums, [&](const Einsum& einsum) { return einsum.name != part; });
    if (einsums.empty()) {
      return fail_with({{{},
                         fmt::format("the layer {} has no part {}", in_quotes(name), in_quotes(part)),
                         name_hint(part, parts, "parts"),
                         {}}});
    }
  }
  print_einsums(einsums, arguments.json);
  return kDone;
}

int run(const Arguments& arguments) {
  if (are_texts(arguments.document)) {
    const std::optional<int> shown = show_problem_file(arguments);
    return shown ? *shown : show_document(arguments);
  }
  if (const int status = refuse_options(arguments.document); status != kDone) return status;
  const Library library = library_of(arguments.document.library);
  if (arguments.document.texts.empty()) return list_problems(library, arguments.json);
  const std::string& name = arguments.document.texts.front();
  if (name.find('/') != std::string::npos) return show_layer(name, library, arguments.json);
  const Result<ProblemFile> file = problem_named(name, library);
  if (!file) return fail_with(file.error());
  print_problem_file(*file, arguments.json);
  return kDone;
}

std::function<int()> declare(CommandArguments& command) {
  auto arguments = std::make_shared<Arguments>();
  DocumentArguments& document = arguments->document;
  command.positionals("NAME", document.texts, "Problem, problem/layer to paste into a spec, or files in any notation");
  command.text("--from", document.from, "FORM", "Notation of the files, where it is not recognised");
  command.text("--layer", document.layer, "NAME", "One layer of the files, to paste into a spec");
  command.comma_separated("-r,--ranks", document.ranks, "RANK=SIZE,...", "Rank sizes that a text leaves open");
  command.text("--on", document.machine, "NAME", "Machine of the library, for notations that need one");
  command.texts("--set", document.settings, "KEY=VALUE", "What a notation leaves open: batch=8");
  command.folders("--library", document.library, "DIR", "Folder with problems/, searched first");
  command.flag("--json", arguments->json, "One JSON document on standard output");
  return [arguments] { return run(*arguments); };
}

}  // namespace

Command problems_command() {
  return {"problems", "The problems of the library or of a file, or one layer",
          "Examples:\n"
          "  einflow problems resnet50\n"
          "  einflow problems resnet50/conv1\n"
          "  einflow problems config.json --set batch=16 --set phase=decode",
          declare};
}

}  // namespace einflow
