// A machine for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"

namespace einflow {

/// Levels, sizes, bandwidths, energies, peaks by type (rate x instances), sources ("einflow-machine-1").
Json machine_json(const Machine& machine);

/// The same for a terminal.
std::string machine_text(const Machine& machine, const TextStyle& style);

/// One line for a list of machines: its peak and its levels.
std::string machine_summary(const Machine& machine);

}  // namespace einflow
