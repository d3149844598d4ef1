#include "search/staircase.hpp"

#include <fmt/format.h>

#include "movement/movement.hpp"
#include "search/lattice.hpp"
#include "search/staircase_cost.hpp"

namespace einflow {

namespace {

constexpr std::int64_t kLargestLattice = 2'000'000;

/// Memory, Buffer, one unit.
Machine two_levels(Count buffer_bits) {
  Storage memory;
  memory.name = "Memory";
  Storage buffer;
  buffer.name = "Buffer";
  if (Count(0) < buffer_bits) buffer.capacity_bits = buffer_bits;
  Compute unit;
  unit.name = "MAC";
  unit.rate[""] = Ratio(Count(1));
  Machine machine;
  machine.name = "two-levels";
  machine.levels = {memory, buffer, unit};
  return machine;
}

class NestWriter {
 public:
  explicit NestWriter(const Einsum& einsum) : left_(extents(einsum)) {
    mapping_.holds.assign(einsum.tensors.size(), {Hold{0, 0, {}}});
  }
  void cut(int rank, std::int64_t tile) {
    std::int64_t& left = left_[static_cast<std::size_t>(rank)];
    if (tile == left) return;
    Loop loop;
    loop.rank = rank;
    loop.tile = tile;
    loop.trips = left / tile;
    mapping_.loops.push_back(loop);
    left = tile;
  }
  void hold(int tensor) {
    mapping_.holds[static_cast<std::size_t>(tensor)].push_back({1, static_cast<int>(mapping_.loops.size()), {}});
  }
  Mapping finish(int compute_level) {
    for (std::size_t r = 0; r < left_.size(); ++r) cut(static_cast<int>(r), 1);
    for (auto& holds : mapping_.holds) holds.push_back({compute_level, static_cast<int>(mapping_.loops.size()), {}});
    return std::move(mapping_);
  }

 private:
  std::vector<std::int64_t> left_;
  Mapping mapping_;
};

}  // namespace

Spec shared_spec(const Einsum& einsum, const std::vector<int>& order, const std::vector<std::int64_t>& tile,
                 const std::vector<bool>& held) {
  NestWriter nest(einsum);
  for (const int rank : order) nest.cut(rank, tile[static_cast<std::size_t>(rank)]);
  for (std::size_t t = 0; t < held.size(); ++t) {
    if (held[t]) nest.hold(static_cast<int>(t));
  }
  Machine machine = two_levels(Count(0));
  const int compute = machine.compute_level();
  return {einsum, std::move(machine), nest.finish(compute)};
}

bool has_window(const Einsum& einsum) {
  for (const Tensor& tensor : einsum.tensors) {
    for (const Axis& axis : tensor.axes) {
      if (axis.terms.size() > 1 || axis.stored_size) return true;
    }
  }
  return false;
}

Result<Staircase> least_traffic(const Einsum& einsum, const StaircaseSpace& space) {
  if (einsum.tensors.size() > 6) return fail("more than 6 tensors: their hold orders are too many to search");
  const TileLattice lattice(einsum, space.whole);
  if (lattice.size().overflowed() || Count(kLargestLattice) < lattice.size()) {
    return fail(fmt::format("{} tile shapes are too many to search", lattice.size().str()),
                "keep ranks whole in the buffer: --whole r,s");
  }
  Staircase staircase;
  staircase.tile_shapes = lattice.size();
  if (space.shared_tile) {
    auto steps = shared_tile_steps(einsum, space, lattice);
    if (!steps) return tl::unexpected(steps.error());
    staircase.steps = std::move(*steps);
  } else {
    if (has_window(einsum)) {
      return fail("a window slides or an axis is padded: only the shared tile is searched there", "--shared-tile");
    }
    staircase.steps = uneven_steps(einsum, space, lattice);
  }
  const auto whole =
      count_movement(shared_spec(einsum, {}, extents(einsum), std::vector<bool>(einsum.tensors.size(), true)));
  if (!whole) return tl::unexpected(whole.error());
  for (const HoldCounts& count : whole->holds) {
    if (count.hold == 1) {
      staircase.compulsory_bits += (count.parent_reads + count.parent_updates) * bits_of(einsum, count.tensor);
    }
  }
  for (const StaircaseStep& step : staircase.steps) {
    if (step.traffic_bits.overflowed() || step.buffer_bits.overflowed()) return fail("a count leaves 128 bits");
  }
  return staircase;
}

Spec staircase_spec(const Einsum& einsum, const StaircaseStep& step) {
  Machine machine = two_levels(step.buffer_bits);
  NestWriter nest(einsum);
  const auto cut_to = [&](const std::vector<std::int64_t>& tile, const std::vector<int>& order) {
    for (const int rank : order) nest.cut(rank, tile[static_cast<std::size_t>(rank)]);
  };
  if (!step.loop_order.empty() || step.hold_order.empty()) {
    for (std::size_t i = 0; i < step.hold_order.size(); ++i) {
      if (i == 0) cut_to(step.holds[static_cast<std::size_t>(step.hold_order[i])].tile, step.loop_order);
      nest.hold(step.hold_order[i]);
    }
  } else {
    for (const int tensor : step.hold_order) {
      // The loops that do not move the tensor stand outside those that do, so that its hold is just inside one that
      // does.
      std::vector<int> order;
      for (const bool own : {false, true}) {
        for (int r = 0; r < static_cast<int>(einsum.ranks.size()); ++r) {
          if (einsum.has_rank(tensor, r) == own) order.push_back(r);
        }
      }
      cut_to(step.holds[static_cast<std::size_t>(tensor)].tile, order);
      nest.hold(tensor);
    }
  }
  const int compute = machine.compute_level();
  return {einsum, std::move(machine), nest.finish(compute)};
}

}  // namespace einflow
