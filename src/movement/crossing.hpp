// One hold and its parent, and what passes between them: which view of the nest gives which count.
#pragma once

#include <optional>
#include <vector>

#include "movement/transfer.hpp"

namespace einflow {

/// A hold with a parent, seen from outside.
struct Crossing {
  const Spec* spec = nullptr;
  int tensor = 0;
  int hold = 0;
  PositionCache* cache = nullptr;  ///< shared by all views of the spec; may be absent

  const Hold& child() const;
  /// The parent; at the outermost hold, the hold itself.
  const Hold& parent() const;
  bool is_output() const { return spec->einsum.is_output(tensor); }
  bool is_compute() const { return child().level == spec->machine.compute_level(); }
  /// Whether nothing survives a step in the child (a compute level without operand latches).
  bool forgets() const { return is_compute() && !spec->machine.compute().operand_latches; }
  /// Whether siblings hand elements on: every mesh that tells them apart forwards, and the child is no compute level.
  bool forwards() const;
  /// Whether a mesh lets siblings share one transfer (multicast for inputs, reduction for outputs).
  bool shares(const Mesh& mesh) const { return is_output() ? mesh.reduction : mesh.multicast; }

  /// What is kept at a change of step, forwarding left aside.
  Keep keep() const;
  /// Every coordinate by itself (fills, drains, residencies).
  View alone() const;
  /// Siblings joined by the meshes that share, but only by those inside level `from` of the machine.
  View joined(int from = -1) const;
};

/// Fixes the spatial loops outside `depth` at the given coordinates (one per loop of the nest).
void fix_outside(View& view, int depth, const std::vector<std::int64_t>& coordinates);

}  // namespace einflow
