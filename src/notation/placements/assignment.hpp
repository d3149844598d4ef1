// The one rule behind all spellings: a mesh axis is given to one rank. Tensors that have the rank are split along it,
// the others are whole on every device, and an output that lacks it is there as partial sums.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mapping/mapping.hpp"

namespace einflow::placements {

/// Whose words: they differ in how they cut sizes that do not divide.
enum class Words { dtensor, jax };
std::string_view name_of(Words words);

/// One axis of a device mesh and the rank that it splits.
struct SplitAxis {
  std::string name;  ///< as texts name it
  std::int64_t size = 1;
  int rank = 0;   ///< index into Einsum::ranks; -1 for an axis of size 1 that splits nothing
  int mesh = -1;  ///< level of the machine
  int axis = -1;  ///< of that mesh
};

/// Major axes first, which is the order of the nest.
using Assignment = std::vector<SplitAxis>;

/// "x", or "gpus.x" where several meshes of the machine have an axis x.
std::string axis_name(const Machine& machine, int mesh, int axis);

/// The axis of the tensor that is this rank alone, from 0, all of it stored. Nothing where the tensor lacks the rank or
/// has it in an axis with a window, a stride or padding: a shard of that axis is no tile of the rank.
std::optional<int> plain_axis(const Einsum& einsum, int tensor, int rank);

/// Sizes of the pieces into which a rank is cut so far.
using Pieces = std::set<std::int64_t>;

/// The pieces after tiles of `tile`.
Pieces cut(const Pieces& pieces, std::int64_t tile);

/// Why shards over `size` devices are not tiles of `tile`; empty where they are. torch.chunk makes shards of
/// ceil(piece / size), of every piece by itself; JAX wants equal ones.
std::string cut_fault(Words words, const Pieces& pieces, std::int64_t tile, std::int64_t size);

/// The loop's axis and rank where it is a shard of whole tensors in these words; else all reasons why not. Loops
/// outside it over its rank must be spatial ones of meshes in `meshes`.
struct PlacedLoop {
  SplitAxis split;
  std::vector<std::string> faults;
};
PlacedLoop placed_loop(const Spec& spec, int loop, Words words, const std::set<int>& meshes);

/// The axes of the outermost meshes whose par loops can all be said; meshes further in are then part of what a device
/// does. Errors: no par loop, or why the outermost mesh with one cannot be said.
Result<Assignment> assignment_of(const Spec& spec, Words words);

/// HBM that all devices share, a mesh `devices` with the axes, with multicast and reduction, memory `Device` and a MAC.
Machine device_machine(const Assignment& assignment);

/// The nest of the assignment: its par lines, every tensor held in the first storage inside them, and loops of one
/// element (or the compute level's atomic shape) in the order in which the einsum's text has its ranks.
std::string device_nest(const Einsum& einsum, const Machine& machine, const Assignment& assignment);

/// "p+r has a window": why an axis that has the rank is not the rank alone.
std::string axis_fault(const Einsum& einsum, int tensor, int rank);

}  // namespace einflow::placements
