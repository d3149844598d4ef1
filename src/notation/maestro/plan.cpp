#include "notation/maestro/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/message.hpp"

namespace einflow::maestro {

namespace {

constexpr std::size_t kMostLevels = 4;
constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

/// A parallel dimension of the machine, and what the nest puts on it.
struct Axis {
  int mesh = 0;
  int axis = 0;
  std::int64_t units = 1;
  std::string name;
  const Loop* loop = nullptr;
  std::size_t place = 0;  ///< of the loop in its segment
};

class Planner {
 public:
  Planner(const Classified& operation, const Machine& machine, const Mapping& mapping)
      : operation_(operation), machine_(machine), mapping_(mapping) {
    for (const Rank& rank : operation.canonical.ranks) left_.push_back(rank.extent);
  }

  Result<std::vector<PlannedLevel>> plan() {
    std::string reason = check_machine();
    if (reason.empty()) reason = find_depths();
    for (std::size_t part = 1; reason.empty() && part < storages_.size(); ++part) reason = plan_part(part);
    if (reason.empty() && levels_.size() > 1 && levels_.back().units == 1) {
      reason = fmt::format("{} has no units of its own, and MAESTRO has one memory in a PE",
                           machine_.level_name(storages_.back()));
    }
    if (reason.empty()) reason = plan_pe();
    if (reason.empty() && levels_.size() > kMostLevels) {
      reason = fmt::format("it takes {} levels of directives, and MAESTRO has at most {}", levels_.size(), kMostLevels);
    }
    if (!reason.empty()) return fail("MAESTRO cannot say this nest: " + reason);
    return std::move(levels_);
  }

 private:
  int canonical(const Loop& loop) const { return operation_.canonical_rank[static_cast<std::size_t>(loop.rank)]; }
  const std::string& name(int rank) const { return operation_.canonical.ranks[static_cast<std::size_t>(rank)].name; }
  std::int64_t& left(int rank) { return left_[static_cast<std::size_t>(rank)]; }
  bool is_tap(int rank) const {
    return operation_.shape.type != Type::gemm && (name(rank) == "r" || name(rank) == "s");
  }
  /// The rank of the outputs under a filter's rank.
  int outputs_of(int tap) const { return operation_.canonical.rank_named(name(tap) == "r" ? "p" : "q"); }

  std::string check_machine() {
    for (int level = 0; level < machine_.compute_level(); ++level) {
      if (machine_.storage(level) != nullptr) storages_.push_back(level);
      const Mesh* const mesh = machine_.mesh(level);
      if (mesh == nullptr || mesh->size() == 1) continue;
      if (!mesh->multicast) return fmt::format("{} does not multicast, and MAESTRO's networks do", mesh->name);
      if (!mesh->reduction) return fmt::format("{} does not reduce, and MAESTRO's networks do", mesh->name);
      if (mesh->forwarding)
        return fmt::format("{} forwards, and units in MAESTRO take nothing from each other", mesh->name);
    }
    if (storages_.size() < 2) return "the machine has one storage, and MAESTRO an L2 and a memory in each PE";
    for (int level = storages_.back() + 1; level < machine_.compute_level(); ++level) {
      const Mesh* const mesh = machine_.mesh(level);
      if (mesh != nullptr && mesh->size() > 1) {
        return fmt::format("{} stands inside {}, and a PE in MAESTRO has one multiplier", mesh->name,
                           machine_.level_name(storages_.back()));
      }
    }
    if (!machine_.compute().atomic.empty())
      return "the compute level works on an atomic shape, a PE in MAESTRO on single MACs";
    if (machine_.compute().operand_latches) return "the compute level has latches, which MAESTRO has not";
    return {};
  }

  /// Where the tensors are held: all of them at every storage, at one place.
  std::string find_depths() {
    for (const int storage : storages_) {
      std::optional<int> depth;
      for (const std::vector<Hold>& holds : mapping_.holds) {
        const auto hold = std::find_if(holds.begin(), holds.end(), [&](const Hold& h) { return h.level == storage; });
        if (hold == holds.end()) {
          return fmt::format("a tensor bypasses {}, and MAESTRO keeps all of them everywhere",
                             machine_.level_name(storage));
        }
        if (depth && *depth != hold->depth) {
          return fmt::format("the tensors are held in {} at different places, and MAESTRO takes a tile of all at once",
                             machine_.level_name(storage));
        }
        depth = hold->depth;
      }
      depths_.push_back(depth.value_or(0));
    }
    return {};
  }

  /// The loops with several trips between two depths.
  std::vector<const Loop*> loops_between(int from, int to) const {
    std::vector<const Loop*> loops;
    for (int at = from; at < to; ++at) {
      const Loop& loop = mapping_.loops[static_cast<std::size_t>(at)];
      if (loop.trips > 1) loops.push_back(&loop);
    }
    return loops;
  }

