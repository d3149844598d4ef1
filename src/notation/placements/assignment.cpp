#include "notation/placements/assignment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/message.hpp"
#include "mapping/atomic.hpp"

namespace einflow::placements {

namespace {

const Axis* axis_with(const Einsum& einsum, int tensor, int rank, int& index) {
  const auto& axes = einsum.tensors[static_cast<std::size_t>(tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (const Term& term : axes[a].terms) {
      if (term.rank != rank) continue;
      index = static_cast<int>(a);
      return &axes[a];
    }
  }
  return nullptr;
}

std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return 1 + (a - 1) / b; }

/// Ranks in the order in which the einsum's text names them: the output's, then the inputs'.
std::vector<int> ranks_as_written(const Einsum& einsum) {
  std::vector<int> order;
  const auto add = [&](const Tensor& tensor) {
    for (const Axis& axis : tensor.axes) {
      for (const Term& term : axis.terms) {
        if (std::find(order.begin(), order.end(), term.rank) == order.end()) order.push_back(term.rank);
      }
    }
  };
  add(einsum.tensors.back());
  for (const Tensor& tensor : einsum.tensors) add(tensor);
  return order;
}

/// What the compute level takes of each rank at once.
std::vector<std::int64_t> atomic_tiles(const Einsum& einsum, const Compute& compute,
                                       const std::vector<std::int64_t>& left) {
  std::vector<std::int64_t> tiles(einsum.ranks.size(), 1);
  const auto layouts = atomic_layouts(einsum, compute);
  if (layouts.empty()) return tiles;
  for (const AtomicRole& role : layouts.front()) {
    std::int64_t room = role.extent;
    for (const int rank : role.ranks) {
      const auto r = static_cast<std::size_t>(rank);
      tiles[r] = std::min(left[r], room);
      room /= tiles[r];
    }
  }
  return tiles;
}

std::string loop_words(const Spec& spec, const Loop& loop) {
  const std::string& rank = spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
  if (!loop.spatial) return fmt::format("for {} by {}", rank, loop.tile);
  return fmt::format("par {} by {} on {}.{}", rank, loop.tile, spec.machine.level_name(loop.mesh),
                     spec.machine.mesh(loop.mesh)->axes[static_cast<std::size_t>(loop.axis)].name);
}

/// What keeps the loops of these meshes from being shards of whole tensors.
Diagnostics faults_of(const Spec& spec, Words words, const std::set<int>& meshes) {
  Diagnostics errors;
  for (int i = 0; i < static_cast<int>(spec.mapping.loops.size()); ++i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial || meshes.count(loop.mesh) == 0) continue;
    for (const std::string& fault : placed_loop(spec, i, words, meshes).faults) {
      errors.push_back({{},
                        fmt::format("'{}' has no {} spelling: {}", loop_words(spec, loop), name_of(words), fault),
                        "--to placements shows what each loop does, in words",
                        {}});
    }
  }
  return errors;
}

}  // namespace

std::string_view name_of(Words words) { return words == Words::dtensor ? "DTensor" : "JAX"; }

std::string axis_name(const Machine& machine, int mesh, int axis) {
  const Mesh& own = *machine.mesh(mesh);
  const std::string& name = own.axes[static_cast<std::size_t>(axis)].name;
  int times = 0;
  for (const Level& level : machine.levels) {
    const auto* other = std::get_if<Mesh>(&level);
    if (other == nullptr) continue;
    times += static_cast<int>(std::count_if(other->axes.begin(), other->axes.end(),
                                            [&](const MeshAxis& candidate) { return candidate.name == name; }));
  }
  return times == 1 ? name : own.name + "." + name;
}

std::optional<int> plain_axis(const Einsum& einsum, int tensor, int rank) {
  int index = -1;
  const Axis* axis = axis_with(einsum, tensor, rank, index);
  if (axis == nullptr || !axis_fault(einsum, tensor, rank).empty()) return std::nullopt;
  return index;
}

std::string axis_fault(const Einsum& einsum, int tensor, int rank) {
  int index = -1;
  const Axis* axis = axis_with(einsum, tensor, rank, index);
  if (axis == nullptr) return {};
  const std::string& name = einsum.tensors[static_cast<std::size_t>(tensor)].name;
  const std::string text = to_text(*axis, einsum);
  const std::int64_t extent = einsum.ranks[static_cast<std::size_t>(rank)].extent;
  for (const Term& term : axis->terms) {
    // With one tap there is no window; which of two ranks of one element an axis is cannot be told.
    if (term.rank == rank || (extent > 1 && einsum.ranks[static_cast<std::size_t>(term.rank)].extent == 1)) continue;
    return fmt::format("the axis {} of {} has a window: shards of it would overlap (a halo)", text, name);
  }
  for (const Term& term : axis->terms) {
    if (term.rank == rank && term.coefficient != 1 && extent > 1) {
      return fmt::format("the axis {} of {} has a stride: its shards are not those of the rank", text, name);
    }
  }
  if (axis->constant != 0 || axis->stored_size.value_or(extent) != extent) {
    return fmt::format("the axis {} of {} is not stored from 0 to the rank's end: its shards are not those of the rank",
                       text, name);
  }
  return {};
}

Pieces cut(const Pieces& pieces, std::int64_t tile) {
  Pieces after;
  for (const std::int64_t piece : pieces) {
    after.insert(std::min(piece, tile));
    if (piece % tile != 0) after.insert(piece % tile);
  }
  return after;
}

