#include "cli/map_problem.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "base/yaml.hpp"
#include "cli/library_folders.hpp"
#include "cli/spec_input.hpp"
#include "cli/terminal.hpp"
#include "notation/library.hpp"

namespace einflow {

namespace {

const char* const kCommandLine = "<command line>";

/// A document that a command line asks for, still with every layer.
struct Loaded {
  Document document;
  SourceText source;
};

std::nullopt_t refuse(const Diagnostics& errors, const SourceText& source = {kCommandLine, {}}) {
  print_errors(errors, source);
  return std::nullopt;
}

std::nullopt_t refuse(std::string message, std::string hint) {
  return refuse(Diagnostics{{{}, std::move(message), std::move(hint), {}}});
}

bool is_file(const std::string& path) {
  struct stat status{};
  return path == "-" || (stat(path.c_str(), &status) == 0 && !S_ISDIR(status.st_mode));
}

/// Whether the text can only be a file, by its ending.
bool has_file_ending(const std::string& text) {
  for (const Form& form : forms()) {
    for (std::size_t at = form.endings.find('.'); at != std::string_view::npos; at = form.endings.find('.', at + 1)) {
      const std::string_view ending = form.endings.substr(at, form.endings.find(' ', at) - at);
      if (text.size() > ending.size() && text.ends_with(ending)) return true;
    }
  }
  return false;
}

/// A name of the library rather than a file or a text in a notation.
bool is_library_name(const std::string& text) {
  return !is_file(text) && !has_file_ending(text) && text.find_first_of("[](){}=@,> ") == std::string::npos;
}

/// Whether the file is a machine of einflow's own form and nothing else.
bool is_machine_file(const std::string& path) {
  if (path == "-" || !is_file(path)) return false;
  const auto source = read_file(path);
  if (!source || source->text.size() > (std::size_t{1} << 20)) return false;
  const auto tree = parse_yaml(source->text);
  return tree && tree->find("levels") != nullptr && tree->find("problem") == nullptr;
}

/// Takes the machine from the end of the texts, where it stands there.
bool take_machine(MapProblemArguments& arguments) {
  const std::size_t problems = arguments.problem.empty() ? 1 : 0;
  if (arguments.texts.size() <= problems) return true;
  const std::string last = arguments.texts.back();
  if (!is_library_name(last) && !is_machine_file(last)) return true;
  if (!arguments.machine.empty()) {
    refuse(fmt::format("two machines are given: {} and {}", in_quotes(last), in_quotes(arguments.machine)),
           "leave one of them out");
    return false;
  }
  arguments.machine = last;
  arguments.texts.pop_back();
  return true;
}

/// The name of the library that says what is computed, with the layer of --layer; empty where a text says it.
std::string library_path(const MapProblemArguments& arguments) {
  const std::vector<std::string>& texts = arguments.texts;
  std::string path = arguments.problem;
  if (texts.size() == 1 && arguments.from.empty() && is_library_name(texts.front())) path = texts.front();
  return path.empty() || arguments.layer.empty() ? path : path + "/" + arguments.layer;
}

/// The machine asked for; an empty one where none is. Nothing after a message.
std::optional<ReadMachine> chosen_machine(const MapProblemArguments& arguments) {
  if (arguments.machine.empty()) return ReadMachine{};
  const bool by_file = is_file(arguments.machine);
  const auto source = by_file ? read_file(arguments.machine) : Result<SourceText>(SourceText{kCommandLine, {}});
  if (!source) return refuse(source.error());
  auto machine = by_file ? read_machine_text(*source) : machine_named(arguments.machine, library_of(arguments.library));
  if (!machine) return refuse(machine.error(), *source);
  return std::move(*machine);
}

DocumentLayer single_layer(Einsum einsum) {
  DocumentLayer layer;
  layer.name = layer.cascade.name = einsum.name;
  layer.cascade.einsums.push_back(std::move(einsum));
  return layer;
}

std::string types_convention(const std::vector<std::vector<std::string>>& untyped, bool all) {
  for (const auto& tensors : untyped) {
    if (tensors.empty()) continue;
    return fmt::format("types: {} for {} (not stated)", ElementType().name,
                       all                   ? "every tensor"
                       : untyped.size() == 1 ? comma_list(tensors)
                                             : "tensors of no stated type");
  }
  return {};
}

/// The layers of a library problem: of a whole file, of a layer with several einsums, or one einsum.
std::optional<Loaded> load_library_problem(const MapProblemArguments& arguments, const std::string& path) {
  if (!arguments.ranks.empty()) {
    return refuse("-r belongs to an einsum, not to a library problem", "a library problem has its own sizes");
  }
  const Library library = library_of(arguments.library);
  const std::size_t slash = path.find('/');
  const auto file = problem_named(path.substr(0, slash), library);
  if (!file) return refuse(file.error());
  Loaded loaded{{}, {kCommandLine, {}}};
  Document& document = loaded.document;
  document.name = path;
  std::vector<std::vector<std::string>> untyped;
  std::size_t tensors = 0, without_type = 0;
  for (const Layer& layer : file->layers) {
    const bool named = slash != std::string::npos && path.substr(slash + 1) == layer.name;
    if (slash != std::string::npos && !(named && layer.cascade.einsums.size() > 1)) continue;
    document.layers.push_back({layer.name, layer.repeat, layer.cascade, {}, {}, {}});
    for (std::size_t i = 0; i < layer.untyped.size(); ++i) {
      untyped.push_back(layer.untyped[i]);
      tensors += layer.cascade.einsums[i].tensors.size();
      without_type += layer.untyped[i].size();
    }
  }
  if (document.layers.empty()) {
    auto chosen = choose_problem(path, library);
    if (!chosen) return refuse(chosen.error());
    tensors = chosen->einsum.tensors.size();
    without_type = chosen->untyped.size();
    untyped.push_back(chosen->untyped);
    document.conventions = chosen->conventions;
    document.layers.push_back(single_layer(std::move(chosen->einsum)));
  } else if (slash == std::string::npos) {
    for (const std::string& note : file->notes) document.conventions.push_back(note);
  }
  if (const std::string types = types_convention(untyped, tensors == without_type); !types.empty()) {
    document.conventions.insert(document.conventions.begin(), types);
  }
  if (arguments.types.empty()) return loaded;
  std::vector<Einsum*> einsums;
  for (DocumentLayer& layer : document.layers) {
    for (Einsum& einsum : layer.cascade.einsums) einsums.push_back(&einsum);
  }
  const auto said = override_types(arguments.types, einsums);
  if (!said) return refuse(said.error());
  document.conventions.push_back("types given with --types: " + *said);
  return loaded;
}

/// An einsum with its sizes.
std::optional<Loaded> load_einsum(const MapProblemArguments& arguments) {
  SpecArguments spec;
  static_cast<DocumentArguments&>(spec) = arguments;
  spec.machine.clear();
  std::optional<LoadedProblem> problem = load_problem(spec);
  if (!problem) return std::nullopt;
  Loaded loaded{{}, problem->source};
  loaded.document.layers.push_back(single_layer(std::move(problem->einsum)));
  loaded.document.conventions = std::move(problem->conventions);
  return loaded;
}

/// A spec without a machine, with one; any other text as it is.
std::string completed_spec(const std::string& text, const std::string& machine) {
  const auto tree = parse_yaml(text);
  if (!tree || !tree->is_map() || tree->find("problem") == nullptr || tree->find("machine") != nullptr) return text;
  const std::string part = fmt::format("\"machine\": {}", json_quoted(machine));
  const std::size_t first = text.find_first_not_of(" \t\n\r");
  if (text[first] == '{') return text.substr(0, first + 1) + part + ", " + text.substr(first + 1);
  return text + (text.ends_with('\n') ? "" : "\n") + part + "\n";
}

/// A spec of einflow's own, whose machine may be left to the command line.
std::optional<Loaded> load_own_spec(const MapProblemArguments& arguments, SourceText source) {
  if (!arguments.ranks.empty() || !arguments.types.empty()) {
    return refuse("-r and --types go with an einsum or a library problem",
                  "in a spec file, write these parts into the file");
  }
  const bool by_name = !arguments.machine.empty() && !is_file(arguments.machine);
  const std::string as_given = source.text;
  if (!arguments.machine.empty()) {
    source.text = completed_spec(source.text, by_name ? arguments.machine : "toy");
  }
  auto read = read_spec(source, library_of(arguments.library), MappingPart::optional);
  if (!read) return refuse(read.error(), source);
  if (!arguments.machine.empty()) {  // what was assumed of a machine that is not used is of no interest
    std::erase_if(read->conventions, [](const std::string& text) {
      return !text.starts_with("types: ") && !text.starts_with("the layer ");
    });
  }
  Loaded loaded{document_of(*read), std::move(source)};
  if (loaded.source.text != as_given) loaded.document.layers.front().machine.reset();
  return loaded;
}

/// Texts in any notation.
std::optional<Loaded> load_texts(const MapProblemArguments& arguments) {
  DocumentArguments document = arguments;
  if (!arguments.machine.empty() && is_file(arguments.machine)) document.machine.clear();
  std::optional<LoadedDocument> read = load_document(document);
  if (!read) return std::nullopt;
  Loaded loaded{std::move(read->document), {read->sources.front().name, {}}};
  for (const std::string& text : loaded.document.left_out) {
    loaded.document.conventions.push_back("not taken over: " + text);
  }
  return loaded;
}

std::optional<Loaded> load(const MapProblemArguments& arguments) {
  const std::vector<std::string>& texts = arguments.texts;
  if (!arguments.problem.empty() && !texts.empty()) {
    return refuse("a spec and --problem are given; one of them says what is computed", "");
  }
  if (const std::string path = library_path(arguments); !path.empty()) return load_library_problem(arguments, path);
  SpecArguments spec;
  static_cast<DocumentArguments&>(spec) = arguments;
  if (is_short_form(spec)) return load_einsum(arguments);
  const bool may_be_own = arguments.from.empty() || arguments.from == "einflow";
  if (texts.size() != 1 || !is_file(texts.front()) || !may_be_own) return load_texts(arguments);
  auto source = read_file(texts.front());
  if (!source) return refuse(source.error());
  const auto form = arguments.from.empty() ? recognised_form({*source}) : form_named(arguments.from);
  if (form && (*form)->name == "einflow") return load_own_spec(arguments, std::move(*source));
  if (texts.front() != "-") return load_texts(arguments);
  return refuse(fmt::format("standard input is in the notation {}", form ? (*form)->name : "of another tool"),
                fmt::format("--from {} says so", form ? (*form)->name : "FORM"));
}

/// The layers that --layer leaves, as einsums by themselves.
std::optional<std::vector<NetworkLayer>> chosen_layers(const Document& document, const std::string& path,
                                                       const SourceText& source) {
  if (document.layers.empty()) return refuse({{{}, "the text has no layer that einflow counts", {}, {}}}, source);
  std::vector<DocumentLayer> layers = document.layers;
  std::string part;
  if (!path.empty()) {
    const auto [name, named_part] = layer_and_part(document, path);
    const auto layer = choose_layer(document, name);
    if (!layer) return refuse(layer.error(), {source.name, {}});
    layers = {**layer};
    part = named_part;
  }
  std::vector<NetworkLayer> chosen;
  std::vector<std::string> parts;
  for (const DocumentLayer& layer : layers) {
    const bool several = layer.cascade.einsums.size() > 1;
    for (const Einsum& einsum : layer.cascade.einsums) {
      parts.push_back(einsum.name);
      if (!part.empty() && einsum.name != part) continue;
      const bool with_part = several && !einsum.name.empty();
      chosen.push_back(
          {with_part ? fmt::format("{}{}{}", layer.name, layer.name.empty() ? "" : "/", einsum.name) : layer.name,
           layer.repeat, einsum, layer.machine.value_or(Machine{})});
    }
  }
  if (chosen.empty()) {
    return refuse({{{},
                    fmt::format("the layer {} has no part {}", in_quotes(layers.front().name), in_quotes(part)),
                    name_hint(part, parts, "parts"),
                    {}}},
                  {source.name, {}});
  }
  return chosen;
}

/// Puts the machine that was asked for into every layer. Says what that replaces.
bool put_machine(const ReadMachine& machine, bool asked_for, MapProblem& problem) {
  bool replaced = false;
  for (NetworkLayer& layer : problem.layers) {
    if (!asked_for && layer.machine.levels.empty()) {
      refuse("the machine is missing",
             "it stands after the problem, or --on NAME takes one of the library; `einflow machines` lists them");
      return false;
    }
    if (!asked_for) continue;
    replaced = replaced || (!layer.machine.levels.empty() && !(layer.machine == machine.machine));
    layer.machine = machine.machine;
  }
  if (replaced) {
    problem.conventions.push_back(fmt::format("the machine of the text is not used: {} is given",
                                              machine.machine.name.empty() ? "another" : machine.machine.name));
  }
  for (const std::string& text : machine.conventions) {
    if (std::find(problem.conventions.begin(), problem.conventions.end(), text) == problem.conventions.end()) {
      problem.conventions.push_back(text);
    }
  }
  return true;
}

}  // namespace

void add_map_problem_arguments(CommandArguments& command, MapProblemArguments& arguments) {
  command.positionals("PROBLEM", arguments.texts, "What to map: library name, files, -, einsum; then the machine");
  command.text("--from", arguments.from, "FORM", "Notation of the files, where it is not recognised");
  command.text("--layer", arguments.layer, "NAME", "One layer of a network");
  command.comma_separated("-r,--ranks", arguments.ranks, "RANK=SIZE,...", "Rank sizes of an einsum: m=4096,n=4096");
  command.comma_separated("--types", arguments.types, "TENSOR=TYPE,...", "Element types: X=bf16,Y=fp32");
  command.text("--problem", arguments.problem, "NAME", "Problem of the library: resnet50/conv1, or resnet50");
  command.text("--on", arguments.machine, "NAME", "Machine of the library, or a machine file");
  command.texts("--set", arguments.settings, "KEY=VALUE", "What a notation leaves open: num_pes=256");
  command.folders("--library", arguments.library, "DIR", "Folder with machines/ and problems/, searched first");
}

std::optional<MapProblem> load_map_problem(const MapProblemArguments& given) {
  MapProblemArguments arguments = given;
  if (!take_machine(arguments)) return std::nullopt;
  const std::optional<ReadMachine> machine = chosen_machine(arguments);
  if (!machine) return std::nullopt;
  std::optional<Loaded> loaded = load(arguments);
  if (!loaded) return std::nullopt;
  const bool in_path = !library_path(arguments).empty();  // then it has been chosen
  auto layers = chosen_layers(loaded->document, in_path ? "" : arguments.layer, loaded->source);
  if (!layers) return std::nullopt;
  MapProblem problem;
  problem.name = loaded->document.name;
  problem.layers = std::move(*layers);
  problem.conventions = std::move(loaded->document.conventions);
  problem.source = std::move(loaded->source);
  if (!put_machine(*machine, !arguments.machine.empty(), problem)) return std::nullopt;
  const auto& all = loaded->document.layers;
  if (std::any_of(all.begin(), all.end(), [](const DocumentLayer& layer) { return layer.mapping.has_value(); })) {
    problem.conventions.push_back("the mapping in the text is not used: the best one is searched");
  }
  if (!problem.is_network() && problem.layers.front().repeat > 1) {
    problem.conventions.push_back(fmt::format("the layer {} occurs {} times; the figures are of one",
                                              problem.layers.front().name, problem.layers.front().repeat));
  }
  if (problem.is_network() && arguments.layer.empty()) {
    for (const Uncounted& operation : loaded->document.uncounted) {
      problem.uncounted.push_back(fmt::format(
          "{}{}{}: {}", operation.repeat == 1 ? "" : fmt::format("{} x ", operation.repeat), operation.operation,
          operation.name.empty() ? "" : " (" + operation.name + ")", operation.because));
    }
  }
  return problem;
}

}  // namespace einflow
