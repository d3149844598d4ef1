// Each tensor at a place of its own: one pass through the lattice of tile shapes for each order of the holds.
#include <algorithm>
#include <numeric>

#include "search/staircase_cost.hpp"

namespace einflow {

namespace {

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

}  // namespace

std::vector<StaircaseStep> uneven_steps(const Einsum& einsum, const StaircaseSpace& space, const TileLattice& lattice) {
  return UnevenSearch(einsum, space, lattice).search();
}

}  // namespace einflow
