#include "report/mapping_skeleton.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mapping/atomic.hpp"

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

/// What the operation takes of each rank: the first rank of each role of the atomic shape takes all that it can.
std::vector<std::int64_t> atomic_extents(const Einsum& einsum, const Compute& compute) {
  std::vector<std::int64_t> extents(einsum.ranks.size(), 1);
  const auto layouts = atomic_layouts(einsum, compute);
  if (layouts.empty()) return extents;
  for (const AtomicRole& role : layouts.front()) {
    if (role.ranks.empty()) continue;
    const auto rank = static_cast<std::size_t>(role.ranks.front());
    extents[rank] = std::min(role.extent, einsum.ranks[rank].extent);
  }
  return extents;
}

/// The rank with the `place`-th largest extent (the smallest where there are fewer): something to spread.
std::size_t largest_rank(const Einsum& einsum, std::size_t place) {
  std::vector<std::size_t> order(einsum.ranks.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank) order[rank] = rank;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return einsum.ranks[a].extent > einsum.ranks[b].extent; });
  return order[std::min(place, order.size() - 1)];
}

}  // namespace

std::string mapping_skeleton(const Einsum& einsum, const Machine& machine) {
  std::string text;
  bool outermost = true;
  std::size_t unnamed_axes = 0;
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (const Storage* storage = machine.storage(level)) {
      if (!outermost) text += fmt::format("for {} by TILE\n", rank_list(einsum));
      text += fmt::format("at {}: {}\n", storage->name, names(einsum));
      outermost = false;
    } else if (const Mesh* mesh = machine.mesh(level)) {
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        // A rank of the axis's name is meant; else the largest that no axis has yet.
        const int named = einsum.rank_named(mesh->axes[axis].name);
        const std::string& rank =
            einsum.ranks[named >= 0 ? static_cast<std::size_t>(named) : largest_rank(einsum, unnamed_axes++)].name;
        text += fmt::format("par {} by TILE on {}.{}  # at most {} tiles\n", rank, mesh->name, mesh->axes[axis].name,
                            mesh->axes[axis].size);
      }
    }
  }
  const std::vector<std::int64_t> extents = atomic_extents(einsum, machine.compute());
  for (std::size_t rank = 0; rank < einsum.ranks.size(); ++rank) {
    text += fmt::format("for {} by {}\n", einsum.ranks[rank].name, extents[rank]);
  }
  return text;
}

}  // namespace einflow
