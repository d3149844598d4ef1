#include <fmt/format.h>

#include <algorithm>

#include "support/random_spec.hpp"

namespace einflow::testing {

namespace {

std::int64_t image_size(const Axis& axis, const Einsum& einsum, std::int64_t& reach) {
  std::set<std::int64_t> positions{axis.constant};
  for (const Term& term : axis.terms) {
    std::set<std::int64_t> longer;
    for (std::int64_t position : positions) {
      for (std::int64_t i = 0; i < einsum.ranks[static_cast<std::size_t>(term.rank)].extent; ++i) {
        longer.insert(position + term.coefficient * i);
      }
    }
    positions = std::move(longer);
  }
  reach = *positions.rbegin() - *positions.begin() + 1;
  return static_cast<std::int64_t>(positions.size());
}

void problem_features(const Einsum& einsum, std::set<std::string>& found) {
  found.insert(fmt::format("{} tensors", einsum.tensors.size()));
  found.insert(einsum.reduce.empty() ? "no reduction" : "reduce " + einsum.reduce);
  found.insert(einsum.map == "exp" ? "map by a function" : "map " + einsum.map);
  if (einsum.tensors.back().axes.empty()) found.insert("scalar output");
  for (const Tensor& tensor : einsum.tensors) {
    std::size_t windows = 0;
    for (const Axis& axis : tensor.axes) {
      std::int64_t reach = 0;
      const std::int64_t positions = image_size(axis, einsum, reach);
      if (positions < reach) found.insert("holes in a strided axis");
      if (axis.terms.size() > 1) ++windows;
      if (axis.terms.size() > 2) found.insert("axis of three ranks");
      if (axis.constant > 0) found.insert("shifted axis");
      if (axis.constant < 0) found.insert("padding before the tensor");
      if (axis.stored_size && axis.constant + reach > *axis.stored_size) found.insert("padding behind the tensor");
    }
    if (windows == 1) found.insert("sliding window");
    if (windows > 1) found.insert("sliding window in two axes");
  }
}

void machine_features(const Machine& machine, std::set<std::string>& found) {
  int storages = 0;
  int meshes = 0;
  for (const Level& level : machine.levels) {
    storages += std::holds_alternative<Storage>(level) ? 1 : 0;
    meshes += std::holds_alternative<Mesh>(level) ? 1 : 0;
  }
  found.insert(fmt::format("{} storage level{}", storages, storages == 1 ? "" : "s"));
  found.insert(fmt::format("{} mesh{}", meshes, meshes == 1 ? "" : "es"));
  if (!machine.compute().atomic.empty()) found.insert("atomic compute shape");
  if (machine.compute().operand_latches) found.insert("operand latches");
}

void hold_features(const Spec& spec, std::set<std::string>& found) {
  for (int level = 1; level < spec.machine.compute_level(); ++level) {
    std::set<int> depths;
    bool bypassed = false;
    for (const std::vector<Hold>& holds : spec.mapping.holds) {
      const auto here = std::find_if(holds.begin(), holds.end(), [&](const Hold& h) { return h.level == level; });
      if (here == holds.end())
        bypassed = true;
      else
        depths.insert(here->depth);
    }
    if (depths.size() > 1) found.insert("uneven holds");
    if (!depths.empty() && bypassed) found.insert("bypass");
  }
}

void mesh_features(const Spec& spec, std::set<std::string>& found) {
  const std::vector<Loop>& loops = spec.mapping.loops;
  for (const std::vector<Hold>& holds : spec.mapping.holds) {
    for (std::size_t h = 1; h < holds.size(); ++h) {
      std::set<int> between;
      bool outside = false;
      for (int l = 0; l < holds[h].depth; ++l) {
        const Loop& loop = loops[static_cast<std::size_t>(l)];
        if (!loop.spatial || loop.trips == 1) continue;
        if (l < holds[h - 1].depth)
          outside = true;
        else
          between.insert(loop.mesh);
      }
      if (outside && !between.empty()) found.insert("siblings with separate parents");
      if (between.size() < 2) continue;
      found.insert("several meshes between parent and child");
      const Mesh& first = *spec.machine.mesh(*between.begin());
      for (int other : between) {
        const Mesh& mesh = *spec.machine.mesh(other);
        if (mesh.multicast != first.multicast) found.insert("meshes that differ in multicast");
        if (mesh.reduction != first.reduction) found.insert("meshes that differ in reduction");
        if (mesh.forwarding != first.forwarding) found.insert("meshes that differ in forwarding");
      }
    }
  }
}

void loop_features(const Spec& spec, std::set<std::string>& found) {
  std::vector<std::int64_t> left;
  for (const Rank& rank : spec.einsum.ranks) left.push_back(rank.extent);
  std::set<std::pair<int, int>> axes;
  std::set<int> looped;
  for (const Loop& loop : spec.mapping.loops) {
    std::int64_t& rank_left = left[static_cast<std::size_t>(loop.rank)];
    if (loop.trips == 1) found.insert("loop of one trip");
    if (rank_left % loop.tile != 0) found.insert(loop.spatial ? "imperfect spatial tiles" : "imperfect temporal tiles");
    if (!looped.insert(loop.rank).second && loop.trips > 1) found.insert("several loops over a rank");
    if (loop.spatial && loop.trips > 1 && !axes.insert({loop.mesh, loop.axis}).second) {
      found.insert("several par loops on a mesh axis");
    }
    rank_left = loop.tile;
  }
}

}  // namespace

std::set<std::string> features(const Spec& spec) {
  std::set<std::string> found;
  problem_features(spec.einsum, found);
  machine_features(spec.machine, found);
  hold_features(spec, found);
  mesh_features(spec, found);
  loop_features(spec, found);
  return found;
}

std::set<std::string> features(const Spec& spec, const Counts& counts) {
  std::set<std::string> found;
  if (counts.steps == Count(1)) found.insert("a single step");
  for (const HoldCounts& hold : counts.holds) {
    const std::vector<Hold>& holds = spec.mapping.holds[static_cast<std::size_t>(hold.tensor)];
    const bool compute = hold.hold + 1 == static_cast<int>(holds.size());
    const bool latches = compute && spec.machine.compute().operand_latches && spec.machine.compute().atomic.empty();
    if (hold.parent_reads + hold.forwarded < hold.fills) {
      found.insert(compute ? "multicast into the compute level" : "multicast");
    }
    if (hold.forwarded > Count(0)) found.insert("forwarded");
    if (hold.parent_updates < hold.drains) found.insert(compute ? "reduction out of the compute level" : "reduction");
    if (hold.parent_rmw_reads > Count(0)) found.insert("read-modify-write");
    if (latches && hold.fills > Count(0) && hold.fills < counts.operations) {
      found.insert("operand kept in a latch");
    }
    if (latches && hold.drains > Count(0) && hold.drains < counts.operations) {
      found.insert("sum kept in a latch");
    }
  }
  return found;
}

const std::vector<std::string>& all_features() {
  static const std::vector<std::string> kAll{"2 tensors",
                                             "3 tensors",
                                             "4 tensors",
                                             "no reduction",
                                             "reduce +",
                                             "reduce *",
                                             "reduce max",
                                             "reduce min",
                                             "map *",
                                             "map +",
                                             "map -",
                                             "map /",
                                             "map max",
                                             "map min",
                                             "map by a function",
                                             "scalar output",
                                             "holes in a strided axis",
                                             "axis of three ranks",
                                             "shifted axis",
                                             "padding before the tensor",
                                             "padding behind the tensor",
                                             "sliding window",
                                             "sliding window in two axes",
                                             "1 storage level",
                                             "2 storage levels",
                                             "3 storage levels",
                                             "0 meshes",
                                             "1 mesh",
                                             "2 meshes",
                                             "3 meshes",
                                             "atomic compute shape",
                                             "operand latches",
                                             "uneven holds",
                                             "bypass",
                                             "siblings with separate parents",
                                             "several meshes between parent and child",
                                             "meshes that differ in multicast",
                                             "meshes that differ in reduction",
                                             "meshes that differ in forwarding",
                                             "loop of one trip",
                                             "imperfect spatial tiles",
                                             "imperfect temporal tiles",
                                             "several loops over a rank",
                                             "several par loops on a mesh axis",
                                             "a single step",
                                             "multicast",
                                             "multicast into the compute level",
                                             "forwarded",
                                             "reduction",
                                             "reduction out of the compute level",
                                             "read-modify-write",
                                             "operand kept in a latch",
                                             "sum kept in a latch"};
  return kAll;
}

}  // namespace einflow::testing
