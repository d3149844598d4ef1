// The nest of a step of the fused staircase, loop by loop.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "search/fused_staircase.hpp"

namespace einflow {

/// `for rank by tile`, `trips` times.
struct FusedLoop {
  std::string rank;
  std::int64_t tile = 1;
  std::int64_t trips = 1;
};

/// Where a tensor is held: inside the first `depth` loops of the common ones, or of its branch.
struct FusedPlace {
  bool held = false;
  bool common = false;
  std::size_t depth = 0;
};

struct FusedNest {
  std::vector<FusedLoop> common;                   ///< outermost first
  std::array<std::vector<FusedLoop>, 2> branches;  ///< down to 1 of every rank
  std::vector<FusedPlace> places;                  ///< per tensor of moved_tensors()
  std::vector<int> order;                          ///< held tensors; of those at one place in the order of their holds
};

/// The nest that moves what the step says.
FusedNest fused_nest(const FusedChain& chain, const FusedStep& step);

/// Its lines, indented by two for each branch: "for q by 64", "at Buffer: Q[q,e]".
std::string to_text(const FusedChain& chain, const FusedNest& nest);

}  // namespace einflow
