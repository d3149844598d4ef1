#include "movement/transfer.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "movement/runs.hpp"

namespace einflow {
namespace {

// Beyond this many one-dimensional set evaluations, runs in one set, or runs in all, a group is refused rather than run
// for minutes.
constexpr std::size_t kMostEvaluations = 100'000'000;
constexpr std::size_t kMostRuns = 2'000'000;
constexpr std::size_t kMostWork = 50'000'000;

/// Sizes of a group's set after a change: all of it, and what the change leaves in place.
struct Sizes {
  std::int64_t present = 0;
  std::int64_t kept = 0;
};

/// Scratch memory, reused from position to position.
struct Workspace {
  Runs prev, now, part, all, moved;
};

/// One position class of a rank, with the table that holds its cells.
struct Choice {
  const PositionTable* table = nullptr;
  const Position* position = nullptr;
  const Cell& cell(std::size_t k) const { return table->cell(*position, k); }
};

/// Evaluates one group at one position of each of its ranks.
class GroupSizes {
 public:
  GroupSizes(const Group& group, Keep keep) : group_(group), keep_(keep) {}

  Sizes at(std::span<const Choice> positions) {
    if (!group_.indexed) return absent(positions[0]);
    if (positions.empty()) return fixed_axis();
    bool inside = false;
    for (const Choice& choice : positions) inside = inside || choice.position->inside;
    const bool clip_needed = group_.stored.has_value() && !inside;
    bool one_cell = true;
    for (const Choice& choice : positions) one_cell = one_cell && choice.position->cells == 1;
    if (one_cell && positions.size() == 1 && !clip_needed) return interval(positions[0].cell(0));
    if (one_cell && !clip_needed) {
      if (const std::optional<Sizes> sizes = progression(positions)) return *sizes;
    }
    return sets(positions, clip_needed);
  }

  /// Set where a set had too many runs to be written down; the sizes are then meaningless.
  bool too_large() const { return too_large_; }

 private:
  // A rank that the tensor lacks: the one element is there wherever some sibling is active.
  Sizes absent(const Choice& choice) const {
    bool any_prev = false, any_now = false, all_stay = true, all_came = true;
    for (std::size_t k = 0; k < choice.position->cells; ++k) {
      const Cell& cell = choice.cell(k);
      const bool before = cell.prev_length != 0;
      const bool after = cell.now_length != 0;
      any_prev = any_prev || before;
      any_now = any_now || after;
      if (after && !before) all_stay = false;
      if (before && !after) all_came = false;
    }
    switch (keep_) {
      case Keep::arriving:
        return {any_now, any_now && all_stay};
      case Keep::leaving:
        return {any_prev, any_prev && all_came};
      case Keep::forwarded:
        return {any_now, any_now && any_prev};
      case Keep::nothing:
        break;
    }
    return {any_now, 0};
  }

  // An axis without ranks ("I[0]"): one position, always held, unless padding removes it.
  Sizes fixed_axis() const {
    const bool exists = !group_.stored || (group_.stored->begin <= 0 && 0 < group_.stored->end);
    return {exists, exists && keep_ != Keep::nothing};
  }

  Sizes interval(const Cell& cell) const {
    const std::int64_t common = std::min(cell.prev_begin + cell.prev_length, cell.now_begin + cell.now_length) -
                                std::max(cell.prev_begin, cell.now_begin);
    const bool both = cell.prev_length != 0 && cell.now_length != 0;
    const std::int64_t kept = both && keep_ != Keep::nothing ? std::max<std::int64_t>(common, 0) : 0;
    return {keep_ == Keep::leaving ? cell.prev_length : cell.now_length, kept};
  }

  // One sibling, at most one rank that varies: both sets are progressions of the same stride.
  std::optional<Sizes> progression(std::span<const Choice> positions) const {
    std::int64_t stride = 0;
    std::int64_t prev_begin = 0, now_begin = 0, prev_length = 1, now_length = 1;
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const Cell& cell = positions[k].cell(0);
      const std::int64_t coefficient = group_.terms[k].coefficient;
      prev_begin += coefficient * cell.prev_begin;
      now_begin += coefficient * cell.now_begin;
      if (cell.prev_length > 1 || cell.now_length > 1) {
        if (stride != 0) return std::nullopt;
        stride = coefficient;
      }
      prev_length *= cell.prev_length;
      now_length *= cell.now_length;
    }
    Sizes sizes{keep_ == Keep::leaving ? prev_length : now_length, 0};
    if (keep_ == Keep::nothing || prev_length == 0 || now_length == 0) return sizes;
    if (stride == 0) stride = 1;
    const std::int64_t shift = now_begin - prev_begin;
    if (shift % stride != 0) return sizes;
    const std::int64_t steps = shift / stride;
    sizes.kept =
        std::max<std::int64_t>(std::min(prev_length, steps + now_length) - std::max<std::int64_t>(0, steps), 0);
    return sizes;
  }

