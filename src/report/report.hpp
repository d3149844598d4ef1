// The answer of `analyze` as one value; its views are text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/capacity.hpp"
#include "cost/cost.hpp"
#include "mapping/stationarity.hpp"
#include "movement/derivation.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/level_derivation.hpp"

namespace einflow {

struct Report {
  Spec spec;
  Counts counts;
  Cost cost;
  std::vector<Misfit> misfits;  ///< not empty: the mapping is rejected
  std::vector<MovementOrder> orders;
  std::vector<Derivation> derivations;  ///< empty unless asked for
  std::vector<LevelDerivation> level_derivations;
  std::vector<std::string> conventions;
};

/// Counts and costs of a checked spec. `conventions` are those that the reader of the spec followed; the
/// report lists them first. Fails only where a number leaves 128 bits.
Result<Report> analyze(Spec spec, std::vector<std::string> conventions, bool with_derivations);

/// The report as `analyze --json` prints it ("einflow-report-1").
Json to_json(const Report& report);

/// The report for a terminal.
std::string to_text(const Report& report, const TextStyle& style);

}  // namespace einflow
