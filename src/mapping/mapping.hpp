// In which order and place: the nest (docs/law.md section 3).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/diagnostic.hpp"
#include "machine/machine.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// `for R by T` (temporal) or `par R by T on MESH.AXIS` (spatial): cuts what is left of a rank into
/// tiles of `tile` indices; the last tile is what remains.
struct Loop {
  bool spatial = false;
  int rank = 0;            ///< index into Einsum::ranks
  std::int64_t tile = 1;   ///< >= 1, at most what is left of the rank
  std::int64_t trips = 1;  ///< of the largest interval the loop ever cuts: ceil(left / tile)
  int mesh = -1;           ///< level index of the mesh, spatial loops only
  int axis = -1;           ///< axis index in that mesh, spatial loops only
  Span span;               ///< where it was written
  /// Equal but for the place it was written at.
  bool operator==(const Loop& o) const {
    return spatial == o.spatial && rank == o.rank && tile == o.tile && trips == o.trips && mesh == o.mesh &&
           axis == o.axis;
  }
};

/// One place where a tensor is held.
struct Hold {
  int level = 0;  ///< index into Machine::levels; a storage level, or the compute level for the last hold
  int depth = 0;  ///< number of `Mapping::loops` that stand outside it
  Span span;
  bool operator==(const Hold& o) const { return level == o.level && depth == o.depth; }
};

/// A checked nest. `holds[t]` are tensor t's holds, outermost first: the first at the outermost storage
/// with depth 0, the last at the compute level with depth loops.size(). The parent of holds[t][i] is holds[t][i-1].
struct Mapping {
  std::vector<Loop> loops;  ///< outermost first
  std::vector<std::vector<Hold>> holds;
  bool operator==(const Mapping&) const = default;
};

/// Everything that an analysis needs, checked: coverage, order, fan-out. (Capacity is checked by cost/.)
struct Spec {
  Einsum einsum;
  Machine machine;
  Mapping mapping;
};

/// What is left of each rank (the largest interval) inside the first `depth` loops; one per rank.
std::vector<std::int64_t> tile_at(const Spec& spec, int depth);

/// Canonical nest text, one line each, outermost first; parses back to the same mapping. Loops of one line
/// per rank; holds of a level at one depth share a line; "at" of the outermost level is always printed.
std::string to_text(const Mapping& mapping, const Einsum& einsum, const Machine& machine);

}  // namespace einflow
