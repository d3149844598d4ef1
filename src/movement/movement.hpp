// The law of movement in closed form (docs/law.md section 4).
#pragma once

#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Every count of the law for a checked spec. Fails where a count leaves 128 bits, and where the nest has millions of
/// different tile positions (docs/decisions/classes-of-positions.md); so do the functions below.
Result<Counts> count_movement(const Spec& spec);

/// One entry per storage level, outermost first. Reads and writes as at the end of docs/law.md section 4.
Result<std::vector<BusiestInstance>> busiest_instances(const Spec& spec);

/// One entry per tensor, hold below the outermost and mesh between it and its parent.
Result<std::vector<NetworkCounts>> network_counts(const Spec& spec);

/// Accesses at every storage level that states an access width.
Result<std::vector<AccessCounts>> access_counts(const Spec& spec);

/// How often the tile of a hold changes: the steps of the loops outside it, down to the innermost that moves the
/// tensor (the folds of a systolic array).
Result<Count> tile_changes(const Spec& spec, int tensor, int hold);

}  // namespace einflow