  Sizes sets(std::span<const Choice> positions, bool clip_needed) {
    // `from` is the side whose elements are counted, `other` the side that may already hold them.
    Workspace& w = workspace_;
    w.all.clear();
    w.moved.clear();
    Runs& others = w.part;
    others.clear();
    if (too_large_) return {};
    std::vector<std::size_t> at(positions.size(), 0);
    const bool leaving = keep_ == Keep::leaving;
    bool more = true;
    while (more) {
      image(positions, at, leaving, clip_needed, w.now);
      image(positions, at, !leaving, clip_needed, w.prev);
      w.all.insert(w.all.end(), w.now.begin(), w.now.end());
      if (keep_ == Keep::forwarded) {
        others.insert(others.end(), w.prev.begin(), w.prev.end());
      } else if (keep_ != Keep::nothing) {
        append_difference(w.now, w.prev, w.moved);
      }
      more = advance(positions, at);
    }
    join_runs(w.all);
    Sizes sizes;
    sizes.present = measure(w.all);
    if (keep_ == Keep::forwarded) {
      join_runs(others);
      sizes.kept = measure_common(w.all, others);
    } else if (keep_ != Keep::nothing) {
      join_runs(w.moved);
      sizes.kept = sizes.present - measure(w.moved);
    }
    return sizes;
  }

  static bool advance(std::span<const Choice> positions, std::vector<std::size_t>& at) {
    for (std::size_t k = 0; k < at.size(); ++k) {
      if (++at[k] < positions[k].position->cells) return true;
      at[k] = 0;
    }
    return false;
  }

  void image(std::span<const Choice> positions, const std::vector<std::size_t>& at, bool before, bool clip_needed,
             Runs& out) {
    out.clear();
    progressions_.clear();
    for (std::size_t k = 0; k < positions.size(); ++k) {
      const Cell& cell = positions[k].cell(at[k]);
      const std::int64_t length = before ? cell.prev_length : cell.now_length;
      if (length == 0) return;
      const std::int64_t begin =
          (before ? cell.prev_begin : cell.now_begin) + (clip_needed ? positions[k].position->base : 0);
      progressions_.push_back({group_.terms[k].coefficient, begin, length});
    }
    if (work_ > kMostWork || !sum_of_progressions(progressions_.data(), progressions_.size(), kMostRuns, out)) {
      too_large_ = true;
      out.clear();
      return;
    }
    work_ += out.size();
    if (clip_needed) clip(out, *group_.stored);
  }

  const Group& group_;
  Keep keep_;
  Workspace workspace_;
  std::vector<Progression> progressions_;
  bool too_large_ = false;
  std::size_t work_ = 0;  ///< runs written down so far
};

constexpr int kNoChange = -1;   ///< all steps, each by itself
constexpr int kOutermost = -2;  ///< everything wraps: from the last step of the nest to its first
constexpr std::size_t kMostRanks = 64;

/// What a change of temporal loop j is for a rank.
Change change_for(const View& view, int rank, int j) {
  if (j == kNoChange) return {temporal_loops(view, rank), false};
  if (j == kOutermost) return {0, false};
  const auto& loops = view.spec->mapping.loops;
  int outer = 0;
  for (int i = 0; i < j; ++i) {
    const Loop& loop = loops[static_cast<std::size_t>(i)];
    if (!loop.spatial && loop.rank == rank) ++outer;
  }
  return {outer, loops[static_cast<std::size_t>(j)].rank == rank};
}

/// Calls sink(times, sizes) for every combination of position classes of the group's ranks at changes of loop j.
template <typename Sink>
bool for_each_class(const View& view, const Group& group, Keep keep, int j, Sink&& sink) {
  PositionCache own_cache;
  PositionCache& cache = view.cache != nullptr ? *view.cache : own_cache;
  const std::size_t ranks = group.terms.size();
  if (ranks > kMostRanks) return false;
  std::array<const PositionTable*, kMostRanks> classes;
  std::size_t evaluations = 1;
  for (std::size_t k = 0; k < ranks; ++k) {
    const int rank = group.terms[k].rank;
    classes[k] = cache.get(view, rank, group, change_for(view, rank, j));
    if (classes[k] == nullptr) return false;
    std::size_t cells = 0;
    for (const Position& position : classes[k]->positions) cells += position.cells;
    evaluations *= std::max<std::size_t>(cells, 1);
    if (evaluations > kMostEvaluations) return false;
  }
  GroupSizes sizes(group, keep);
  std::array<Choice, kMostRanks> chosen;
  auto descend = [&](auto&& self, std::size_t k, Count times) -> void {
    if (k == ranks) {
      sink(times, sizes.at({chosen.data(), ranks}));
      return;
    }
    for (const Position& position : classes[k]->positions) {
      chosen[k] = {classes[k], &position};
      self(self, k + 1, times * position.times);
    }
  };
  descend(descend, 0, Count(1));
  return !sizes.too_large();
}

bool has_rank(const Group& group, int rank) {
  return std::any_of(group.terms.begin(), group.terms.end(), [rank](const Term& term) { return term.rank == rank; });
}

/// The groups of the view's tensor, kept in `own` where the view brings no cache.
const std::vector<Group>& groups_seen(const View& view, std::vector<Group>& own) {
  if (view.cache != nullptr) return view.cache->groups(view.spec->einsum, view.tensor);
  own = groups_of(view.spec->einsum, view.tensor);
  return own;
}

bool changes_anything(const Loop& loop) { return !loop.spatial && loop.trips > 1; }

}  // namespace

