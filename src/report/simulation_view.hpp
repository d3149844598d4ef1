// Both implementations of the law side by side, for `simulate`.
#pragma once

#include <string>

#include "mapping/counts.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"
#include "simulate/simulate.hpp"

namespace einflow {

/// What `simulate` found: the executed counts, and those of the analysis to compare with.
struct SimulationReport {
  Spec spec;
  Simulation simulation;
  Counts analysis;
  bool values = true;  ///< whether real values were moved and the result checked

  bool agrees() const { return simulation.counts == analysis; }
  bool passed() const { return agrees() && simulation.result_matches; }
};

/// As JSON ("einflow-simulation-1"); `holds` are the executed counts, in the form of the analysis.
Json to_json(const SimulationReport& report);

/// The same for a terminal.
std::string to_text(const SimulationReport& report, const TextStyle& style);

}  // namespace einflow
