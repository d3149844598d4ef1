#include "search/fused_executor.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace einflow {

namespace {

using Element = std::vector<std::int64_t>;  ///< one index for each axis
using Indices = std::vector<std::int64_t>;  ///< of loops, outermost first

/// First position and length, per rank of an einsum.
struct Box {
  std::vector<std::int64_t> first;
  std::vector<std::int64_t> length;
};

Box whole(const Einsum& einsum) {
  Box box;
  for (const Rank& rank : einsum.ranks) {
    box.first.push_back(0);
    box.length.push_back(rank.extent);
  }
  return box;
}

void enter(Box& box, const Einsum& einsum, const std::vector<FusedLoop>& loops, const Indices& at, std::size_t depth) {
  for (std::size_t l = 0; l < depth; ++l) {
    const auto r = static_cast<std::size_t>(einsum.rank_named(loops[l].rank));
    box.first[r] += at[l] * loops[l].tile;
    box.length[r] = loops[l].tile;
  }
}

std::set<Element> elements(const Einsum& einsum, int tensor, const Box& box) {
  std::set<Element> all{{}};
  for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(tensor)].axes) {
    const auto r = static_cast<std::size_t>(axis.terms.front().rank);
    std::set<Element> longer;
    for (const Element& element : all) {
      for (std::int64_t i = 0; i < box.length[r]; ++i) {
        Element next = element;
        next.push_back(box.first[r] + i);
        longer.insert(std::move(next));
      }
    }
    all = std::move(longer);
  }
  return all;
}

void for_each_step(const std::vector<FusedLoop>& loops, const std::function<void(const Indices&)>& visit) {
  Indices at(loops.size(), 0);
  while (true) {
    visit(at);
    std::size_t l = loops.size();
    while (l > 0 && ++at[l - 1] == loops[l - 1].trips) at[--l] = 0;
    if (l == 0) return;
  }
}

/// A tensor in the buffer and in the backing store. Values of an output are the number of operations that went in.
struct Place {
  const Einsum* einsum = nullptr;
  int tensor = 0;
  std::map<Element, std::int64_t> buffer, store;
  std::set<Element> came;  ///< in this common step
  std::pair<Indices, Indices> for_loops;
  bool is_set = false;

  bool is_output() const { return einsum->is_output(tensor); }
};

class Executor {
 public:
  Executor(const FusedChain& chain, const FusedNest& nest, bool separate_rooms)
      : chain_(chain), nest_(nest), separate_rooms_(separate_rooms) {
    for (const ChainTensor& at : moved_tensors(chain)) {
      places_.push_back({});
      places_.back().einsum = &chain.einsums[static_cast<std::size_t>(at.einsum)];
      places_.back().tensor = at.tensor;
      branch_.push_back(static_cast<std::size_t>(at.einsum));
    }
    result_.moved.assign(places_.size(), 0);
    result_.most_held.assign(places_.size(), 0);
    result_.came_twice.assign(places_.size(), false);
  }

  ExecutedChain run() {
    for_each_step(nest_.common, [&](const Indices& common) {
      for (std::size_t b = 0; b < 2; ++b) {
        if (b == 0) begin_tile(common);
        for_each_step(nest_.branches[b], [&](const Indices& inner) { operate(b, common, inner); });
        for (std::size_t t = 0; t < places_.size(); ++t) {
          if (!separate_rooms_ && branch_[t] == b && nest_.places[t].held && !nest_.places[t].common) empty(t);
        }
      }
    });
    for (std::size_t t = 0; t < places_.size(); ++t) empty(t);
    for (std::size_t t = 0; t < places_.size(); ++t) {
      const Einsum& einsum = *places_[t].einsum;
      result_.traffic_bits += result_.moved[t] * bits(einsum, places_[t].tensor);
      if (places_[t].is_output()) check_result(places_[t]);
    }
    return std::move(result_);
  }

 private:
  static std::int64_t bits(const Einsum& einsum, int tensor) {
    return einsum.tensors[static_cast<std::size_t>(tensor)].type.bits;
  }

  static std::int64_t reduced(const Einsum& einsum) {
    std::int64_t product = 1;
    for (int r = 0; r < static_cast<int>(einsum.ranks.size()); ++r) {
      if (!einsum.has_rank(einsum.output(), r)) product *= einsum.ranks[static_cast<std::size_t>(r)].extent;
    }
    return product;
  }

  void begin_tile(const Indices& common) {
    const Einsum& first = chain_.einsums[0];
    Box box = whole(first);
    enter(box, first, nest_.common, common, common.size());
    tile_.clear();
    for (const Element& element : elements(first, first.output(), box)) {
      tile_[element] = 0;
      if (!made_.insert(element).second) result_.faults.emplace_back("an element is made twice");
    }
    const auto wider = std::max(bits(first, first.output()), bits(chain_.einsums[1], chain_.taken));
    result_.tile_bits = std::max(result_.tile_bits, static_cast<std::int64_t>(tile_.size()) * wider);
    for (Place& place : places_) place.came.clear();
  }

