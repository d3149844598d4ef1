// The space of imperfect nests as its search sees it: places, the blocks of loops between them, what is allowed there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "mapping/atomic.hpp"
#include "movement/group.hpp"
#include "search/mapper.hpp"

namespace einflow::imperfect {

constexpr int kMostTensors = 8;

using Lengths = std::vector<std::int64_t>;  ///< one per rank

/// One axis of a mesh.
struct MeshPlace {
  int mesh = 0;  ///< machine level
  int axis = 0;
  std::int64_t size = 1;
};

/// The loops between a place and the next one further out, and that place itself.
struct Block {
  int level = 0;                ///< machine level of the place at its inner end
  bool end = false;             ///< the place is the operation
  std::vector<MeshPlace> axes;  ///< that `par` lines of this block may use, outermost first
};

class Space {
 public:
  explicit Space(const MapRequest& request);

  const MapRequest& request;
  const Einsum& einsum;
  const Machine& machine;
  int ranks = 0;
  int tensors = 0;
  /// Block 0 has no loops: its place is the outermost storage. The last one ends at the operation.
  std::vector<Block> blocks;
  int last() const { return static_cast<int>(blocks.size()) - 1; }

  /// Most loops that a rank can have.
  int loops_per_rank() const;

  bool forgets = false;         ///< nothing survives a step at the compute level
  bool systolic = false;        ///< some mesh charges fill and drain
  bool any_stationary = false;  ///< some level asks for a stationary tensor

  bool has(int tensor, int rank) const { return has_[index(tensor, rank)]; }
  /// Whether the rank is alone in an axis of the tensor.
  bool alone(int tensor, int rank) const { return alone_[index(tensor, rank)]; }
  bool padded(int tensor) const { return padded_[static_cast<std::size_t>(tensor)]; }
  std::int64_t extent(int rank) const { return einsum.ranks[static_cast<std::size_t>(rank)].extent; }
  double bits(int tensor) const { return einsum.tensors[static_cast<std::size_t>(tensor)].type.bits; }
  /// Elements of the tensor that the problem touches.
  double touched(int tensor) const { return touched_[static_cast<std::size_t>(tensor)]; }
  /// Elements of a tile with these lengths; where padding may cut it, no tile has more.
  double elements(int tensor, const Lengths& lengths) const;

  /// Bits that the tile takes of the place's room, padded tensors left aside: never more than the law says.
  double room_needed(int block, unsigned held, const Lengths& lengths) const;
  /// Room of one instance in bits; infinite where not stated.
  double room(int block) const;
  /// Most elements of the tensor that one instance has room for.
  double most_elements(int block, int tensor) const;

  Holding holding(int block, int tensor) const;
  /// What the constraint says is left of the rank; 0 = nothing said.
  std::int64_t tile_given(int block, int rank) const;
  std::int64_t trips_given(const MeshPlace& axis, int rank) const;
  int stationary(int block) const;
  /// All sets of tensors that a place may hold, a bit for each tensor.
  std::vector<unsigned> hold_choices(int block) const;
  /// Most that may be left of the rank inside the block.
  std::int64_t most_left(int block, int rank) const;
  /// Whether the operation may be left with this.
  bool may_end(const Lengths& left) const;
  /// Whether a `par` line of a block further in than this one may cut the rank.
  bool spread_inside(int block, int rank) const;
  /// Product of all mesh axes further in than the block.
  double mesh_inside(int block) const;

 private:
  std::size_t index(int tensor, int rank) const { return static_cast<std::size_t>(tensor * ranks + rank); }
  void add_tensor(int tensor);
  void add_blocks();

  std::vector<std::vector<Group>> groups_;  ///< indexed ones
  std::vector<bool> has_, alone_, padded_;
  std::vector<double> touched_;
  std::vector<std::vector<AtomicRole>> layouts_;
  Lengths atomic_;  ///< most that the operation takes of a rank
};

}  // namespace einflow::imperfect
