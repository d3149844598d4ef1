// The least traffic from a backing store for every buffer size, for two einsums computed piece by piece together.
//
// A fused nest has common loops over ranks of the intermediate. Inside them it parts into two branches, one after the
// other at every common step: the first computes a tile of the intermediate, whole in its own reduction ranks, the
// second consumes that tile, whole in its own ranks. The tile stays in the buffer from its first partial sum to its
// last use; no element of it is made twice (a common loop over another rank would need that), and none goes to the
// backing store.
//
//   for m by 64                  common
//   for n by 32                  common
//   at Buffer: S (64 x 32)
//     loops of S += Q * K        first branch: its loops cover d, and what is left of m and n
//     loops of O += S * V        second branch: likewise f, m and n
//
// Every other tensor is held at a place of its own, between the common loops or in its branch, or bypasses the buffer.
// What is held between common loops stays while both branches run. What is held in a branch comes anew at every common
// step, and leaves its room to the other branch.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/fused_chain.hpp"
#include "search/staircase.hpp"

namespace einflow {

/// Which fused nests are looked at. Ranks by name.
struct FusedSpace {
  bool shared_tile = false;        ///< all tensors are held where the branches part, one common loop per rank
  bool bypass = true;              ///< a tensor other than the intermediate may be left out of the buffer
  bool once_per_step = false;      ///< of the nests of a common step those in which no tensor comes twice
  bool separate_rooms = false;     ///< what one branch holds keeps its room while the other runs
  std::vector<std::string> uncut;  ///< common ranks that no common loop cuts
  std::vector<std::string> whole;  ///< ranks that no loop outside a hold cuts
};

/// Where the buffer holds one tensor.
struct FusedHold {
  BufferHold hold;      ///< its tile has one entry per rank of the tensor's einsum
  bool common = false;  ///< between common loops; false: in its branch, or nowhere
};

/// One step: no nest of the space moves less with a buffer of this size, nor as little with a smaller one.
struct FusedStep {
  Count buffer_bits;
  Count traffic_bits;
  std::vector<std::int64_t> tile;                ///< of the intermediate, per common rank
  Count tile_elements;                           ///< of it
  std::vector<FusedHold> holds;                  ///< per tensor of moved_tensors()
  std::vector<int> common_order;                 ///< tensors held between common loops, outermost hold first
  std::array<std::vector<int>, 2> branch_order;  ///< tensors held in each branch, outermost hold first
  std::vector<int> loop_order;  ///< shared tile: common ranks of the loops, outermost first; else empty
};

struct FusedStaircase {
  std::vector<FusedStep> steps;  ///< buffer sizes rising, traffic falling
  Count compulsory_bits;         ///< every tensor but the intermediate once
  Count tile_shapes;             ///< of the intermediate
};

/// The exact staircase of the space. Errors: an unknown rank, an uncut rank that is not common, too many tile shapes, a
/// count that leaves 128 bits.
Result<FusedStaircase> least_fused_traffic(const FusedChain& chain, const FusedSpace& space);

/// The two einsums one after the other: each has the whole buffer while it runs, the intermediate goes to the backing
/// store and comes back.
struct UnfusedStep {
  Count buffer_bits;
  Count traffic_bits;
  std::array<Count, 2> of_einsum;  ///< what each moves
};

/// Sum of the einsums' own staircases, in the fused space's terms (`uncut` has no meaning there). Errors as
/// least_traffic().
Result<std::vector<UnfusedStep>> least_unfused_traffic(const FusedChain& chain, const FusedSpace& space);

/// The smallest buffer from which on, whatever is added, fused nests move less; nothing where they never do.
std::optional<Count> fusing_pays_from(const std::vector<FusedStep>& fused, const std::vector<UnfusedStep>& unfused);

}  // namespace einflow
