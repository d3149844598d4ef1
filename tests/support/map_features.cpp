#include <fmt/format.h>

#include <algorithm>

#include "cost/figures.hpp"
#include "mapping/atomic.hpp"
#include "support/random_map_case.hpp"

namespace einflow::testing {

namespace {

using Words = std::set<std::string>;

void einsum_words(const Einsum& einsum, Words& found) {
  Words widths;
  std::size_t windows = 0;
  for (const Tensor& tensor : einsum.tensors) {
    widths.insert(fmt::format("elements of {} bits", tensor.type.bits));
    for (const Axis& axis : tensor.axes) {
      if (axis.constant < 0) found.insert("padding");
      if (axis.terms.size() < 2) continue;
      ++windows;
      if (axis.terms.front().coefficient > 1) found.insert("stride");
      if (axis.terms.back().coefficient > 1) found.insert("dilation");
    }
  }
  found.insert(widths.begin(), widths.end());
  if (widths.size() > 1) found.insert("elements of different widths");
  const bool depthwise = einsum.name.find("depthwise") != std::string::npos;
  bool reduces = false;
  bool batch = false;
  for (int rank = 0; rank < static_cast<int>(einsum.ranks.size()); ++rank) {
    bool everywhere = true;
    for (int tensor = 0; tensor <= einsum.output(); ++tensor) everywhere = everywhere && einsum.has_rank(tensor, rank);
    batch = batch || everywhere;
    reduces = reduces || !einsum.has_rank(einsum.output(), rank);
  }
  const std::size_t inputs = einsum.tensors.size() - 1;
  if (windows > 0) {
    found.insert(depthwise ? "depthwise convolution" : fmt::format("{}-D convolution", windows));
  } else if (!reduces) {
    found.insert(fmt::format("elementwise, {} input{}", inputs, inputs == 1 ? "" : "s"));
  } else if (inputs == 1) {
    found.insert("reduction of one input");
  } else if (batch) {
    found.insert("batched matrix product");
  } else {
    found.insert(einsum.ranks.size() == 2 ? "matrix-vector product" : "matrix product");
  }
}

void energy_words(const std::optional<AccessEnergy>& energy, Words& found) {
  if (!energy) {
    found.insert("energy of a direction not stated");
  } else {
    found.insert(energy->per == AccessEnergy::Per::byte      ? "energy per byte"
                 : energy->per == AccessEnergy::Per::element ? "energy per element"
                                                             : "energy per access");
  }
}

void storage_words(const Storage& storage, Words& found) {
  found.insert(storage.capacity_bits ? "bounded capacity" : "unbounded capacity");
  if (storage.double_buffered) found.insert("double-buffered");
  const bool both = storage.read_bandwidth && storage.write_bandwidth;
  found.insert(storage.shared_port                                 ? "shared port"
               : both                                              ? "separate ports"
               : storage.read_bandwidth || storage.write_bandwidth ? "bandwidth of one direction"
                                                                   : "no bandwidth");
  if (!storage.read_energy && !storage.write_energy) {
    found.insert("a storage without energy");
  } else {
    energy_words(storage.read_energy, found);
    energy_words(storage.write_energy, found);
  }
}

void mesh_words(const Mesh& mesh, Words& found) {
  found.insert(mesh.axes.size() == 1 ? "one axis" : "two axes");
  found.insert(mesh.multicast ? "multicast" : "no multicast");
  found.insert(mesh.reduction ? "reduction" : "no reduction");
  if (mesh.forwarding) found.insert("forwarding");
  if (mesh.hop_energy) found.insert("hop energy");
  if (mesh.systolic == SystolicTiming::last_operation) found.insert("systolic, last operation");
  if (mesh.systolic == SystolicTiming::drained) found.insert("systolic, drained");
}

void compute_words(const Compute& compute, const Einsum& einsum, Words& found) {
  found.insert(compute.rate.empty() ? "no compute rate" : "compute rate");
  found.insert(compute.energy.empty()                                  ? "no compute energy"
               : figure_for(compute.energy, compute_type(einsum).name) ? "compute energy"
                                                                       : "compute energy of another type");
  if (compute.operand_latches) found.insert("operand latches");
  if (!executes(compute, einsum)) found.insert("matrix shape for another operation");
  if (!compute.atomic.empty()) {
    found.insert(atomic_layouts(einsum, compute).size() == 2 ? "atomic matrix shape" : "atomic shape of ranks");
  }
}

void machine_words(const Machine& machine, const Einsum& einsum, Words& found) {
  int storages = 0;
  int meshes = 0;
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (const Storage* storage = machine.storage(level)) {
      ++storages;
      storage_words(*storage, found);
    }
    if (const Mesh* mesh = machine.mesh(level)) {
      ++meshes;
      mesh_words(*mesh, found);
      if (machine.mesh(level + 1)) found.insert("two meshes side by side");
      if (level + 1 == machine.compute_level()) found.insert("mesh in front of the compute level");
    }
  }
  found.insert(fmt::format("{} storage levels", storages));
  found.insert(fmt::format("{} mesh{}", meshes, meshes == 1 ? "" : "es"));
  compute_words(machine.compute(), einsum, found);
  found.insert(machine.clock_stated ? "clock" : "no clock");
}

void constraint_words(const MapConstraints& constraints, Words& found) {
  const std::size_t before = found.size();
  for (const auto& level : constraints.holding) {
    for (const Holding wanted : level) {
      if (wanted == Holding::held) found.insert("constraint: held");
      if (wanted == Holding::bypassed) found.insert("constraint: bypassed");
    }
  }
  for (const auto& level : constraints.tile) {
    for (const std::int64_t tile : level) {
      if (tile > 0) found.insert("constraint: tile");
    }
  }
  for (const int tensor : constraints.stationary) {
    if (tensor >= 0) found.insert("constraint: stationary");
  }
  for (const auto& mesh : constraints.spread) {
    for (const auto& axis : mesh) {
      for (const std::int64_t trips : axis) {
        if (trips == 1) found.insert("constraint: not spread");
        if (trips > 1) found.insert("constraint: spread");
      }
    }
  }
  if (constraints.least_utilization > 0) found.insert("constraint: least utilization");
  if (found.size() == before) found.insert("no constraint");
}

}  // namespace

