// Small readings of a spec that several costs share.
#pragma once

#include <optional>
#include <vector>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Indices of the storage levels, outermost first.
std::vector<int> storage_levels(const Machine& machine);

/// How many of the level the machine has: the product of the meshes outside it.
Count instances_of(const Machine& machine, int level);

/// Bits of one element.
Count element_bits(const Spec& spec, int tensor);

/// Bytes of that many bits.
Ratio bytes_of_bits(Count bits);

/// Index of the tensor's hold at the level, or -1.
int hold_at(const Mapping& mapping, int tensor, int level);

/// The counts of one hold.
const HoldCounts& counts_of(const Counts& counts, int tensor, int hold);

/// The type whose rate and energy the compute level works at: the widest of the inputs' types.
const ElementType& compute_type(const Einsum& einsum);

/// Operations per cycle and instance for the einsum's widest input type; absent where not stated, or where the
/// compute level does not execute this einsum (an addition on a matrix unit).
std::optional<Ratio> compute_rate(const Spec& spec);

/// Operations of one whole atomic shape; 1 where none is declared.
Count atomic_operations(const Compute& compute);

/// Peak operations per cycle of all instances, for the problem's type; nothing where not stated.
std::optional<Ratio> peak_rate(const Spec& spec);

}  // namespace einflow
