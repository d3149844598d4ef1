// How often a tensor's tile comes to a hold at least, from the loops outside it: the textbook rule, for tiles that do
// not divide.
//
// Take an element and, of the loops of its own ranks that have two trips or more around it, the innermost: loop d. At
// each change of a loop outside d, or of d, the tile with the element is replaced whole (its old and new interval in
// the rank of d are disjoint), so that the element comes anew for each position of the other ranks' loops outside d.
// Ranks in a window and padded axes are taken never to replace anything. Without these, and without idle coordinates,
// this is what the law counts.
#pragma once

#include <utility>
#include <vector>

#include "search/imperfect_bound.hpp"

namespace einflow::imperfect {

/// What is known of ranks whose loops are not chosen yet.
struct Unchosen {
  std::vector<double> positions;   ///< per rank: at least so many inside the block; 0 = the rank is chosen
  std::vector<double> everywhere;  ///< with coordinates
  std::size_t depth = 0;           ///< their loops stand outside all loops from this one on
};

/// Keeps its memory from tensor to tensor.
class Reload {
 public:
  explicit Reload(const Space& space) : space_(space) {}
  /// Elements that pass at least into a hold inside `loops`. `anew`: nothing survives a step there.
  Passed at_least(int tensor, const std::vector<Loop>& loops, const Unchosen& unchosen, bool anew);

 private:
  /// Intervals of one length whose innermost loop of two trips or more is loop number `loop`, or none (-1).
  struct Tagged {
    std::int64_t length = 1;
    int loop = -1;
    double times = 1;
  };
  static void add(std::vector<Tagged>& classes, const Tagged& one);
  void add_own(const std::vector<Loop>& loops, int rank);
  std::pair<double, double> others_outside(int tensor, const std::vector<Loop>& loops, const Unchosen& unchosen,
                                           std::size_t depth) const;

  const Space& space_;
  std::vector<double> within_;  ///< per number of loops: elements whose innermost replacing loop is one of so many
  std::vector<Tagged> classes_, inside_;
};

}  // namespace einflow::imperfect
