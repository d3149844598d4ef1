// Each tensor at a place of its own: for every tile of the intermediate the best choices between the common loops and
// in the two branches, put together.
#include <map>

#include "search/fused_problem.hpp"

namespace einflow {

namespace {

/// A choice for the tensors of one branch.
struct BranchLabel {
  HoldCost cost;
  HoldLabel holds;
};

/// A choice for both.
struct BothLabel {
  HoldCost cost;
  std::array<std::uint32_t, 2> of{};
};

/// A whole fused nest, as far as it matters.
struct Choice {
  std::size_t parting = 0;  ///< tile of the intermediate
  HoldLabel common;
  std::array<HoldLabel, 2> branches;
};

std::vector<std::size_t> numbers(std::size_t count, bool falling) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = falling ? count - 1 - i : i;
  return all;
}

class OwnSearch {
 public:
  OwnSearch(const FusedProblem& problem, const FusedSpace& space)
      : problem_(problem), space_(space), common_(common_chains()), branches_{branch_chains(0), branch_chains(1)} {
    for (const int einsum : {0, 1}) map_partings(einsum);
  }

  std::vector<FusedStep> search() {
    for (std::size_t parting = 0; parting < problem_.common_shapes(); ++parting) look_at(parting);
    std::vector<FusedStep> steps;
    for (const auto& [cost, choice] : front_.entries()) steps.push_back(step(cost, choice));
    return steps;
  }

 private:
  /// Numbers of the tensors of one einsum.
  std::vector<std::size_t> tensors_of(int einsum) const {
    std::vector<std::size_t> tensors;
    for (std::size_t t = 0; t < problem_.tensors().size(); ++t) {
      if (problem_.tensors()[t].einsum == einsum) tensors.push_back(t);
    }
    return tensors;
  }

  std::vector<HoldCost> costs(std::size_t tensor, const TileLattice& lattice, bool is_common) const {
    std::vector<HoldCost> all;
    for (std::size_t s = 0; s < static_cast<std::size_t>(*lattice.size().to_int64()); ++s) {
      std::vector<std::int64_t> tile = lattice.shape(s);
      if (is_common) tile = problem_.inside(problem_.tensors()[tensor].einsum, tile);
      all.push_back(problem_.cost(tensor, problem_.hold(tensor, tile, problem_.times(tensor, tile))));
    }
    return all;
  }

  /// Holds between common loops: from the parting outwards, to larger tiles.
  HoldChains common_chains() const {
    const TileLattice& lattice = problem_.common_lattice();
    std::vector<std::vector<HoldCost>> costs_of;
    for (std::size_t t = 0; t < problem_.tensors().size(); ++t) costs_of.push_back(costs(t, lattice, true));
    std::vector<std::vector<std::size_t>> larger(problem_.common_shapes());
    std::vector<std::size_t> covered;
    for (std::size_t s = 0; s < larger.size(); ++s) {
      covered.clear();
      lattice.append_covered(s, covered);
      for (const std::size_t smaller : covered) larger[smaller].push_back(s);
    }
    return HoldChains(std::move(costs_of), std::move(larger), numbers(problem_.common_shapes(), true));
  }

  /// Holds in a branch: inwards, to smaller tiles.
  HoldChains branch_chains(int einsum) const {
    const TileLattice& lattice = problem_.branch_lattice(einsum);
    std::vector<std::vector<HoldCost>> costs_of;
    for (const std::size_t t : tensors_of(einsum)) costs_of.push_back(costs(t, lattice, false));
    std::vector<std::vector<std::size_t>> smaller(static_cast<std::size_t>(*lattice.size().to_int64()));
    for (std::size_t s = 0; s < smaller.size(); ++s) lattice.append_covered(s, smaller[s]);
    const auto order = numbers(smaller.size(), false);
    return HoldChains(std::move(costs_of), std::move(smaller), order);
  }

  /// Which shape of the branch's lattice each parting is.
  void map_partings(int einsum) {
    const TileLattice& lattice = problem_.branch_lattice(einsum);
    std::map<std::vector<std::int64_t>, std::size_t> number;
    for (std::size_t s = 0; s < static_cast<std::size_t>(*lattice.size().to_int64()); ++s) number[lattice.shape(s)] = s;
    for (std::size_t p = 0; p < problem_.common_shapes(); ++p) {
      partings_[static_cast<std::size_t>(einsum)].push_back(
          number.at(problem_.inside(einsum, problem_.common_lattice().shape(p))));
    }
  }

  void look_at(std::size_t parting) {
    const std::vector<std::int64_t> tile = problem_.common_lattice().shape(parting);
    const Count room = problem_.intermediate_elements(tile) * problem_.intermediate_bits();
    if (front_.is_beaten({room, Count(0)})) return;
    std::array<std::vector<std::vector<BranchLabel>>, 2> lists;
    for (const int einsum : {0, 1}) {
      for (unsigned set = 0; set < 1U << tensors_of(einsum).size(); ++set) {
        lists[static_cast<std::size_t>(einsum)].push_back(branch_choices(einsum, set, parting));
      }
    }
    const auto first = static_cast<unsigned>(tensors_of(0).size());
    const unsigned all = (1U << problem_.tensors().size()) - 1;
    for (unsigned common = 0; common <= all; ++common) {
      const unsigned inside = all & ~common;
      put_together(parting, room, common_.best(common, parting), lists[0][inside & ((1U << first) - 1)],
                   lists[1][inside >> first]);
    }
  }

