#include "movement/positions.hpp"

#include <algorithm>
#include <tuple>

namespace einflow {
namespace {

constexpr std::size_t kMostClasses = 4'000'000;

std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t clipped(std::int64_t length, std::int64_t offset, std::int64_t tile) {
  return std::clamp<std::int64_t>(length - offset, 0, tile);
}

class Builder {
 public:
  Builder(const View& view, int rank, const Group& group) : view_(view), loops_(view.spec->mapping.loops), rank_(rank) {
    const Einsum& einsum = view.spec->einsum;
    const std::int64_t extent = einsum.ranks[static_cast<std::size_t>(rank)].extent;
    Position whole;
    whole.inside = !group.stored.has_value();
    whole.prev_reference = whole.now_reference = extent;
    whole.cells = 1;
    from_.cells.push_back({0, extent, 0, extent});
    from_.positions.push_back(whole);
    if (!group.stored) return;
    stored_ = *group.stored;
    for (const Term& term : group.terms) {
      if (term.rank == rank) {
        coefficient_ = term.coefficient;
      } else {
        others_reach_ += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
      }
    }
  }

  std::optional<PositionTable> build(Change change) {
    int temporal_seen = 0;
    for (int i = 0; i < view_.depth; ++i) {
      const Loop& loop = loops_[static_cast<std::size_t>(i)];
      if (loop.rank != rank_) continue;
      const bool whole = loop.trips == 1;  // cuts nothing, whatever reaches it
      if (!whole) {
        to_.positions.clear();
        to_.cells.clear();
        for (const Position& position : from_.positions) {
          if (loop.spatial) {
            spread(position, loop, i);
          } else {
            step(position, loop, temporal_seen, change);
          }
        }
        std::swap(from_, to_);
      } else if (!loop.spatial && temporal_seen == change.outer && change.pairs) {
        from_.positions.clear();  // a loop of one trip never advances
      }
      if (!loop.spatial) ++temporal_seen;
      if (from_.positions.size() > kMostClasses || from_.cells.size() > kMostClasses) return std::nullopt;
      if (from_.positions.size() > 16) unite();
    }
    return std::move(from_);
  }

 private:
  // Adds to the table under construction the part of a position inside tile number `prev` (before) and `now`
  // (after) of a loop. Returns whether any of it is active.
  bool cut(const Position& position, std::int64_t prev, std::int64_t now, std::int64_t tile) {
    Position part = position;
    part.first_cell = static_cast<std::uint32_t>(to_.cells.size());
    append_cut(position, prev, now, tile);
    part.cells = static_cast<std::uint32_t>(to_.cells.size()) - part.first_cell;
    part.prev_reference = clipped(position.prev_reference, prev * tile, tile);
    part.now_reference = clipped(position.now_reference, now * tile, tile);
    if (part.cells == 0) return false;
    to_.positions.push_back(part);
    return true;
  }

  bool append_cut(const Position& position, std::int64_t prev, std::int64_t now, std::int64_t tile) {
    bool any = false;
    for (std::size_t k = 0; k < position.cells; ++k) {
      const Cell& cell = from_.cell(position, k);
      const Cell part{cell.prev_begin + prev * tile, clipped(cell.prev_length, prev * tile, tile),
                      cell.now_begin + now * tile, clipped(cell.now_length, now * tile, tile)};
      if (part.prev_length == 0 && part.now_length == 0) continue;
      to_.cells.push_back(part);
      any = true;
    }
    return any;
  }

  void spread(const Position& position, const Loop& loop, int index) {
    const auto i = static_cast<std::size_t>(index);
    const std::size_t before = to_.positions.size();
    switch (view_.join[i]) {
      case Join::fixed:
        cut(position, view_.fixed_at[i], view_.fixed_at[i], loop.tile);
        break;
      case Join::merged: {
        Position all = position;
        all.first_cell = static_cast<std::uint32_t>(to_.cells.size());
        for (std::int64_t at = 0; at < loop.trips; ++at) {
          // Lengths fall along the axis: where one coordinate is idle, the rest is too.
          if (!append_cut(position, at, at, loop.tile) || to_.cells.size() > kMostClasses) break;
        }
        all.cells = static_cast<std::uint32_t>(to_.cells.size()) - all.first_cell;
        if (all.cells != 0) to_.positions.push_back(all);
        break;
      }
      case Join::separate:
        each_tile(position, loop.tile, 0, loop.trips);
        break;
    }
    for (std::size_t k = before; k < to_.positions.size(); ++k) {
      to_.positions[k].prev_reference = std::min(position.prev_reference, loop.tile);
      to_.positions[k].now_reference = std::min(position.now_reference, loop.tile);
    }
  }

