// From loop variables and index arithmetic to ranks and tiles.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "notation/loops/nest_text.hpp"
#include "problem/einsum.hpp"

namespace einflow::loops {

struct RankedNest {
  Einsum einsum;
  std::vector<int> rank;            ///< of each loop of the text
  std::vector<std::int64_t> tile;   ///< of each loop: how far its index advances the rank
  std::vector<std::int64_t> trips;  ///< of each loop over a full tile
  std::vector<std::string> conventions;
};

/// The einsum that the statement, or the line `einsum:`, computes; which loops cut which rank, into which tiles. Checks
/// that the strides match what the loops inside cover, that the ranges leave nothing out and nothing twice.
Result<RankedNest> resolve_ranks(const NestText& text, OpenSizes& open_sizes);

}  // namespace einflow::loops
