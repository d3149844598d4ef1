#include "movement/uniform.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "movement/group.hpp"

namespace einflow {
namespace {

constexpr int kMostLoops = 96;
constexpr int kMostRanks = 24;
constexpr int kMostGroups = 12;

/// The nest as flat arrays.
struct Nest {
  int size = 0;
  std::array<int, kMostLoops> rank;
  std::array<std::int64_t, kMostLoops> tile;
  std::array<std::int64_t, kMostLoops> trips;
  std::array<bool, kMostLoops> spatial;
};

/// Siblings of equal width at all sums of multiples of some strides.
struct Row {
  std::int64_t width = 1;  ///< of the one interval, or of each piece where there are several
  std::int64_t pieces = 1;
  std::int64_t measure() const { return width * pieces; }
};

struct Stride {
  std::int64_t stride, count;
};

/// Adds the strides (rising) to an interval. False where the pieces would overlap in another way.
bool lay_out(Row& row, const Stride* strides, int count) {
  std::int64_t span = row.width;
  for (int k = 0; k < count; ++k) {
    const auto [stride, times] = strides[k];
    if (row.pieces == 1 && stride <= row.width) {
      row.width += stride * (times - 1);
    } else if (stride > span) {
      row.pieces *= times;
    } else {
      return false;
    }
    span += stride * (times - 1);
  }
  return true;
}

/// What one hold sees of one group.
struct GroupView {
  std::int64_t width = 1;          ///< of a tile, an interval
  std::int64_t wrap = 0;           ///< how far the loops inside the current one have moved the tile
  int strides = 0;                 ///< merged sibling loops of this group
  std::array<Stride, 8> merged{};  ///< by rising stride
  std::int64_t joined = 1;         ///< size of the union over merged siblings
  bool joined_is_interval = true;
};

class HoldCounter {
 public:
  HoldCounter(const UniformLaw::TensorPlan& plan, const Nest& nest, const std::int64_t* lengths, int depth)
      : plan_(plan), nest_(nest), depth_(depth), groups_(static_cast<int>(plan.groups.size())) {
    for (int g = 0; g < groups_; ++g) views_[g].width = 1;
    valid_ = measure_tile(lengths);
    for (int i = 0; i < depth; ++i) {
      all_trips_ *= Count(nest.trips[i]);
      if (nest.spatial[i]) {
        instances_ *= Count(nest.trips[i]);
      } else {
        steps_ *= Count(nest.trips[i]);
      }
    }
    lone_ = instances_;
  }

  bool valid() const { return valid_; }
  Count tile() const { return tile_; }
  Count instances() const { return instances_; }
  Count present_alone() const { return tile_ * all_trips_; }
  Count present_joined() const {
    Count size = 1;
    for (int g = 0; g < groups_; ++g) size *= Count(views_[g].joined);
    return size * steps_ * lone_;
  }

  /// Takes the siblings of a spatial loop together.
  bool merge(int loop) {
    const int rank = nest_.rank[loop];
    const std::int64_t trips = nest_.trips[loop];
    if (trips == 1) return true;
    merged_[loop] = true;
    any_merged_ = true;
    const int g = plan_.group_of[rank];
    if (g < 0) return true;
    GroupView& view = views_[g];
    if (view.strides == static_cast<int>(view.merged.size())) return false;
    const Stride stride{plan_.coefficient[rank] * nest_.tile[loop], trips};
    int at = view.strides++;
    for (; at > 0 && view.merged[at - 1].stride > stride.stride; --at) view.merged[at] = view.merged[at - 1];
    view.merged[at] = stride;
    return true;
  }

  bool join() {
    lone_ = 1;
    for (int i = 0; i < depth_; ++i) {
      if (nest_.spatial[i] && !merged_[i]) lone_ *= Count(nest_.trips[i]);
    }
    for (int g = 0; g < groups_; ++g) {
      GroupView& view = views_[g];
      Row row{view.width, 1};
      if (!lay_out(row, view.merged.data(), view.strides)) return false;
      view.joined = row.measure();
      view.joined_is_interval = row.pieces == 1;
    }
    return true;
  }

