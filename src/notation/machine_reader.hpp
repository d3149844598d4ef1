// The machine part of a spec, and library machines: the same keys.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/yaml.hpp"
#include "machine/machine.hpp"

namespace einflow {

/// Reads and checks a machine. Nothing where an error was added. `conventions` receives what was assumed where
/// the text is silent.
std::optional<Machine> read_machine(const YamlNode& node, Diagnostics& errors, std::vector<std::string>& conventions);

}  // namespace einflow
