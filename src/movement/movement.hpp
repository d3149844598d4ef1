// The law of movement in closed form (LAW.md section 4; docs/law.md).
#pragma once

#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Every count of the law for a checked spec. Fails only where a count leaves 128 bits.
Result<Counts> count_movement(const Spec& spec);

/// What the busiest instance of a storage level moves, in bits: the largest reads, the largest writes and
/// the largest sum of both over the level's instances (the three may be attained by different instances).
struct BusiestInstance {
  int level = 0;
  Count read_bits;
  Count written_bits;
  Count moved_bits;
};
/// One entry per storage level, outermost first. Reads and writes as at the end of LAW.md section 4.
Result<std::vector<BusiestInstance>> busiest_instances(const Spec& spec);

/// What a tensor's elements do on one mesh between a hold and its parent; on every mesh that stands between the
/// two, used by one coordinate or by many.
struct NetworkCounts {
  int mesh = 0;    ///< level index
  int tensor = 0;
  int hold = 0;    ///< the child hold, index into Mapping::holds[tensor]
  Count injected;   ///< inputs: elements entering from the parent's side (forwarded ones are not among them)
  Count delivered;  ///< inputs: elements leaving towards children, forwarded ones included; outputs: leaving towards the parent
  Count forwarded;  ///< inputs: elements that came from siblings
  Count collected;  ///< outputs: elements entering from the children's side
  Count reduced;    ///< outputs: collected - delivered, merged on the way
};
Result<std::vector<NetworkCounts>> network_counts(const Spec& spec);

/// Accesses of a given width, each transfer of a tile rounded up (INTERFACE.md: pJ/access). `width_bits` > 0.
struct AccessCounts {
  int level = 0;
  int tensor = 0;
  Count reads;   ///< accesses that read the level
  Count writes;  ///< accesses that write it
};
/// Accesses at every storage level that states an access width.
Result<std::vector<AccessCounts>> access_counts(const Spec& spec);

/// How often the tile of a hold changes: the steps of the loops outside it at which some instance's tile
/// differs from the step before, the first included (the folds of a systolic array).
Result<Count> tile_changes(const Spec& spec, int tensor, int hold);

}  // namespace einflow
