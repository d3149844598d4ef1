// The lattice of tile shapes as the mapper walks it: from a shape to those that are one prime larger.
#pragma once

#include <cstdint>
#include <vector>

#include "base/count.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// All shapes of dividing tiles, numbered so that a shape comes after every shape that divides it. A shape is one
/// divisor of each rank's extent, by its index among the rising divisors.
class Shapes {
 public:
  explicit Shapes(const Einsum& einsum);

  /// Prime steps of a rank's tile: the factor and the index of the larger tile.
  struct Step {
    std::int64_t factor = 1;
    int index = 0;
  };

  /// More shapes than this have no index().
  static constexpr int kMost = 400'000;

  Count count() const { return count_; }
  /// Requires count() to fit in memory.
  int size() const { return static_cast<int>(count_.to_int64().value_or(0)); }
  int ranks() const { return static_cast<int>(divisors_.size()); }
  const std::vector<std::int64_t>& divisors_of(int rank) const { return divisors_[static_cast<std::size_t>(rank)]; }
  int index(int shape, int rank) const {
    return indices_[static_cast<std::size_t>(shape) * divisors_.size() + static_cast<std::size_t>(rank)];
  }
  std::int64_t tile(int shape, int rank) const {
    return divisors_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index(shape, rank))];
  }
  std::int64_t extent(int rank) const { return divisors_[static_cast<std::size_t>(rank)].back(); }
  bool is_whole(int shape, int rank) const {
    return index(shape, rank) + 1 == static_cast<int>(divisors_[static_cast<std::size_t>(rank)].size());
  }
  /// The shape with another tile of one rank.
  int with(int shape, int rank, int index_of_tile) const {
    return shape + (index_of_tile - index(shape, rank)) * strides_[static_cast<std::size_t>(rank)];
  }
  const std::vector<Step>& larger(int rank, int index_of_tile) const {
    return steps_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index_of_tile)];
  }
  /// Index of a tile among the rank's divisors, or -1.
  int index_of(int rank, std::int64_t tile) const;
  int whole() const { return size() - 1; }

 private:
  std::vector<std::vector<std::int64_t>> divisors_;
  std::vector<std::vector<std::vector<Step>>> steps_;
  std::vector<int> strides_;
  std::vector<std::int16_t> indices_;  ///< [shape][rank], where the shapes are few enough to be searched
  Count count_ = 1;
};

}  // namespace einflow
