#include "search/staircase_cost.hpp"

#include <algorithm>

namespace einflow {

/// Elements of a tile of a tensor without windows.
Count box_elements(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile) {
  Count elements = 1;
  for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(tensor)].axes) {
    for (const Term& term : axis.terms) elements *= Count(tile[static_cast<std::size_t>(term.rank)]);
  }
  return elements;
}

/// What the backing store moves for a tensor of `elements` that comes `times`: an output is read back but for the
/// first time.
Count moved(const Einsum& einsum, int tensor, Count elements, Count times) {
  return einsum.is_output(tensor) ? elements * (times * 2 - 1) : elements * times;
}

Count bits_of(const Einsum& einsum, int tensor) {
  return Count(einsum.tensors[static_cast<std::size_t>(tensor)].type.bits);
}

/// Product of trips of the ranks that the tensor lacks, outside a tile.
Count trips_without(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile) {
  Count trips = 1;
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    if (!einsum.has_rank(tensor, static_cast<int>(r))) trips *= Count(einsum.ranks[r].extent / tile[r]);
  }
  return trips;
}

std::vector<std::int64_t> extents(const Einsum& einsum) {
  std::vector<std::int64_t> sizes;
  for (const Rank& rank : einsum.ranks) sizes.push_back(rank.extent);
  return sizes;
}

/// A tensor that no buffer holds: every operation reads it, or reads and writes it but for the first time.
BufferHold bypassed(const Einsum& einsum, int tensor) {
  const Count all = box_elements(einsum, tensor, extents(einsum));
  const Count times = trips_without(einsum, tensor, std::vector<std::int64_t>(einsum.ranks.size(), 1));
  return {false, {}, Count(0), moved(einsum, tensor, all, times)};
}

/// Keeps the steps that no other beats: buffer sizes rising, traffic falling.
void keep_best(std::vector<StaircaseStep>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const StaircaseStep& a, const StaircaseStep& b) {
    return a.buffer_bits < b.buffer_bits || (a.buffer_bits == b.buffer_bits && a.traffic_bits < b.traffic_bits);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (kept > 0 && steps[i].traffic_bits >= steps[kept - 1].traffic_bits) continue;
    if (kept != i) steps[kept] = std::move(steps[i]);
    ++kept;
  }
  steps.resize(kept);
}

}  // namespace einflow
