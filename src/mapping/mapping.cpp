#include "mapping/mapping.hpp"

namespace einflow {

std::vector<std::int64_t> tile_at(const Spec& spec, int depth) {
  std::vector<std::int64_t> left;
  for (const Rank& rank : spec.einsum.ranks) left.push_back(rank.extent);
  for (int i = 0; i < depth; ++i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    left[static_cast<std::size_t>(loop.rank)] = loop.tile;
  }
  return left;
}

}  // namespace einflow
