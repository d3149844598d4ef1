// Who has which piece of a tensor: one state for each axis of a mesh of devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.hpp"
#include "base/diagnostic.hpp"
#include "machine/machine.hpp"
#include "problem/einsum.hpp"

namespace einflow::cluster {

using einflow::MeshAxis;  ///< a named group of devices, one coordinate each

/// Devices in a grid, numbered row by row: the first axis is the major one.
struct DeviceMesh {
  std::vector<MeshAxis> axes;

  std::int64_t devices() const;
  int axis_named(std::string_view name) const;  ///< index, or -1
  /// One coordinate for each axis.
  std::vector<std::int64_t> coordinate(std::int64_t device) const;
  std::int64_t device_at(const std::vector<std::int64_t>& coordinate) const;
  bool operator==(const DeviceMesh&) const = default;
};

enum class StateKind {
  replicated,  ///< R: every device of the axis has all of it
  split,       ///< S(rank): each device has its own slice of the rank
  partial,     ///< P(op): every device has a full-sized term; the tensor is `op` over them
};

/// What one mesh axis does to a tensor.
struct State {
  StateKind kind = StateKind::replicated;
  std::string rank;  ///< of a split
  int depth = 0;     ///< of a split: among the axes that split the same rank, 0 cuts first (is the major one)
  std::string op;    ///< of a partial: "+", "max", "min"
  bool operator==(const State&) const = default;
};

State replicated();
State split(std::string rank, int depth = 0);
State partial(std::string op = "+");

/// One state for each axis of the mesh, in the mesh's order.
struct Placement {
  std::vector<State> states;
  bool operator==(const Placement&) const = default;
};

/// All replicated.
Placement everywhere(const DeviceMesh& mesh);

/// Whether the states fit the mesh and the tensor: one for each axis, splits of ranks that it has, their depths
/// 0, 1, ... without a gap.
Result<void> check(const Placement& placement, const DeviceMesh& mesh, const std::vector<Rank>& ranks);

/// begin <= index < end; empty where they are equal.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t size() const { return end - begin; }
  bool operator==(const Interval&) const = default;
};

/// The slice of a rank after the cuts of its axes, major first: each cut makes pieces of ceil(length / size), as
/// `par RANK into SIZE` does; the last are smaller or empty.
Interval slice(std::int64_t extent, const std::vector<std::pair<std::int64_t, std::int64_t>>& size_and_coordinate);

/// What the device has of each rank.
std::vector<Interval> piece(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                            std::int64_t device);
/// Elements of that piece.
Count piece_elements(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                     std::int64_t device);
/// Of the largest piece: device 0 has it.
Count largest_piece(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh);

/// "S(k)", "R", "P(+)".
std::string to_text(const State& state);
/// "dp: S(b), tp: R"; the ranks' split orders where several axes cut one: "S(m) of (i, j)".
std::string to_text(const Placement& placement, const DeviceMesh& mesh);

}  // namespace einflow::cluster
