#include "support/exhaustive_mapper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "cost/capacity.hpp"
#include "cost/traffic.hpp"
#include "mapping/atomic.hpp"
#include "notation/spec_reader.hpp"

namespace einflow::testing {

namespace {

/// A level that holds tensors, or the compute level.
struct Place {
  int level = 0;
  std::vector<int> tensors;
};

class Enumerator {
 public:
  Enumerator(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
             const std::function<bool(const Spec&)>& visit)
      : spec_{einsum, machine, {}},
        constraints_(constraints),
        visit_(visit),
        layouts_(atomic_layouts(einsum, machine.compute())) {
    for (const Rank& rank : einsum.ranks) left_.push_back(rank.extent);
    spec_.mapping.holds.resize(einsum.tensors.size());
  }

  void run() {
    std::vector<int> all;
    for (int tensor = 0; tensor <= spec_.einsum.output(); ++tensor) all.push_back(tensor);
    places_ = {{0, all}};
    hold(places_[0]);
    choose_held(1, all);
  }

 private:
  /// Every choice of the tensors that the storage levels from `level` on hold.
  void choose_held(int level, const std::vector<int>& all) {
    const int compute = spec_.machine.compute_level();
    if (level < compute && !spec_.machine.storage(level)) return choose_held(level + 1, all);
    if (level == compute) {
      places_.push_back({compute, all});
      temporal_loops(1, -1);
      places_.pop_back();
      return;
    }
    choose_held(level + 1, all);  // it holds nothing: no place
    for (unsigned subset = 1; subset < (1U << all.size()) && !stopped_; ++subset) {
      Place place{level, {}};
      for (const int tensor : all) {
        if ((subset >> tensor) & 1U) place.tensors.push_back(tensor);
      }
      places_.push_back(place);
      choose_held(level + 1, all);
      places_.pop_back();
    }
  }

  /// The block outside place `place`, from here on: every sequence of temporal loops, each followed by every choice of
  /// `par` lines. `before` is the rank of the loop just outside, -1 at the start of the block.
  void temporal_loops(std::size_t place, int before) {
    par_lines(place, axes_outside(place), 0, 0, 1);
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      if (static_cast<int>(rank) == before) continue;
      for (std::int64_t trips = 2; trips <= left_[rank] && !stopped_; ++trips) {
        if (left_[rank] % trips != 0) continue;
        push({false, static_cast<int>(rank), 0, trips, -1, -1, {}});
        temporal_loops(place, static_cast<int>(rank));
        pop();
      }
    }
  }

  struct MeshAxisIndex {
    int mesh = 0;
    int axis = 0;
    std::int64_t size = 1;
  };

  /// The axes of the meshes between the place and the one outside it, outer mesh first.
  std::vector<MeshAxisIndex> axes_outside(std::size_t place) const {
    std::vector<MeshAxisIndex> axes;
    for (int level = places_[place - 1].level + 1; level < places_[place].level; ++level) {
      const Mesh* mesh = spec_.machine.mesh(level);
      if (!mesh) continue;
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        axes.push_back({level, static_cast<int>(axis), mesh->axes[axis].size});
      }
    }
    return axes;
  }

  /// Every choice of trips for rank `rank` and those after it on axis `axis` and those after it. `used` is the product
  /// of the trips on this axis so far.
  void par_lines(std::size_t place, const std::vector<MeshAxisIndex>& axes, std::size_t axis, std::size_t rank,
                 std::int64_t used) {
    if (axis == axes.size()) return enter(place);
    if (rank == left_.size()) return par_lines(place, axes, axis + 1, 0, 1);
    par_lines(place, axes, axis, rank + 1, used);
    for (std::int64_t trips = 2; trips <= left_[rank] && used * trips <= axes[axis].size && !stopped_; ++trips) {
      if (left_[rank] % trips != 0) continue;
      push({true, static_cast<int>(rank), 0, trips, axes[axis].mesh, axes[axis].axis, {}});
      par_lines(place, axes, axis, rank + 1, used * trips);
      pop();
    }
  }

  void push(Loop loop) {
    left_[static_cast<std::size_t>(loop.rank)] /= loop.trips;
    loop.tile = left_[static_cast<std::size_t>(loop.rank)];
    spec_.mapping.loops.push_back(loop);
  }

  void pop() {
    const Loop& loop = spec_.mapping.loops.back();
    left_[static_cast<std::size_t>(loop.rank)] *= loop.trips;
    spec_.mapping.loops.pop_back();
  }

  void hold(const Place& place) {
    const int depth = static_cast<int>(spec_.mapping.loops.size());
    for (const int tensor : place.tensors) {
      spec_.mapping.holds[static_cast<std::size_t>(tensor)].push_back({place.level, depth, {}});
    }
  }

