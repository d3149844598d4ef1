// Where the numbers of levels come from: sums of the holds' counts, bytes, cycles, energy, with values put in.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/diagnostic.hpp"
#include "cost/cost.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// One number of a level (or of the compute level) and the arithmetic that gives it: numbers, + - * /, brackets,
/// max(..) and ceil(..).
struct LevelDerivation {
  std::string level;
  std::string quantity;  ///< "reads of X", "bytes_read", "occupancy_bytes", "cycles", "energy_pj"
  std::variant<Count, Ratio, double> value;
  std::string symbolic;
  std::string formula;
};

Result<std::vector<LevelDerivation>> derive_levels(const Spec& spec, const Counts& counts, const Cost& cost);

}  // namespace einflow
