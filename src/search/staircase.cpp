#include "search/staircase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "movement/movement.hpp"
#include "search/lattice.hpp"

namespace einflow {

namespace {

constexpr std::int64_t kLargestLattice = 2'000'000;

/// Elements of a tile of a tensor without windows.
Count box_elements(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile) {
  Count elements = 1;
  for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(tensor)].axes) {
    for (const Term& term : axis.terms) elements *= Count(tile[static_cast<std::size_t>(term.rank)]);
  }
  return elements;
}

/// What the backing store moves for a tensor of `elements` that comes `times`: an output is read back but for the
/// first time.
Count moved(const Einsum& einsum, int tensor, Count elements, Count times) {
  return einsum.is_output(tensor) ? elements * (times * 2 - 1) : elements * times;
}

Count bits_of(const Einsum& einsum, int tensor) {
  return Count(einsum.tensors[static_cast<std::size_t>(tensor)].type.bits);
}

/// Product of trips of the ranks that the tensor lacks, outside a tile.
Count trips_without(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile) {
  Count trips = 1;
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    if (!einsum.has_rank(tensor, static_cast<int>(r))) trips *= Count(einsum.ranks[r].extent / tile[r]);
  }
  return trips;
}

std::vector<std::int64_t> extents(const Einsum& einsum) {
  std::vector<std::int64_t> sizes;
  for (const Rank& rank : einsum.ranks) sizes.push_back(rank.extent);
  return sizes;
}

/// A tensor that no buffer holds: every operation reads it, or reads and writes it but for the first time.
BufferHold bypassed(const Einsum& einsum, int tensor) {
  const Count all = box_elements(einsum, tensor, extents(einsum));
  const Count times = trips_without(einsum, tensor, std::vector<std::int64_t>(einsum.ranks.size(), 1));
  return {false, {}, Count(0), moved(einsum, tensor, all, times)};
}

/// Keeps the steps that no other beats: buffer sizes rising, traffic falling.
void keep_best(std::vector<StaircaseStep>& steps) {
  std::stable_sort(steps.begin(), steps.end(), [](const StaircaseStep& a, const StaircaseStep& b) {
    return a.buffer_bits < b.buffer_bits || (a.buffer_bits == b.buffer_bits && a.traffic_bits < b.traffic_bits);
  });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (kept > 0 && steps[i].traffic_bits >= steps[kept - 1].traffic_bits) continue;
    if (kept != i) steps[kept] = std::move(steps[i]);
    ++kept;
  }
  steps.resize(kept);
}

// ---- uneven placement
// ------------------------------------------------------------------------------------------------

/// A choice for the tensors from one place of the hold order inwards, inside a tile shape.
struct Label {
  Count buffer_bits;
  Count traffic_bits;
  std::size_t shape = 0;   ///< of this tensor's hold; where it is bypassed, of the outer hold
  std::uint32_t next = 0;  ///< the label of the next tensor inwards, in the list of `shape`
  bool held = false;
};

using Labels = std::vector<Label>;

bool by_buffer(const Label& a, const Label& b) {
  return a.buffer_bits < b.buffer_bits || (a.buffer_bits == b.buffer_bits && a.traffic_bits < b.traffic_bits);
}

/// The labels of both lists that no other beats. Both are sorted; so is the result.
void merge_best(const Labels& one, const Labels& other, Labels& best) {
  best.clear();
  std::size_t i = 0, j = 0;
  while (i < one.size() || j < other.size()) {
    const bool first = j == other.size() || (i < one.size() && !by_buffer(other[j], one[i]));
    const Label& label = first ? one[i++] : other[j++];
    if (best.empty() || label.traffic_bits < best.back().traffic_bits) best.push_back(label);
  }
}

class UnevenSearch {
 public:
  UnevenSearch(const Einsum& einsum, const StaircaseSpace& space, const TileLattice& lattice)
      : einsum_(einsum),
        space_(space),
        lattice_(lattice),
        shapes_(static_cast<std::size_t>(*lattice.size().to_int64())) {
    for (int t = 0; t <= einsum.output(); ++t) {
      const Count all = box_elements(einsum, t, extents(einsum));
      std::vector<Label> costs(shapes_);
      for (std::size_t s = 0; s < shapes_; ++s) {
        const std::vector<std::int64_t> tile = lattice.shape(s);
        costs[s].buffer_bits = box_elements(einsum, t, tile) * bits_of(einsum, t);
        costs[s].traffic_bits = moved(einsum, t, all, trips_without(einsum, t, tile)) * bits_of(einsum, t);
        costs[s].shape = s;
        costs[s].held = true;
      }
      costs_.push_back(std::move(costs));
      // Held whole, or inside no loop that moves it, it comes once: the formula has that at the whole shape only.
    }
    covered_.resize(shapes_);
    for (std::size_t s = 0; s < shapes_; ++s) lattice.append_covered(s, covered_[s]);
  }