std::set<std::string> map_features(const MapCase& map_case) {
  Words found;
  einsum_words(map_case.einsum, found);
  machine_words(map_case.machine, map_case.einsum, found);
  constraint_words(map_case.constraints, found);
  return found;
}

const std::vector<std::string>& all_map_features() {
  static const std::vector<std::string> kAll{"matrix product",
                                             "batched matrix product",
                                             "matrix-vector product",
                                             "1-D convolution",
                                             "2-D convolution",
                                             "depthwise convolution",
                                             "elementwise, 1 input",
                                             "elementwise, 2 inputs",
                                             "elementwise, 3 inputs",
                                             "reduction of one input",
                                             "stride",
                                             "dilation",
                                             "padding",
                                             "elements of 8 bits",
                                             "elements of 16 bits",
                                             "elements of 32 bits",
                                             "elements of different widths",
                                             "2 storage levels",
                                             "3 storage levels",
                                             "4 storage levels",
                                             "bounded capacity",
                                             "unbounded capacity",
                                             "double-buffered",
                                             "separate ports",
                                             "shared port",
                                             "bandwidth of one direction",
                                             "no bandwidth",
                                             "energy per byte",
                                             "energy per element",
                                             "energy per access",
                                             "energy of a direction not stated",
                                             "a storage without energy",
                                             "0 meshes",
                                             "1 mesh",
                                             "2 meshes",
                                             "two meshes side by side",
                                             "mesh in front of the compute level",
                                             "one axis",
                                             "two axes",
                                             "multicast",
                                             "no multicast",
                                             "reduction",
                                             "no reduction",
                                             "forwarding",
                                             "hop energy",
                                             "systolic, last operation",
                                             "systolic, drained",
                                             "compute rate",
                                             "no compute rate",
                                             "compute energy",
                                             "compute energy of another type",
                                             "no compute energy",
                                             "operand latches",
                                             "atomic matrix shape",
                                             "atomic shape of ranks",
                                             "matrix shape for another operation",
                                             "clock",
                                             "no clock",
                                             "no constraint",
                                             "constraint: held",
                                             "constraint: bypassed",
                                             "constraint: tile",
                                             "constraint: stationary",
                                             "constraint: not spread",
                                             "constraint: spread",
                                             "constraint: least utilization"};
  return kAll;
}

std::string to_text(const MapCase& map_case) {
  const Einsum& einsum = map_case.einsum;
  const Machine& machine = map_case.machine;
  const MapConstraints& constraints = map_case.constraints;
  std::string text;
  const auto level_name = [&](std::size_t level) { return machine.level_name(static_cast<int>(level)); };
  for (std::size_t level = 0; level < constraints.holding.size(); ++level) {
    for (std::size_t tensor = 0; tensor < constraints.holding[level].size(); ++tensor) {
      const Holding wanted = constraints.holding[level][tensor];
      if (wanted == Holding::free) continue;
      text += fmt::format("{} {} {}\n", level_name(level), wanted == Holding::held ? "holds" : "does not hold",
                          einsum.tensors[tensor].name);
    }
  }
  for (std::size_t level = 0; level < constraints.tile.size(); ++level) {
    for (std::size_t rank = 0; rank < constraints.tile[level].size(); ++rank) {
      const std::int64_t tile = constraints.tile[level][rank];
      if (tile > 0) text += fmt::format("{} of {} is left at {}\n", tile, einsum.ranks[rank].name, level_name(level));
    }
  }
  for (std::size_t level = 0; level < constraints.stationary.size(); ++level) {
    const int tensor = constraints.stationary[level];
    if (tensor < 0) continue;
    text += fmt::format("{} stays at {}\n", einsum.tensors[static_cast<std::size_t>(tensor)].name, level_name(level));
  }
  for (std::size_t mesh = 0; mesh < constraints.spread.size(); ++mesh) {
    for (std::size_t axis = 0; axis < constraints.spread[mesh].size(); ++axis) {
      for (std::size_t rank = 0; rank < constraints.spread[mesh][axis].size(); ++rank) {
        const std::int64_t trips = constraints.spread[mesh][axis][rank];
        if (trips == 0) continue;
        text +=
            fmt::format("{} has {} trips on axis {} of {}\n", einsum.ranks[rank].name, trips, axis, level_name(mesh));
      }
    }
  }
  if (constraints.least_utilization > 0) {
    text += fmt::format("at least {} of the compute instances are in use\n", constraints.least_utilization);
  }
  return text;
}

}  // namespace einflow::testing
