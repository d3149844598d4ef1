// The einsums that carry a gradient back through an einsum.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow::cluster {

/// "d" and the tensor's name.
std::string gradient_name(const std::string& tensor);

/// Einsums in order; the last gives the einsum's share of the gradient of its tensor `input`, under the name
/// gradient_name(input); those before it give tensors that only they read. Empty where the output's gradient does not
/// depend on it: the maximum that a softmax subtracts (max and min reductions are taken as constant).
/// A function f of one input has the derivative function "f'"; of one of several inputs (attention) only which elements
/// its gradients read is known: one einsum with map "f'" of the output's gradient and all inputs. Errors: operators
/// without a rule (map max, min; reduce *).
Result<std::vector<Einsum>> gradient_of(const Einsum& einsum, int input);

}  // namespace einflow::cluster
