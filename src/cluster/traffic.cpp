#include "cluster/traffic.hpp"

#include <algorithm>
#include <optional>

namespace einflow::cluster {

namespace {

std::size_t index(int axis) { return static_cast<std::size_t>(axis); }

/// Elements that both boxes have.
Count common(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  Count elements = 1;
  for (std::size_t i = 0; i < a.size(); ++i) {
    elements *= std::max<std::int64_t>(0, std::min(a[i].end, b[i].end) - std::max(a[i].begin, b[i].begin));
  }
  return elements;
}

/// The device with that coordinate on the axis, and the others' as `device` has them.
std::int64_t with_coordinate(const DeviceMesh& mesh, std::int64_t device, int axis, std::int64_t value) {
  std::vector<std::int64_t> coordinate = mesh.coordinate(device);
  coordinate[index(axis)] = value;
  return mesh.device_at(coordinate);
}

/// Elements of the flat chunk `number` of n elements in p chunks of ceil(n / p).
Count flat_chunk(Count n, std::int64_t p, std::int64_t number) {
  const Count tile = ceil_div(n, Count(p));
  const Count begin = std::min(tile * Count(number), n);
  return std::min(begin + tile, n) - begin;
}

/// What each device sends to others in a redistribution: to each that lacks it, where the receiver has the sender's
/// coordinates on the axes that do not split the tensor before.
class Redistribution {
 public:
  Redistribution(const Collective& collective, const DeviceMesh& mesh) : collective_(collective) {
    for (std::int64_t device = 0; device < mesh.devices(); ++device) {
      coordinates_.push_back(mesh.coordinate(device));
      has_.push_back(piece(collective.ranks, collective.from, mesh, device));
      wants_.push_back(piece(collective.ranks, collective.to, mesh, device));
    }
  }

  Count sent_by(std::int64_t device) const {
    const auto own = static_cast<std::size_t>(device);
    Count sent = 0;
    for (std::size_t other = 0; other < wants_.size(); ++other) {
      if (other != own && serves(own, other)) sent += common(wants_[other], has_[own]);
    }
    return sent;
  }

 private:
  bool serves(std::size_t own, std::size_t other) const {
    for (std::size_t axis = 0; axis < coordinates_[own].size(); ++axis) {
      const bool splits = collective_.from.states[axis].kind == StateKind::split;
      if (!splits && coordinates_[own][axis] != coordinates_[other][axis]) return false;
    }
    return true;
  }

  const Collective& collective_;
  std::vector<std::vector<std::int64_t>> coordinates_;
  std::vector<std::vector<Interval>> has_;
  std::vector<std::vector<Interval>> wants_;
};

/// Devices of all axes but one that do not cut the tensor: so many groups hold each of its elements.
Count copies(const Collective& collective, const DeviceMesh& mesh) {
  Count result = 1;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (static_cast<int>(axis) == collective.axis) continue;
    if (collective.from.states[axis].kind != StateKind::split) result *= mesh.axes[axis].size;
  }
  return result;
}

Count whole_elements(const Collective& collective) {
  Count elements = 1;
  for (const Rank& rank : collective.ranks) elements *= rank.extent;
  return elements;
}

/// Devices that stand for all in an all-to-all: every coordinate of the axes that cut its two ranks, 0 on the others.
std::vector<std::int64_t> representatives(const Collective& collective, const DeviceMesh& mesh) {
  const std::string& before = collective.from.states[index(collective.axis)].rank;
  const std::string& after = collective.to.states[index(collective.axis)].rank;
  std::vector<std::int64_t> devices{0};
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    const State& state = collective.from.states[axis];
    const bool cuts = state.kind == StateKind::split && (state.rank == before || state.rank == after);
    if (static_cast<int>(axis) != collective.axis && !cuts) continue;
    std::vector<std::int64_t> more;
    for (const std::int64_t device : devices) {
      for (std::int64_t value = 0; value < mesh.axes[axis].size; ++value) {
        more.push_back(with_coordinate(mesh, device, static_cast<int>(axis), value));
      }
    }
    devices = std::move(more);
  }
  return devices;
}

Traffic all_to_all(const Collective& collective, const DeviceMesh& mesh) {
  Traffic traffic;
  // Of the elements that a device has, those stay that it has afterwards too: sums over the coordinates of the
  // axes that cut the two ranks, times what all others partition or repeat.
  Count others = 1;
  const std::string& before = collective.from.states[index(collective.axis)].rank;
  const std::string& after = collective.to.states[index(collective.axis)].rank;
  for (const Rank& rank : collective.ranks) {
    if (rank.name != before && rank.name != after) others *= rank.extent;
  }
  Count moved = 0;
  for (const std::int64_t device : representatives(collective, mesh)) {
    Count own = 1;
    Count stays = 1;
    const std::vector<Interval> from = piece(collective.ranks, collective.from, mesh, device);
    const std::vector<Interval> to = piece(collective.ranks, collective.to, mesh, device);
    for (std::size_t i = 0; i < collective.ranks.size(); ++i) {
      const std::string& name = collective.ranks[i].name;
      if (name != before && name != after) continue;
      own *= from[i].size();
      stays *= std::max<std::int64_t>(0, std::min(from[i].end, to[i].end) - std::max(from[i].begin, to[i].begin));
    }
    moved += own - stays;
    traffic.busiest = std::max(traffic.busiest, sent_by(collective, mesh, device));
  }
  traffic.total = moved * others * copies(collective, mesh);
  traffic.steps = Count(mesh.axes[index(collective.axis)].size - 1);
  return traffic;
}

}  // namespace

