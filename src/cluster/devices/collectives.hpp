// Collectives by messages: each device's array of a tensor before, and after.
#pragma once

#include <vector>

#include "cluster/devices/wires.hpp"
#include "cluster/program.hpp"

namespace einflow::cluster::devices {

/// What every device has of one tensor in one placement.
using Spread = std::vector<LocalArray>;

/// Arrays of that placement with one value everywhere.
Spread spread_of(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh, double value);

/// The arrays in the collective's `to`, from those in its `from`:
/// all_gather: pieces go around the ring of the axis. reduce_scatter: sums go around it. all_reduce: both, over p flat
/// chunks of ceil(n / p) of a device's n elements. all_to_all: in step s each device sends the device s further what
/// that will have. slice: each device keeps its part (from replicated to partial: device 0 of the axis all, the
/// others the operator's identity). redistribute: each device is sent what it lacks by the device that has it and has
/// the receiver's coordinates on all axes that do not split the tensor before. With `time` an all_gather and a
/// reduce_scatter go piece by piece, as broadcasts and reductions along the axis or as shifts.
/// Errors: states that the kind does not change so, elements that no sender has.
Result<Spread> carry_out(const Collective& collective, const DeviceMesh& mesh, const Spread& before, Wires& wires);

/// Whether kind and states fit each other and the mesh.
Result<void> check_states(const Collective& collective, const DeviceMesh& mesh);

}  // namespace einflow::cluster::devices
