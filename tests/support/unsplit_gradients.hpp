// Gradients of einsums by the definition of the derivative, one operation of the iteration space after the other.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "cluster/devices/local_einsum.hpp"

namespace einflow::testing {

/// Gradients of all tensors under their own names, of the sum of products of each given gradient with its tensor. The
/// maximum (minimum) of a reduction passes its gradient on to the operation that has it; nothing passes through a
/// tensor that is `constant`. `values` are all tensors'
/// values after the einsums. Requires what cluster::devices::evaluate() requires.
cluster::devices::Tensors unsplit_gradients(const std::vector<Einsum>& einsums, const cluster::devices::Tensors& values,
                                            cluster::devices::Tensors gradients,
                                            const std::set<std::string>& constant = {});

}  // namespace einflow::testing