  struct Kept {
    Count alone = 0, joined = 0, forwarded = 0;
    bool valid = true;
  };

  /// Elements that stay at changes of step, summed over all changes.
  Kept kept(bool forwarding) {
    Kept result;
    Count outer_steps = steps_;  // of the temporal loops outside the current one
    for (int j = depth_ - 1; j >= 0; --j) {
      if (nest_.spatial[j] || nest_.trips[j] == 1) continue;
      const std::int64_t trips = nest_.trips[j];
      outer_steps = Count(outer_steps.value() / trips);
      const int own = plan_.group_of[nest_.rank[j]];
      const std::int64_t step = own < 0 ? 0 : plan_.coefficient[nest_.rank[j]] * nest_.tile[j];
      const Count changes = outer_steps * Count(trips - 1);
      Count alone = 1, joined = 1, forwarded = 1;
      bool nothing_stays = false;
      for (int g = 0; g < groups_; ++g) {
        const GroupView& view = views_[g];
        const std::int64_t shift = std::abs((g == own ? step : 0) - view.wrap);
        const std::int64_t stays = std::max<std::int64_t>(view.width - shift, 0);
        alone *= Count(stays);
        if (stays == 0 && !any_merged_) {
          nothing_stays = true;
          break;
        }
        if (!any_merged_) continue;
        Row arriving{std::min(shift, view.width), 1};
        if (shift == 0) {
          joined *= Count(view.joined);
        } else {
          if (!lay_out(arriving, view.merged.data(), view.strides)) return {0, 0, 0, false};
          joined *= Count(view.joined - arriving.measure());
        }
        if (!forwarding) continue;
        if (shift == 0) {
          forwarded *= Count(view.joined);
        } else if (view.joined_is_interval) {
          forwarded *= Count(std::max<std::int64_t>(view.joined - shift, 0));
        } else {
          return {0, 0, 0, false};
        }
      }
      if (!nothing_stays) {
        result.alone += alone * changes * instances_;
        if (any_merged_) {
          result.joined += joined * changes * lone_;
          if (forwarding) result.forwarded += forwarded * changes * lone_;
        }
      }
      if (own >= 0) {
        views_[own].wrap += step * (trips - 1);
        // A single rank's tiles never overlap: once it moves, nothing stays at any change further out.
        if (plan_.groups[own].size == 1 && !(forwarding && any_merged_)) break;
      }
    }
    if (!any_merged_) result.joined = result.alone;
    return result;
  }

  bool any_merged() const { return any_merged_; }

 private:
  bool measure_tile(const std::int64_t* lengths) {
    for (int g = 0; g < groups_; ++g) {
      const auto [first, size] = plan_.groups[g];
      std::int64_t width = 1;
      for (int k = first; k < first + size; ++k) {
        const std::int64_t length = lengths[plan_.terms[k].rank];
        if (length == 1) continue;
        if (plan_.terms[k].coefficient > width) return false;
        width += plan_.terms[k].coefficient * (length - 1);
      }
      views_[g].width = width;
      tile_ *= Count(width);
    }
    return true;
  }

