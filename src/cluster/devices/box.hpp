// Boxes of a tensor's elements, and which one a device has: written apart from cluster/placement.cpp, so that the
// executor and the closed forms can prove each other right.
#pragma once

#include <cstdint>
#include <vector>

#include "cluster/placement.hpp"

namespace einflow::cluster::devices {

/// One interval for each rank of a tensor (or of an einsum).
using Box = std::vector<Interval>;

/// All elements of a tensor with these ranks.
Box whole_box(const std::vector<Rank>& ranks);
std::int64_t elements_of(const Box& box);
/// Intervals that have nothing in common give an empty one.
Box intersection(const Box& a, const Box& b);
/// Whether every element of `inner` is in `outer`; an empty box is in every other.
bool contains(const Box& outer, const Box& inner);

/// Where the elements of `part` are in an array over `whole`, row by row. Requires that it contains them.
std::vector<std::size_t> offsets(const Box& whole, const Box& part);

/// Piece `number` when an interval is cut into `pieces` of ceil(length / pieces): the last are smaller or empty.
Interval cut(const Interval& interval, std::int64_t pieces, std::int64_t number);

std::int64_t device_count(const DeviceMesh& mesh);
/// The device's coordinate on one axis, devices being numbered row by row.
std::int64_t coordinate_on(const DeviceMesh& mesh, std::int64_t device, std::size_t axis);
/// The devices that differ from this one on that axis only, by their coordinate.
std::vector<std::int64_t> line_along(const DeviceMesh& mesh, std::int64_t device, std::size_t axis);
/// All such lines of the mesh.
std::vector<std::vector<std::int64_t>> lines_along(const DeviceMesh& mesh, std::size_t axis);

/// What a device has of a tensor in that placement: the cuts of a rank are nested in the order of their depths.
Box held_box(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh, std::int64_t device);

}  // namespace einflow::cluster::devices
