// Nest lines as text: "at Buffer: X W", "for k by 128", "par n into 16 on array.x".
#pragma once

#include "base/yaml.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Reads and checks a spec's `mapping`: a text of lines or a list of strings, one line each.
Result<Mapping> read_mapping(const YamlNode& node, const Einsum& einsum, const Machine& machine);

}  // namespace einflow
