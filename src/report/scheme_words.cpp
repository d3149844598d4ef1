#include "report/scheme_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "notation/placements/names.hpp"
#include "notation/placements/spelling.hpp"

namespace einflow {

using namespace cluster;
using placements::Assignment;
using placements::SplitAxis;
using placements::Words;

namespace {

std::size_t index(int value) { return static_cast<std::size_t>(value); }

/// An einsum whose output is the tensor, so that an axis of an extra rank leaves it partial.
Einsum output_of(const std::vector<Rank>& ranks, const Placement& placement) {
  Einsum einsum;
  einsum.ranks = ranks;
  einsum.ranks.push_back({"", 1});
  einsum.tensors.resize(2);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    einsum.tensors[1].axes.push_back(Axis{{Term{static_cast<int>(rank), 1}}, 0, {}});
  }
  for (const State& state : placement.states) {
    if (state.kind == StateKind::partial && !state.op.empty()) einsum.reduce = state.op;
  }
  return einsum;
}

Assignment assignment_of(const Einsum& einsum, const Placement& placement, const DeviceMesh& mesh) {
  Assignment assignment;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const State& state = placement.states[axis];
    SplitAxis split{mesh.axes[axis].name, mesh.axes[axis].size, -1, 1, static_cast<int>(axis)};
    if (state.kind == StateKind::split) split.rank = einsum.rank_named(state.rank);
    if (state.kind == StateKind::partial) split.rank = static_cast<int>(einsum.ranks.size()) - 1;
    assignment.push_back(split);
  }
  return assignment;
}

/// A product whose activations have several ranks of tokens, with those as one: MAESTRO and nn.Linear have matrices.
/// Nothing where it is no such product, or the rank is one of those.
std::optional<Einsum> as_matrices(const Einsum& einsum, const std::string& rank) {
  const int weight = einsum.tensor_named("W");
  if (!einsum.is_mac() || weight < 0 || einsum.tensors[index(weight)].axes.size() != 2) return std::nullopt;
  std::vector<int> kept;  // ranks of the weight
  for (const Axis& axis : einsum.tensors[index(weight)].axes) kept.push_back(axis.terms.front().rank);
  if (einsum.ranks.size() < 4) return std::nullopt;
  Einsum result;
  result.ranks = {{"tokens", 1}, einsum.ranks[index(kept[0])], einsum.ranks[index(kept[1])]};
  if (result.rank_named(rank) < 0) return std::nullopt;
  for (const Tensor& tensor : einsum.tensors) {
    Tensor matrix;
    matrix.name = tensor.name;
    if (tensor.name != "W") matrix.axes.push_back(Axis{{Term{0, 1}}, 0, {}});
    for (const Axis& axis : tensor.axes) {
      const int own = axis.terms.front().rank;
      if (own == kept[0] || own == kept[1]) matrix.axes.push_back(Axis{{Term{own == kept[0] ? 1 : 2, 1}}, 0, {}});
    }
    if (matrix.axes.size() != 2) return std::nullopt;
    result.tensors.push_back(std::move(matrix));
  }
  return result;
}

Assignment axes_of(const DeviceMesh& mesh) {
  Assignment assignment;
  for (const MeshAxis& axis : mesh.axes) assignment.push_back({axis.name, axis.size, -1, -1, -1});
  return assignment;
}

}  // namespace

Spelling spelling_of(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh) {
  const Einsum einsum = output_of(ranks, placement);
  Assignment assignment = assignment_of(einsum, placement, mesh);
  Spelling spelling;
  spelling.dtensor = tensor_text(Words::dtensor, einsum, 1, assignment);
  const auto is_partial = [](const State& state) { return state.kind == StateKind::partial; };
  if (std::any_of(placement.states.begin(), placement.states.end(), is_partial)) return spelling;
  // A PartitionSpec names the axes of a rank major first; DTensor's order is the mesh's.
  std::stable_sort(assignment.begin(), assignment.end(), [&](const SplitAxis& a, const SplitAxis& b) {
    return placement.states[index(a.axis)].depth < placement.states[index(b.axis)].depth;
  });
  spelling.jax = tensor_text(Words::jax, einsum, 1, assignment);
  return spelling;
}

Spelling spelling_of(const DeviceMesh& mesh) {
  const Assignment axes = axes_of(mesh);
  return {mesh_text(Words::dtensor, axes), mesh_text(Words::jax, axes)};
}

LoopWords loop_words(const ShardedEinsum& sharded, const ParLoop& loop, const DeviceMesh& mesh,
                     const std::string& weight) {
  Einsum einsum = sharded.einsum;
  // The names of weights that those words look for.
  const int tensor = einsum.tensor_named(weight);
  if (tensor >= 0) einsum.tensors[index(tensor)].name = "W";
  if (auto matrices = as_matrices(einsum, loop.rank)) einsum = std::move(*matrices);
  const int rank = einsum.rank_named(loop.rank);
  const int axis = mesh.axis_named(loop.axis);
  Spec spec;
  spec.einsum = einsum;
  spec.machine = placements::device_machine(axes_of(mesh));
  Loop nest_loop;
  nest_loop.spatial = true;
  nest_loop.rank = rank;
  nest_loop.mesh = 1;
  nest_loop.axis = axis;
  const std::int64_t size = mesh.axes[index(axis)].size;
  std::int64_t left = einsum.ranks[index(rank)].extent;
  for (const ParLoop& outer : sharded.par) {
    if (outer == loop) break;
    if (outer.rank == loop.rank) left = 1 + (left - 1) / mesh.axes[index(mesh.axis_named(outer.axis))].size;
  }
  nest_loop.tile = 1 + (left - 1) / size;
  LoopWords words{placements::parallelism_name(einsum, rank), placements::tangram_name(einsum, rank),
                  placements::maestro_name(spec, nest_loop), placements::torch_weight(einsum, rank)};
  const std::string keeps = "nn.Linear keeps W as";
  if (words.torch.starts_with(keeps)) words.torch.replace(0, keeps.size(), "nn.Linear keeps " + weight + " as");
  return words;
}

std::vector<std::string> nest_lines(const ShardedEinsum& sharded, const DeviceMesh& mesh, std::int64_t pieces) {
  std::vector<std::string> lines;
  for (const ParLoop& loop : sharded.par) {
    lines.push_back(fmt::format("par {} into {} on devices.{}", loop.rank,
                                mesh.axes[index(mesh.axis_named(loop.axis))].size, loop.axis));
  }
  if (sharded.time) lines.push_back(fmt::format("for {} into {}", sharded.time->rank, pieces));
  return lines;
}

}  // namespace einflow