  void step(const Position& position, const Loop& loop, int own_index, Change change) {
    if (own_index < change.outer) {
      each_tile(position, loop.tile, 0, ceil_divide(position.now_reference, loop.tile));
    } else if (own_index == change.outer && change.pairs) {
      each_tile(position, loop.tile, 1, ceil_divide(position.now_reference, loop.tile) - 1);
    } else {
      cut(position, ceil_divide(position.prev_reference, loop.tile) - 1, 0, loop.tile);
    }
  }

  // Positions v = 0 .. trips-1 of a loop, `ahead` tiles ahead after the change, in runs whose intervals are the
  // same relative to the tile's begin.
  void each_tile(const Position& position, std::int64_t tile, std::int64_t ahead, std::int64_t trips) {
    if (trips <= 0) return;
    breaks_.assign({0, trips});
    auto breaks_of = [&](std::int64_t length, std::int64_t shift) {
      const std::int64_t whole = length / tile - shift;  // tiles before this one are whole
      if (whole > 0 && whole < trips) breaks_.push_back(whole);
      if (whole + 1 > 0 && whole + 1 < trips) breaks_.push_back(whole + 1);
    };
    breaks_of(position.prev_reference, 0);
    breaks_of(position.now_reference, ahead);
    for (std::size_t k = 0; k < position.cells; ++k) {
      breaks_of(from_.cell(position, k).prev_length, 0);
      breaks_of(from_.cell(position, k).now_length, ahead);
    }
    std::sort(breaks_.begin(), breaks_.end());
    breaks_.erase(std::unique(breaks_.begin(), breaks_.end()), breaks_.end());
    for (std::size_t k = 0; k + 1 < breaks_.size(); ++k) run(position, tile, ahead, breaks_[k], breaks_[k + 1]);
  }

  // Positions begin .. end-1, alike relative to their tile: one class, but for those that meet padding.
  void run(const Position& position, std::int64_t tile, std::int64_t ahead, std::int64_t begin, std::int64_t end) {
    if (!cut(position, begin, begin + ahead, tile)) return;
    Position part = to_.positions.back();
    to_.positions.pop_back();
    std::int64_t low = INT64_MAX;
    std::int64_t high = INT64_MIN;
    for (std::size_t k = 0; k < part.cells; ++k) {
      Cell& cell = to_.cells[part.first_cell + k];
      cell.prev_begin -= begin * tile;  // the frame moves to the tile's begin
      cell.now_begin -= begin * tile;
      if (cell.prev_length != 0) {
        low = std::min(low, cell.prev_begin);
        high = std::max(high, cell.prev_begin + cell.prev_length);
      }
      if (cell.now_length != 0) {
        low = std::min(low, cell.now_begin);
        high = std::max(high, cell.now_begin + cell.now_length);
      }
    }
    auto emit = [&](std::int64_t from, std::int64_t to, bool inside) {
      if (from >= to) return;
      part.times = position.times * Count(to - from);
      part.base = position.base + from * tile;
      part.inside = inside;
      to_.positions.push_back(part);  // classes may share their cells: they are not written again
    };
    if (position.inside) return emit(begin, end, true);
    // Inside for all v with stored.begin <= coefficient * (base + v tile + low) and
    // coefficient * (base + v tile + high - 1) + others_reach < stored.end.
    const std::int64_t first_index = ceil_divide_signed(stored_.begin, coefficient_) - low - position.base;
    const std::int64_t last_index =
        floor_divide_signed(stored_.end - 1 - others_reach_, coefficient_) - (high - 1) - position.base;
    const std::int64_t first = std::clamp(ceil_divide_signed(first_index, tile), begin, end);
    const std::int64_t last = std::clamp(floor_divide_signed(last_index, tile) + 1, first, end);
    for (std::int64_t v = begin; v < first && to_.positions.size() <= kMostClasses; ++v) emit(v, v + 1, false);
    emit(first, last, true);
    for (std::int64_t v = last; v < end && to_.positions.size() <= kMostClasses; ++v) emit(v, v + 1, false);
  }

  static std::int64_t ceil_divide_signed(std::int64_t a, std::int64_t b) {
    return a >= 0 ? (a + b - 1) / b : -((-a) / b);
  }
  static std::int64_t floor_divide_signed(std::int64_t a, std::int64_t b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
  }

