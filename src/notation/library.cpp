#include "notation/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "base/message.hpp"
#include "base/yaml.hpp"
#include "notation/cluster_reader.hpp"
#include "notation/fields.hpp"
#include "notation/machine_reader.hpp"
#include "notation/model_reader.hpp"
#include "notation/problem_reader.hpp"

namespace einflow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaximumBytes = std::size_t{1} << 20;
constexpr std::size_t kMaximumLayers = 10000;

/// A file name without folders: letters, digits, '_', '-' and '.', and no '.' in front.
bool is_entry_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  return !name.empty() && name.size() <= 100 && name[0] != '.' && name.find_first_not_of(kAllowed) == name.npos;
}

std::vector<std::string> entry_names(const Library& library, const std::string& kind) {
  std::set<std::string> names;
  for (const std::string& folder : library.folders) {
    std::error_code failed;
    for (fs::directory_iterator entry(fs::path(folder) / kind, failed), end; !failed && entry != end;
         entry.increment(failed)) {
      if (entry->path().extension() == ".yaml") names.insert(entry->path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

Result<SourceText> entry_text(const Library& library, const std::string& kind, const std::string& name,
                              const std::string& thing);

/// Whether the file of machines/ has the key `networks`.
bool is_cluster_entry(const Library& library, const std::string& name) {
  const auto source = entry_text(library, "machines", name, "machine");
  if (!source || source->text.find("networks") == std::string::npos) return false;
  const auto tree = parse_yaml(source->text);
  return tree && is_cluster(*tree);
}

/// Names of all things ("machine", "cluster", "model", "problem") of that kind.
std::vector<std::string> names_of(const Library& library, const std::string& thing) {
  if (thing == "problem" || thing == "model") return entry_names(library, thing + "s");
  std::vector<std::string> names = entry_names(library, "machines");
  std::erase_if(names, [&](const std::string& name) {
    return is_entry_name(name) && is_cluster_entry(library, name) != (thing == "cluster");
  });
  return names;
}

/// The text of DIR/kind/name.yaml; its source name is "kind/name.yaml". Errors call it a `thing`.
Result<SourceText> entry_text(const Library& library, const std::string& kind, const std::string& name,
                              const std::string& thing) {
  if (!is_entry_name(name)) {
    return fail(fmt::format("{} is not a name of a library {}: letters, digits, '_', '-' and '.' only", in_quotes(name),
                            thing));
  }
  for (const std::string& folder : library.folders) {
    const fs::path path = fs::path(folder) / kind / (name + ".yaml");
    std::error_code failed;
    if (!fs::is_regular_file(path, failed)) continue;
    std::ifstream file(path, std::ios::binary);
    SourceText source{fmt::format("{}/{}.yaml", kind, name), std::string(kMaximumBytes + 1, '\0')};
    file.read(source.text.data(), static_cast<std::streamsize>(source.text.size()));
    if (file.bad() || (file.fail() && !file.eof())) return fail(fmt::format("{} cannot be read", path.string()));
    source.text.resize(static_cast<std::size_t>(file.gcount()));
    return source;
  }
  return fail(fmt::format("unknown {} {}", thing, in_quotes(name)),
              name_hint(name, names_of(library, thing), thing + "s"));
}

/// The error of a cluster in a machine's place.
tl::unexpected<Diagnostics> not_a_machine(const YamlNode& cluster, const std::string& name) {
  const YamlNode* device = cluster.find("device");
  const bool named = device != nullptr && device->is_scalar();
  return fail(fmt::format("{} is a cluster, not a machine", in_quotes(name)),
              named ? fmt::format("its devices are {}", in_quotes(device->text)) : "take the machine of one device");
}

/// The same errors, about this source.
tl::unexpected<Diagnostics> from_source(Diagnostics errors, const std::string& source) {
  for (Diagnostic& error : errors) error.source = source;
  sort_by_place(errors);
  return tl::unexpected(std::move(errors));
}

std::optional<Layer> read_layer(const YamlNode& node, const YamlNode* outer_types, Diagnostics& errors) {
  auto cascade = read_cascade(node, {"repeat"}, outer_types, errors);
  const YamlNode* name = node.is_map() ? node.find("name") : nullptr;
  if (node.is_map() && name == nullptr) add_error(errors, node.span, "'name' is missing in the layer");
  if (name != nullptr && (!name->is_scalar() || !is_entry_name(name->text))) {
    add_error(errors, name->span,
              fmt::format("{} is not a name of a layer: letters, digits, '_', '-' and '.' only", describe(*name)));
  }
  Layer layer;
  if (const YamlNode* repeat = node.find("repeat")) {
    layer.repeat = read_integer(*repeat, "'repeat'", 1, errors).value_or(1);
  }
  if (!cascade) return std::nullopt;
  layer.name = cascade->name;
  layer.cascade = std::move(*cascade);
  for (const Einsum& einsum : layer.cascade.einsums) {
    layer.untyped.push_back(untyped_tensors(einsum, node.find("types"), outer_types));
  }
  return layer;
}

/// A tensor of the file's `types` that no layer has is a misspelling.
void check_outer_types(const YamlNode* types, const std::vector<Layer>& layers, Diagnostics& errors) {
  if (types == nullptr || !types->is_map()) return;
  std::set<std::string> tensors;
  for (const Layer& layer : layers) {
    for (const Einsum& einsum : layer.cascade.einsums) {
      for (const Tensor& tensor : einsum.tensors) tensors.insert(tensor.name);
    }
  }
  for (const auto& [key, value] : types->entries) {
    if (enough_errors(errors)) return;
    if (tensors.count(key.text) > 0) continue;
    add_error(errors, key.span, fmt::format("unknown tensor {}: no layer has it", in_quotes(key.text)),
              name_hint(key.text, {tensors.begin(), tensors.end()}, "tensors"));
  }
}

std::vector<std::string> layer_names(const ProblemFile& file, const std::string& prefix) {
  std::vector<std::string> names;
  for (const Layer& layer : file.layers) names.push_back(prefix + layer.name);
  return names;
}

std::vector<std::string> split_path(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t from = 0;;) {
    const std::size_t slash = path.find('/', from);
    parts.push_back(path.substr(from, slash == path.npos ? path.npos : slash - from));
    if (slash == path.npos) return parts;
    from = slash + 1;
  }
}

}  // namespace

Result<ReadMachine> read_machine_text(const SourceText& source) {
  const auto tree = parse_yaml(source.text);
  if (!tree) return from_source(tree.error(), source.name);
  if (is_cluster(*tree)) return from_source(not_a_machine(*tree, source.name).value(), source.name);
  Diagnostics errors;
  ReadMachine read;
  auto machine = read_machine(*tree, errors, read.conventions);
  if (!machine || !errors.empty()) return from_source(std::move(errors), source.name);
  read.machine = std::move(*machine);
  return read;
}

Result<ProblemFile> read_problem_text(const SourceText& source) {
  const auto tree = parse_yaml(source.text);
  if (!tree) return from_source(tree.error(), source.name);
  Diagnostics errors;
  ProblemFile file;
  const Fields fields(*tree, "the problem file", {"name", "source", "notes", "types", "layers"}, errors);
  file.name = fields.text("name").value_or("");
  file.source = fields.text("source").value_or("");
  if (const YamlNode* notes = fields.find("notes")) file.notes = read_texts(*notes, "'notes'", errors);
  const YamlNode* types = fields.find("types");
  const YamlNode* layers = fields.require("layers");
  if (layers != nullptr && (!layers->is_list() || layers->items.empty() || layers->items.size() > kMaximumLayers)) {
    add_error(errors, layers->span,
              fmt::format("found {}, expected a list of 1 to {} layers",
                          layers->is_list() ? fmt::format("{} layers", layers->items.size()) : describe(*layers),
                          kMaximumLayers));
    layers = nullptr;
  }
  std::set<std::string> names;
  for (std::size_t i = 0; layers != nullptr && i < layers->items.size(); ++i) {
    auto layer = read_layer(layers->items[i], types, errors);
    if (!layer) continue;
    if (!names.insert(layer->name).second) {
      add_error(errors, layers->items[i].span, fmt::format("a layer {} was already given", in_quotes(layer->name)));
    }
    file.layers.push_back(std::move(*layer));
  }
  if (errors.empty()) check_outer_types(types, file.layers, errors);
  if (!errors.empty()) return from_source(std::move(errors), source.name);
  return file;
}

Result<ReadMachine> machine_named(const std::string& name, const Library& library) {
  const auto source = entry_text(library, "machines", name, "machine");
  if (!source) return tl::unexpected(source.error());
  if (const auto tree = parse_yaml(source->text); tree && is_cluster(*tree)) return not_a_machine(*tree, name);
  auto read = read_machine_text(*source);
  if (read && read->machine.name.empty()) read->machine.name = name;
  return read;
}

Result<cluster::Cluster> cluster_named(const std::string& name, const Library& library) {
  const auto source = entry_text(library, "machines", name, "cluster");
  if (!source) return tl::unexpected(source.error());
  if (const auto tree = parse_yaml(source->text); tree && !is_cluster(*tree)) {
    return fail(fmt::format("{} is a machine, not a cluster", in_quotes(name)),
                "clusters: " + comma_list(cluster_names(library)));
  }
  auto read = read_cluster_text(*source, library);
  if (read && read->name.empty()) read->name = name;
  return read;
}

Result<cluster::Transformer> model_named(const std::string& name, const Library& library) {
  const auto source = entry_text(library, "models", name, "model");
  if (!source) return tl::unexpected(source.error());
  auto model = read_model_text(*source);
  if (model && model->name.empty()) model->name = name;
  return model;
}

Result<ProblemFile> problem_named(const std::string& name, const Library& library) {
  const auto source = entry_text(library, "problems", name, "problem");
  if (!source) return tl::unexpected(source.error());
  auto file = read_problem_text(*source);
  if (file && file->name.empty()) file->name = name;
  return file;
}

Result<ChosenProblem> choose_problem(const std::string& path, const Library& library) {
  const std::vector<std::string> names = split_path(path);
  if (names.size() > 3) return fail(fmt::format("{} is not FILE, FILE/LAYER or FILE/LAYER/PART", in_quotes(path)));
  const auto file = problem_named(names[0], library);
  if (!file) return tl::unexpected(file.error());
  const Layer* chosen = nullptr;
  for (const Layer& layer : file->layers) {
    if (names.size() == 1 ? file->layers.size() == 1 : layer.name == names[1]) chosen = &layer;
  }
  const std::vector<std::string> layers = layer_names(*file, names[0] + "/");
  if (chosen == nullptr && names.size() == 1) {
    return fail(fmt::format("the problem {} has {} layers; choose one", in_quotes(path), layers.size()),
                "layers: " + comma_list(layers));
  }
  if (chosen == nullptr) {
    const std::string nearest = nearest_name(names[1], layer_names(*file, ""));
    return fail(fmt::format("the problem {} has no layer {}", in_quotes(names[0]), in_quotes(names[1])),
                nearest.empty() ? "layers: " + comma_list(layers)
                                : fmt::format("did you mean {}?", in_quotes(names[0] + "/" + nearest)));
  }
  Diagnostics errors;
  const std::optional<std::string> part = names.size() == 3 ? std::optional<std::string>(names[2]) : std::nullopt;
  const auto einsum = choose_part(chosen->cascade, part, {}, fmt::format("{}/{}/", names[0], chosen->name), errors);
  if (!einsum) return tl::unexpected(std::move(errors));
  ChosenProblem problem{*einsum, {}, {}};
  for (std::size_t i = 0; i < chosen->cascade.einsums.size(); ++i) {
    if (chosen->cascade.einsums[i].name == einsum->name) problem.untyped = chosen->untyped[i];
  }
  problem.einsum.name =
      part ? fmt::format("{}/{}/{}", names[0], chosen->name, *part) : fmt::format("{}/{}", names[0], chosen->name);
  if (chosen->repeat > 1) {
    problem.conventions.push_back(fmt::format("the layer {} occurs {} times in {}; the figures are of one",
                                              chosen->name, chosen->repeat, file->name));
  }
  return problem;
}

std::vector<std::string> machine_names(const Library& library) { return names_of(library, "machine"); }
std::vector<std::string> cluster_names(const Library& library) { return names_of(library, "cluster"); }
std::vector<std::string> model_names(const Library& library) { return names_of(library, "model"); }
std::vector<std::string> problem_names(const Library& library) { return names_of(library, "problem"); }

}  // namespace einflow
