// One level of a machine: storage, mesh or compute.
#pragma once

#include <optional>

#include "base/yaml.hpp"
#include "machine/machine.hpp"

namespace einflow {

struct ReadLevel {
  Level level;
  Span name_span;
};

/// Reads a level. Only the clock of `machine` is used: figures per second become figures per cycle. Nothing where
/// even the kind or the name is unclear; other errors are added and the level is returned for further checks.
std::optional<ReadLevel> read_level(const YamlNode& node, const Machine& machine, Diagnostics& errors);

}  // namespace einflow