  /// Holds what the place holds and goes on with the block inside it, or ends at the compute level.
  void enter(std::size_t place) {
    if (stopped_) return;
    const bool last = place + 1 == places_.size();
    if (last && !covered()) return;
    hold(places_[place]);
    if (!last) {
      temporal_loops(place + 1, -1);
    } else if (violated_constraint(spec_, constraints_).empty()) {
      stopped_ = !visit_(spec_);
    }
    for (const int tensor : places_[place].tensors) spec_.mapping.holds[static_cast<std::size_t>(tensor)].pop_back();
  }

  /// Whether the compute level takes what is left of the ranks: one operation, or one atomic shape.
  bool covered() const {
    const auto is_one = [](std::int64_t left) { return left == 1; };
    if (std::all_of(left_.begin(), left_.end(), is_one)) return true;
    return std::any_of(layouts_.begin(), layouts_.end(), [&](const auto& layout) { return takes(layout); });
  }

  bool takes(const std::vector<AtomicRole>& layout) const {
    std::vector<std::int64_t> outside = left_;  // of ranks in no role
    for (const AtomicRole& role : layout) {
      std::int64_t product = 1;
      for (const int rank : role.ranks) {
        product *= left_[static_cast<std::size_t>(rank)];
        outside[static_cast<std::size_t>(rank)] = 1;
      }
      if (product > role.extent) return false;
    }
    return std::all_of(outside.begin(), outside.end(), [](std::int64_t left) { return left == 1; });
  }

  Spec spec_;
  const MapConstraints& constraints_;
  const std::function<bool(const Spec&)>& visit_;
  const std::vector<std::vector<AtomicRole>> layouts_;
  std::vector<std::int64_t> left_;  ///< of each rank inside the loops so far
  std::vector<Place> places_;
  bool stopped_ = false;
};

/// How many loops stand outside the level's place; -1 where it holds nothing.
int depth_of(const Mapping& mapping, int level) {
  for (const std::vector<Hold>& holds : mapping.holds) {
    for (const Hold& hold : holds) {
      if (hold.level == level) return hold.depth;
    }
  }
  return -1;
}

bool holds_at(const Mapping& mapping, int level, int tensor) {
  const std::vector<Hold>& holds = mapping.holds[static_cast<std::size_t>(tensor)];
  return std::any_of(holds.begin(), holds.end(), [&](const Hold& hold) { return hold.level == level; });
}

/// How many loops stand outside the next place further out.
int depth_outside(const Mapping& mapping, int level) {
  for (int outer = level - 1; outer >= 0; --outer) {
    if (depth_of(mapping, outer) >= 0) return depth_of(mapping, outer);
  }
  return 0;
}

/// Whether the innermost temporal loop that turns in the block outside the level's place leaves the tensor in place.
bool leaves_in_place(const Spec& spec, int level, int tensor) {
  const int begin = depth_outside(spec.mapping, level);
  for (int i = depth_of(spec.mapping, level) - 1; i >= begin; --i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial && loop.trips > 1) return !spec.einsum.has_rank(tensor, loop.rank);
  }
  return true;
}

std::int64_t trips_on(const Mapping& mapping, int mesh, int axis, int rank) {
  std::int64_t trips = 1;
  for (const Loop& loop : mapping.loops) {
    if (loop.spatial && loop.mesh == mesh && loop.axis == axis && loop.rank == rank) trips *= loop.trips;
  }
  return trips;
}

std::string violated_holding(const Spec& spec, const MapConstraints& constraints) {
  for (std::size_t level = 0; level < constraints.holding.size(); ++level) {
    for (std::size_t tensor = 0; tensor < constraints.holding[level].size(); ++tensor) {
      const Holding wanted = constraints.holding[level][tensor];
      const bool held = holds_at(spec.mapping, static_cast<int>(level), static_cast<int>(tensor));
      if ((wanted == Holding::held && !held) || (wanted == Holding::bypassed && held)) {
        return fmt::format("{} at {}", spec.einsum.tensors[tensor].name, spec.machine.level_name(int(level)));
      }
    }
  }
  return {};
}

std::string violated_tile(const Spec& spec, const MapConstraints& constraints) {
  for (std::size_t level = 0; level < constraints.tile.size(); ++level) {
    const int depth = depth_of(spec.mapping, static_cast<int>(level));
    for (std::size_t rank = 0; rank < constraints.tile[level].size(); ++rank) {
      const std::int64_t wanted = constraints.tile[level][rank];
      if (wanted == 0) continue;
      if (depth < 0 || tile_at(spec, depth)[rank] != wanted) {
        return fmt::format("tile of {} at {}", spec.einsum.ranks[rank].name, spec.machine.level_name(int(level)));
      }
    }
  }
  return {};
}

