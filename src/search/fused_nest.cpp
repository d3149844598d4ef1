#include "search/fused_nest.hpp"

#include <fmt/format.h>

namespace einflow {

namespace {

/// Cuts ranks of an einsum, one loop after the other.
class Cutter {
 public:
  Cutter(const Einsum& einsum, std::vector<std::int64_t> left) : einsum_(einsum), left_(std::move(left)) {}

  void cut(int rank, std::int64_t tile, std::vector<FusedLoop>& loops) {
    std::int64_t& left = left_[static_cast<std::size_t>(rank)];
    if (tile == left) return;
    loops.push_back({einsum_.ranks[static_cast<std::size_t>(rank)].name, tile, left / tile});
    left = tile;
  }

  /// Ranks that the tensor lacks first: a hold behind the loops is then just inside one that moves the tensor.
  void cut_for(int tensor, const std::vector<std::int64_t>& tile, std::vector<FusedLoop>& loops) {
    for (const bool own : {false, true}) {
      for (int r = 0; r < static_cast<int>(left_.size()); ++r) {
        if (einsum_.has_rank(tensor, r) == own) cut(r, tile[static_cast<std::size_t>(r)], loops);
      }
    }
  }

 private:
  const Einsum& einsum_;
  std::vector<std::int64_t> left_;
};

/// Writes the common loops, each rank known by its number in common_ranks().
class CommonWriter {
 public:
  explicit CommonWriter(const FusedChain& chain) : ranks_(chain.common_ranks()) {
    for (const Rank& rank : ranks_) left_.push_back(rank.extent);
  }

  void cut(std::size_t rank, std::int64_t tile, std::vector<FusedLoop>& loops) {
    if (tile == left_[rank]) return;
    loops.push_back({ranks_[rank].name, tile, left_[rank] / tile});
    left_[rank] = tile;
  }

  void cut_for(const Einsum& einsum, int tensor, const std::vector<std::int64_t>& tile, std::vector<FusedLoop>& loops) {
    for (const bool own : {false, true}) {
      for (std::size_t r = 0; r < ranks_.size(); ++r) {
        const int rank = einsum.rank_named(ranks_[r].name);
        if (einsum.has_rank(tensor, rank) == own) cut(r, tile[static_cast<std::size_t>(rank)], loops);
      }
    }
  }

 private:
  std::vector<Rank> ranks_;
  std::vector<std::int64_t> left_;
};

/// What is left of an einsum's ranks where the branches part.
std::vector<std::int64_t> left_inside(const FusedChain& chain, const Einsum& einsum,
                                      const std::vector<std::int64_t>& common_tile) {
  std::vector<std::int64_t> left;
  for (const Rank& rank : einsum.ranks) left.push_back(rank.extent);
  const std::vector<Rank> common = chain.common_ranks();
  for (std::size_t r = 0; r < common.size(); ++r) {
    left[static_cast<std::size_t>(einsum.rank_named(common[r].name))] = common_tile[r];
  }
  return left;
}

}  // namespace

FusedNest fused_nest(const FusedChain& chain, const FusedStep& step) {
  FusedNest nest;
  const std::vector<ChainTensor> tensors = moved_tensors(chain);
  nest.places.resize(tensors.size());
  const auto einsum_of = [&](int tensor) -> const Einsum& {
    return chain.einsums[static_cast<std::size_t>(tensors[static_cast<std::size_t>(tensor)].einsum)];
  };
  const auto hold = [&](int tensor, bool is_common, std::size_t depth) {
    nest.places[static_cast<std::size_t>(tensor)] = {true, is_common, depth};
    nest.order.push_back(tensor);
  };
  CommonWriter common(chain);
  for (std::size_t r = 0; r < step.tile.size(); ++r) {
    // One value at a time, outermost: no tensor comes oftener for it.
    if (is_in_every_tensor(chain, static_cast<int>(r))) common.cut(r, step.tile[r], nest.common);
  }
  for (const int rank : step.loop_order) {
    common.cut(static_cast<std::size_t>(rank), step.tile[static_cast<std::size_t>(rank)], nest.common);
  }
  for (const int tensor : step.common_order) {
    const auto t = static_cast<std::size_t>(tensor);
    common.cut_for(einsum_of(tensor), tensors[t].tensor, step.holds[t].hold.tile, nest.common);
    hold(tensor, true, nest.common.size());
  }
  for (std::size_t r = 0; r < step.tile.size(); ++r) common.cut(r, step.tile[r], nest.common);
  for (std::size_t e = 0; e < 2; ++e) {
    Cutter branch(chain.einsums[e], left_inside(chain, chain.einsums[e], step.tile));
    for (const int tensor : step.branch_order[e]) {
      const auto t = static_cast<std::size_t>(tensor);
      branch.cut_for(tensors[t].tensor, step.holds[t].hold.tile, nest.branches[e]);
      hold(tensor, false, nest.branches[e].size());
    }
    for (int r = 0; r < static_cast<int>(chain.einsums[e].ranks.size()); ++r) branch.cut(r, 1, nest.branches[e]);
  }
  return nest;
}

namespace {

/// Lines of one part of the nest; `holds_at` gives the holds inside so many loops.
template <typename HoldsAt>
std::string lines(const std::vector<FusedLoop>& loops, const std::string& indent, HoldsAt holds_at) {
  std::string text;
  for (std::size_t depth = 0; depth <= loops.size(); ++depth) {
    const std::string held = holds_at(depth);
    if (!held.empty()) text += indent + "at Buffer:" + held + "\n";
    if (depth < loops.size()) text += fmt::format("{}for {} by {}\n", indent, loops[depth].rank, loops[depth].tile);
  }
  return text;
}

}  // namespace

std::string to_text(const FusedChain& chain, const FusedNest& nest) {
  const std::vector<ChainTensor> tensors = moved_tensors(chain);
  const auto held_at = [&](bool is_common, int einsum, std::size_t depth) {
    std::string names;
    for (const int tensor : nest.order) {
      const auto t = static_cast<std::size_t>(tensor);
      const FusedPlace& place = nest.places[t];
      if (place.common != is_common || place.depth != depth || (!is_common && tensors[t].einsum != einsum)) continue;
      names += " " + chain.einsums[static_cast<std::size_t>(tensors[t].einsum)]
                         .tensors[static_cast<std::size_t>(tensors[t].tensor)]
                         .name;
    }
    return names;
  };
  std::string text = lines(nest.common, "", [&](std::size_t depth) {
    const bool is_parting = depth == nest.common.size();
    return held_at(true, 0, depth) + (is_parting ? " " + chain.intermediate().name : "");
  });
  for (int einsum = 0; einsum < 2; ++einsum) {
    const auto e = static_cast<std::size_t>(einsum);
    text += to_text(chain.einsums[e]) + "\n";
    text += lines(nest.branches[e], "  ", [&](std::size_t depth) { return held_at(false, einsum, depth); });
  }
  return text;
}

}  // namespace einflow
