// Which of MAESTRO's operations an einsum is.
#pragma once

#include <string>
#include <vector>

#include "notation/maestro/operation.hpp"

namespace einflow::maestro {

/// The operation and the ranks of its dimensions.
struct Classified {
  Shape shape;
  Einsum canonical;          ///< as it reads back
  std::vector<int> rank_of;  ///< by rank of `canonical`: the einsum's rank, or -1 for an extent of 1 that it lacks
  std::vector<int> canonical_rank;  ///< the other way round
  bool same = false;                ///< whether `canonical` is the einsum, but for its name and element types
};

/// Errors: what the einsum has that no layer type has.
Result<Classified> classify(const Einsum& einsum);

}  // namespace einflow::maestro