  // Puts equal classes together, so that a deep nest has a number of classes polynomial in its depth.
  void unite() {
    // Classes that differ only by where their frame begins must look equal: the frame moves to the first index.
    to_.positions.clear();
    to_.cells.clear();
    for (Position position : from_.positions) {
      std::int64_t low = INT64_MAX;
      for (std::size_t k = 0; k < position.cells; ++k) {
        const Cell& cell = from_.cell(position, k);
        if (cell.prev_length != 0) low = std::min(low, cell.prev_begin);
        if (cell.now_length != 0) low = std::min(low, cell.now_begin);
      }
      const auto first = static_cast<std::uint32_t>(to_.cells.size());
      for (std::size_t k = 0; k < position.cells; ++k) {
        Cell cell = from_.cell(position, k);
        cell.prev_begin = cell.prev_length == 0 ? 0 : cell.prev_begin - low;
        cell.now_begin = cell.now_length == 0 ? 0 : cell.now_begin - low;
        to_.cells.push_back(cell);
      }
      position.first_cell = first;
      position.base = position.inside ? 0 : position.base + low;
      to_.positions.push_back(position);
    }
    std::swap(from_, to_);
    std::sort(from_.positions.begin(), from_.positions.end(),
              [this](const Position& a, const Position& b) { return order(a, b) < 0; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < from_.positions.size(); ++i) {
      if (order(from_.positions[last], from_.positions[i]) == 0) {
        from_.positions[last].times += from_.positions[i].times;
      } else {
        from_.positions[++last] = from_.positions[i];
      }
    }
    from_.positions.resize(last + 1);
  }

  // Negative, zero or positive: a total order in which equal classes are equal.
  int order(const Position& a, const Position& b) const {
    auto key = [](const Position& p) {
      return std::tuple(p.inside, p.base, p.prev_reference, p.now_reference, p.cells);
    };
    if (key(a) != key(b)) return key(a) < key(b) ? -1 : 1;
    for (std::size_t k = 0; k < a.cells; ++k) {
      auto cell_key = [](const Cell& c) { return std::tuple(c.prev_begin, c.prev_length, c.now_begin, c.now_length); };
      const auto x = cell_key(from_.cell(a, k));
      const auto y = cell_key(from_.cell(b, k));
      if (x != y) return x < y ? -1 : 1;
    }
    return 0;
  }

  const View& view_;
  const std::vector<Loop>& loops_;
  int rank_;
  Interval stored_{0, 0};
  std::int64_t coefficient_ = 1;
  std::int64_t others_reach_ = 0;
  PositionTable from_, to_;  ///< classes so far, and those inside the next loop
  std::vector<std::int64_t> breaks_;
};

}  // namespace

std::optional<PositionTable> rank_positions(const View& view, int rank, const Group& group, Change change) {
  return Builder(view, rank, group).build(change);
}

const PositionTable* PositionCache::get(const View& view, int rank, const Group& group, Change change) {
  Key key{rank, 0, 0, change};
  bool shareable = !group.stored;
  for (int i = 0; i < view.depth; ++i) {
    const Loop& loop = view.spec->mapping.loops[static_cast<std::size_t>(i)];
    if (loop.rank != rank) continue;
    if (loop.spatial && view.join[static_cast<std::size_t>(i)] == Join::fixed) shareable = false;
    if (loop.spatial && view.join[static_cast<std::size_t>(i)] == Join::merged)
      key.merged |= 1ULL << (key.own_loops % 64);
    ++key.own_loops;
  }
  shareable = shareable && key.own_loops <= 64;
  if (shareable) {
    for (const auto& entry : entries_) {
      if (entry->key == key) return entry->table ? &*entry->table : nullptr;
    }
  } else {
    key.rank = -1;  // found by nobody
  }
  entries_.push_back(std::make_unique<Entry>(Entry{key, rank_positions(view, rank, group, change)}));
  const auto& table = entries_.back()->table;
  return table ? &*table : nullptr;
}

const std::vector<Group>& PositionCache::groups(const Einsum& einsum, int tensor) {
  if (groups_.empty()) {
    for (int t = 0; t < static_cast<int>(einsum.tensors.size()); ++t) groups_.push_back(groups_of(einsum, t));
  }
  return groups_[static_cast<std::size_t>(tensor)];
}

int temporal_loops(const View& view, int rank) {
  int count = 0;
  for (int i = 0; i < view.depth; ++i) {
    const Loop& loop = view.spec->mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial && loop.rank == rank) ++count;
  }
  return count;
}

}  // namespace einflow
