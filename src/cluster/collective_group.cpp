#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "cluster/collective_phase.hpp"
#include "cluster/collective_time.hpp"

namespace einflow::cluster {

namespace {

struct ClusterAxis {
  MeshAxis axis;
  Count inside = 1;  ///< devices that one step of it passes
};

/// Innermost first.
std::vector<ClusterAxis> axes_of(const Cluster& cluster) {
  std::vector<ClusterAxis> axes;
  Count inside = 1;
  for (auto network = cluster.networks.rbegin(); network != cluster.networks.rend(); ++network) {
    for (auto axis = network->axes.rbegin(); axis != network->axes.rend(); ++axis) {
      axes.push_back({*axis, inside});
      inside *= Count(axis->size);
    }
  }
  return axes;
}

std::vector<std::string> names_of(const std::vector<ClusterAxis>& axes) {
  std::vector<std::string> names;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) names.push_back(axis->axis.name);
  return names;
}

bool divides(Count divisor, Count value) { return value.value() % divisor.value() == 0; }

/// The devices first, first + step, ... (count of them) as parts of the cluster's axes; nothing where it cuts one
/// unevenly.
std::optional<Group> grid_of(const std::vector<ClusterAxis>& axes, Count step, Count count) {
  Group group;
  Count covered = 1;
  const Count end = step * count;
  for (const ClusterAxis& axis : axes) {
    const Count below = axis.inside;
    const Count above = axis.inside * Count(axis.axis.size);
    const Count from = std::max(step, below);
    const Count to = std::min(end, above);
    if (to <= from) continue;
    if (!divides(below, from) || !divides(from, to)) return std::nullopt;
    const Count size(to.value() / from.value());
    group.axes.push_back({axis.axis.name, *size.to_int64(), *Count(from.value() / below.value()).to_int64()});
    covered *= size;
  }
  if (covered != count) return std::nullopt;
  std::reverse(group.axes.begin(), group.axes.end());
  return group;
}

}  // namespace

std::int64_t Group::size() const {
  std::int64_t product = 1;
  for (const GroupAxis& axis : axes) product *= axis.size;
  return product;
}

Result<std::vector<Group>> groups_of(const Cluster& cluster, const std::vector<MeshAxis>& mesh) {
  const std::vector<ClusterAxis> axes = axes_of(cluster);
  Count devices = 1;
  for (const MeshAxis& axis : mesh) devices *= Count(axis.size);
  if (devices.overflowed() || devices > Count(cluster.devices())) {
    return fail(fmt::format("the mesh has {} devices, the cluster {} has {}", devices.str(), in_quotes(cluster.name),
                            cluster.devices()));
  }
  std::vector<Group> groups(mesh.size());
  Count step = 1;
  for (std::size_t i = mesh.size(); i-- > 0;) {
    const MeshAxis& axis = mesh[i];
    const auto group = grid_of(axes, step, Count(axis.size));
    if (!group) {
      std::string sizes;
      for (auto each = axes.rbegin(); each != axes.rend(); ++each) {
        sizes += fmt::format("{}{} {}", sizes.empty() ? "" : " x ", each->axis.name, each->axis.size);
      }
      return fail(fmt::format("the axis {} = {} with {} devices inside it cuts the cluster's {} unevenly",
                              in_quotes(axis.name), axis.size, step.str(), sizes),
                  "a mesh axis takes a divisor of a cluster's axis, or whole axes");
    }
    groups[i] = *group;
    step *= Count(axis.size);
  }
  return groups;
}

Result<std::vector<Part>> parts_of(const Cluster& cluster, const Group& group) {
  std::vector<Part> parts;
  std::vector<std::string> used;
  if (group.sharing < 1) return fail(fmt::format("{} collectives share the ports, expected at least 1", group.sharing));
  for (const Network& network : cluster.networks) {
    Part part;
    part.network = &network;
    part.sharing = group.sharing;
    for (const MeshAxis& axis : network.axes) {
      for (const GroupAxis& wanted : group.axes) {
        if (wanted.axis != axis.name) continue;
        if (std::find(used.begin(), used.end(), axis.name) != used.end()) {
          return fail(fmt::format("the group names the axis {} twice", in_quotes(axis.name)));
        }
        used.push_back(axis.name);
        if (wanted.size < 1 || wanted.stride < 1 || Count(wanted.size) * Count(wanted.stride) > Count(axis.size)) {
          return fail(fmt::format("{} devices, each {} from the next, do not fit on the axis {} of {}", wanted.size,
                                  wanted.stride, in_quotes(axis.name), axis.size));
        }
        if (wanted.size == 1) continue;
        part.axes.push_back({wanted.size, wanted.stride, wanted.size == axis.size});
        part.size *= wanted.size;
      }
    }
    if (part.size > 1) parts.push_back(std::move(part));
  }
  for (const GroupAxis& wanted : group.axes) {
    if (std::find(used.begin(), used.end(), wanted.axis) == used.end()) {
      return fail(fmt::format("the cluster {} has no axis {}", in_quotes(cluster.name), in_quotes(wanted.axis)),
                  name_hint(wanted.axis, names_of(axes_of(cluster)), "axes"));
    }
  }
  return parts;
}

}  // namespace einflow::cluster
