// How many elements enter or leave a hold over the whole nest: the product form of docs/law.md section 4.
#pragma once

#include <optional>
#include <vector>

#include "base/count.hpp"
#include "movement/positions.hpp"

namespace einflow {

/// Which elements a change of step leaves out of a transfer.
enum class Keep {
  arriving,   ///< elements whose every holder after the change held them before it (fills, parent reads)
  leaving,    ///< elements whose every holder before the change holds them after it (drains, parent updates)
  forwarded,  ///< elements that any sibling held before (parent reads with forwarding)
  nothing,    ///< each step moves its tile anew (a compute level without latches)
};

/// One factor per group: the sizes of its sets summed over its positions.
struct Factors {
  int loop = -1;               ///< the temporal loop that advances; -1: all steps
  std::vector<Count> factors;  ///< parallel to groups_of() of the tensor
  Count product() const;
};

/// total = sizes.product() - sum over j of kept[j].product().
struct Transfer {
  Factors sizes;              ///< elements present at each step, summed
  Count tile = 1;             ///< largest tile (of the merged siblings together)
  std::vector<Factors> kept;  ///< per temporal loop with more than one trip: elements that stay at its changes
  Count total() const;
};

/// Nothing where the positions are too many to enumerate (see rank_positions).
std::optional<Transfer> transfer(const View& view, Keep keep);

/// Its total alone.
std::optional<Count> transferred(const View& view, Keep keep);

/// The largest tile (of one coordinate, or of the siblings together where merged).
std::optional<Count> largest_tile(const View& view);

/// The largest set of one group, likewise.
std::optional<Count> group_tile(const View& view, const Group& group);

/// One class of changes (the first step included, with kept = 0): how often, and the elements that move.
struct Burst {
  Count times;
  Count elements;
};
/// Every transfer of a tile by itself, in classes: sum(times * elements) = transfer().total().
std::optional<std::vector<Burst>> bursts(const View& view, Keep keep);

}  // namespace einflow
