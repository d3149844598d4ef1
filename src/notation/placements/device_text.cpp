#include "notation/placements/device_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/yaml.hpp"
#include "notation/fields.hpp"
#include "notation/library.hpp"
#include "notation/machine_reader.hpp"
#include "notation/mapping_reader.hpp"
#include "notation/placements/derivation.hpp"
#include "notation/placements/spelling.hpp"
#include "notation/problem_reader.hpp"
#include "notation/spec_writer.hpp"

namespace einflow::placements {

namespace {

class DeviceTextReader {
 public:
  DeviceTextReader(const SourceText& source, const ReadOptions& options, Words words)
      : source_(source), options_(options), words_(words) {}

  Result<Document> read() {
    const auto tree = parse_yaml(source_.text);
    if (!tree) return tl::unexpected(tree.error());
    const Fields fields(*tree, fmt::format("a text with {} placements", name_of(words_)),
                        {"problem", "machine", "mesh", "placements", "nest"}, errors_);
    if (!tree->is_map()) return failed();
    std::optional<Einsum> einsum;
    std::optional<StatedMesh> mesh;
    if (const YamlNode* node = fields.require("problem", "problem: an einsum with its ranks, or a library name")) {
      einsum = read_problem(*node);
    }
    if (const YamlNode* node = fields.require("mesh", words_ == Words::dtensor
                                                          ? "mesh: DeviceMesh((2, 4), mesh_dim_names=(\"dp\", \"tp\"))"
                                                          : "mesh: Mesh((2, 4), ('dp', 'tp'))")) {
      mesh = read_mesh(words_, *node, errors_);
    }
    machine_ = options_.machine;
    const YamlNode* machine_node = fields.find("machine");
    if (machine_node != nullptr && machine_) {
      add_error(errors_, machine_node->span, "the text has a machine and --on gives another", "leave one of them out");
    } else if (machine_node != nullptr) {
      machine_ = read_machine(*machine_node, errors_, conventions_);
      if (!machine_) return failed();
    }
    const YamlNode* states =
        fields.require("placements", words_ == Words::dtensor ? "X: [Shard(0), Replicate()]" : "X: P('dp', None)");
    if (!einsum || !mesh || states == nullptr) return failed();
    const auto tensors = read_tensors(*states, *einsum, *mesh);
    if (!tensors || !errors_.empty()) return failed();
    auto assignment = assignment_from(words_, *einsum, *mesh, *tensors, errors_);
    if (!assignment) return failed();
    auto machine = machine_for(*assignment, *mesh);
    if (!machine) return failed();
    auto mapping = read_nest(fields.find("nest"), *einsum, *machine, *assignment);
    if (!mapping) return failed();
    return finished(std::move(*einsum), std::move(*machine), std::move(*mapping));
  }

 private:
  tl::unexpected<Diagnostics> failed() {
    sort_by_place(errors_);
    return tl::unexpected(std::move(errors_));
  }

  Result<Document> finished(Einsum einsum, Machine machine, Mapping mapping) {
    ReadSpec read{{std::move(einsum), std::move(machine), std::move(mapping)}, std::move(conventions_)};
    return document_of(read);
  }

  std::optional<Einsum> read_problem(const YamlNode& node) {
    if (node.is_scalar()) {
      auto chosen = choose_problem(node.text, options_.library);
      if (!chosen) {
        for (Diagnostic error : chosen.error()) {
          if (error.source.empty()) error.span = node.span;
          errors_.push_back(std::move(error));
        }
        return std::nullopt;
      }
      conventions_ = std::move(chosen->conventions);
      return std::move(chosen->einsum);
    }
    const auto cascade = read_cascade(node, {"part"}, nullptr, errors_);
    if (!cascade) return std::nullopt;
    const YamlNode* part = node.find("part");
    std::optional<std::string> name;
    if (part != nullptr && !(name = read_text(*part, "'part'", errors_))) return std::nullopt;
    auto einsum = choose_part(*cascade, name, part != nullptr ? part->span : node.span, "", errors_);
    if (!einsum) return einsum;
    const std::vector<std::string> untyped = untyped_tensors(*einsum, node.find("types"), nullptr);
    if (!untyped.empty()) {
      conventions_.push_back(
          fmt::format("types: {} for {} (not stated)", ElementType().name,
                      untyped.size() == einsum->tensors.size() ? "every tensor" : comma_list(untyped)));
    }
    return einsum;
  }

  std::optional<std::vector<StatedTensor>> read_tensors(const YamlNode& node, const Einsum& einsum,
                                                        const StatedMesh& mesh) {
    std::vector<std::string> names;
    for (const Tensor& tensor : einsum.tensors) names.push_back(tensor.name);
    const Fields fields(node, "the placements", names, errors_);
    if (!node.is_map()) return std::nullopt;
    std::vector<StatedTensor> tensors;
    bool good = true;
    for (const Tensor& tensor : einsum.tensors) {
      const YamlNode* value = fields.require(tensor.name, "every tensor of the einsum has a line");
      if (value == nullptr) {
        good = false;
        continue;
      }
      auto stated = words_ == Words::dtensor ? read_dtensor_states(*value, tensor, mesh, errors_)
                                             : read_partition_spec(*value, tensor, mesh, errors_);
      good = good && stated;
      if (stated) tensors.push_back(std::move(*stated));
    }
    if (!good) return std::nullopt;
    return tensors;
  }