  /// The best for a set of a branch's tensors, held in the branch or not at all.
  std::vector<BranchLabel> branch_choices(int einsum, unsigned set, std::size_t parting) const {
    const auto e = static_cast<std::size_t>(einsum);
    const std::vector<std::size_t> tensors = tensors_of(einsum);
    std::vector<BranchLabel> choices;
    for (unsigned held = set;; held = (held - 1) & set) {
      Count bypassing = 0;
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (((set & ~held) >> i & 1U) == 0) continue;
        bypassing += problem_.cost(tensors[i], problem_.bypassed_hold(tensors[i])).traffic_bits;
      }
      for (const HoldLabel& label : branches_[e].best(held, partings_[e][parting])) {
        choices.push_back({{label.cost.buffer_bits, label.cost.traffic_bits + bypassing}, label});
      }
      if (held == 0 || !space_.bypass) break;
    }
    keep_unbeaten(choices, [](const BranchLabel& label) { return label.cost; });
    // In the nest that moves least at a common step every tensor comes once: each may be held whole for the step.
    if (space_.once_per_step) choices.erase(choices.begin(), choices.end() - 1);
    return choices;
  }

  /// One branch after the other in the same room, or each in its own.
  std::vector<BothLabel> both(const std::vector<BranchLabel>& first, const std::vector<BranchLabel>& second) const {
    std::vector<BothLabel> all;
    const auto add = [&](std::size_t i, std::size_t j) {
      const HoldCost &a = first[i].cost, &b = second[j].cost;
      const Count room = space_.separate_rooms ? a.buffer_bits + b.buffer_bits : std::max(a.buffer_bits, b.buffer_bits);
      all.push_back(
          {{room, a.traffic_bits + b.traffic_bits}, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(j)}});
    };
    if (space_.separate_rooms) {
      for (std::size_t i = 0; i < first.size(); ++i) {
        for (std::size_t j = 0; j < second.size(); ++j) add(i, j);
      }
    } else {
      // For every room the best of either list that fits.
      std::size_t i = 0, j = 0;
      const auto fits_next = [](const auto& list, std::size_t at, Count room) {
        return at + 1 < list.size() && list[at + 1].cost.buffer_bits <= room;
      };
      while (true) {
        const Count room = std::max(first[i].cost.buffer_bits, second[j].cost.buffer_bits);
        while (fits_next(first, i, room)) ++i;
        while (fits_next(second, j, room)) ++j;
        add(i, j);
        const bool more_first = i + 1 < first.size(), more_second = j + 1 < second.size();
        if (!more_first && !more_second) break;
        const bool take_first =
            more_first && (!more_second || first[i + 1].cost.buffer_bits <= second[j + 1].cost.buffer_bits);
        ++(take_first ? i : j);
      }
    }
    keep_unbeaten(all, [](const BothLabel& label) { return label.cost; });
    return all;
  }

  void put_together(std::size_t parting, Count room, const std::vector<HoldLabel>& common,
                    const std::vector<BranchLabel>& first, const std::vector<BranchLabel>& second) {
    const HoldCost corner{
        room + common.front().cost.buffer_bits +
            std::max(first.front().cost.buffer_bits, second.front().cost.buffer_bits),
        common.back().cost.traffic_bits + first.back().cost.traffic_bits + second.back().cost.traffic_bits};
    if (front_.is_beaten(corner)) return;
    const std::vector<BothLabel> inner = both(first, second);
    for (const HoldLabel& outer : common) {
      const Count taken = room + outer.cost.buffer_bits;
      if (front_.is_beaten(
              {taken + inner.front().cost.buffer_bits, outer.cost.traffic_bits + inner.back().cost.traffic_bits})) {
        continue;
      }
      for (const BothLabel& label : inner) {
        const HoldCost cost{taken + label.cost.buffer_bits, outer.cost.traffic_bits + label.cost.traffic_bits};
        if (front_.is_beaten(cost)) continue;
        front_.add(cost, {parting, outer, {first[label.of[0]].holds, second[label.of[1]].holds}});
      }
    }
  }

  FusedStep step(const HoldCost& cost, const Choice& choice) const {
    FusedStep found;
    found.buffer_bits = cost.buffer_bits;
    found.traffic_bits = cost.traffic_bits;
    found.tile = problem_.common_lattice().shape(choice.parting);
    found.tile_elements = problem_.intermediate_elements(found.tile);
    for (std::size_t t = 0; t < problem_.tensors().size(); ++t) {
      found.holds.push_back({problem_.bypassed_hold(t), false});
    }
    const auto place = [&](std::size_t tensor, const std::vector<std::int64_t>& tile, bool is_common) {
      found.holds[tensor] = {problem_.hold(tensor, tile, problem_.times(tensor, tile)), is_common};
    };
    for (const auto& [tensor, shape] : common_.holds(choice.common)) {
      const auto t = static_cast<std::size_t>(tensor);
      place(t, problem_.inside(problem_.tensors()[t].einsum, problem_.common_lattice().shape(shape)), true);
      found.common_order.insert(found.common_order.begin(), tensor);  // they come from the parting outwards
    }
    for (const int einsum : {0, 1}) {
      const auto e = static_cast<std::size_t>(einsum);
      const std::vector<std::size_t> tensors = tensors_of(einsum);
      for (const auto& [local, shape] : branches_[e].holds(choice.branches[e])) {
        const std::size_t tensor = tensors[static_cast<std::size_t>(local)];
        place(tensor, problem_.branch_lattice(einsum).shape(shape), false);
        found.branch_order[e].push_back(static_cast<int>(tensor));
      }
    }
    return found;
  }

  const FusedProblem& problem_;
  const FusedSpace& space_;
  HoldChains common_;
  std::array<HoldChains, 2> branches_;
  std::array<std::vector<std::size_t>, 2> partings_;
  Front<Choice> front_;
};

}  // namespace

std::vector<FusedStep> own_place_steps(const FusedProblem& problem, const FusedSpace& space) {
  return OwnSearch(problem, space).search();
}

}  // namespace einflow
