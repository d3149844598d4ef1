// MAESTRO's machine: a shared buffer, units in clusters, a buffer and a multiplier in each PE.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "machine/machine.hpp"

namespace einflow::maestro {

/// What stands between two storages, and the storage inside: a unit's memory.
struct MachinePart {
  std::vector<std::int64_t> meshes;  ///< units of each, outermost first
};

/// What a hardware file says and einflow has.
struct Hardware {
  std::optional<std::int64_t> noc_bandwidth;  ///< elements per cycle, of the network at every level
  std::optional<std::int64_t> l1_elements;
};

/// L2, C1, C2, ..., L1 and MAC, with meshes array0, array1, ... of one axis `unit`: one storage inside every part.
Machine machine_of(std::int64_t pes, const std::vector<MachinePart>& parts, const Hardware& hardware);

}  // namespace einflow::maestro
