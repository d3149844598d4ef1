// From a list of directives to the loops of each cluster level (docs/notations/maestro.md).
#pragma once

#include <cstdint>
#include <vector>

#include "base/diagnostic.hpp"
#include "notation/maestro/operation.hpp"
#include "notation/maestro/syntax.hpp"

namespace einflow::maestro {

/// A loop with two trips or more.
struct Cut {
  int rank = 0;
  std::int64_t tile = 1;
  bool spatial = false;
  Span span;
};

/// What the clusters of a mapping are cut into, outermost level first.
struct ClusterLevel {
  std::int64_t units = 1;
  std::vector<Cut> cuts;  ///< outermost first
  /// Whether it takes more than one step.
  bool steps() const;
};

/// The levels of a layer.
struct Levels {
  std::vector<ClusterLevel> levels;
  std::int64_t idle_pes = 0;     ///< that belong to no whole cluster
  std::int64_t enough_pes = 1;   ///< the fewest with which the top level's spatial map does not fold
  bool diagonal = false;         ///< two spatial maps share their units
  bool offset_not_used = false;  ///< a stride's offset is not the one written
};

/// Without `pes` the top level has as many units as it can use. Errors, without the name of their source: directives
/// that are not a loop nest, each with its reason; fewer PEs than the clusters have.
Result<Levels> levels_of(const Layer& layer, const Shape& shape, const Einsum& einsum,
                         const std::optional<std::int64_t>& pes);

}  // namespace einflow::maestro
