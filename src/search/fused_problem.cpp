#include "search/fused_problem.hpp"

#include <fmt/format.h>

#include <optional>

#include "base/message.hpp"
#include "search/staircase_cost.hpp"

namespace einflow {

namespace {

constexpr std::int64_t kMostShapes = 200'000;

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Only the common ranks, for their lattice.
Einsum common_space(const FusedChain& chain) {
  Einsum common;
  common.ranks = chain.common_ranks();
  return common;
}

std::vector<int> named(const Einsum& einsum, const std::vector<std::string>& one,
                       const std::vector<std::string>& other) {
  std::vector<int> ranks;
  for (int r = 0; r < static_cast<int>(einsum.ranks.size()); ++r) {
    const std::string& name = einsum.ranks[static_cast<std::size_t>(r)].name;
    if (contains(one, name) || contains(other, name)) ranks.push_back(r);
  }
  return ranks;
}

std::optional<Diagnostics> fault_of(const FusedChain& chain, const FusedSpace& space) {
  std::vector<std::string> common, all;
  for (const Rank& rank : chain.common_ranks()) common.push_back(rank.name);
  for (const Einsum& einsum : chain.einsums) {
    for (const Rank& rank : einsum.ranks) {
      if (!contains(all, rank.name)) all.push_back(rank.name);
    }
  }
  for (const std::string& name : space.whole) {
    if (contains(all, name)) continue;
    return Diagnostics{
        {{}, fmt::format("whole: there is no rank {}", in_quotes(name)), name_hint(name, all, "ranks"), {}}};
  }
  for (const std::string& name : space.uncut) {
    if (contains(common, name)) continue;
    return Diagnostics{{{},
                        fmt::format("uncut: {} is no rank of the intermediate", in_quotes(name)),
                        name_hint(name, common, "its ranks"),
                        {}}};
  }
  return std::nullopt;
}

/// Sets the ranks that every tensor has to 1, but for those that must stay whole; gives their product.
Count take_one_by_one(FusedChain& chain, const FusedSpace& space) {
  Count copies = 1;
  const std::vector<Rank> ranks = chain.common_ranks();
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const Rank& rank = ranks[r];
    if (contains(space.whole, rank.name) || contains(space.uncut, rank.name)) continue;
    if (!is_in_every_tensor(chain, static_cast<int>(r))) continue;
    copies *= Count(rank.extent);
    for (Einsum& einsum : chain.einsums) {
      einsum.ranks[static_cast<std::size_t>(einsum.rank_named(rank.name))].extent = 1;
    }
  }
  return copies;
}

}  // namespace

FusedProblem::FusedProblem(FusedChain chain, Count copies, const FusedSpace& space)
    : chain_(std::move(chain)),
      copies_(copies),
      tensors_(moved_tensors(chain_)),
      common_lattice_(common_space(chain_), named(common_space(chain_), space.whole, space.uncut)),
      branch_lattices_{TileLattice(chain_.einsums[0], named(chain_.einsums[0], space.whole, {})),
                       TileLattice(chain_.einsums[1], named(chain_.einsums[1], space.whole, {}))} {}

Result<FusedProblem> FusedProblem::of(const FusedChain& chain, const FusedSpace& space) {
  if (auto fault = fault_of(chain, space)) return tl::unexpected(std::move(*fault));
  FusedChain one = chain;
  const Count copies = take_one_by_one(one, space);
  FusedProblem problem(std::move(one), copies, space);
  for (const TileLattice& lattice : problem.branch_lattices_) {
    if (lattice.size().overflowed() || Count(kMostShapes) < lattice.size()) {
      return fail(fmt::format("{} tile shapes of one einsum are too many to search", lattice.size().str()),
                  "keep ranks whole in the buffer: --whole r,s");
    }
  }
  return problem;
}

const Einsum& FusedProblem::einsum_of(std::size_t tensor) const {
  return chain_.einsums[static_cast<std::size_t>(tensors_[tensor].einsum)];
}

const Tensor& FusedProblem::tensor(std::size_t tensor) const {
  return einsum_of(tensor).tensors[static_cast<std::size_t>(tensors_[tensor].tensor)];
}

bool FusedProblem::has_common_rank(std::size_t tensor, int common_rank) const {
  const Axis& axis = chain_.intermediate().axes[static_cast<std::size_t>(common_rank)];
  const Einsum& einsum = einsum_of(tensor);
  const std::string& name = chain_.einsums[0].ranks[static_cast<std::size_t>(axis.terms.front().rank)].name;
  return einsum.has_rank(tensors_[tensor].tensor, einsum.rank_named(name));
}

std::vector<std::int64_t> FusedProblem::inside(int einsum, const std::vector<std::int64_t>& common_tile) const {
  const Einsum& of = chain_.einsums[static_cast<std::size_t>(einsum)];
  std::vector<std::int64_t> tile = extents(of);
  const std::vector<Rank> common = chain_.common_ranks();
  for (std::size_t r = 0; r < common.size(); ++r) {
    tile[static_cast<std::size_t>(of.rank_named(common[r].name))] = common_tile[r];
  }
  return tile;
}

Count FusedProblem::intermediate_elements(const std::vector<std::int64_t>& common_tile) const {
  Count elements = 1;
  for (const std::int64_t size : common_tile) elements *= Count(size);
  return elements;
}

Count FusedProblem::intermediate_bits() const {
  return std::max(bits_of(chain_.einsums[0], chain_.einsums[0].output()), bits_of(chain_.einsums[1], chain_.taken));
}

BufferHold FusedProblem::hold(std::size_t tensor, const std::vector<std::int64_t>& tile, Count times) const {
  const Einsum& einsum = einsum_of(tensor);
  const int index = tensors_[tensor].tensor;
  const Count all = box_elements(einsum, index, extents(einsum)) * copies_;
  return {true, tile, box_elements(einsum, index, tile), moved(einsum, index, all, times)};
}

Count FusedProblem::times(std::size_t tensor, const std::vector<std::int64_t>& tile) const {
  return trips_without(einsum_of(tensor), tensors_[tensor].tensor, tile);
}

BufferHold FusedProblem::bypassed_hold(std::size_t tensor) const {
  BufferHold none = bypassed(einsum_of(tensor), tensors_[tensor].tensor);
  none.traffic *= copies_;
  return none;
}

HoldCost FusedProblem::cost(std::size_t tensor, const BufferHold& hold) const {
  const Count bits = bits_of(einsum_of(tensor), tensors_[tensor].tensor);
  return {hold.elements * bits, hold.traffic * bits};
}

}  // namespace einflow
