#include "search/imperfect_reload.hpp"

#include <algorithm>

namespace einflow::imperfect {

void Reload::add(std::vector<Tagged>& classes, const Tagged& one) {
  if (one.length == 0 || one.times == 0) return;
  for (Tagged& known : classes) {
    if (known.length != one.length || known.loop != one.loop) continue;
    known.times += one.times;
    return;
  }
  classes.push_back(one);
}

Passed Reload::at_least(int tensor, const std::vector<Loop>& loops, const Unchosen& unchosen, bool anew) {
  within_.assign(loops.size() + 1, 1);
  double others = space_.touched(tensor);  // elements per element of the own ranks
  for (int rank = 0; rank < space_.ranks; ++rank) {
    if (!space_.alone(tensor, rank) || space_.padded(tensor)) continue;
    add_own(loops, rank);
    others /= static_cast<double>(space_.extent(rank));
  }
  Passed passed;
  double before = 0;
  for (std::size_t d = 0; d <= loops.size(); ++d) {
    const double elements = within_[d] - before;
    before = within_[d];
    if (elements <= 0) continue;
    // d = 0: no loop replaces these; each comes once at least.
    const std::size_t outside = anew ? loops.size() : d == 0 ? 0 : d - 1;
    const auto [positions, everywhere] = others_outside(tensor, loops, unchosen, outside);
    passed.merged += elements * others * positions;
    passed.alone += elements * others * everywhere;
  }
  passed.alone = std::max(passed.alone, passed.merged);
  return passed;
}

/// Multiplies within_ by the elements of the rank.
void Reload::add_own(const std::vector<Loop>& loops, int rank) {
  classes_.assign(1, {space_.extent(rank), -1, 1});
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const Loop& loop = loops[i];
    if (loop.rank != rank) continue;
    inside_.clear();
    for (const Tagged& one : classes_) {
      const bool replaces = !loop.spatial && one.length > loop.tile;
      const int tag = replaces ? static_cast<int>(i) : one.loop;
      add(inside_, {loop.tile, tag, one.times * static_cast<double>(one.length / loop.tile)});
      add(inside_, {one.length % loop.tile, tag, one.times});
    }
    std::swap(classes_, inside_);
  }
  double sum = 0;
  for (std::size_t d = 0; d < within_.size(); ++d) {
    for (const Tagged& one : classes_) {
      if (one.loop == static_cast<int>(d) - 1) sum += static_cast<double>(one.length) * one.times;
    }
    within_[d] *= sum;
  }
}

/// Positions of the ranks that the tensor lacks, of the temporal loops among the first `depth`; and with all
/// coordinates of the spatial loops.
std::pair<double, double> Reload::others_outside(int tensor, const std::vector<Loop>& loops, const Unchosen& unchosen,
                                                 std::size_t depth) const {
  double positions = 1;
  double everywhere = 1;
  for (int rank = 0; rank < space_.ranks; ++rank) {
    if (space_.has(tensor, rank)) continue;
    const auto r = static_cast<std::size_t>(rank);
    if (unchosen.positions[r] > 0 && depth >= unchosen.depth) {
      positions *= unchosen.positions[r];
      everywhere *= unchosen.everywhere[r];
      continue;
    }
    LengthClasses reference(space_.extent(rank));
    LengthClasses all = reference;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      const Loop& loop = loops[i];
      if (loop.rank != rank) continue;
      const bool moves = !loop.spatial && i < depth;
      moves ? cut_classes(reference, loop.tile) : shorten_classes(reference, loop.tile);
      moves || loop.spatial ? cut_classes(all, loop.tile) : shorten_classes(all, loop.tile);
    }
    positions *= count_of(reference);
    everywhere *= count_of(all);
  }
  return {positions, everywhere};
}

}  // namespace einflow::imperfect