  /// The levels between two storages.
  std::string plan_part(std::size_t part) {
    const std::vector<const Loop*> loops = loops_between(depths_[part - 1], depths_[part]);
    const std::string inside = machine_.level_name(storages_[part]);
    std::vector<const Loop*> temporal;
    for (const Loop* loop : loops) {
      if (!loop->spatial) temporal.push_back(loop);
    }
    if (part > 1 && temporal.empty()) {
      return fmt::format(
          "{} keeps nothing longer than {}: no loop of time stands between, and MAESTRO has no such memory",
          machine_.level_name(storages_[part - 1]), inside);
    }
    std::vector<Axis> axes;
    std::string reason = find_axes(part, loops, axes);
    if (reason.empty()) reason = check_order(loops, inside);
    if (!reason.empty()) return reason;
    const bool merged = axes.empty() || can_merge(axes.front(), loops, temporal);
    PlannedLevel first;
    if (merged && !axes.empty()) first.units = axes.front().units;
    add_maps(first, loops, merged && !axes.empty() ? &axes.front() : nullptr);
    if (merged && !axes.empty() && axes.front().loop == nullptr) add_whole(first);
    finish(first);
    for (std::size_t axis = merged && !axes.empty() ? 1 : 0; axis < axes.size(); ++axis) {
      PlannedLevel level;
      level.units = axes[axis].units;
      if (axes[axis].loop == nullptr) {
        add_whole(level);
      } else {
        reason = add_spatial(level, *axes[axis].loop);
        if (!reason.empty()) return reason;
      }
      finish(level);
    }
    return {};
  }

  std::string find_axes(std::size_t part, const std::vector<const Loop*>& loops, std::vector<Axis>& axes) const {
    for (int level = storages_[part - 1] + 1; level < storages_[part]; ++level) {
      const Mesh* const mesh = machine_.mesh(level);
      if (mesh == nullptr) continue;
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        if (mesh->axes[axis].size == 1) continue;
        axes.push_back({level, static_cast<int>(axis), mesh->axes[axis].size, mesh->name + "." + mesh->axes[axis].name,
                        nullptr, 0});
      }
    }
    for (std::size_t place = 0; place < loops.size(); ++place) {
      const Loop& loop = *loops[place];
      if (!loop.spatial) continue;
      const auto axis = std::find_if(axes.begin(), axes.end(), [&](const Axis& candidate) {
        return candidate.mesh == loop.mesh && candidate.axis == loop.axis;
      });
      if (axis->loop != nullptr) {
        return fmt::format("{} takes two parallel loops, over {} and {}, and a level in MAESTRO one", axis->name,
                           name(canonical(*axis->loop)), name(canonical(loop)));
      }
      axis->loop = &loop;
      axis->place = place;
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      for (std::size_t b = a + 1; b < axes.size(); ++b) {
        if (axes[a].loop == nullptr || axes[b].loop == nullptr || axes[a].loop->rank != axes[b].loop->rank) continue;
        if (axes[a].place < axes[b].place) continue;
        return fmt::format("the parallel loops over {} stand in another order than {} and {}",
                           name(canonical(*axes[a].loop)), axes[a].name, axes[b].name);
      }
    }
    return {};
  }

  /// One loop of time a rank, outside the parallel ones over it, and none over the filter's positions.
  std::string check_order(const std::vector<const Loop*>& loops, const std::string& inside) const {
    std::vector<bool> cut(left_.size(), false);
    for (const Loop* loop : loops) {
      const int rank = canonical(*loop);
      const std::size_t at = static_cast<std::size_t>(rank);
      if (!loop->spatial && is_tap(rank)) {
        return fmt::format("a loop of time over {} outside {}: MAESTRO takes the filter's {} whole", name(rank), inside,
                           name(rank) == "r" ? "rows" : "columns");
      }
      if (!loop->spatial && cut[at]) {
        return fmt::format(
            "a loop of time over {} inside another loop over it, both outside {}: its steps would be those of "
            "a lower level, which keeps its tile in a storage of its own",
            name(rank), inside);
      }
      cut[at] = true;
    }
    return {};
  }

  /// Whether the first axis' loop and the loops of time are one level: the loop folds over exactly the axis' units or
  /// not at all. The pair over rows and filter rows wants a level above that leaves one output.
  bool can_merge(const Axis& axis, const std::vector<const Loop*>& loops, const std::vector<const Loop*>& temporal) {
    if (temporal.empty()) return axis.loop == nullptr || !is_tap(canonical(*axis.loop)) || one_output(*axis.loop);
    if (axis.loop == nullptr) {
      for (std::size_t rank = 0; rank < left_.size(); ++rank) {
        if (is_free(static_cast<int>(rank), temporal)) return true;
      }
      return false;
    }
    if (is_tap(canonical(*axis.loop))) return one_output(*axis.loop);
    for (const Loop* loop : loops) {
      if (loop->spatial || loop->rank != axis.loop->rank) continue;
      if (Count(loop->tile) != Count(axis.loop->tile) * Count(axis.units)) return false;
    }
    return true;
  }

