// From a nest on a machine to levels of directives: the way back from levels.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/mapping.hpp"
#include "notation/maestro/classify.hpp"

namespace einflow::maestro {

/// One map of a level, in ranks of the canonical einsum; the tile is what is left where it takes the whole rank.
struct PlannedMap {
  int rank = 0;
  std::int64_t tile = 1;
  bool spatial = false;
};

struct PlannedLevel {
  std::int64_t units = 1;
  std::vector<PlannedMap> maps;  ///< those with several positions, and one spatial map at least
};

/// Outermost first, at most four. Errors: what of the nest or its machine MAESTRO cannot say, and why.
Result<std::vector<PlannedLevel>> plan(const Classified& operation, const Machine& machine, const Mapping& mapping);

}  // namespace einflow::maestro
