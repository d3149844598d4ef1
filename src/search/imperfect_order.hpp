// Orders of the temporal loops of a block, one for each set of orders that are proved to cost the same.
//
// Take two neighbours of a block, a outside b, of different ranks, and a tensor. What stays at the changes of the two
// is a product over groups of ranks (docs/law.md section 4). Exchanging a and b moves nothing more or less if
//  - a further loop of the block, inside both, has at least two trips wherever it runs and is of a rank that is alone
//    in an axis of the tensor: when it wraps, its last and its first tile are disjoint, so nothing stays either way; or
//  - both ranks are alone in an axis of the tensor each: the advance of either replaces the whole tile; or
//  - the tensor has neither rank, and no `par` line cuts them anywhere (an idle coordinate forgets): the sets of both
//    are one element at every step, and the changes of the two together are as many in either order; or
//  - no place from here on holds the tensor, the compute level keeps nothing, and no mesh is systolic: the folds of a
//    systolic mesh are changes of a tile, wherever it is held.
// The first steps of the inner loops, at which a or b advances, are the same steps in both orders; so are accesses that
// are rounded up transfer by transfer. Every order can be sorted by such exchanges until no pair that may be exchanged
// stands in the wrong order; only such orders are looked at.
#pragma once

#include <vector>

#include "search/imperfect_nest.hpp"

namespace einflow::imperfect {

struct OrderQuestion {
  int block = 0;
  unsigned held = 0;                              ///< at the block's place
  int innermost = -1;                             ///< rank of the innermost loop; -1: any
  std::vector<int> ranks;                         ///< that have a temporal loop in the block
  const std::vector<RankCuts>* before = nullptr;  ///< per rank, outside the block
  const std::vector<RankCuts>* after = nullptr;
  const std::vector<Cut>* cuts = nullptr;
};

/// Whether the order of a block's loops can matter at all.
bool order_matters(const Space& space, int block);

/// The orders, each outermost first.
std::vector<std::vector<int>> orders_of(const Space& space, const OrderQuestion& question);

}  // namespace einflow::imperfect