  bool one_output(const Loop& tap_loop) { return left(outputs_of(canonical(tap_loop))) == 1; }

  bool is_free(int rank, const std::vector<const Loop*>& temporal) const {
    return std::none_of(temporal.begin(), temporal.end(), [&](const Loop* loop) { return canonical(*loop) == rank; });
  }

  /// The maps of a level in the nest's order: its loops of time, and the first axis' loop where its fold or it stands.
  void add_maps(PlannedLevel& level, const std::vector<const Loop*>& loops, const Axis* axis) {
    const Loop* const spatial = axis == nullptr ? nullptr : axis->loop;
    for (const Loop* loop : loops) {
      if (loop->spatial && loop != spatial) continue;
      const int rank = canonical(*loop);
      const bool folds = spatial != nullptr && !loop->spatial && loop->rank == spatial->rank;
      const bool folded = loop->spatial && left(rank) == loop->tile;  // written where its fold stands
      if (folded) continue;
      level.maps.push_back({rank, folds ? spatial->tile : loop->tile, loop->spatial || folds});
      left(rank) = level.maps.back().tile;
    }
  }

  /// A spatial map that takes the whole of a rank that the level leaves alone.
  void add_whole(PlannedLevel& level) {
    for (int rank = 0; rank < static_cast<int>(left_.size()); ++rank) {
      const bool mapped =
          std::any_of(level.maps.begin(), level.maps.end(), [&](const PlannedMap& m) { return m.rank == rank; });
      if (mapped) continue;
      level.maps.push_back({rank, left(rank), true});
      return;
    }
  }

  std::string add_spatial(PlannedLevel& level, const Loop& loop) {
    const int rank = canonical(loop);
    if (is_tap(rank) && !one_output(loop)) {
      return fmt::format(
          "a parallel loop over {} where {} outputs are left: MAESTRO pairs filter and input positions, and a "
          "pair makes one output",
          name(rank), left(outputs_of(rank)));
    }
    level.maps.push_back({rank, loop.tile, true});
    left(rank) = loop.tile;
    return {};
  }

  /// Every level has a spatial map; with one unit it is a loop of time.
  void finish(PlannedLevel& level) {
    const bool has = std::any_of(level.maps.begin(), level.maps.end(), [](const PlannedMap& m) { return m.spatial; });
    if (!has && level.units == 1 && !level.maps.empty()) {
      level.maps.front().spatial = true;
    } else if (!has) {
      add_whole(level);
    }
    levels_.push_back(std::move(level));
  }

  /// The loops inside the PE's memory: what stands in the order that a PE is read with needs no directive, what stands
  /// outside it a Cluster(1,P) for each set of loops over different ranks.
  std::string plan_pe() {
    const std::vector<const Loop*> loops = loops_between(depths_.back(), static_cast<int>(mapping_.loops.size()));
    std::size_t directed = loops.size();
    while (directed > 0 && loops[directed - 1]->tile == 1 &&
           (directed == loops.size() || canonical(*loops[directed - 1]) < canonical(*loops[directed]))) {
      --directed;
    }
    for (std::size_t at = 0; at < directed;) {
      PlannedLevel level;
      for (; at < directed; ++at) {
        const int rank = canonical(*loops[at]);
        if (is_tap(rank)) {
          return fmt::format(
              "a loop over {} with loops inside it that come before it in {}: MAESTRO takes the filter's {} "
              "whole",
              name(rank), order(), name(rank) == "r" ? "rows" : "columns");
        }
        const bool mapped =
            std::any_of(level.maps.begin(), level.maps.end(), [&](const PlannedMap& m) { return m.rank == rank; });
        if (mapped) break;
        level.maps.push_back({rank, loops[at]->tile, false});
        left(rank) = loops[at]->tile;
      }
      finish(level);
    }
    return {};
  }

  std::string order() const {
    std::vector<std::string> names;
    for (const Rank& rank : operation_.canonical.ranks) names.push_back(rank.name);
    return comma_list(names);
  }

  const Classified& operation_;
  const Machine& machine_;
  const Mapping& mapping_;
  std::vector<int> storages_;
  std::vector<int> depths_;  // of the storages' holds
  std::vector<std::int64_t> left_;
  std::vector<PlannedLevel> levels_;
};

}  // namespace

Result<std::vector<PlannedLevel>> plan(const Classified& operation, const Machine& machine, const Mapping& mapping) {
  return Planner(operation, machine, mapping).plan();
}

}  // namespace einflow::maestro
