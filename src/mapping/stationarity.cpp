#include "mapping/stationarity.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace einflow {

namespace {

/// Loops outside `depth` that move something in time, innermost first.
std::vector<SeenLoop> loops_seen(const Spec& spec, int depth, const std::vector<int>& tensors) {
  std::vector<SeenLoop> seen;
  for (int index = depth - 1; index >= 0; --index) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(index)];
    if (loop.spatial || loop.trips == 1) continue;
    SeenLoop entry;
    entry.loop = index;
    for (int tensor : tensors) {
      (spec.einsum.has_rank(tensor, loop.rank) ? entry.moves : entry.stationary).push_back(tensor);
    }
    seen.push_back(std::move(entry));
  }
  return seen;
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

bool names_weights(const std::string& name) {
  static constexpr std::array<std::string_view, 9> kNames = {"w",       "f",      "weight",  "weights", "filter",
                                                             "filters", "kernel", "kernels", "wt"};
  std::string lower;
  for (const char c : name) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kNames.begin(), kNames.end(), lower) != kNames.end();
}

}  // namespace

std::vector<MovementOrder> movement_orders(const Spec& spec) {
  std::vector<MovementOrder> orders;
  for (std::size_t tensor = 0; tensor < spec.mapping.holds.size(); ++tensor) {
    for (const Hold& hold : spec.mapping.holds[tensor]) {
      auto same_place = [&](const MovementOrder& o) { return o.level == hold.level && o.depth == hold.depth; };
      auto found = std::find_if(orders.begin(), orders.end(), same_place);
      if (found == orders.end()) found = orders.insert(orders.end(), {hold.level, hold.depth, {}, {}});
      found->tensors.push_back(static_cast<int>(tensor));
    }
  }
  std::stable_sort(orders.begin(), orders.end(), [](const MovementOrder& a, const MovementOrder& b) {
    return a.depth != b.depth ? a.depth < b.depth : a.level < b.level;
  });
  for (MovementOrder& order : orders) order.loops = loops_seen(spec, order.depth, order.tensors);
  return orders;
}

std::vector<std::vector<int>> stationary_groups(const MovementOrder& order) {
  std::vector<std::vector<int>> groups;
  std::vector<int> placed;
  for (const SeenLoop& loop : order.loops) {
    std::vector<int> group;
    for (int tensor : loop.stationary) {
      if (!contains(placed, tensor)) group.push_back(tensor);
    }
    placed.insert(placed.end(), group.begin(), group.end());
    if (!group.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

Count steps_in_place(const Spec& spec, const MovementOrder& order, int tensor) {
  Count steps = 1;
  for (const SeenLoop& loop : order.loops) {
    if (!contains(loop.stationary, tensor)) break;
    steps *= spec.mapping.loops[static_cast<std::size_t>(loop.loop)].trips;
  }
  return steps;
}

std::optional<int> weights_of(const Einsum& einsum) {
  if (einsum.output() != 2) return std::nullopt;
  const bool first = names_weights(einsum.tensors[0].name);
  const bool second = names_weights(einsum.tensors[1].name);
  if (first == second) return std::nullopt;
  return first ? 0 : 1;
}

std::string stationary_name(const Einsum& einsum, int tensor) {
  if (einsum.is_output(tensor)) return "output stationary";
  const std::optional<int> weights = weights_of(einsum);
  if (!weights) return "stationary " + einsum.tensors[static_cast<std::size_t>(tensor)].name;
  return *weights == tensor ? "weight stationary" : "input stationary";
}

SpatialRole spatial_role(const Einsum& einsum, const Loop& loop, int tensor) {
  if (einsum.has_rank(tensor, loop.rank)) return SpatialRole::split;
  return einsum.is_output(tensor) ? SpatialRole::partial_sums : SpatialRole::replicated;
}

std::string to_text(SpatialRole role) {
  switch (role) {
    case SpatialRole::split:
      return "split";
    case SpatialRole::replicated:
      return "replicated";
    case SpatialRole::partial_sums:
      return "partial sums";
  }
  return {};
}

std::string to_text(const Loop& loop, const Einsum& einsum, const Machine& machine) {
  std::string text = loop.spatial ? "par " : "for ";
  text += einsum.ranks[static_cast<std::size_t>(loop.rank)].name + " by " + std::to_string(loop.tile);
  if (!loop.spatial) return text;
  const Mesh& mesh = *machine.mesh(loop.mesh);
  return text + " on " + mesh.name + "." + mesh.axes[static_cast<std::size_t>(loop.axis)].name;
}

}  // namespace einflow
