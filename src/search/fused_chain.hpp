// Two einsums of a cascade of which the second takes the first's output, perhaps after element-wise einsums between.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// A chain of two einsums that can be computed piece by piece: S[m,n] += Q[m,d] * K[n,d], then
/// O[m,f] += P[m,n] * V[n,f], where P is S or made from S element by element.
///
/// The ranks of S are the **common** ranks. All others belong to one of the two einsums, also where both have one of
/// that name.
struct FusedChain {
  std::array<Einsum, 2> einsums;     ///< the first makes the intermediate, the second takes it
  int taken = 0;                     ///< the input of the second that the first's output has become
  std::vector<std::string> between;  ///< einsums that make this input from the first's output: they move nothing
  std::vector<std::string> rows;     ///< tensors of a value a row that they make ("maximum", "sum")

  const Tensor& intermediate() const { return einsums[0].tensors.back(); }
  /// The ranks of the intermediate, axis by axis.
  std::vector<Rank> common_ranks() const;
};

/// A tensor of a chain that a backing store has.
struct ChainTensor {
  int einsum = 0;  ///< 0 or 1
  int tensor = 0;  ///< index into its tensors
};

/// All tensors of the chain but the intermediate: inputs of the first, other inputs of the second, its output.
std::vector<ChainTensor> moved_tensors(const FusedChain& chain);

/// Whether a common rank, by its number in common_ranks(), is a rank of every tensor of both einsums (batch, heads).
bool is_in_every_tensor(const FusedChain& chain, int common_rank);

/// The chain that begins with the einsum named; with no name the only chain there is. Einsums after the second product
/// are not looked at. Errors: no such einsum, none or several chains, a sliding window or padding, an einsum between
/// that takes a tensor from outside, a tensor of both products, more than 5 tensors beside the intermediate.
Result<FusedChain> fused_chain(const Cascade& cascade, const std::string& first = {});

}  // namespace einflow
