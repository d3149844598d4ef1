// Who stays and who moves (docs/law.md section 5), as pure functions of a checked nest.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapping/mapping.hpp"

namespace einflow {

/// A temporal loop as a line `at` sees it: the tensors held there that the loop moves (its rank is one of
/// theirs) and those that it leaves in place.
struct SeenLoop {
  int loop = 0;  ///< index into Mapping::loops
  std::vector<int> moves;
  std::vector<int> stationary;
  bool operator==(const SeenLoop&) const = default;
};

/// The order of movement at one place of the nest: a level's holds at one depth.
struct MovementOrder {
  int level = 0;
  int depth = 0;
  std::vector<int> tensors;     ///< held here, in the order of Einsum::tensors
  std::vector<SeenLoop> loops;  ///< temporal loops outside, from the innermost outwards; single trips left out
  bool operator==(const MovementOrder&) const = default;
};

/// One entry per place that holds something, outermost first; the compute level, which touches every
/// tensor, is the last.
std::vector<MovementOrder> movement_orders(const Spec& spec);

/// The tensors in the order in which a loop leaves them in place, read from the innermost loop outwards: the
/// first group is primary, the next secondary and so on. Tensors that every loop moves are in no group.
std::vector<std::vector<int>> stationary_groups(const MovementOrder& order);

/// How many successive steps the tensor's tile stays in place: the trips of the unbroken run of loops, from
/// the innermost outwards, that do not move it (1 = it moves at every step).
Count steps_in_place(const Spec& spec, const MovementOrder& order, int tensor);

/// The input that holds the weights, where its name says so ("W", "F", "weight", "filter" ...) and no other
/// input's does; problems with two inputs only.
std::optional<int> weights_of(const Einsum& einsum);

/// "output stationary", "weight stationary", "input stationary", or "stationary A" where the name of A does
/// not say which it is.
std::string stationary_name(const Einsum& einsum, int tensor);

/// What a spatial loop does to a tensor.
enum class SpatialRole {
  split,         ///< the rank is one of the tensor's: each coordinate has another part
  replicated,    ///< an input that lacks the rank: each coordinate has the same
  partial_sums,  ///< an output that lacks the rank: each coordinate has a part of the sum
};
SpatialRole spatial_role(const Einsum& einsum, const Loop& loop, int tensor);
std::string to_text(SpatialRole role);

/// The line as a user would write it, one rank: "for k by 128", "par n by 8 on array.x".
std::string to_text(const Loop& loop, const Einsum& einsum, const Machine& machine);

}  // namespace einflow
