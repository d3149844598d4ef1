#include "search/fused_staircase.hpp"

#include "search/fused_problem.hpp"

namespace einflow {

Result<FusedStaircase> least_fused_traffic(const FusedChain& chain, const FusedSpace& space) {
  const auto problem = FusedProblem::of(chain, space);
  if (!problem) return tl::unexpected(problem.error());
  FusedStaircase staircase;
  staircase.tile_shapes = problem->common_lattice().size();
  for (std::size_t t = 0; t < problem->tensors().size(); ++t) {
    const std::vector<Rank>& ranks = problem->einsum_of(t).ranks;
    std::vector<std::int64_t> whole;
    for (const Rank& rank : ranks) whole.push_back(rank.extent);
    staircase.compulsory_bits += problem->cost(t, problem->hold(t, whole, 1)).traffic_bits;
  }
  staircase.steps = space.shared_tile ? parting_place_steps(*problem, space) : own_place_steps(*problem, space);
  for (const FusedStep& step : staircase.steps) {
    if (step.traffic_bits.overflowed() || step.buffer_bits.overflowed()) return fail("a count leaves 128 bits");
  }
  return staircase;
}

namespace {

StaircaseSpace space_of(const Einsum& einsum, const FusedSpace& space) {
  StaircaseSpace own;
  own.shared_tile = space.shared_tile;
  own.bypass = space.bypass;
  for (const std::string& name : space.whole) {
    const int rank = einsum.rank_named(name);
    if (rank >= 0) own.whole.push_back(rank);
  }
  return own;
}

}  // namespace

Result<std::vector<UnfusedStep>> least_unfused_traffic(const FusedChain& chain, const FusedSpace& space) {
  std::array<Staircase, 2> of;
  for (std::size_t e = 0; e < 2; ++e) {
    auto staircase = least_traffic(chain.einsums[e], space_of(chain.einsums[e], space));
    if (!staircase) return tl::unexpected(staircase.error());
    of[e] = std::move(*staircase);
  }
  const std::vector<StaircaseStep>&first = of[0].steps, &second = of[1].steps;
  std::vector<UnfusedStep> steps;
  for (std::size_t i = 0, j = 0;;) {
    const Count room = std::max(first[i].buffer_bits, second[j].buffer_bits);
    while (i + 1 < first.size() && first[i + 1].buffer_bits <= room) ++i;
    while (j + 1 < second.size() && second[j + 1].buffer_bits <= room) ++j;
    const Count sum = first[i].traffic_bits + second[j].traffic_bits;
    if (sum.overflowed()) return fail("a count leaves 128 bits");
    steps.push_back({room, sum, {first[i].traffic_bits, second[j].traffic_bits}});
    const bool more_first = i + 1 < first.size(), more_second = j + 1 < second.size();
    if (!more_first && !more_second) return steps;
    ++(more_first && (!more_second || first[i + 1].buffer_bits <= second[j + 1].buffer_bits) ? i : j);
  }
}

std::optional<Count> fusing_pays_from(const std::vector<FusedStep>& fused, const std::vector<UnfusedStep>& unfused) {
  std::optional<Count> from;
  std::size_t u = 0;  // unfused steps that fit
  for (std::size_t f = 0; f < fused.size(); ++f) {
    // Fused step f is the best from its own size up to that of the next; unfused steps come in between.
    const auto fits = [&](std::size_t at, Count room) { return unfused[at].buffer_bits <= room; };
    while (u < unfused.size() && fits(u, fused[f].buffer_bits)) ++u;
    const bool pays = u == 0 || fused[f].traffic_bits < unfused[u - 1].traffic_bits;
    if (!pays) from.reset();
    if (pays && !from) from = fused[f].buffer_bits;
    while (u < unfused.size() && (f + 1 == fused.size() || unfused[u].buffer_bits < fused[f + 1].buffer_bits)) {
      if (unfused[u].traffic_bits <= fused[f].traffic_bits) from.reset();
      ++u;
    }
  }
  return from;
}

}  // namespace einflow
