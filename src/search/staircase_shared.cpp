// All held tensors at one place: every tile shape with every order of the loops outside that can matter.
#include <algorithm>
#include <numeric>
#include <optional>

#include "movement/movement.hpp"
#include "search/staircase_cost.hpp"

namespace einflow {

namespace {

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

}  // namespace

Result<std::vector<StaircaseStep>> shared_tile_steps(const Einsum& einsum, const StaircaseSpace& space,
                                                     const TileLattice& lattice) {
  return SharedSearch(einsum, space, lattice).search();
}

}  // namespace einflow