std::string cut_fault(Words words, const Pieces& pieces, std::int64_t tile, std::int64_t size) {
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    if (words == Words::jax) {
      if (*piece % size != 0)
        return fmt::format("{} is not a multiple of {}, and JAX wants equal shards", *piece, size);
      if (*piece / size == tile) continue;
      return fmt::format("JAX cuts {} over {} devices into shards of {}, the nest into {}", *piece, size, *piece / size,
                         tile);
    }
    const std::int64_t shard = ceil_of(*piece, size);
    if (shard == tile || (shard >= *piece && tile >= *piece)) continue;
    return fmt::format("DTensor cuts {} over {} devices into shards of {} (torch.chunk), the nest into {}", *piece,
                       size, shard, tile);
  }
  return {};
}

PlacedLoop placed_loop(const Spec& spec, int index, Words words, const std::set<int>& meshes) {
  const std::vector<Loop>& loops = spec.mapping.loops;
  const Loop& loop = loops[static_cast<std::size_t>(index)];
  const Mesh& mesh = *spec.machine.mesh(loop.mesh);
  PlacedLoop placed;
  placed.split = {axis_name(spec.machine, loop.mesh, loop.axis), mesh.axes[static_cast<std::size_t>(loop.axis)].size,
                  loop.rank, loop.mesh, loop.axis};
  const std::string& rank = spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
  Pieces pieces{spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].extent};
  bool whole = true;
  bool alone = true;
  for (int i = 0; i < static_cast<int>(loops.size()); ++i) {
    const Loop& other = loops[static_cast<std::size_t>(i)];
    if (i != index && other.spatial && other.mesh == loop.mesh && other.axis == loop.axis) {
      alone = false;
      placed.faults.push_back(fmt::format(
          "the axis {}.{} has another loop, '{}': {} gives an axis to one rank; split it into two axes", mesh.name,
          mesh.axes[static_cast<std::size_t>(loop.axis)].name, loop_words(spec, other), name_of(words)));
    }
    if (i >= index || other.rank != loop.rank) continue;
    pieces = cut(pieces, other.tile);
    if (!whole || (other.spatial && meshes.count(other.mesh) != 0)) continue;
    whole = false;
    placed.faults.push_back(fmt::format(
        "'{}' stands outside it: each device has a piece of every tile of {} (block-cyclic), which is no shard "
        "of the whole",
        loop_words(spec, other), rank));
  }
  if (whole && alone) {
    const std::string fault = cut_fault(words, pieces, loop.tile, placed.split.size);
    if (!fault.empty()) placed.faults.push_back(fmt::format("rank {}: {}", rank, fault));
  }
  for (int t = 0; t < static_cast<int>(spec.einsum.tensors.size()); ++t) {
    const std::string fault = axis_fault(spec.einsum, t, loop.rank);
    if (!fault.empty()) placed.faults.push_back(fault);
  }
  return placed;
}

Result<Assignment> assignment_of(const Spec& spec, Words words) {
  std::set<int> with_loops;
  for (const Loop& loop : spec.mapping.loops) {
    if (loop.spatial) with_loops.insert(loop.mesh);
  }
  if (with_loops.empty()) {
    return fail("the nest has no par loop: no tensor is placed on a mesh",
                "a line such as `par n into 4 on gpus.x` splits a rank over devices");
  }
  std::set<int> meshes = with_loops;
  Diagnostics errors;
  for (; !meshes.empty(); meshes.erase(std::prev(meshes.end()))) {
    errors = faults_of(spec, words, meshes);
    if (errors.empty()) break;
  }
  if (meshes.empty()) return tl::unexpected(std::move(errors));
  Assignment assignment;
  for (int i = 0; i < static_cast<int>(spec.mapping.loops.size()); ++i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial || meshes.count(loop.mesh) == 0) continue;
    assignment.push_back(placed_loop(spec, i, words, meshes).split);
  }
  return assignment;
}

Machine device_machine(const Assignment& assignment) {
  Storage shared;
  shared.name = "HBM";
  Mesh mesh;
  mesh.name = "devices";
  for (const SplitAxis& axis : assignment) mesh.axes.push_back({axis.name, axis.size});
  mesh.multicast = true;
  mesh.reduction = true;
  Storage memory;
  memory.name = "Device";
  Compute compute;
  compute.name = "MAC";
  Machine machine;
  machine.name = "devices";
  machine.levels = {shared, mesh, memory, compute};
  return machine;
}

std::string device_nest(const Einsum& einsum, const Machine& machine, const Assignment& assignment) {
  std::vector<std::int64_t> left;
  for (const Rank& rank : einsum.ranks) left.push_back(rank.extent);
  std::string nest;
  int innermost = 0;
  for (const SplitAxis& split : assignment) {
    if (split.rank < 0) continue;
    std::int64_t& size = left[static_cast<std::size_t>(split.rank)];
    size = ceil_of(size, split.size);
    const Mesh& mesh = *machine.mesh(split.mesh);
    nest += fmt::format("par {} by {} on {}.{}\n", einsum.ranks[static_cast<std::size_t>(split.rank)].name, size,
                        mesh.name, mesh.axes[static_cast<std::size_t>(split.axis)].name);
    innermost = std::max(innermost, split.mesh);
  }
  for (int level = innermost + 1; level < machine.compute_level(); ++level) {
    if (machine.storage(level) == nullptr) continue;
    nest += "at " + machine.level_name(level) + ":";
    for (const Tensor& tensor : einsum.tensors) nest += " " + tensor.name;
    nest += "\n";
    break;
  }
  const std::vector<std::int64_t> tiles = atomic_tiles(einsum, machine.compute(), left);
  for (const int rank : ranks_as_written(einsum)) {
    const auto r = static_cast<std::size_t>(rank);
    if (left[r] > tiles[r]) nest += fmt::format("for {} by {}\n", einsum.ranks[r].name, tiles[r]);
  }
  return nest;
}

}  // namespace einflow::placements
