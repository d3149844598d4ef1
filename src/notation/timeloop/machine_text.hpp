// The `architecture` and `ERT` parts of a text that is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "notation/document.hpp"
#include "notation/timeloop/plan.hpp"

namespace einflow::timeloop {

/// What the parts are written from.
struct PlannedMachine {
  const Machine& machine;
  const Plan& plan;
  const std::vector<std::string>& names;   ///< of the plan's stages
  bool nodes = false;                      ///< v0.4
  std::int64_t bits = 16;                  ///< of a word
  std::optional<double> operation_energy;  ///< pJ
};

/// Adds the architecture to the text. Errors: figures that Timeloop cannot say.
void write_architecture(const PlannedMachine& planned, Writing& writing, Diagnostics& errors);

/// Adds the energy table, where an energy is stated.
void write_energies(const PlannedMachine& planned, Writing& writing);

}  // namespace einflow::timeloop
