// What docs/law.md section 1 asks of an einsum, for einsums from text and from code alike.
#pragma once

#include <string>
#include <vector>

#include "problem/einsum.hpp"

namespace einflow {

/// Something wrong with an einsum, and which part of it; -1 where it is not about one.
struct EinsumFault {
  std::string message;
  std::string hint;
  int rank = -1;    ///< index into Einsum::ranks
  int tensor = -1;  ///< index into Einsum::tensors
  int axis = -1;    ///< index into that tensor's axes
};

/// Everything that is wrong with its form: tensors named twice, a rank twice in a tensor, output axes that are not
/// single ranks, coefficients below 1, "=" with reduction ranks.
std::vector<EinsumFault> check_form(const Einsum& einsum);

/// Everything that is wrong with its sizes: extents below 1, more than 128 bits of operations, axes that reach
/// 2^62, negative constants on axes without a stored size, axes none of whose positions is stored.
std::vector<EinsumFault> check_sizes(const Einsum& einsum);

}  // namespace einflow
