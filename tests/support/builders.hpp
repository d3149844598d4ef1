// Specs for tests in a line or two: toy machines and nests as text.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "mapping/mapping.hpp"

namespace einflow::testing {

/// What a mesh's network can do.
struct Abilities {
  bool multicast = false;
  bool reduction = false;
  bool forwarding = false;
};

Storage storage(const std::string& name);
/// Separate ports, in bytes per cycle.
Storage storage(const std::string& name, const Ratio& read_bandwidth, const Ratio& write_bandwidth,
                bool double_buffered = false);
/// One axis x.
Mesh mesh(const std::string& name, std::int64_t size, Abilities abilities);
/// Axes x and y.
Mesh mesh(const std::string& name, std::int64_t x, std::int64_t y, Abilities abilities);
Compute compute(const std::string& name, std::vector<std::pair<std::string, std::int64_t>> atomic = {},
                bool operand_latches = false);
Machine machine(std::vector<Level> levels);

/// DRAM, Buffer, MAC.
Machine two_level();
/// DRAM, Buffer, a mesh `array` with axes x and y, RF, MAC.
Machine array_machine(std::int64_t x, std::int64_t y, Abilities abilities);

/// An einsum from text with its ranks' extents; throws std::runtime_error with the messages where the text is wrong.
Einsum einsum(const std::string& text, std::initializer_list<std::pair<std::string, std::int64_t>> extents);

/// The spec with these nest lines; throws std::runtime_error with the messages where they do not fit.
Spec spec(const Einsum& einsum, const Machine& machine, const std::string& nest);

}  // namespace einflow::testing
