// A lower bound on what the places further out will still cost, for every tile shape.
#pragma once

#include <vector>

#include "search/map_model.hpp"

namespace einflow {

/// Which place holds each tensor next, going outwards; packed into a number.
class Parents {
 public:
  explicit Parents(const MapModel& model) : base_(model.place_count()), tensors_(model.tensor_count()) {}
  int count() const {
    int count = 1;
    for (int t = 0; t < tensors_; ++t) count *= base_;
    return count;
  }
  int of(int packed, int tensor) const {
    for (int t = 0; t < tensor; ++t) packed /= base_;
    return packed % base_;
  }
  int with(int packed, int tensor, int place) const {
    int weight = 1;
    for (int t = 0; t < tensor; ++t) weight *= base_;
    return packed + (place - of(packed, tensor)) * weight;
  }
  /// Bits of the tensors whose next place this is.
  unsigned held_at(int packed, int place) const {
    unsigned held = 0;
    for (int t = 0; t < tensors_; ++t, packed /= base_) {
      if (packed % base_ == place) held |= 1U << t;
    }
    return held;
  }

 private:
  int base_;
  int tensors_;
};

/// The next places that the tensors held at `place` may have, given those of the others.
std::vector<int> next_parents(const MapModel& model, const Parents& parents, int packed, int place);

class OuterBound {
 public:
  OuterBound(const MapModel& model, const Parents& parents);
  /// Every mapping whose tile shape just inside `place` (loops further out may follow) is `shape`, and whose tensors
  /// are next held as `packed` says, still adds at least this at `place` and further out.
  double at(int place, int packed, int figure, int shape) const {
    const auto& table = tables_[static_cast<std::size_t>(place)][static_cast<std::size_t>(packed)];
    return table.empty() ? kNever : table[static_cast<std::size_t>(figure) * shapes_ + static_cast<std::size_t>(shape)];
  }
  static constexpr double kNever = 1e300;

 private:
  void fill(int place, int packed);
  void add_place(int place, unsigned held, int packed, std::vector<double>& cost) const;
  double moved(int tensor, int shape, int rank) const;

  const MapModel& model_;
  const Parents& parents_;
  std::size_t shapes_;
  std::vector<std::vector<std::vector<double>>> tables_;  ///< [place][packed]: figure by figure, every shape
  std::vector<std::vector<std::vector<double>>> moved_;   ///< [tensor][rank or none]: least elements moved, every shape
};

}  // namespace einflow
