#include "search/fused_holds.hpp"

namespace einflow {

namespace {

/// The labels of both lists that no other beats. Both are sorted; so is the result.
void merge_unbeaten(const std::vector<HoldLabel>& one, const std::vector<HoldLabel>& other,
                    std::vector<HoldLabel>& best) {
  best.clear();
  std::size_t i = 0, j = 0;
  while (i < one.size() || j < other.size()) {
    const bool first = j == other.size() || (i < one.size() && !by_buffer(other[j].cost, one[i].cost));
    const HoldLabel& label = first ? one[i++] : other[j++];
    if (best.empty() || label.cost.traffic_bits < best.back().cost.traffic_bits) best.push_back(label);
  }
}

/// All orders of all subsets of 0 ... count - 1, shorter ones first.
std::vector<std::vector<int>> ordered_subsets(int count) {
  std::vector<std::vector<int>> all{{}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (int t = 0; t < count; ++t) {
      if (std::find(all[i].begin(), all[i].end(), t) != all[i].end()) continue;
      std::vector<int> longer{t};
      longer.insert(longer.end(), all[i].begin(), all[i].end());
      all.push_back(std::move(longer));
    }
  }
  return all;
}

}  // namespace

HoldChains::HoldChains(std::vector<std::vector<HoldCost>> costs, std::vector<std::vector<std::size_t>> behind,
                       const std::vector<std::size_t>& order)
    : costs_(std::move(costs)), behind_(std::move(behind)) {
  for (const std::vector<int>& tensors : ordered_subsets(static_cast<int>(costs_.size()))) {
    add_sequence(tensors, order);
  }
}

void HoldChains::add_sequence(const std::vector<int>& tensors, const std::vector<std::size_t>& order) {
  const auto number = static_cast<std::uint32_t>(sequences_.size());
  const auto shapes = behind_.size();
  std::vector<Labels> found(shapes);
  std::uint32_t rest = 0;
  if (tensors.empty()) {
    found.assign(shapes, Labels(1));
  } else {
    const std::vector<int> others(tensors.begin() + 1, tensors.end());
    while (sequences_[rest] != others) ++rest;
    const std::vector<HoldCost>& costs = costs_[static_cast<std::size_t>(tensors.front())];
    Labels merged;
    for (const std::size_t shape : order) {
      Labels& best = found[shape];
      const Labels& behind = labels_[rest][shape];
      for (std::uint32_t i = 0; i < behind.size(); ++i) {
        const HoldCost sum{behind[i].cost.buffer_bits + costs[shape].buffer_bits,
                           behind[i].cost.traffic_bits + costs[shape].traffic_bits};
        best.push_back({sum, shape, i, number});
      }
      for (const std::size_t other : behind_[shape]) {
        merge_unbeaten(best, found[other], merged);
        best.swap(merged);
      }
    }
  }
  sequences_.push_back(tensors);
  rest_.push_back(rest);
  labels_.push_back(std::move(found));
}

std::vector<HoldLabel> HoldChains::best(unsigned set, std::size_t shape) const {
  Labels best, merged;
  for (std::size_t s = 0; s < sequences_.size(); ++s) {
    unsigned tensors = 0;
    for (const int tensor : sequences_[s]) tensors |= 1U << tensor;
    if (tensors != set) continue;
    merge_unbeaten(best, labels_[s][shape], merged);
    best.swap(merged);
  }
  return best;
}

std::vector<std::pair<int, std::size_t>> HoldChains::holds(const HoldLabel& label) const {
  std::vector<std::pair<int, std::size_t>> found;
  for (const HoldLabel* at = &label; !sequences_[at->sequence].empty();) {
    found.emplace_back(sequences_[at->sequence].front(), at->shape);
    at = &labels_[rest_[at->sequence]][at->shape][at->next];
  }
  return found;
}

}  // namespace einflow
