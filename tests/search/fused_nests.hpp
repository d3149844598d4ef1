// Every fused nest of a small chain, tried one by one.
#pragma once

#include <utility>
#include <vector>

#include "search/fused_staircase.hpp"

namespace einflow {

/// Buffer and least traffic, in bits, over all nests of prime cuts with every tensor held anywhere or nowhere; each
/// hold is executed. Extents have the primes 2, 3 and 5 only; an element of the intermediate has 8 bits.
std::vector<std::pair<Count, Count>> every_fused_nest(const FusedChain& chain, const FusedSpace& space);

}  // namespace einflow