  std::vector<StaircaseStep> search() {
    std::vector<StaircaseStep> steps;
    std::vector<int> order(einsum_.tensors.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      append_steps(order, steps);
      keep_best(steps);
    } while (std::next_permutation(order.begin(), order.end()));
    return steps;
  }

 private:
  void append_steps(const std::vector<int>& order, std::vector<StaircaseStep>& steps) {
    // levels[i][s]: the best choices for the tensors order[i], order[i+1], ... inside shape s.
    std::vector<std::vector<Labels>> levels(order.size());
    for (std::size_t i = order.size(); i-- > 0;) {
      levels[i].resize(shapes_);
      const std::vector<Labels>* inner = i + 1 < order.size() ? &levels[i + 1] : nullptr;
      for (std::size_t s = 0; s < shapes_; ++s) levels[i][s] = choices(order[i], s, inner, levels[i]);
    }
    for (std::uint32_t l = 0; l < levels[0].back().size(); ++l) steps.push_back(step(order, levels, l));
  }

  Labels choices(int tensor, std::size_t shape, const std::vector<Labels>* inner, const std::vector<Labels>& done) {
    Labels best = extended(costs_[static_cast<std::size_t>(tensor)][shape], inner, shape);
    if (space_.bypass) {
      Label none;
      none.traffic_bits = bypassed(einsum_, tensor).traffic * bits_of(einsum_, tensor);
      none.shape = shape;
      merge_best(best, extended(none, inner, shape), scratch_);
      best.swap(scratch_);
    }
    for (const std::size_t below : covered_[shape]) {
      merge_best(best, done[below], scratch_);
      best.swap(scratch_);
    }
    return best;
  }

  /// The choice for one tensor with every choice for those inside it.
  static Labels extended(const Label& label, const std::vector<Labels>* inner, std::size_t shape) {
    if (inner == nullptr) return {label};
    Labels all;
    for (std::uint32_t i = 0; i < (*inner)[shape].size(); ++i) {
      Label both = label;
      both.buffer_bits += (*inner)[shape][i].buffer_bits;
      both.traffic_bits += (*inner)[shape][i].traffic_bits;
      both.next = i;
      all.push_back(both);
    }
    return all;
  }

  StaircaseStep step(const std::vector<int>& order, const std::vector<std::vector<Labels>>& levels,
                     std::uint32_t at) const {
    StaircaseStep found;
    found.holds.resize(order.size());
    std::size_t shape = shapes_ - 1;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Label& label = levels[i][shape][at];
      if (i == 0) {
        found.buffer_bits = label.buffer_bits;
        found.traffic_bits = label.traffic_bits;
      }
      const int tensor = order[i];
      BufferHold hold = bypassed(einsum_, tensor);
      if (label.held) {
        hold.held = true;
        hold.tile = lattice_.shape(label.shape);
        hold.elements = box_elements(einsum_, tensor, hold.tile);
        const Count all = box_elements(einsum_, tensor, extents(einsum_));
        hold.traffic = moved(einsum_, tensor, all, trips_without(einsum_, tensor, hold.tile));
        found.hold_order.push_back(tensor);
      }
      found.holds[static_cast<std::size_t>(tensor)] = std::move(hold);
      shape = label.shape;
      at = label.next;
    }
    return found;
  }

  const Einsum& einsum_;
  const StaircaseSpace& space_;
  const TileLattice& lattice_;
  std::size_t shapes_;
  std::vector<std::vector<Label>> costs_;  ///< per tensor and shape
  std::vector<std::vector<std::size_t>> covered_;
  Labels scratch_;
};

// ---- one shared tile
// -------------------------------------------------------------------------------------------------

/// A nest of the shared tile: loops in the order given outside it, the rest inside.
Spec shared_spec(const Einsum& einsum, const std::vector<int>& order, const std::vector<std::int64_t>& tile,
                 const std::vector<bool>& held);

class SharedSearch {
 public:
  SharedSearch(const Einsum& einsum, const StaircaseSpace& space, const TileLattice& lattice)
      : einsum_(einsum), space_(space), lattice_(lattice), windows_(has_window(einsum)) {}

