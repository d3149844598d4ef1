// The best mapping where a loop may cut to a tile of any size, with the proof that none is better.
//
// The space: that of mapper.hpp, but for its loops. Between two places a rank has at most one temporal loop, in any
// order, and on each mesh axis at most one `par` line; each of them may leave any tile from 1 to what it is given, and
// the last tile is what remains. The `par` lines of a block stand inside its temporal loops, by mesh (outermost first),
// by axis, by rank, in the order in which the machine and the einsum name them. A loop that cuts nothing is no loop.
//
// The method is branch and bound from the outermost place inwards. What crosses into a place depends on the loops
// outside it alone, so that it is counted exactly, by the law, as soon as these are known; what is further in is
// bounded from below (imperfect_bound.hpp). Two orders of loops are taken for one only where they are proved to leave
// the same in place (imperfect_order.hpp). Every nest that can still be the best is counted whole, by the law.
#pragma once

#include "search/mapper.hpp"

namespace einflow {

/// The best mapping of the space above. `most_mappings`: so many nests are counted whole at most; where that does not
/// suffice, and where the time or the caller ends the search, the best so far is returned with `stopped`, and `bound`
/// is a lower bound for the whole space.
///
/// As best_mapping(), but: `threads` is not looked at; energies that differ by less than one part in 10^12 count as
/// equal; `tile_shapes` is the product of the extents; `mappings` does not take off what a `stationary` or
/// utilization constraint forbids, and is 0 where there are too many ways to lay ranks over axes to be counted;
/// `states` are partial nests that were bounded, `expanded` nests that were counted whole. With `front`, `value` and
/// `bound` are the least energy and what bounds it. A `stationary` tensor is held at its level, and no temporal loop of
/// more than one trip outside the place, the innermost of them, moves it. Instances are in use that have work at some
/// step. Errors: as best_mapping(); no nest found before the search was stopped.
Result<MapResult> best_imperfect_mapping(const MapRequest& request, Count most_mappings);

}  // namespace einflow
