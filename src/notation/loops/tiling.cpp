#include "notation/loops/tiling.hpp"

#include <algorithm>

namespace einflow::loops {

namespace {

/// What is left for the i-th loop of what the k-th one cut, where its last tiles are those at hand.
Affine remainder(const Tiling& tiling, std::size_t k, std::size_t i) {
  Affine left{tiling.left(k), {}};
  for (std::size_t j = k; j < i; ++j) left.terms.emplace_back(tiling.loops[j], Count(0) - Count(tiling.tiles[j]));
  return left;
}

bool divides(const Tiling& tiling, std::size_t k) { return tiling.left(k) % tiling.tiles[k] == 0; }

}  // namespace

TripBound trip_bound(const Tiling& tiling, std::size_t i) {
  TripBound bound;
  bound.tile = tiling.tiles[i];
  bound.trips = 1 + (tiling.left(i) - 1) / bound.tile;
  bound.terms.push_back(Affine{tiling.left(i), {}});
  // Something is left wherever the loops outside have work: of one trip none is missing.
  for (std::size_t k = i; k-- > 0 && bound.trips > 1;) {
    if (!divides(tiling, k)) bound.terms.push_back(remainder(tiling, k, i));
  }
  return bound;
}

bool says(const Bound& range, const Tiling& tiling, std::size_t i) {
  const Count trips = trip_bound(tiling, i).trips;
  bool full = false;
  std::vector<bool> found(i, false);
  for (const Quotient& written : range) {
    if (written.dividend.is_constant()) {
      if (written.dividend.constant < trips) return false;
      full = full || written.dividend.constant == trips;
      continue;
    }
    bool known = false;
    for (std::size_t k = 0; k < i && !known; ++k) {
      known = same(written, canonical({remainder(tiling, k, i), tiling.tiles[i]}));
      if (known) found[k] = true;
    }
    if (!known) return false;
  }
  for (std::size_t k = 0; k < i && trips > Count(1); ++k) {
    if (!divides(tiling, k) && !found[k]) return false;
  }
  return full;
}

}  // namespace einflow::loops
