// The least traffic from a backing store for every buffer size, over all nests of dividing tiles.
//
// Two storages, a backing store and one buffer; temporal loops only. What a tensor costs depends on where the buffer
// holds it: with dividing tiles and no sliding window, its residencies move every element once for each step of the
// loops outside the hold whose ranks the tensor lacks. A hold may therefore be taken to stand just inside a loop that
// moves the tensor, and its cost is a function of the tile shape there alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Which nests are looked at.
struct StaircaseSpace {
  bool shared_tile = false;  ///< all tensors are held at one place of the nest, one loop per rank outside it
  bool bypass = true;        ///< a tensor may be left out of the buffer
  std::vector<int> whole;    ///< ranks that no loop outside the buffer cuts
};

/// Where the buffer holds one tensor.
struct BufferHold {
  bool held = false;               ///< false: it bypasses the buffer
  std::vector<std::int64_t> tile;  ///< what is left of each rank at the hold
  Count elements;                  ///< of the tensor, held
  Count traffic;                   ///< elements that the backing store reads and writes for it
};

/// One step: no nest of the space moves less with a buffer of this size, nor as little with a smaller one.
struct StaircaseStep {
  Count buffer_bits;
  Count traffic_bits;             ///< read from and written to the backing store
  std::vector<BufferHold> holds;  ///< per tensor
  std::vector<int> hold_order;    ///< held tensors, outermost hold first
  std::vector<int> loop_order;    ///< shared tile: ranks of the loops outside it, outermost first; else empty
};

struct Staircase {
  std::vector<StaircaseStep> steps;  ///< buffer sizes rising, traffic falling
  Count compulsory_bits;             ///< every tensor once
  Count tile_shapes;                 ///< size of the lattice of tile shapes
};

/// The exact staircase of the space. Errors: uneven placement where a window slides or an axis is padded (only the
/// shared tile is searched there), more than 2 million tile shapes, a count that leaves 128 bits.
Result<Staircase> least_traffic(const Einsum& einsum, const StaircaseSpace& space);

/// Whether an axis of a tensor has several ranks or a stored size of its own.
bool has_window(const Einsum& einsum);

/// A spec that moves what the step says: backing store, buffer of the step's size, one unit.
Spec staircase_spec(const Einsum& einsum, const StaircaseStep& step);

}  // namespace einflow
