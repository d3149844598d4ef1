// An einsum on one device's arrays, and an einsum unsplit.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/devices/local_array.hpp"
#include "cluster/devices/operators.hpp"
#include "cluster/scheme.hpp"

namespace einflow::cluster::devices {

/// Whole tensors by name, row by row.
using Tensors = std::map<std::string, Values>;

/// The ranks of a tensor's axes. Errors: an axis that is not a single rank with coefficient 1.
Result<std::vector<Rank>> ranks_of(const Einsum& einsum, std::size_t tensor);

/// The part of a box of the einsum's ranks that a tensor has.
Box part_of(const Einsum& einsum, std::size_t tensor, const Box& box);

/// The slice of each of the einsum's ranks that falls to a device by the `par` loops.
Box share_of(const ShardedEinsum& work, const DeviceMesh& mesh, std::int64_t device);

/// Reduces the operations of a box of the iteration space into what `output` has already. Errors: an operator that is
/// not known, operands or an output that lack elements of the box.
Result<void> compute(const Einsum& einsum, const Box& box, const std::vector<const LocalArray*>& operands,
                     LocalArray& output);

/// The operator with which terms of the einsum's output are joined; "+" where it reduces nothing.
std::string reduction_of(const Einsum& einsum);

/// All tensors after the einsums, one after the other, on a single device. Errors: as above, a tensor that is not
/// there or has another size.
Result<Tensors> evaluate(const std::vector<Einsum>& einsums, Tensors tensors);

}  // namespace einflow::cluster::devices
