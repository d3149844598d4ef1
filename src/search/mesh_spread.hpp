// Every way to spread ranks over the axes of a mesh.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search/map_model.hpp"

namespace einflow {

/// Par lines on one mesh. Which axis a rank is on makes no difference to any count, so of the ways that spread each
/// rank alike there is one.
struct MeshSpread {
  struct Line {
    int axis = 0, rank = 0;
    std::int64_t trips = 1;
  };
  struct Rank {
    int rank = 0;
    std::int64_t trips = 1;
    int index = 0;  ///< of `trips` among the divisors of the rank's extent
  };
  std::vector<Line> lines;                     ///< outermost first
  std::vector<Rank> ranks;                     ///< those with more than one trip
  std::array<double, kMostTensors> lacking{};  ///< product of the trips of ranks that the tensor lacks
};

class MeshSpreads {
 public:
  MeshSpreads(const MapModel& model, int mesh);
  /// In an order that does not depend on anything but the problem, the mesh and the constraints.
  const std::vector<MeshSpread>& all() const { return all_; }
  /// The shape outside the par lines; -1 where they do not divide what is left.
  int applied(int shape, const MeshSpread& spread) const {
    for (const MeshSpread::Rank& rank : spread.ranks) {
      shape = applied(shape, rank);
      if (shape < 0) return -1;
    }
    return shape;
  }
  int applied(int shape, const MeshSpread::Rank& rank) const {
    const auto& table = products_[static_cast<std::size_t>(rank.rank)];
    const int index = shapes_.index(shape, rank.rank);
    const int larger = table[static_cast<std::size_t>(index) * shapes_.divisors_of(rank.rank).size() +
                             static_cast<std::size_t>(rank.index)];
    return larger < 0 ? -1 : shapes_.with(shape, rank.rank, larger);
  }

 private:
  const Shapes& shapes_;
  std::vector<MeshSpread> all_;
  std::vector<std::vector<int>> products_;  ///< per rank: index of the product of two divisors, or -1
};

}  // namespace einflow
