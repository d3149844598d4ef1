// The elements of a tensor, numbered, and those that a box of the iteration space touches (docs/law.md section 1, 3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem/einsum.hpp"

namespace einflow::execution {

/// Indices begin <= i < end of one rank.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Interval&) const = default;
};

/// One interval per rank: rows of this type are stored one after the other, so functions take a pointer to the first.
using Box = const Interval*;
/// One index per rank.
using Point = const std::int64_t*;

using Element = std::int64_t;
/// Element numbers in increasing order, each once.
using Tile = std::vector<Element>;

/// Numbers the elements that the whole iteration space touches and that are stored: 0 .. count()-1, row by row.
/// Positions in the holes of a stride and in the padding have no number.
class Elements {
 public:
  Elements(const Tensor& tensor, const std::vector<Rank>& ranks);

  std::int64_t count() const { return count_; }
  /// The element that a point touches, or -1 where that position is padding.
  Element at(Point point) const;
  /// The elements that a box touches.
  void tile(Box box, Tile& result);
  /// "X[3,-1]".
  std::string name(Element element) const;

 private:
  struct AxisNumbers {
    std::vector<int> ranks;
    std::vector<std::int64_t> radix;   ///< of each of `ranks` in the key of `number`
    std::vector<std::int64_t> number;  ///< by key: index among the axis's positions, -1 = padding
    std::vector<__int128> positions;   ///< by index: the position itself
    std::int64_t stride = 1;           ///< of the axis in an element number
  };
  static void image(const AxisNumbers& axis, Box box, std::vector<std::int64_t>& result);

  std::string tensor_;
  std::vector<AxisNumbers> axes_;
  std::int64_t count_ = 1;
  std::vector<std::vector<std::int64_t>> images_;  ///< scratch of tile()
};

}  // namespace einflow::execution