  const UniformLaw::TensorPlan& plan_;
  const Nest& nest_;
  int depth_;
  int groups_;
  bool valid_ = true;
  bool any_merged_ = false;
  Count tile_ = 1, all_trips_ = 1, instances_ = 1, steps_ = 1, lone_ = 1;
  std::array<GroupView, kMostGroups> views_;
  std::array<bool, kMostLoops> merged_{};
};

}  // namespace

UniformLaw::UniformLaw(const Einsum& einsum, const Machine& machine)
    : einsum_(einsum),
      operations_(einsum.operations()),
      compute_level_(machine.compute_level()),
      latches_(machine.compute().operand_latches) {
  for (int t = 0; t < static_cast<int>(einsum.tensors.size()); ++t) {
    TensorPlan plan;
    plan.group_of.assign(einsum.ranks.size(), -1);
    plan.coefficient.assign(einsum.ranks.size(), 0);
    for (const Group& group : groups_of(einsum, t)) {
      if (!group.indexed) continue;
      plan.padded = plan.padded || group.stored.has_value();
      const int index = static_cast<int>(plan.groups.size());
      plan.groups.push_back({static_cast<int>(plan.terms.size()), static_cast<int>(group.terms.size())});
      for (const Term& term : group.terms) {
        plan.terms.push_back(term);
        plan.group_of[static_cast<std::size_t>(term.rank)] = index;
        plan.coefficient[static_cast<std::size_t>(term.rank)] = term.coefficient;
      }
    }
    plans_.push_back(std::move(plan));
  }
  for (const Level& level : machine.levels) {
    const Mesh* mesh = std::get_if<Mesh>(&level);
    abilities_.push_back(mesh ? Ability{mesh->multicast, mesh->reduction, mesh->forwarding} : Ability{});
  }
}

bool UniformLaw::count(const Mapping& mapping, Counts& counts) const {
  const int loops = static_cast<int>(mapping.loops.size());
  const int ranks = static_cast<int>(einsum_.ranks.size());
  if (loops > kMostLoops || ranks > kMostRanks) return false;
  Nest nest;
  nest.size = loops;
  std::array<std::int64_t, kMostRanks> extents;
  for (int r = 0; r < ranks; ++r) extents[r] = einsum_.ranks[r].extent;
  std::array<std::int64_t, kMostRanks> left = extents;
  counts.operations = operations_;
  counts.steps = 1;
  for (int i = 0; i < loops; ++i) {
    const Loop& loop = mapping.loops[i];
    if (left[loop.rank] % loop.tile != 0) return false;
    nest.rank[i] = loop.rank;
    nest.tile[i] = loop.tile;
    nest.trips[i] = left[loop.rank] / loop.tile;
    nest.spatial[i] = loop.spatial;
    left[loop.rank] = loop.tile;
    if (!loop.spatial) counts.steps *= Count(nest.trips[i]);
  }
  counts.holds.clear();
  for (int t = 0; t < static_cast<int>(plans_.size()); ++t) {
    const TensorPlan& plan = plans_[t];
    if (plan.padded || plan.groups.size() > kMostGroups) return false;
    const bool output = einsum_.is_output(t);
    std::array<std::int64_t, kMostRanks> lengths = extents;
    int done = 0;
    Count residencies = 0;
    const auto& holds = mapping.holds[t];
    for (int h = 0; h < static_cast<int>(holds.size()); ++h) {
      const Hold& hold = holds[h];
      for (; done < hold.depth; ++done) lengths[nest.rank[done]] = nest.tile[done];
      HoldCounter counter(plan, nest, lengths.data(), hold.depth);
      if (!counter.valid()) return false;
      HoldCounts& entry = counts.holds.emplace_back();
      entry.tensor = t;
      entry.hold = h;
      entry.tile_elements = counter.tile();
      entry.instances = counter.instances();
      if (h == 0) {
        residencies = counter.tile();
        continue;
      }
      bool forwards = false, divided = false;
      for (int i = holds[h - 1].depth; i < hold.depth; ++i) {
        if (!nest.spatial[i] || nest.trips[i] == 1) continue;
        const Ability& ability = abilities_[mapping.loops[i].mesh];
        if (output ? ability.reduction : ability.multicast) {
          if (!counter.merge(i)) return false;
        }
        const bool hands_on = ability.forwarding && ability.multicast;
        forwards = (divided ? forwards : true) && hands_on;
        divided = true;
      }
      const bool compute = hold.level == compute_level_;
      if (output || compute) forwards = false;
      if (counter.any_merged() && !counter.join()) return false;
      Count alone = counter.present_alone();
      Count joined = counter.any_merged() ? counter.present_joined() : alone;
      Count all_joined = joined;
      if (!compute || latches_) {
        const auto kept = counter.kept(forwards);
        if (!kept.valid) return false;
        alone -= kept.alone;
        all_joined -= kept.joined;
        joined -= forwards ? kept.forwarded : kept.joined;
      }
      if (output) {
        entry.drains = alone;
        entry.parent_updates = joined;
        entry.parent_rmw_reads = joined - residencies;
      } else {
        entry.fills = alone;
        entry.parent_reads = joined;
        entry.forwarded = all_joined - joined;
      }
      residencies = alone;
    }
  }
  return true;
}

}  // namespace einflow
