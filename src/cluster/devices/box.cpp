#include "cluster/devices/box.hpp"

#include <algorithm>

namespace einflow::cluster::devices {

namespace {

/// Devices between two neighbours on the axis.
std::int64_t stride_of(const DeviceMesh& mesh, std::size_t axis) {
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < mesh.axes.size(); ++i) stride *= mesh.axes[i].size;
  return stride;
}

}  // namespace

Box whole_box(const std::vector<Rank>& ranks) {
  Box box;
  for (const Rank& rank : ranks) box.push_back({0, rank.extent});
  return box;
}

std::int64_t elements_of(const Box& box) {
  std::int64_t product = 1;
  for (const Interval& interval : box) product *= interval.size();
  return product;
}

Box intersection(const Box& a, const Box& b) {
  Box common;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t begin = std::max(a[i].begin, b[i].begin);
    common.push_back({begin, std::max(begin, std::min(a[i].end, b[i].end))});
  }
  return common;
}

bool contains(const Box& outer, const Box& inner) {
  if (elements_of(inner) == 0) return true;
  for (std::size_t i = 0; i < outer.size(); ++i) {
    if (inner[i].begin < outer[i].begin || inner[i].end > outer[i].end) return false;
  }
  return true;
}

std::vector<std::size_t> offsets(const Box& whole, const Box& part) {
  if (elements_of(part) == 0) return {};
  std::vector<std::size_t> result{0};
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::vector<std::size_t> longer;
    longer.reserve(result.size() * static_cast<std::size_t>(part[i].size()));
    for (const std::size_t row : result) {
      for (std::int64_t x = part[i].begin; x < part[i].end; ++x) {
        longer.push_back(row * static_cast<std::size_t>(whole[i].size()) +
                         static_cast<std::size_t>(x - whole[i].begin));
      }
    }
    result = std::move(longer);
  }
  return result;
}

Interval cut(const Interval& interval, std::int64_t pieces, std::int64_t number) {
  const std::int64_t length = (interval.size() + pieces - 1) / pieces;
  const std::int64_t begin = std::min(interval.begin + number * length, interval.end);
  return {begin, std::min(begin + length, interval.end)};
}

std::int64_t device_count(const DeviceMesh& mesh) {
  std::int64_t product = 1;
  for (const MeshAxis& axis : mesh.axes) product *= axis.size;
  return product;
}

std::int64_t coordinate_on(const DeviceMesh& mesh, std::int64_t device, std::size_t axis) {
  return device / stride_of(mesh, axis) % mesh.axes[axis].size;
}

std::vector<std::int64_t> line_along(const DeviceMesh& mesh, std::int64_t device, std::size_t axis) {
  const std::int64_t stride = stride_of(mesh, axis);
  const std::int64_t first = device - coordinate_on(mesh, device, axis) * stride;
  std::vector<std::int64_t> line;
  for (std::int64_t i = 0; i < mesh.axes[axis].size; ++i) line.push_back(first + i * stride);
  return line;
}

std::vector<std::vector<std::int64_t>> lines_along(const DeviceMesh& mesh, std::size_t axis) {
  std::vector<std::vector<std::int64_t>> lines;
  for (std::int64_t device = 0; device < device_count(mesh); ++device) {
    if (coordinate_on(mesh, device, axis) == 0) lines.push_back(line_along(mesh, device, axis));
  }
  return lines;
}

Box held_box(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh, std::int64_t device) {
  Box box = whole_box(ranks);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::vector<std::pair<int, std::size_t>> cuts;  // depth, axis
    for (std::size_t axis = 0; axis < placement.states.size(); ++axis) {
      const State& state = placement.states[axis];
      if (state.kind == StateKind::split && state.rank == ranks[i].name) cuts.emplace_back(state.depth, axis);
    }
    std::sort(cuts.begin(), cuts.end());
    for (const auto& [depth, axis] : cuts) {
      box[i] = cut(box[i], mesh.axes[axis].size, coordinate_on(mesh, device, axis));
    }
  }
  return box;
}

}  // namespace einflow::cluster::devices
