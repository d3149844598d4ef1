// How the loops of one rank cut it: which trips each of them makes (docs/law.md section 3), as index arithmetic.
#pragma once

#include <cstdint>
#include <vector>

#include "notation/loops/affine.hpp"

namespace einflow::loops {

/// The loops of a rank, outermost first, and the tile of each: its index counts in steps of the tile.
struct Tiling {
  std::int64_t extent = 1;
  std::vector<int> loops;
  std::vector<std::int64_t> tiles;

  /// What the loops outside the i-th leave of the rank, at most.
  std::int64_t left(std::size_t i) const { return i == 0 ? extent : tiles[i - 1]; }
};

/// The i-th loop makes ceil(min(terms) / tile) trips. The first term is a number, the tile of the loop outside; each
/// further one is what is left in the last tile of a loop that does not divide.
struct TripBound {
  std::vector<Affine> terms;
  std::int64_t tile = 1;
  std::int64_t trips = 1;  ///< of a full tile

  bool is_constant() const { return terms.size() == 1; }
};

TripBound trip_bound(const Tiling& tiling, std::size_t i);

/// Whether a range says exactly these trips: each necessary term, and otherwise only terms that are never less.
bool says(const Bound& range, const Tiling& tiling, std::size_t i);

}  // namespace einflow::loops
