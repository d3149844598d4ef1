#include "search/imperfect_nest.hpp"

#include <algorithm>
#include <cmath>

namespace einflow::imperfect {
namespace {

constexpr std::size_t kMostSpreads = 1000;

/// All ways to lay ranks over an axis that leave the last rank as many trips as there are, times `base`.
void lay_over(const Space& space, const MeshPlace& axis, const Lengths& base, std::vector<Lengths>& found) {
  Lengths trips(base.size(), 1);
  const auto choose = [&](auto&& self, std::size_t rank, std::int64_t room) -> void {
    if (found.size() > 3 * kMostSpreads) return;
    if (rank == trips.size()) {
      found.push_back(base);
      for (std::size_t r = 0; r < trips.size(); ++r) found.back()[r] *= trips[r];
      return;
    }
    const std::int64_t given = space.trips_given(axis, static_cast<int>(rank));
    const std::int64_t most = std::min({room, space.extent(static_cast<int>(rank)), given > 0 ? given : room});
    for (std::int64_t n = rank + 1 == trips.size() ? most : 1; n <= most; ++n) {
      trips[rank] = n;
      self(self, rank + 1, room / n);
    }
    trips[rank] = 1;
  };
  choose(choose, 0, axis.size);
}

bool beats(const Lengths& other, const Lengths& one) {
  if (other == one) return false;
  for (std::size_t r = 0; r < one.size(); ++r) {
    if (other[r] < one[r]) return false;
  }
  return true;
}

}  // namespace

void cut_classes(LengthClasses& classes, std::int64_t tile) {
  LengthClasses inside;
  for (const auto& [length, times] : classes) {
    inside.add(tile, times * static_cast<double>(length / tile));
    inside.add(length % tile, times);
  }
  classes = inside;
}

void shorten_classes(LengthClasses& classes, std::int64_t tile) {
  LengthClasses inside;
  for (const auto& [length, times] : classes) inside.add(std::min(length, tile), times);
  classes = inside;
}

double count_of(const LengthClasses& classes) {
  double total = 0;
  for (const auto& [length, times] : classes) total += times;
  return total;
}

std::vector<Lengths> spreads_of(const Space& space, int first, int last) {
  std::vector<Lengths> spreads(1, Lengths(static_cast<std::size_t>(space.ranks), 1));
  for (int block = first; block <= last; ++block) {
    for (const MeshPlace& axis : space.blocks[static_cast<std::size_t>(block)].axes) {
      std::vector<Lengths> found;
      for (const Lengths& base : spreads) lay_over(space, axis, base, found);
      if (found.size() > 3 * kMostSpreads) return {};
      std::sort(found.begin(), found.end());
      found.erase(std::unique(found.begin(), found.end()), found.end());
      spreads.clear();
      for (const Lengths& one : found) {
        if (std::none_of(found.begin(), found.end(), [&](const Lengths& other) { return beats(other, one); })) {
          spreads.push_back(one);
        }
      }
    }
  }
  if (spreads.size() > kMostSpreads) return {};
  return spreads;
}

RankCuts RankCuts::whole(std::int64_t extent) { return {extent, LengthClasses(extent), LengthClasses(extent), 1}; }

RankCuts RankCuts::inside(const Cut& cut) const {
  RankCuts result = *this;
  if (cut.temporal < left) {
    cut_classes(result.reference, cut.temporal);
    cut_classes(result.everywhere, cut.temporal);
    result.left = cut.temporal;
  }
  for (const std::int64_t tile : cut.spatial) {
    if (tile == result.left) continue;
    shorten_classes(result.reference, tile);
    cut_classes(result.everywhere, tile);
    result.trips_spatial *= static_cast<double>(1 + (result.left - 1) / tile);
    result.left = tile;
  }
  return result;
}

std::int64_t RankCuts::shortest() const {
  std::int64_t shortest = left;
  for (const auto& [length, times] : reference) shortest = std::min(shortest, length);
  return shortest;
}

double cut_into(const LengthClasses& classes, double tile) {
  double total = 0;
  for (const auto& [length, times] : classes) total += times * std::ceil(static_cast<double>(length) / tile);
  return total;
}

StepBound::StepBound(const Space& space) : space_(space), operations_(space.einsum.operations().to_double()) {
  for (const auto& [name, extent] : space.machine.compute().atomic) atomic_ *= static_cast<double>(extent);
  for (int block = 0; block <= space.last(); ++block) spreads_.push_back(spreads_of(space, block + 1, space.last()));
}

double StepBound::least(int block, const std::vector<const LengthClasses*>& reference,
                        const std::vector<double>& spread, double instances) const {
  const double by_operations = std::ceil(operations_ / (instances * space_.mesh_inside(block) * atomic_) * (1 - 1e-12));
  const auto& spreads = spreads_[static_cast<std::size_t>(block)];
  if (spreads.empty()) {
    double steps = 1;  // so many positions there are already
    for (std::size_t rank = 0; rank < reference.size(); ++rank) steps *= cut_into(*reference[rank], 1e30);
    return std::max(by_operations, steps);
  }
  double least = INFINITY;
  for (const Lengths& trips : spreads) {
    double steps = 1;
    for (std::size_t rank = 0; rank < reference.size(); ++rank) {
      const auto atomic = static_cast<double>(space_.most_left(space_.last(), static_cast<int>(rank)));
      steps *= cut_into(*reference[rank], spread[rank] * static_cast<double>(trips[rank]) * atomic);
    }
    least = std::min(least, steps);
  }
  return std::max(by_operations, least);
}

}  // namespace einflow::imperfect