  /// --on's machine, in which the axes are found, or one made of the mesh. Puts levels and axes into the assignment.
  std::optional<Machine> machine_for(Assignment& assignment, const StatedMesh& mesh) {
    const std::size_t before = errors_.size();
    const auto place = [&](const std::string& name) {
      return static_cast<std::size_t>(std::find(mesh.names.begin(), mesh.names.end(), name) - mesh.names.begin());
    };
    if (!machine_) {
      Assignment in_order = assignment;  // as the text lists them
      std::sort(in_order.begin(), in_order.end(),
                [&](const SplitAxis& a, const SplitAxis& b) { return place(a.name) < place(b.name); });
      for (SplitAxis& split : assignment) {
        split.mesh = 1;
        split.axis = static_cast<int>(place(split.name));
        if (is_axis_name(split.name)) continue;
        add_error(errors_, mesh.name_spans[place(split.name)],
                  fmt::format("{} is no name of an axis here: letters, digits, _ and -, not a digit first",
                              in_quotes(split.name)),
                  "MESH.AXIS names an axis of the machine that --on gives");
      }
      if (errors_.size() != before) return std::nullopt;
      conventions_.emplace_back(
          "no --on, so the machine is a plain one: HBM that all devices share, a mesh with multicast and reduction, "
          "memory "
          "in each device, a MAC");
      return device_machine(in_order);
    }
    for (SplitAxis& split : assignment) find_axis(split, mesh.name_spans[place(split.name)]);
    if (errors_.size() != before) return std::nullopt;
    return machine_;
  }

  static bool is_axis_name(const std::string& name) {
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && name.size() <= 200 && letter(name.front()) &&
           std::all_of(name.begin(), name.end(),
                       [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; });
  }

  void find_axis(SplitAxis& split, const Span& span) {
    const Machine& machine = *machine_;
    std::vector<std::string> names;
    std::vector<std::pair<int, int>> found;
    for (int level = 0; level < machine.compute_level(); ++level) {
      const Mesh* mesh = machine.mesh(level);
      if (mesh == nullptr) continue;
      for (int axis = 0; axis < static_cast<int>(mesh->axes.size()); ++axis) {
        const std::string& name = mesh->axes[static_cast<std::size_t>(axis)].name;
        names.push_back(axis_name(machine, level, axis));
        if (split.name == name || split.name == mesh->name + "." + name) found.emplace_back(level, axis);
      }
    }
    if (found.size() != 1) {
      add_error(errors_, span,
                found.empty()
                    ? fmt::format("{} has no mesh axis {}", machine.name, in_quotes(split.name))
                    : fmt::format("several meshes of {} have an axis {}", machine.name, in_quotes(split.name)),
                found.empty() ? name_hint(split.name, names, "axes") : "axes: " + comma_list(names));
      return;
    }
    split.mesh = found.front().first;
    split.axis = found.front().second;
    const std::int64_t size = machine.mesh(split.mesh)->axes[static_cast<std::size_t>(split.axis)].size;
    if (size == split.size) return;
    add_error(
        errors_, span,
        fmt::format("{} has {} devices here and {} in {}", in_quotes(split.name), split.size, size, machine.name));
  }

  std::optional<Mapping> read_nest(const YamlNode* node, const Einsum& einsum, const Machine& machine,
                                   const Assignment& assignment) {
    if (node == nullptr) {
      conventions_.emplace_back(
          "the text has no nest: each device holds its shards and goes through them one element (or atomic shape) at a "
          "time, "
          "in the order of the einsum's ranks");
      auto mapping = parse_mapping(device_nest(einsum, machine, assignment), einsum, machine);
      if (mapping) return std::move(*mapping);
      for (const Diagnostic& error : mapping.error()) {
        add_error(errors_, {}, "the nest of the placements does not fit the machine: " + error.message, error.hint);
      }
      return std::nullopt;
    }
    auto mapping = read_mapping(*node, einsum, machine);
    if (!mapping) {
      for (Diagnostic& error : mapping.error()) errors_.push_back(std::move(error));
      return std::nullopt;
    }
    const std::string fault = difference({einsum, machine, *mapping}, assignment);
    if (fault.empty()) return std::move(*mapping);
    add_error(errors_, node->span, "the nest and the placements differ: " + fault,
              "leave the nest out, or change one of them");
    return std::nullopt;
  }