Count Factors::product() const {
  Count result = 1;
  for (Count factor : factors) result *= factor;
  return result;
}

Count Transfer::total() const {
  Count result = sizes.product();
  for (const Factors& k : kept) result -= k.product();
  return result;
}

std::optional<Transfer> transfer(const View& view, Keep keep) {
  Transfer result;
  std::vector<Group> own_groups;
  const std::vector<Group>& groups = groups_seen(view, own_groups);
  result.sizes.factors.reserve(groups.size());
  for (const Group& group : groups) {
    Count sum = 0;
    std::int64_t largest = 0;
    if (!for_each_class(view, group, Keep::nothing, kNoChange, [&](Count times, Sizes sizes) {
          sum += times * Count(sizes.present);
          largest = std::max(largest, sizes.present);
        })) {
      return std::nullopt;
    }
    result.sizes.factors.push_back(sum);
    result.tile *= Count(largest);
  }
  if (keep == Keep::nothing) return result;
  // Between two loops of its own ranks a group sees the same change, whichever loop advances.
  std::vector<std::optional<Count>> latest(groups.size());
  for (int j = 0; j < view.depth; ++j) {
    const Loop& loop = view.spec->mapping.loops[static_cast<std::size_t>(j)];
    if (loop.spatial) continue;
    Factors factors;
    factors.loop = j;
    if (changes_anything(loop)) factors.factors.reserve(groups.size());
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const bool own = has_rank(groups[g], loop.rank);
      if (own) latest[g].reset();
      if (changes_anything(loop)) {
        if (!latest[g]) {
          Count sum = 0;
          if (!for_each_class(view, groups[g], keep, j,
                              [&](Count times, Sizes sizes) { sum += times * Count(sizes.kept); })) {
            return std::nullopt;
          }
          latest[g] = sum;
        }
        factors.factors.push_back(*latest[g]);
      }
      if (own) latest[g].reset();
    }
    if (changes_anything(loop)) result.kept.push_back(std::move(factors));
  }
  return result;
}

std::optional<Count> transferred(const View& view, Keep keep) {
  const auto moved = transfer(view, keep);
  if (!moved) return std::nullopt;
  return moved->total();
}

std::optional<Count> group_tile(const View& view, const Group& group) {
  std::int64_t largest = 0;
  if (!for_each_class(view, group, Keep::nothing, kNoChange,
                      [&](Count, Sizes sizes) { largest = std::max(largest, sizes.present); })) {
    return std::nullopt;
  }
  return Count(largest);
}

std::optional<Count> largest_tile(const View& view) {
  Count tile = 1;
  std::vector<Group> own_groups;
  for (const Group& group : groups_seen(view, own_groups)) {
    const auto size = group_tile(view, group);
    if (!size) return std::nullopt;
    tile *= *size;
  }
  return tile;
}

std::optional<std::vector<Burst>> bursts(const View& view, Keep keep) {
  constexpr std::size_t kMostBursts = 1'000'000;
  struct Class {
    Count times, present, kept;
  };
  std::vector<Burst> result;
  std::vector<Group> own_groups;
  const std::vector<Group>& groups = groups_seen(view, own_groups);
  // One round per kind of change; j = -1 is the first step, at which nothing is held yet. For elements that
  // leave, it stands for the last step, after which nothing is held any more.
  for (int j = -1; j < view.depth; ++j) {
    if (j >= 0 && !changes_anything(view.spec->mapping.loops[static_cast<std::size_t>(j)])) continue;
    std::vector<Class> combined{{Count(1), Count(1), Count(1)}};
    for (const Group& group : groups) {
      std::vector<Class> own;
      if (!for_each_class(view, group, keep, j < 0 ? kOutermost : j, [&](Count times, Sizes sizes) {
            own.push_back({times, Count(sizes.present), j < 0 ? Count(0) : Count(sizes.kept)});
          })) {
        return std::nullopt;
      }
      std::vector<Class> next;
      if (combined.size() * own.size() > kMostBursts) return std::nullopt;
      for (const Class& a : combined) {
        for (const Class& b : own) next.push_back({a.times * b.times, a.present * b.present, a.kept * b.kept});
      }
      combined = std::move(next);
    }
    for (const Class& c : combined) {
      const Count moved = c.present - (j < 0 ? Count(0) : c.kept);
      if (moved > Count(0)) result.push_back({c.times, moved});
    }
  }
  return result;
}

}  // namespace einflow
