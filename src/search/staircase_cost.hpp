// What a hold costs where tiles divide, and which steps of a staircase no other beats.
#pragma once

#include <cstdint>
#include <vector>

#include "search/lattice.hpp"
#include "search/staircase.hpp"

namespace einflow {

/// Elements of a tile of a tensor without windows.
Count box_elements(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile);

/// What the backing store moves for a tensor of `elements` that comes `times`: an output is read back but for the
/// first time.
Count moved(const Einsum& einsum, int tensor, Count elements, Count times);

/// Of one element.
Count bits_of(const Einsum& einsum, int tensor);

/// Product of trips of the ranks that the tensor lacks, outside a tile.
Count trips_without(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile);

/// Every rank whole.
std::vector<std::int64_t> extents(const Einsum& einsum);

/// A tensor that no buffer holds: every operation reads it, or reads and writes it but for the first time.
BufferHold bypassed(const Einsum& einsum, int tensor);

/// Keeps the steps that no other beats: buffer sizes rising, traffic falling.
void keep_best(std::vector<StaircaseStep>& steps);

/// A nest of a shared tile between two storages: loops in the order given outside it, the rest inside.
Spec shared_spec(const Einsum& einsum, const std::vector<int>& order, const std::vector<std::int64_t>& tile,
                 const std::vector<bool>& held);

/// Every step with each tensor held at a place of its own. Requires an einsum without windows.
std::vector<StaircaseStep> uneven_steps(const Einsum& einsum, const StaircaseSpace& space, const TileLattice& lattice);

/// Every step with all held tensors at one place.
Result<std::vector<StaircaseStep>> shared_tile_steps(const Einsum& einsum, const StaircaseSpace& space,
                                                     const TileLattice& lattice);

}  // namespace einflow
