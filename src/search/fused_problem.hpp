// A chain as the search of fused nests looks at it: without the ranks that all tensors have, with its lattices.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search/fused_holds.hpp"
#include "search/fused_staircase.hpp"
#include "search/lattice.hpp"

namespace einflow {

/// Ranks that every tensor has (batch, heads) are taken one value at a time: this changes no traffic and needs the
/// least room. The search is done for one value, and its traffic is multiplied.
class FusedProblem {
 public:
  /// Errors as least_fused_traffic().
  static Result<FusedProblem> of(const FusedChain& chain, const FusedSpace& space);

  const FusedChain& chain() const { return chain_; }
  const std::vector<ChainTensor>& tensors() const { return tensors_; }
  const Einsum& einsum_of(std::size_t tensor) const;
  /// The tensor itself.
  const Tensor& tensor(std::size_t tensor) const;
  bool has_common_rank(std::size_t tensor, int common_rank) const;

  /// Tile shapes of the intermediate: the place where the branches part.
  const TileLattice& common_lattice() const { return common_lattice_; }
  std::size_t common_shapes() const { return static_cast<std::size_t>(*common_lattice_.size().to_int64()); }
  const TileLattice& branch_lattice(int einsum) const { return branch_lattices_[static_cast<std::size_t>(einsum)]; }

  /// What is left of an einsum's ranks inside common loops down to this tile: its other ranks are whole.
  std::vector<std::int64_t> inside(int einsum, const std::vector<std::int64_t>& common_tile) const;

  Count intermediate_elements(const std::vector<std::int64_t>& common_tile) const;
  /// Bits of one element of the intermediate: the wider of what is made and what is taken.
  Count intermediate_bits() const;

  /// A hold, with the traffic of the whole chain. `times` = how often the tensor comes.
  BufferHold hold(std::size_t tensor, const std::vector<std::int64_t>& tile, Count times) const;
  /// How often a tensor comes to a hold with this tile, just inside a loop that moves it.
  Count times(std::size_t tensor, const std::vector<std::int64_t>& tile) const;
  BufferHold bypassed_hold(std::size_t tensor) const;
  HoldCost cost(std::size_t tensor, const BufferHold& hold) const;

 private:
  FusedProblem(FusedChain chain, Count copies, const FusedSpace& space);

  FusedChain chain_;
  Count copies_;  ///< product of the ranks taken one value at a time
  std::vector<ChainTensor> tensors_;
  TileLattice common_lattice_;
  std::array<TileLattice, 2> branch_lattices_;
};

/// Every step with each tensor at a place of its own.
std::vector<FusedStep> own_place_steps(const FusedProblem& problem, const FusedSpace& space);
/// Every step with all held tensors where the branches part.
std::vector<FusedStep> parting_place_steps(const FusedProblem& problem, const FusedSpace& space);

}  // namespace einflow
