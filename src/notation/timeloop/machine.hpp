// From Timeloop's stages to einflow's machine and nest: the conventions that tests/reference/timeloop also follows.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "mapping/nest_builder.hpp"
#include "notation/timeloop/directives.hpp"
#include "notation/timeloop/energy.hpp"

namespace einflow::timeloop {

/// A machine, and the level of each stage (-1: the stage has no level of its own).
struct MachineOfStages {
  Machine machine;
  std::vector<int> levels;
};

/// The type that all tensors have: Timeloop counts words, and the outermost storage's width says of how many bits.
ElementType word_type(std::int64_t bits);

/// `directives` say which dummy storages keep nothing and leave only their mesh; without them all dummies do.
MachineOfStages machine_of(const Architecture& architecture, const std::map<std::string, ActionEnergies>& energies,
                           const Directives* directives, bool link_transfers, Findings& findings);

/// The nest: each stage's holds, then its loops, outermost first.
std::vector<NestLine> nest_of(const Directives& directives, const MachineOfStages& machine, const Einsum& einsum);

}  // namespace einflow::timeloop
