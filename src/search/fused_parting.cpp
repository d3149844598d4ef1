// All held tensors where the branches part: every tile of the intermediate with every order of the common loops.
#include <numeric>

#include "search/fused_problem.hpp"

namespace einflow {

namespace {

class PartingSearch {
 public:
  PartingSearch(const FusedProblem& problem, const FusedSpace& space)
      : problem_(problem), space_(space), ranks_(problem.chain().common_ranks()) {}

  std::vector<FusedStep> search() {
    for (std::size_t shape = 0; shape < problem_.common_shapes(); ++shape) {
      tile_ = problem_.common_lattice().shape(shape);
      std::vector<int> order;
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (tile_[r] < ranks_[r].extent) order.push_back(static_cast<int>(r));
      }
      do {
        add(order);
      } while (std::next_permutation(order.begin(), order.end()));
    }
    std::vector<FusedStep> steps;
    for (const auto& [cost, step] : front_.entries()) steps.push_back(step);
    return steps;
  }

 private:
  /// How often a tensor comes: the trips of the loops it lacks outside its innermost own loop.
  Count times(std::size_t tensor, const std::vector<int>& order) const {
    std::size_t end = order.size();
    while (end > 0 && !problem_.has_common_rank(tensor, order[end - 1])) --end;
    Count trips = 1;
    for (std::size_t i = 0; i < end; ++i) {
      const auto r = static_cast<std::size_t>(order[i]);
      if (!problem_.has_common_rank(tensor, order[i])) trips *= Count(ranks_[r].extent / tile_[r]);
    }
    return trips;
  }

  void add(const std::vector<int>& order) {
    const std::size_t tensors = problem_.tensors().size();
    std::vector<BufferHold> held;
    for (std::size_t t = 0; t < tensors; ++t) {
      held.push_back(problem_.hold(t, problem_.inside(problem_.tensors()[t].einsum, tile_), times(t, order)));
    }
    const unsigned choices = space_.bypass ? 1U << tensors : 1U;
    for (unsigned without = 0; without < choices; ++without) {
      FusedStep step;
      step.tile = tile_;
      step.tile_elements = problem_.intermediate_elements(tile_);
      step.loop_order = order;
      step.buffer_bits = step.tile_elements * problem_.intermediate_bits();
      for (std::size_t t = 0; t < tensors; ++t) {
        const bool out = (without >> t & 1U) != 0;
        step.holds.push_back({out ? problem_.bypassed_hold(t) : held[t], !out});
        const HoldCost cost = problem_.cost(t, step.holds.back().hold);
        step.buffer_bits += cost.buffer_bits;
        step.traffic_bits += cost.traffic_bits;
        if (!out) step.common_order.push_back(static_cast<int>(t));
      }
      const HoldCost cost{step.buffer_bits, step.traffic_bits};
      if (!front_.is_beaten(cost)) front_.add(cost, std::move(step));
    }
  }

  const FusedProblem& problem_;
  const FusedSpace& space_;
  std::vector<Rank> ranks_;
  std::vector<std::int64_t> tile_;
  Front<FusedStep> front_;
};

}  // namespace

std::vector<FusedStep> parting_place_steps(const FusedProblem& problem, const FusedSpace& space) {
  return PartingSearch(problem, space).search();
}

}  // namespace einflow
