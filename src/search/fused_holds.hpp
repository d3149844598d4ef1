// Chains of holds along a lattice of tile shapes, and the choices that no other beats.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/count.hpp"

namespace einflow {

/// What some holds cost.
struct HoldCost {
  Count buffer_bits;
  Count traffic_bits;
};

/// Holds of several tensors, one shape after the other.
struct HoldLabel {
  HoldCost cost;
  std::size_t shape = 0;       ///< of the first tensor of the sequence
  std::uint32_t next = 0;      ///< the label of the rest of the sequence, in the list of `shape`
  std::uint32_t sequence = 0;  ///< which tensors in which order
};

inline bool by_buffer(const HoldCost& a, const HoldCost& b) {
  return a.buffer_bits < b.buffer_bits || (a.buffer_bits == b.buffer_bits && a.traffic_bits < b.traffic_bits);
}

/// Keeps what no other beats: buffers rising, traffic falling. `cost` gives an item's HoldCost.
template <typename Item, typename CostOf>
void keep_unbeaten(std::vector<Item>& items, CostOf cost) {
  std::stable_sort(items.begin(), items.end(),
                   [&](const Item& a, const Item& b) { return by_buffer(cost(a), cost(b)); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (kept > 0 && cost(items[i]).traffic_bits >= cost(items[kept - 1]).traffic_bits) continue;
    if (kept != i) items[kept] = std::move(items[i]);
    ++kept;
  }
  items.resize(kept);
}

/// The items seen so far that no other beats; of equal ones the first.
template <typename Item>
class Front {
 public:
  bool is_beaten(const HoldCost& cost) const {
    const auto after = behind(cost);
    return after != entries_.begin() && std::prev(after)->first.traffic_bits <= cost.traffic_bits;
  }
  /// Requires that the cost is not beaten.
  void add(const HoldCost& cost, Item item) {
    const auto from = std::lower_bound(entries_.begin(), entries_.end(), cost.buffer_bits,
                                       [](const auto& entry, Count room) { return entry.first.buffer_bits < room; });
    auto to = from;
    while (to != entries_.end() && to->first.traffic_bits >= cost.traffic_bits) ++to;
    entries_.insert(entries_.erase(from, to), {cost, std::move(item)});
  }
  const std::vector<std::pair<HoldCost, Item>>& entries() const { return entries_; }

 private:
  /// The first entry with a larger buffer.
  auto behind(const HoldCost& cost) const {
    return std::upper_bound(entries_.begin(), entries_.end(), cost.buffer_bits,
                            [](Count room, const auto& entry) { return room < entry.first.buffer_bits; });
  }

  std::vector<std::pair<HoldCost, Item>> entries_;
};

/// For every shape of a lattice and every set of tensors the best chains of holds that begin at this shape or behind
/// it.
///
/// "Behind" is the direction of `behind`: for the branches of a nest the shapes that divide, for its common loops the
/// shapes that are divided. Numbers of `behind` come before their shape in `order`.
class HoldChains {
 public:
  /// costs[tensor][shape]: of a hold with this shape.
  HoldChains(std::vector<std::vector<HoldCost>> costs, std::vector<std::vector<std::size_t>> behind,
             const std::vector<std::size_t>& order);

  /// With exactly the tensors of `set` (one bit each) held. Buffers rise, traffic falls; never empty.
  std::vector<HoldLabel> best(unsigned set, std::size_t shape) const;

  /// Tensors and shapes of a label, from its shape on.
  std::vector<std::pair<int, std::size_t>> holds(const HoldLabel& label) const;

 private:
  using Labels = std::vector<HoldLabel>;
  void add_sequence(const std::vector<int>& tensors, const std::vector<std::size_t>& order);

  std::vector<std::vector<HoldCost>> costs_;
  std::vector<std::vector<std::size_t>> behind_;
  std::vector<std::vector<int>> sequences_;  ///< the first tensor is the one at the shape of its label
  std::vector<std::uint32_t> rest_;          ///< per sequence, the sequence without its first tensor
  std::vector<std::vector<Labels>> labels_;  ///< [sequence][shape]
};

}  // namespace einflow