Count sent_by(const Collective& collective, const DeviceMesh& mesh, std::int64_t device) {
  const std::int64_t p = mesh.axes[index(collective.axis)].size;
  const std::int64_t own = mesh.coordinate(device)[index(collective.axis)];
  const auto part = [&](const Placement& placement, std::int64_t coordinate) {
    return piece_elements(collective.ranks, placement, mesh,
                          with_coordinate(mesh, device, collective.axis, coordinate));
  };
  switch (collective.kind) {
    case CollectiveKind::all_gather:  // all but what the next device had at the start
      return part(collective.to, own) - part(collective.from, (own + 1) % p);
    case CollectiveKind::reduce_scatter:  // all but what it keeps
      return part(collective.from, own) - part(collective.to, own);
    case CollectiveKind::all_reduce: {  // both, over p flat chunks
      const Count n = part(collective.from, own);
      return n - flat_chunk(n, p, own) + n - flat_chunk(n, p, (own + 1) % p);
    }
    case CollectiveKind::all_to_all:
      return part(collective.from, own) - common(piece(collective.ranks, collective.from, mesh, device),
                                                 piece(collective.ranks, collective.to, mesh, device));
    case CollectiveKind::slice:
      return 0;
    case CollectiveKind::redistribute:
      return Redistribution(collective, mesh).sent_by(device);
  }
  return 0;
}

Count total_sent(const Collective& collective, const DeviceMesh& mesh) {
  if (collective.kind != CollectiveKind::redistribute) return traffic_of(collective, mesh).total;
  // Each device is sent once what it lacks.
  Count total = 0;
  for (std::int64_t device = 0; device < mesh.devices(); ++device) {
    const std::vector<Interval> wants = piece(collective.ranks, collective.to, mesh, device);
    total += common(wants, wants) - common(wants, piece(collective.ranks, collective.from, mesh, device));
  }
  return total;
}

Traffic traffic_of(const Collective& collective, const DeviceMesh& mesh) {
  if (collective.kind == CollectiveKind::slice) return {};
  if (collective.kind == CollectiveKind::redistribute) {
    Traffic traffic;
    const Redistribution redistribution(collective, mesh);
    for (std::int64_t device = 0; device < mesh.devices(); ++device) {
      const Count sent = redistribution.sent_by(device);
      traffic.total += sent;
      traffic.busiest = std::max(traffic.busiest, sent);
    }
    traffic.steps = Count(1);
    return traffic;
  }
  const std::int64_t p = mesh.axes[index(collective.axis)].size;
  if (p == 1) return {};
  if (collective.kind == CollectiveKind::all_to_all) return all_to_all(collective, mesh);
  // The pieces of a group are cut out of a partition of the tensor, so their sizes add up to the whole, however uneven.
  const Count once = whole_elements(collective) * copies(collective, mesh) * Count(p - 1);
  const bool twice = collective.kind == CollectiveKind::all_reduce;
  Traffic traffic;
  traffic.total = twice ? once * Count(2) : once;
  traffic.steps = Count(twice ? 2 * (p - 1) : p - 1);
  // Pieces never grow along an axis: the busiest is in the group of coordinates 0, beside the smallest piece.
  for (std::int64_t value = 0; value < p; ++value) {
    traffic.busiest =
        std::max(traffic.busiest, sent_by(collective, mesh, with_coordinate(mesh, 0, collective.axis, value)));
  }
  return traffic;
}

Traffic traffic_of(const std::vector<Step>& steps, const DeviceMesh& mesh) {
  Traffic sum;
  std::vector<Count> sent(static_cast<std::size_t>(mesh.devices()));
  for (const Step& step : steps) {
    const auto* const collective = std::get_if<Collective>(&step);
    if (collective == nullptr) continue;
    const Traffic traffic = traffic_of(*collective, mesh);
    sum.total += traffic.total;
    sum.steps += traffic.steps;
    std::optional<Redistribution> redistribution;
    if (collective->kind == CollectiveKind::redistribute) redistribution.emplace(*collective, mesh);
    for (std::int64_t device = 0; device < mesh.devices(); ++device) {
      sent[static_cast<std::size_t>(device)] +=
          redistribution ? redistribution->sent_by(device) : sent_by(*collective, mesh, device);
    }
  }
  for (const Count& device : sent) sum.busiest = std::max(sum.busiest, device);
  return sum;
}

Count bytes_of(Count elements, const ElementType& type) { return ceil_div(elements * Count(type.bits), Count(8)); }

}  // namespace einflow::cluster
