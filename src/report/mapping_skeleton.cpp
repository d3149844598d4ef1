#include "report/mapping_skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace einflow {

namespace {

std::string names(const Einsum& einsum) {
  std::string text;
  for (const Tensor& tensor : einsum.tensors) text += (text.empty() ? "" : " ") + tensor.name;
  return text;
}

std::string rank_list(const Einsum& einsum) {
  std::string text;
  for (const Rank& rank : einsum.ranks) text += (text.empty() ? "" : " ") + rank.name;
  return text;
}

/// What the operation takes of a rank: its extent in the atomic shape, or 1.
std::int64_t atomic_extent(const Compute& compute, const std::string& rank) {
  for (const auto& [name, extent] : compute.atomic) {
    if (name == rank) return extent;
  }
  return 1;
}

}  // namespace

std::string mapping_skeleton(const Einsum& einsum, const Machine& machine) {
  std::string text;
  bool outermost = true;
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (const Storage* storage = machine.storage(level)) {
      if (!outermost) text += fmt::format("for {} by TILE\n", rank_list(einsum));
      text += fmt::format("at {}: {}\n", storage->name, names(einsum));
      outermost = false;
    } else if (const Mesh* mesh = machine.mesh(level)) {
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        const std::string& rank = einsum.ranks[std::min(axis, einsum.ranks.size() - 1)].name;
        text += fmt::format("par {} by TILE on {}.{}  # at most {} tiles\n", rank, mesh->name, mesh->axes[axis].name,
                            mesh->axes[axis].size);
      }
    }
  }
  for (const Rank& rank : einsum.ranks) {
    text += fmt::format("for {} by {}\n", rank.name, atomic_extent(machine.compute(), rank.name));
  }
  return text;
}

}  // namespace einflow