  Result<std::vector<StaircaseStep>> search() {
    for (const std::size_t s : small_ones_first()) {
      tile_ = lattice_.shape(s);
      std::vector<int> loops;
      for (std::size_t r = 0; r < tile_.size(); ++r) {
        if (tile_[r] < einsum_.ranks[r].extent) loops.push_back(static_cast<int>(r));
      }
      if (windows_) {
        do {
          if (auto errors = add_window_order(loops)) return tl::unexpected(std::move(*errors));
        } while (std::next_permutation(loops.begin(), loops.end()));
      } else {
        std::vector<int> inside_first;
        place(loops, inside_first);
      }
    }
    keep_best(steps_);
    return std::move(steps_);
  }

 private:
  /// Shapes by the room that they take: what beats a shape is then known when its turn comes.
  std::vector<std::size_t> small_ones_first() const {
    std::vector<std::pair<Count, std::size_t>> rooms;
    for (std::size_t s = 0; s < static_cast<std::size_t>(*lattice_.size().to_int64()); ++s) {
      const std::vector<std::int64_t> tile = lattice_.shape(s);
      Count room = 0;
      for (int t = 0; t <= einsum_.output(); ++t) room += box_elements(einsum_, t, tile) * bits_of(einsum_, t);
      rooms.emplace_back(room, s);
    }
    std::sort(rooms.begin(), rooms.end());
    std::vector<std::size_t> order;
    for (const auto& [room, shape] : rooms) order.push_back(shape);
    return order;
  }

  /// Orders by their innermost loops: a loop that moves a tensor ends its stay; where nothing stays any more, the order
  /// of the loops further out is free.
  void place(const std::vector<int>& left, std::vector<int>& inside_first) {
    bool stays = false;
    for (int t = 0; t <= einsum_.output(); ++t) stays = stays || !moves(t, inside_first);
    if (!stays || left.empty()) {
      std::vector<int> order(left);
      order.insert(order.end(), inside_first.rbegin(), inside_first.rend());
      add_order(order);
      return;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
      std::vector<int> rest(left);
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      inside_first.push_back(left[i]);
      place(rest, inside_first);
      inside_first.pop_back();
    }
  }

  bool moves(int tensor, const std::vector<int>& ranks) const {
    return std::any_of(ranks.begin(), ranks.end(), [&](int rank) { return einsum_.has_rank(tensor, rank); });
  }

  /// How often a tensor comes: the trips of the loops it lacks outside its innermost own loop.
  Count times(int tensor, const std::vector<int>& order) const {
    std::size_t end = order.size();
    while (end > 0 && !einsum_.has_rank(tensor, order[end - 1])) --end;
    Count trips = 1;
    for (std::size_t i = 0; i < end; ++i) {
      const auto r = static_cast<std::size_t>(order[i]);
      if (!einsum_.has_rank(tensor, order[i])) trips *= Count(einsum_.ranks[r].extent / tile_[r]);
    }
    return trips;
  }

  void add_order(const std::vector<int>& order) {
    std::vector<BufferHold> holds;
    for (int t = 0; t <= einsum_.output(); ++t) {
      const Count all = box_elements(einsum_, t, extents(einsum_));
      holds.push_back({true, tile_, box_elements(einsum_, t, tile_), moved(einsum_, t, all, times(t, order))});
    }
    add_with_bypass(order, holds);
  }

  std::optional<Diagnostics> add_window_order(const std::vector<int>& order) {
    if (is_hopeless(order)) return std::nullopt;
    std::vector<BufferHold> holds;
    const auto counts =
        count_movement(shared_spec(einsum_, order, tile_, std::vector<bool>(einsum_.tensors.size(), true)));
    if (!counts) return counts.error();
    for (const HoldCounts& count : counts->holds) {
      if (count.hold != 1) continue;
      holds.push_back(
          {true, tile_, count.tile_elements, count.parent_reads + count.parent_updates + count.parent_rmw_reads});
    }
    add_with_bypass(order, holds);
    return std::nullopt;
  }

  /// Whether, whatever its windows keep, the order cannot beat what is known: tensors without windows cost what they
  /// cost, the others at least what they touch. Only where no tensor is left out can this be said before counting.
  bool is_hopeless(const std::vector<int>& order) {
    const auto tensors = einsum_.tensors.size();
    if (touched_.empty()) touched_ = tile_elements(extents(einsum_));
    if (room_of_ != tile_) {
      room_of_ = tile_;
      rooms_ = tile_elements(tile_);
    }
    const unsigned choices = space_.bypass ? 1U << tensors : 1U;
    for (unsigned without = 0; without < choices; ++without) {
      Count room = 0, traffic = 0;
      for (std::size_t t = 0; t < tensors; ++t) {
        const int tensor = static_cast<int>(t);
        const Count bits = bits_of(einsum_, tensor);
        if ((without >> t & 1U) != 0) {
          traffic += bypass_of(tensor).traffic * bits;
          continue;
        }
        room += rooms_[t] * bits;
        traffic +=
            bits * (is_windowed(tensor) ? touched_[t] : moved(einsum_, tensor, touched_[t], times(tensor, order)));
      }
      if (!is_beaten(room, traffic)) return false;
    }
    return true;
  }