  void operate(std::size_t branch, const Indices& common, const Indices& inner) {
    const Einsum& einsum = chain_.einsums[branch];
    Box point = whole(einsum);
    enter(point, einsum, nest_.common, common, common.size());
    enter(point, einsum, nest_.branches[branch], inner, inner.size());
    for (std::size_t t = 0; t < places_.size(); ++t) {
      const FusedPlace& place = nest_.places[t];
      if (!place.held || (!place.common && branch_[t] != branch)) continue;
      hold(t,
           Indices(common.begin(),
                   common.begin() + static_cast<std::ptrdiff_t>(place.common ? place.depth : common.size())),
           place.common ? Indices() : Indices(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(place.depth)));
    }
    std::int64_t in_buffer = result_.tile_bits;
    for (std::size_t t = 0; t < places_.size(); ++t) {
      in_buffer += static_cast<std::int64_t>(places_[t].buffer.size()) * bits(*places_[t].einsum, places_[t].tensor);
    }
    result_.buffer_bits = std::max(result_.buffer_bits, in_buffer);
    compute(branch, point);
  }

  void compute(std::size_t branch, const Box& point) {
    const Einsum& einsum = chain_.einsums[branch];
    for (std::size_t t = 0; t < places_.size(); ++t) {
      if (branch_[t] != branch) continue;
      Place& place = places_[t];
      const Element element = *elements(einsum, place.tensor, point).begin();
      if (!nest_.places[t].held) bring(t, element);
      if (place.buffer.count(element) == 0) result_.faults.emplace_back("an operand is missing");
      if (place.is_output()) ++place.buffer[element];
      if (!nest_.places[t].held) take_away(t, element);
    }
    const int passed = branch == 0 ? einsum.output() : chain_.taken;
    const Element element = by_first(branch, *elements(einsum, passed, point).begin());
    const auto at = tile_.find(element);
    if (at == tile_.end()) return result_.faults.emplace_back("an element is not in the tile"), void();
    if (branch == 0) ++at->second;
    if (branch == 1 && at->second != reduced(chain_.einsums[0]))
      result_.faults.emplace_back("an element is unfinished");
  }

  /// An element of the tensor taken, with its axes in the order of the first einsum's output.
  Element by_first(std::size_t branch, const Element& element) const {
    if (branch == 0) return element;
    Element sorted;
    const Einsum &first = chain_.einsums[0], &second = chain_.einsums[1];
    const auto name = [](const Einsum& einsum, const Axis& axis) {
      return einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)].name;
    };
    const auto& axes = second.tensors[static_cast<std::size_t>(chain_.taken)].axes;
    for (const Axis& axis : first.tensors.back().axes) {
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (name(second, axes[a]) == name(first, axis)) sorted.push_back(element[a]);
      }
    }
    return sorted;
  }

  /// Makes the hold of a tensor what the loops outside it say.
  void hold(std::size_t t, Indices common, Indices inner) {
    Place& place = places_[t];
    std::pair<Indices, Indices> loops{std::move(common), std::move(inner)};
    if (place.is_set && place.for_loops == loops) return;
    const Einsum& einsum = *place.einsum;
    Box box = whole(einsum);
    enter(box, einsum, nest_.common, loops.first, loops.first.size());
    enter(box, einsum, nest_.branches[branch_[t]], loops.second, loops.second.size());
    const std::set<Element> wanted = elements(einsum, place.tensor, box);
    std::vector<Element> leaving;
    for (const auto& [element, value] : place.buffer) {
      if (wanted.count(element) == 0) leaving.push_back(element);
    }
    for (const Element& element : leaving) take_away(t, element);
    for (const Element& element : wanted) {
      if (place.buffer.count(element) == 0) bring(t, element);
    }
    place.for_loops = std::move(loops);
    place.is_set = true;
    result_.most_held[t] = std::max(result_.most_held[t], static_cast<std::int64_t>(place.buffer.size()));
  }

  void bring(std::size_t t, const Element& element) {
    Place& place = places_[t];
    if (!place.came.insert(element).second) result_.came_twice[t] = true;
    const auto stored = place.store.find(element);
    const bool is_new = place.is_output() && stored == place.store.end();
    if (!is_new) ++result_.moved[t];
    place.buffer[element] = stored == place.store.end() ? 0 : stored->second;
  }

  void take_away(std::size_t t, const Element& element) {
    Place& place = places_[t];
    if (place.is_output()) {
      ++result_.moved[t];
      place.store[element] = place.buffer.at(element);
    }
    place.buffer.erase(element);
  }

  void empty(std::size_t t) {
    while (!places_[t].buffer.empty()) take_away(t, Element(places_[t].buffer.begin()->first));
    places_[t].is_set = false;
  }

  void check_result(const Place& place) {
    const auto all = elements(*place.einsum, place.tensor, whole(*place.einsum));
    bool right = place.store.size() == all.size();
    for (const auto& [element, operations] : place.store) right = right && operations == reduced(*place.einsum);
    if (!right) result_.faults.emplace_back("the result is wrong");
  }

  const FusedChain& chain_;
  const FusedNest& nest_;
  bool separate_rooms_;
  std::vector<Place> places_;
  std::vector<std::size_t> branch_;       ///< per tensor
  std::map<Element, std::int64_t> tile_;  ///< of the intermediate: operations that went in
  std::set<Element> made_;
  ExecutedChain result_;
};

}  // namespace

ExecutedChain execute(const FusedChain& chain, const FusedNest& nest, bool separate_rooms) {
  return Executor(chain, nest, separate_rooms).run();
}

}  // namespace einflow
