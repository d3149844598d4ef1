#include "notation/spec_reader.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/message.hpp"
#include "base/yaml.hpp"
#include "notation/fields.hpp"
#include "notation/library.hpp"
#include "notation/machine_reader.hpp"
#include "notation/mapping_reader.hpp"
#include "notation/problem_reader.hpp"

namespace einflow {
namespace {

/// Adds errors of a library entry; those about the name itself point at where it was used.
void add_library_errors(Diagnostics& errors, const Diagnostics& from, const Span& used) {
  for (Diagnostic error : from) {
    if (error.source.empty()) error.span = used;
    errors.push_back(std::move(error));
  }
}

void tell_types(const Einsum& einsum, const std::vector<std::string>& untyped, std::vector<std::string>& conventions) {
  if (untyped.empty()) return;
  const bool all = untyped.size() == einsum.tensors.size();
  conventions.push_back(
      fmt::format("types: {} for {} (not stated)", ElementType().name, all ? "every tensor" : comma_list(untyped)));
}

/// `part`, or `einsum_name`, which means the same.
const YamlNode* part_name(const YamlNode& node, Diagnostics& errors) {
  const YamlNode *part = node.find("part"), *einsum = node.find("einsum_name");
  if (part != nullptr && einsum != nullptr) {
    add_error(errors, einsum->span, "'einsum_name' and 'part' mean the same; give one of them");
  }
  return part != nullptr ? part : einsum;
}

std::optional<Einsum> read_problem(const YamlNode& node, const Library& library, Diagnostics& errors,
                                   std::vector<std::string>& conventions) {
  if (node.is_scalar()) {
    auto chosen = choose_problem(node.text, library);
    if (!chosen) {
      add_library_errors(errors, chosen.error(), node.span);
      return std::nullopt;
    }
    tell_types(chosen->einsum, chosen->untyped, conventions);
    for (std::string& convention : chosen->conventions) conventions.push_back(std::move(convention));
    return std::move(chosen->einsum);
  }
  const auto cascade = read_cascade(node, {"part", "einsum_name"}, nullptr, errors);
  if (!cascade) return std::nullopt;
  const YamlNode* part = part_name(node, errors);
  std::optional<std::string> name;
  if (part != nullptr && !(name = read_text(*part, "'part'", errors))) return std::nullopt;
  auto einsum = choose_part(*cascade, name, part != nullptr ? part->span : node.span, "", errors);
  if (einsum) tell_types(*einsum, untyped_tensors(*einsum, node.find("types"), nullptr), conventions);
  return einsum;
}

std::optional<Machine> read_machine_part(const YamlNode& node, const Library& library, Diagnostics& errors,
                                         std::vector<std::string>& conventions) {
  if (!node.is_scalar()) return read_machine(node, errors, conventions);
  auto named = machine_named(node.text, library);
  if (!named) {
    add_library_errors(errors, named.error(), node.span);
    return std::nullopt;
  }
  for (std::string& convention : named->conventions) conventions.push_back(std::move(convention));
  return std::move(named->machine);
}

void read_version(const Fields& fields, Diagnostics& errors) {
  const YamlNode* version = fields.find("einflow");
  if (version == nullptr || (version->is_scalar() && version->text == "1")) return;
  add_error(errors, version->span, fmt::format("found {}, expected version 1 of the format", describe(*version)),
            "einflow: 1");
}

}  // namespace

Result<ReadSpec> read_spec(const SourceText& source, const Library& library, MappingPart mapping_part) {
  const auto tree = parse_yaml(source.text);
  if (!tree) return tl::unexpected(tree.error());
  Diagnostics errors;
  ReadSpec read;
  const Fields fields(*tree, "the spec", {"einflow", "problem", "machine", "mapping"}, errors);
  if (!tree->is_map()) return tl::unexpected(std::move(errors));
  read_version(fields, errors);

  std::optional<Einsum> einsum;
  std::optional<Machine> machine;
  if (const YamlNode* problem = fields.require("problem", "problem: an einsum with its ranks, or a library name")) {
    einsum = read_problem(*problem, library, errors, read.conventions);
  }
  if (const YamlNode* node = fields.require("machine", "machine: a list of levels, or a library name")) {
    machine = read_machine_part(*node, library, errors, read.conventions);
  }
  const bool wanted = mapping_part == MappingPart::required;
  const YamlNode* nest =
      wanted ? fields.require("mapping", "mapping: the lines of the nest, outermost first") : fields.find("mapping");
  if (nest != nullptr && einsum && machine) {
    auto mapping = read_mapping(*nest, *einsum, *machine);
    if (mapping) {
      read.spec.mapping = std::move(*mapping);
    } else {
      for (Diagnostic& error : mapping.error()) errors.push_back(std::move(error));
    }
  }
  if (!errors.empty()) {
    sort_by_place(errors);
    return tl::unexpected(std::move(errors));
  }
  if (einsum->executed.share < Ratio(Count(1))) {
    const Ratio& share = einsum->executed.share;
    read.conventions.push_back(fmt::format("executed: {}/{} of the operations ({}), as declared",
                                           share.numerator().str(), share.denominator().str(),
                                           einsum->executed.because));
  }
  read.spec.einsum = std::move(*einsum);
  read.spec.machine = std::move(*machine);
  return read;
}

}  // namespace einflow
