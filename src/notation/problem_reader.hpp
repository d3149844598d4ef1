// The problem part of a spec and the layers of library problems: an einsum, a cascade or a constructor, with
// ranks, element types, stored sizes and the executed share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/yaml.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// Keys that say what a problem is, for readers that add their own.
std::vector<std::string> problem_keys();

/// Reads the einsums of a problem, at least one; nothing where an error was added. Keys are checked against
/// problem_keys() and `more_keys`. `outer_types` gives types of a file's `types` to tensors that the node's
/// own `types` does not name; it may be nullptr.
std::optional<Cascade> read_cascade(const YamlNode& node, const std::vector<std::string>& more_keys,
                                    const YamlNode* outer_types, Diagnostics& errors);

/// The tensors of the einsum whose type neither map states.
std::vector<std::string> untyped_tensors(const Einsum& einsum, const YamlNode* types, const YamlNode* outer_types);

/// The einsum that the spec chooses: the only one, or the one named by `part`. Where that leaves it open, an error at
/// `span` lists the parts, each with `prefix` before its name.
std::optional<Einsum> choose_part(const Cascade& cascade, const std::optional<std::string>& part, const Span& span,
                                  const std::string& prefix, Diagnostics& errors);

}  // namespace einflow
