// From the states of all tensors to the rank of each mesh axis, by the one rule; what contradicts it is told.
#pragma once

#include "notation/placements/spelling.hpp"

namespace einflow::placements {

/// The assignment that gives every tensor the state that was stated; `tensors` are those of the einsum, in its order.
/// Nothing where an error was added: an axis that splits nothing or two ranks, a tensor in another state than follows,
/// sizes that do not divide where the words want it.
std::optional<Assignment> assignment_from(Words words, const Einsum& einsum, const StatedMesh& mesh,
                                          const std::vector<StatedTensor>& tensors, Diagnostics& errors);

}  // namespace einflow::placements
