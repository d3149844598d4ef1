// The lattice of tile shapes: one divisor of each rank's extent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "problem/einsum.hpp"

namespace einflow {

/// All shapes, numbered so that a shape comes after every shape that divides it.
class TileLattice {
 public:
  /// Ranks of `whole` keep their extent.
  TileLattice(const Einsum& einsum, const std::vector<int>& whole);

  Count size() const { return size_; }
  /// Tile of each rank. Requires number < size().
  std::vector<std::int64_t> shape(std::size_t number) const;
  /// Shapes that this one covers: one rank divided by one of its primes.
  void append_covered(std::size_t number, std::vector<std::size_t>& covered) const;

 private:
  struct Divisor {
    std::int64_t value = 1;
    std::vector<std::size_t> covered;  ///< indices of value / prime
  };
  std::vector<std::vector<Divisor>> ranks_;  ///< per rank, rising
  std::vector<std::size_t> strides_;
  Count size_;
};

/// The divisors of a number >= 1, rising.
std::vector<std::int64_t> divisors(std::int64_t number);

}  // namespace einflow