  /// Elements of the largest tile of each tensor, whatever the order of the loops.
  std::vector<Count> tile_elements(const std::vector<std::int64_t>& tile) const {
    std::vector<int> order(tile.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<Count> elements;
    const auto counts =
        count_movement(shared_spec(einsum_, order, tile, std::vector<bool>(einsum_.tensors.size(), true)));
    for (const HoldCounts& count : counts->holds) {
      if (count.hold == 1) elements.push_back(count.tile_elements);
    }
    return elements;
  }

  bool is_windowed(int tensor) const {
    for (const Axis& axis : einsum_.tensors[static_cast<std::size_t>(tensor)].axes) {
      if (axis.terms.size() > 1 || axis.stored_size) return true;
    }
    return false;
  }

  bool is_beaten(Count buffer_bits, Count traffic_bits) const {
    return std::any_of(best_.begin(), best_.end(),
                       [&](const auto& known) { return known.first <= buffer_bits && known.second <= traffic_bits; });
  }

  void add_with_bypass(const std::vector<int>& order, const std::vector<BufferHold>& held) {
    const unsigned choices = space_.bypass ? 1U << held.size() : 1U;
    for (unsigned without = 0; without < choices; ++without) {
      StaircaseStep step;
      step.loop_order = order;
      for (std::size_t t = 0; t < held.size(); ++t) {
        const bool out = (without >> t & 1U) != 0;
        const Count bits = bits_of(einsum_, static_cast<int>(t));
        step.holds.push_back(out ? bypass_of(static_cast<int>(t)) : held[t]);
        step.buffer_bits += step.holds.back().elements * bits;
        step.traffic_bits += step.holds.back().traffic * bits;
        if (!out) step.hold_order.push_back(static_cast<int>(t));
      }
      // Most shapes are far from the staircase: look before keeping.
      if (is_beaten(step.buffer_bits, step.traffic_bits)) continue;
      std::erase_if(best_, [&](const auto& known) {
        return step.buffer_bits <= known.first && step.traffic_bits <= known.second;
      });
      best_.emplace_back(step.buffer_bits, step.traffic_bits);
      steps_.push_back(std::move(step));
    }
  }

  /// Every operation reads what is stored of it: with padding fewer than there are operations.
  BufferHold bypass_of(int tensor) {
    if (!windows_) return bypassed(einsum_, tensor);
    if (bypass_.empty()) {
      bypass_.resize(einsum_.tensors.size());
      const auto counts =
          count_movement(shared_spec(einsum_, {}, extents(einsum_), std::vector<bool>(einsum_.tensors.size(), false)));
      for (const HoldCounts& count : counts->holds) {
        if (count.hold != 1) continue;
        bypass_[static_cast<std::size_t>(count.tensor)] = {
            false, {}, Count(0), count.parent_reads + count.parent_updates + count.parent_rmw_reads};
      }
    }
    return bypass_[static_cast<std::size_t>(tensor)];
  }

  const Einsum& einsum_;
  const StaircaseSpace& space_;
  const TileLattice& lattice_;
  bool windows_;
  std::vector<std::int64_t> tile_;
  std::vector<StaircaseStep> steps_;
  std::vector<std::pair<Count, Count>> best_;
  std::vector<BufferHold> bypass_;
  std::vector<Count> touched_;         ///< elements of each tensor that the whole nest touches
  std::vector<std::int64_t> room_of_;  ///< the tile that rooms_ is about
  std::vector<Count> rooms_;           ///< elements of each tensor in it
};

// ---- witnesses
// -------------------------------------------------------------------------------------------------------

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

}  // namespace

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
    auto steps = SharedSearch(einsum, space, lattice).search();
    if (!steps) return tl::unexpected(steps.error());
    staircase.steps = std::move(*steps);
  } else {
    if (has_window(einsum)) {
      return fail("a window slides or an axis is padded: only the shared tile is searched there", "--shared-tile");
    }
    staircase.steps = UnevenSearch(einsum, space, lattice).search();
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
