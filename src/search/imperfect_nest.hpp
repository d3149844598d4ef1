// The outer part of a nest, rank by rank: how its loops cut each rank into intervals.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "search/imperfect_space.hpp"

namespace einflow::imperfect {

/// Interval lengths and how many intervals have them. Each loop adds one length at most: its tile is one for all, and
/// each length leaves one remainder.
class LengthClasses {
 public:
  struct Class {
    std::int64_t length = 1;
    double times = 1;
  };
  LengthClasses() = default;
  explicit LengthClasses(std::int64_t length) { add(length, 1); }
  LengthClasses(const LengthClasses& other) { *this = other; }
  LengthClasses& operator=(const LengthClasses& other) {
    size_ = other.size_;
    std::copy_n(other.classes_.begin(), size_, classes_.begin());
    return *this;
  }
  ~LengthClasses() = default;
  /// No length 0 is kept. Requires room (see Space::loops_per_rank()).
  void add(std::int64_t length, double times) {
    if (length == 0 || times == 0) return;
    for (std::size_t i = 0; i < size_; ++i) {
      if (classes_[i].length != length) continue;
      classes_[i].times += times;
      return;
    }
    classes_[size_++] = {length, times};
  }
  const Class* begin() const { return classes_.data(); }
  const Class* end() const { return classes_.data() + size_; }

  static constexpr std::size_t kMost = 16;

 private:
  std::size_t size_ = 0;
  std::array<Class, kMost> classes_;
};

/// The intervals inside a loop: each cut into tiles; or, of each, the first tile.
void cut_classes(LengthClasses& classes, std::int64_t tile);
void shorten_classes(LengthClasses& classes, std::int64_t tile);
double count_of(const LengthClasses& classes);

/// What the loops of one block do to a rank: the tile that each leaves; a tile that is all that is left is no loop.
struct Cut {
  std::int64_t temporal = 1;
  Lengths spatial;  ///< after each axis of the block
  /// Of the `par` line on the axis.
  std::int64_t trips(std::size_t axis) const {
    return 1 + ((axis == 0 ? temporal : spatial[axis - 1]) - 1) / spatial[axis];
  }
  std::int64_t left() const { return spatial.empty() ? temporal : spatial.back(); }
  bool operator==(const Cut&) const = default;
};

/// A rank inside some blocks.
struct RankCuts {
  std::int64_t left = 1;     ///< the largest interval
  LengthClasses reference;   ///< intervals of coordinate 0, one for each position of the temporal loops
  LengthClasses everywhere;  ///< intervals of all positions and coordinates
  double trips_spatial = 1;  ///< product over its `par` lines

  static RankCuts whole(std::int64_t extent);
  RankCuts inside(const Cut& cut) const;
  double positions() const { return count_of(reference); }
  std::int64_t shortest() const;  ///< of `reference`
};

/// Positions when each interval is cut further, into tiles of at most `tile`.
double cut_into(const LengthClasses& classes, double tile);

/// Ways to lay the ranks over all meshes of the blocks `first` to `last`: trips of each rank, over all axes. Only ways
/// that no other one beats in every rank. Empty where they are too many.
std::vector<Lengths> spreads_of(const Space& space, int first, int last);

/// What the meshes further in can still do for the number of steps.
class StepBound {
 public:
  explicit StepBound(const Space& space);
  /// Least number of steps of a nest whose ranks have, outside the place of the block, the intervals `reference`, the
  /// longest of which `spread` coordinates may yet share in this block. `instances` bounds the coordinates in use
  /// there.
  double least(int block, const std::vector<const LengthClasses*>& reference, const std::vector<double>& spread,
               double instances) const;

 private:
  const Space& space_;
  double operations_ = 0;
  double atomic_ = 1;  ///< operations of a step and coordinate
  std::vector<std::vector<Lengths>>
      spreads_;  ///< per block: trips of the ranks over all meshes further in; may be none
};

}  // namespace einflow::imperfect
