#include "cluster/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/message.hpp"

namespace einflow::cluster {

namespace {

/// The axes that split each rank, major first.
std::map<std::string, std::vector<int>> axes_of_ranks(const Placement& placement) {
  std::map<std::string, std::vector<int>> axes;
  for (std::size_t axis = 0; axis < placement.states.size(); ++axis) {
    const State& state = placement.states[axis];
    if (state.kind == StateKind::split) axes[state.rank].push_back(static_cast<int>(axis));
  }
  for (auto& [rank, list] : axes) {
    std::stable_sort(list.begin(), list.end(), [&](int a, int b) {
      return placement.states[static_cast<std::size_t>(a)].depth < placement.states[static_cast<std::size_t>(b)].depth;
    });
  }
  return axes;
}

}  // namespace

std::int64_t DeviceMesh::devices() const {
  std::int64_t all = 1;
  for (const MeshAxis& axis : axes) all *= axis.size;
  return all;
}

int DeviceMesh::axis_named(std::string_view name) const {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

std::vector<std::int64_t> DeviceMesh::coordinate(std::int64_t device) const {
  std::vector<std::int64_t> result(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    result[i] = device % axes[i].size;
    device /= axes[i].size;
  }
  return result;
}

std::int64_t DeviceMesh::device_at(const std::vector<std::int64_t>& coordinate) const {
  std::int64_t device = 0;
  for (std::size_t i = 0; i < axes.size(); ++i) device = device * axes[i].size + coordinate[i];
  return device;
}

State replicated() { return {}; }

State split(std::string rank, int depth) { return {StateKind::split, std::move(rank), depth, {}}; }

State partial(std::string op) { return {StateKind::partial, {}, 0, std::move(op)}; }

Placement everywhere(const DeviceMesh& mesh) { return {std::vector<State>(mesh.axes.size())}; }

Result<void> check(const Placement& placement, const DeviceMesh& mesh, const std::vector<Rank>& ranks) {
  if (placement.states.size() != mesh.axes.size()) {
    return fail(fmt::format("a placement has one state for each axis of the mesh: {} axes, {} states", mesh.axes.size(),
                            placement.states.size()));
  }
  std::vector<std::string> names;
  for (const Rank& rank : ranks) names.push_back(rank.name);
  for (std::size_t axis = 0; axis < placement.states.size(); ++axis) {
    const State& state = placement.states[axis];
    if (state.kind == StateKind::split && std::find(names.begin(), names.end(), state.rank) == names.end()) {
      return fail(fmt::format("axis {} splits rank {}, which the tensor does not have", mesh.axes[axis].name,
                              in_quotes(state.rank)),
                  name_hint(state.rank, names, "its ranks"));
    }
  }
  for (const auto& [rank, axes] : axes_of_ranks(placement)) {
    for (std::size_t depth = 0; depth < axes.size(); ++depth) {
      if (placement.states[static_cast<std::size_t>(axes[depth])].depth != static_cast<int>(depth)) {
        return fail(fmt::format("the axes that split rank {} must have depths 0 to {}, each once", in_quotes(rank),
                                axes.size() - 1));
      }
    }
  }
  return {};
}

Interval slice(std::int64_t extent, const std::vector<std::pair<std::int64_t, std::int64_t>>& size_and_coordinate) {
  Interval whole{0, extent};
  for (const auto& [size, coordinate] : size_and_coordinate) {
    const std::int64_t length = whole.size();
    const std::int64_t tile = length / size + (length % size != 0 ? 1 : 0);
    const std::int64_t begin = std::min(coordinate * tile, length);
    const std::int64_t end = std::min(begin + tile, length);
    whole = {whole.begin + begin, whole.begin + end};
  }
  return whole;
}

std::vector<Interval> piece(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                            std::int64_t device) {
  const std::vector<std::int64_t> coordinate = mesh.coordinate(device);
  const std::map<std::string, std::vector<int>> axes = axes_of_ranks(placement);
  std::vector<Interval> result;
  for (const Rank& rank : ranks) {
    std::vector<std::pair<std::int64_t, std::int64_t>> cuts;
    if (const auto found = axes.find(rank.name); found != axes.end()) {
      for (const int axis : found->second) {
        const auto index = static_cast<std::size_t>(axis);
        cuts.emplace_back(mesh.axes[index].size, coordinate[index]);
      }
    }
    result.push_back(slice(rank.extent, cuts));
  }
  return result;
}

Count piece_elements(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                     std::int64_t device) {
  Count elements = 1;
  for (const Interval& interval : piece(ranks, placement, mesh, device)) elements *= interval.size();
  return elements;
}

Count largest_piece(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh) {
  return piece_elements(ranks, placement, mesh, 0);
}

std::string to_text(const State& state) {
  switch (state.kind) {
    case StateKind::replicated:
      return "R";
    case StateKind::split:
      return fmt::format("S({})", state.rank);
    case StateKind::partial:
      return fmt::format("P({})", state.op);
  }
  return {};
}

std::string to_text(const Placement& placement, const DeviceMesh& mesh) {
  std::string text;
  for (std::size_t axis = 0; axis < placement.states.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += mesh.axes[axis].name + ": " + to_text(placement.states[axis]);
  }
  for (const auto& [rank, axes] : axes_of_ranks(placement)) {
    // Mesh order is what a reader assumes.
    if (axes.size() < 2 || std::is_sorted(axes.begin(), axes.end())) continue;
    text += fmt::format("; {} cut by", rank);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      text += (i > 0 ? ", then " : " ") + mesh.axes[static_cast<std::size_t>(axes[i])].name;
    }
  }
  return text;
}

}  // namespace einflow::cluster