  /// Where the nest's loops over the mesh are not those that follow from the placements.
  std::string difference(const Spec& spec, const Assignment& assignment) const {
    std::set<int> meshes;
    for (const SplitAxis& split : assignment) meshes.insert(split.mesh);
    auto next = std::find_if(assignment.begin(), assignment.end(), splits);
    for (int i = 0; i < static_cast<int>(spec.mapping.loops.size()); ++i) {
      const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
      if (!loop.spatial || meshes.count(loop.mesh) == 0) continue;
      const PlacedLoop placed = placed_loop(spec, i, words_, meshes);
      const std::string& rank = spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
      if (next == assignment.end() || next->mesh != loop.mesh || next->axis != loop.axis || next->rank != loop.rank) {
        return fmt::format("the nest splits {} on {}{}", rank, placed.split.name,
                           next == assignment.end()
                               ? ""
                               : fmt::format(" where {} on {} is stated",
                                             spec.einsum.ranks[static_cast<std::size_t>(next->rank)].name, next->name));
      }
      if (!placed.faults.empty()) return fmt::format("{} on {}: {}", rank, placed.split.name, placed.faults.front());
      next = std::find_if(next + 1, assignment.end(), splits);
    }
    if (next == assignment.end()) return {};
    return fmt::format("the nest has no loop on {}", next->name);
  }

  static bool splits(const SplitAxis& split) { return split.rank >= 0; }

  const SourceText& source_;
  const ReadOptions& options_;
  Words words_;
  std::optional<Machine> machine_;  ///< --on's or the text's own
  std::vector<std::string> conventions_;
  Diagnostics errors_;
};

/// The text on which the spec is the only answer, apart from its machine.
Result<Writing> write_spec_text(const Spec& spec, Words words) {
  const auto assignment = assignment_of(spec, words);
  if (!assignment) return tl::unexpected(assignment.error());
  Writing writing;
  writing.text = words == Words::dtensor
                     ? "# Placements as torch.distributed.tensor spells them, one for each mesh axis.\n"
                     : "# Shardings as jax.sharding spells them; P is PartitionSpec.\n";
  writing.text += problem_text(spec.einsum);
  if (!(device_machine(*assignment) == spec.machine)) {
    const auto machine = machine_text(spec.machine);
    if (!machine) return tl::unexpected(machine.error());
    writing.text += *machine;
    writing.conventions.push_back(
        fmt::format("`machine:` is einflow's own: {} has no word for what devices are made of", name_of(words)));
  }
  writing.text += "mesh: " + mesh_text(words, *assignment) + "\nplacements:\n";
  for (int t = 0; t < static_cast<int>(spec.einsum.tensors.size()); ++t) {
    writing.text += fmt::format("  {}: {}\n", spec.einsum.tensors[static_cast<std::size_t>(t)].name,
                                tensor_text(words, spec.einsum, t, *assignment));
  }
  const auto plain = parse_mapping(device_nest(spec.einsum, spec.machine, *assignment), spec.einsum, spec.machine);
  if (!plain || !(*plain == spec.mapping)) {
    writing.text += "nest: |\n";
    const std::string nest = to_text(spec.mapping, spec.einsum, spec.machine);
    for (std::size_t begin = 0; begin < nest.size();) {
      const std::size_t end = nest.find('\n', begin);
      writing.text += "  " + nest.substr(begin, end - begin) + "\n";
      begin = end + 1;
    }
    writing.conventions.push_back(
        fmt::format("{} says where tensors are; `nest:` is einflow's own and says what a device does", name_of(words)));
  }
  for (const SplitAxis& split : *assignment) {
    if (words != Words::jax || spec.einsum.has_rank(spec.einsum.output(), split.rank)) continue;
    writing.conventions.push_back(fmt::format(
        "{} is partial over '{}': {} is summed over. A PartitionSpec has no word for it; XLA inserts an "
        "all-reduce, or a reduce-scatter where the next use is split",
        spec.einsum.tensors.back().name, split.name, spec.einsum.ranks[static_cast<std::size_t>(split.rank)].name));
  }
  return writing;
}

}  // namespace

Result<Document> read_device_text(const std::vector<SourceText>& sources, const ReadOptions& options, Words words) {
  if (sources.size() != 1) return fail(fmt::format("{} placements are one file", name_of(words)));
  if (!options.settings.empty() || !options.ranks.empty()) {
    return fail("--set and -r are not for placements", "sizes stand under `problem:`");
  }
  return DeviceTextReader(sources.front(), options, words).read();
}

Result<Writing> write_device_text(const Document& document, Words words) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  const auto spec = spec_of(**layer);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->mapping.holds.empty())
    return fail("placements are those of par loops, and there is no mapping", "--mapping FILE");
  auto writing = write_spec_text(*spec, words);
  if (!writing) return writing;
  // Whatever the spec holds, no text leaves here that does not read back.
  const ReadOptions options;
  const std::vector<SourceText> sources{SourceText{"written", writing->text}};
  const auto again = read_device_text(sources, options, words);
  if (!again) return fail(fmt::format("the text would not read back: {}", again.error().front().message));
  return writing;
}

}  // namespace einflow::placements
