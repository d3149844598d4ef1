// A fused nest done step by step: sets of elements move, and are counted. Knows nothing of the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "search/fused_nest.hpp"

namespace einflow {

struct ExecutedChain {
  std::int64_t buffer_bits = 0;         ///< the most that was in the buffer
  std::vector<std::int64_t> moved;      ///< elements between backing store and the rest, per tensor of moved_tensors()
  std::vector<std::int64_t> most_held;  ///< elements, likewise
  std::vector<bool> came_twice;         ///< whether an element came more than once in one common step
  std::int64_t tile_bits = 0;           ///< of the intermediate's tile
  std::int64_t traffic_bits = 0;
  std::vector<std::string> faults;  ///< an element of the intermediate used unfinished or made twice, a wrong result
};

/// With `separate_rooms` what a branch holds stays in the buffer while the other branch runs.
ExecutedChain execute(const FusedChain& chain, const FusedNest& nest, bool separate_rooms);

}  // namespace einflow