std::string violated_stationary(const Spec& spec, const MapConstraints& constraints) {
  for (std::size_t level = 0; level < constraints.stationary.size(); ++level) {
    const int tensor = constraints.stationary[level];
    if (tensor < 0) continue;
    const int at = static_cast<int>(level);
    if (!holds_at(spec.mapping, at, tensor) || !leaves_in_place(spec, at, tensor)) {
      return "stationary tensor at " + spec.machine.level_name(at);
    }
  }
  return {};
}

std::string violated_spread(const Spec& spec, const MapConstraints& constraints) {
  for (std::size_t mesh = 0; mesh < constraints.spread.size(); ++mesh) {
    for (std::size_t axis = 0; axis < constraints.spread[mesh].size(); ++axis) {
      for (std::size_t rank = 0; rank < constraints.spread[mesh][axis].size(); ++rank) {
        const std::int64_t wanted = constraints.spread[mesh][axis][rank];
        if (wanted == 0 || wanted == trips_on(spec.mapping, int(mesh), int(axis), int(rank))) continue;
        return fmt::format("spread of {} on {}", spec.einsum.ranks[rank].name, spec.machine.level_name(int(mesh)));
      }
    }
  }
  return {};
}

}  // namespace

std::string violated_constraint(const Spec& spec, const MapConstraints& constraints) {
  for (const auto& violated : {violated_holding, violated_tile, violated_stationary, violated_spread}) {
    std::string found = violated(spec, constraints);
    if (!found.empty()) return found;
  }
  std::int64_t used = 1;
  for (const Loop& loop : spec.mapping.loops) used *= loop.spatial ? loop.trips : 1;
  const double share = static_cast<double>(used) / spec.machine.compute_instances().to_double();
  return share < constraints.least_utilization ? "least utilization" : "";
}

std::string outside_space(const Spec& spec) {
  const Mapping& mapping = spec.mapping;
  const std::string nest = to_text(mapping, spec.einsum, spec.machine);
  const Result<Mapping> read = parse_mapping(nest, spec.einsum, spec.machine);
  if (!read) return render(read.error(), {"nest", nest});
  if (!(*read == mapping)) return "the nest reads back differently";
  for (const std::vector<Hold>& holds : mapping.holds) {
    for (const Hold& hold : holds) {
      if (hold.depth != depth_of(mapping, hold.level)) return "uneven holds at " + spec.machine.level_name(hold.level);
    }
  }
  std::vector<std::int64_t> left = tile_at(spec, 0);
  for (const Loop& loop : mapping.loops) {
    std::int64_t& rank_left = left[static_cast<std::size_t>(loop.rank)];
    if (rank_left % loop.tile != 0) return "a tile does not divide";
    rank_left = loop.tile;
  }
  for (int level = 1; level < static_cast<int>(spec.machine.levels.size()); ++level) {
    bool spread = false;
    int mesh = 0;
    for (int i = depth_outside(mapping, level); i < depth_of(mapping, level); ++i) {
      const Loop& loop = mapping.loops[static_cast<std::size_t>(i)];
      if (loop.trips == 1) continue;
      if (!loop.spatial && spread) return "a temporal loop stands inside a par line of its block";
      if (loop.spatial && loop.mesh < mesh) return "an outer mesh stands inside an inner one";
      if (!loop.spatial) continue;
      spread = true;
      mesh = loop.mesh;
    }
  }
  return {};
}

void for_each_nest(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                   const std::function<bool(const Spec&)>& visit) {
  Enumerator(einsum, machine, constraints, visit).run();
}

std::int64_t count_nests(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                         std::int64_t limit) {
  std::int64_t count = 0;
  for_each_nest(einsum, machine, constraints, [&](const Spec&) { return ++count < limit; });
  return count;
}

std::int64_t for_each_mapping(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                              const std::function<void(const Spec&, const Counts&, const Cost&)>& visit) {
  std::int64_t too_large = 0;
  for_each_nest(einsum, machine, constraints, [&](const Spec& spec) {
    const Result<Counts> counts = count_movement(spec);
    if (!counts) throw std::runtime_error(render(counts.error(), {}));
    Cost space;  // occupancy alone is enough to see that a mapping does not fit
    space.levels = level_traffic(spec, *counts);
    if (!misfits(spec, *counts, space).empty()) {
      ++too_large;
      return true;
    }
    const Result<Cost> cost = cost_of(spec, *counts);
    if (!cost) throw std::runtime_error(render(cost.error(), {}));
    visit(spec, *counts, *cost);
    return true;
  });
  return too_large;
}

}  // namespace einflow::testing
