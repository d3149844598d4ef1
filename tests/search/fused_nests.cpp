#include "search/fused_nests.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>

#include "search/fused_executor.hpp"

namespace einflow {

namespace {

/// What a tensor costs at one place of one nest.
struct TriedPlace {
  std::int64_t common_bits = 0, branch_bits = 0, traffic_bits = 0;
};

/// Every fused nest of prime cuts, every tensor held anywhere or nowhere, each hold executed.
class EveryNest {
 public:
  EveryNest(const FusedChain& chain, const FusedSpace& space)
      : chain_(chain), space_(space), tensors_(moved_tensors(chain)), common_(chain.common_ranks()) {}

  std::vector<std::pair<Count, Count>> best() {
    cut_common();
    std::vector<std::pair<Count, Count>> steps;
    std::optional<std::int64_t> last;
    for (const auto& [buffer, traffic] : best_) {
      if (!last || traffic < *last) steps.emplace_back(buffer, traffic);
      if (!last || traffic < *last) last = traffic;
    }
    return steps;
  }

 private:
  static bool contains(const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  }

  /// Each way to cut one more prime off one of the ranks.
  static void for_each_cut(std::vector<Rank>& left, std::vector<FusedLoop>& loops, const std::function<void()>& next) {
    for (Rank& rank : left) {
      for (const std::int64_t prime : {2, 3, 5}) {
        if (rank.extent % prime != 0) continue;
        rank.extent /= prime;
        loops.push_back({rank.name, rank.extent, prime});
        next();
        loops.pop_back();
        rank.extent *= prime;
      }
    }
  }

  void cut_common() {
    consider_parting();
    for_each_cut(common_, nest_.common, [&] {
      const std::string& name = nest_.common.back().rank;
      if (!contains(space_.uncut, name) && !contains(space_.whole, name)) cut_common();
    });
  }

  void consider_parting() {
    std::array<std::vector<TriedPlace>, 2> tried;
    for (std::size_t e = 0; e < 2; ++e) {
      // The other branch does not matter to this one's tensors; it must run all the same.
      nest_.branches[1 - e] = any_branch(1 - e);
      std::vector<Rank> left = left_of(e);
      nest_.branches[e].clear();
      cut_branch(e, left, tried[e]);
      drop_beaten(tried[e]);
    }
    std::int64_t tile_bits = 8;
    for (const Rank& rank : common_) tile_bits *= rank.extent;
    for (const TriedPlace& a : tried[0]) {
      for (const TriedPlace& b : tried[1]) {
        const std::int64_t branches =
            space_.separate_rooms ? a.branch_bits + b.branch_bits : std::max(a.branch_bits, b.branch_bits);
        const std::int64_t traffic = a.traffic_bits + b.traffic_bits;
        const auto [at, is_new] = best_.emplace(tile_bits + a.common_bits + b.common_bits + branches, traffic);
        if (!is_new) at->second = std::min(at->second, traffic);
      }
    }
  }

  std::vector<Rank> left_of(std::size_t e) const {
    std::vector<Rank> left = chain_.einsums[e].ranks;
    for (Rank& rank : left) {
      for (const Rank& common : common_) {
        if (common.name == rank.name) rank.extent = common.extent;
      }
    }
    return left;
  }

  std::vector<FusedLoop> any_branch(std::size_t e) const {
    std::vector<FusedLoop> loops;
    for (const Rank& rank : left_of(e)) {
      if (rank.extent > 1) loops.push_back({rank.name, 1, rank.extent});
    }
    return loops;
  }

  void cut_branch(std::size_t e, std::vector<Rank>& left, std::vector<TriedPlace>& tried) {
    const bool done = std::all_of(left.begin(), left.end(), [](const Rank& rank) { return rank.extent == 1; });
    if (done) add_holds(e, tried);
    for_each_cut(left, nest_.branches[e], [&] { cut_branch(e, left, tried); });
  }

  /// Every place of every tensor of the branch, in every combination.
  void add_holds(std::size_t e, std::vector<TriedPlace>& tried) {
    std::vector<TriedPlace> sums(1);
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      if (tensors_[t].einsum != static_cast<int>(e)) continue;
      std::vector<TriedPlace> longer;
      for (const TriedPlace& place : places_of(e, t)) {
        for (const TriedPlace& sum : sums) {
          longer.push_back({sum.common_bits + place.common_bits, sum.branch_bits + place.branch_bits,
                            sum.traffic_bits + place.traffic_bits});
        }
      }
      sums = std::move(longer);
    }
    tried.insert(tried.end(), sums.begin(), sums.end());
  }

  std::vector<TriedPlace> places_of(std::size_t e, std::size_t tensor) {
    std::vector<FusedPlace> wanted;
    if (space_.bypass) wanted.push_back({});
    const std::size_t parting = nest_.common.size();
    for (std::size_t depth = space_.shared_tile ? parting : 0; depth <= parting; ++depth) {
      wanted.push_back({true, true, depth});
    }
    for (std::size_t depth = 0; !space_.shared_tile && depth <= nest_.branches[e].size(); ++depth) {
      const bool cuts_whole = std::any_of(nest_.branches[e].begin(), nest_.branches[e].begin() + depth,
                                          [&](const FusedLoop& loop) { return contains(space_.whole, loop.rank); });
      if (!cuts_whole) wanted.push_back({true, false, depth});
    }
    const Einsum& einsum = chain_.einsums[e];
    const std::int64_t bits = einsum.tensors[static_cast<std::size_t>(tensors_[tensor].tensor)].type.bits;
    std::vector<TriedPlace> places;
    for (const FusedPlace& place : wanted) {
      nest_.places.assign(tensors_.size(), {});
      nest_.places[tensor] = place;
      const ExecutedChain executed = execute(chain_, nest_, space_.separate_rooms);
      if (!executed.faults.empty()) throw std::runtime_error(executed.faults.front());
      if (space_.once_per_step && !place.common && executed.came_twice[tensor]) continue;
      const std::int64_t room = executed.most_held[tensor] * bits;
      places.push_back({place.common ? room : 0, place.common ? 0 : room, executed.moved[tensor] * bits});
    }
    return places;
  }

  static void drop_beaten(std::vector<TriedPlace>& tried) {
    std::vector<TriedPlace> kept;
    const auto beats = [](const TriedPlace& a, const TriedPlace& b) {
      return a.common_bits <= b.common_bits && a.branch_bits <= b.branch_bits && a.traffic_bits <= b.traffic_bits;
    };
    for (const TriedPlace& one : tried) {
      if (std::any_of(kept.begin(), kept.end(), [&](const TriedPlace& other) { return beats(other, one); })) continue;
      std::erase_if(kept, [&](const TriedPlace& other) { return beats(one, other); });
      kept.push_back(one);
    }
    tried = std::move(kept);
  }

  const FusedChain& chain_;
  const FusedSpace& space_;
  std::vector<ChainTensor> tensors_;
  std::vector<Rank> common_;  ///< what is left of the common ranks
  FusedNest nest_;
  std::map<std::int64_t, std::int64_t> best_;  ///< buffer -> traffic
};

}  // namespace

std::vector<std::pair<Count, Count>> every_fused_nest(const FusedChain& chain, const FusedSpace& space) {
  return EveryNest(chain, space).best();
}

}  // namespace einflow
