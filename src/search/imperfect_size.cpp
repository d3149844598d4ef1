// How many nests the space has: each rank's chains of tiles by which blocks and axes they use, put together.
#include <map>

#include "search/imperfect_search.hpp"

namespace einflow::imperfect {
namespace {

constexpr double kMostWork = 2e7;  ///< additions; about a tenth of a second

/// What the ranks share: the blocks in which they have temporal loops (per block how many), the trips on each axis, and
/// what they leave to an atomic shape.
using Use = std::vector<std::int64_t>;
using Chains = std::map<Use, std::vector<double>>;  ///< by what a rank uses; how many chains leave each tile

class Counting {
 public:
  explicit Counting(const Space& space) : space_(space) {
    for (const Block& block : space.blocks) {
      for (const MeshPlace& axis : block.axes) axes_.push_back(axis);
    }
  }

  double count() {
    std::map<Use, double> all{{Use(space_.blocks.size() + axes_.size(), 0), 1}};
    for (int rank = 0; rank < space_.ranks; ++rank) {
      const std::map<Use, double> one = of_rank(rank);
      std::map<Use, double> joined;
      work_ += static_cast<double>(all.size() * one.size());
      if (work_ > kMostWork) return 0;
      for (const auto& [use, ways] : all) {
        for (const auto& [more, chains] : one) add(use, more, ways * chains, joined);
      }
      all = std::move(joined);
    }
    double total = 0;
    for (const auto& [use, ways] : all) total += ways * orders(use);
    for (int block = 1; block < space_.last(); ++block) total *= static_cast<double>(space_.hold_choices(block).size());
    return work_ > kMostWork ? 0 : total;
  }

 private:
  /// Chains of one rank by what they use; the tile that each leaves is appended.
  std::map<Use, double> of_rank(int rank) {
    const auto extent = static_cast<std::size_t>(space_.extent(rank));
    Chains chains;
    auto& whole = chains[Use(space_.blocks.size() + axes_.size(), 0)];
    whole.assign(extent + 1, 0);
    whole[extent] = 1;
    std::size_t axis = space_.blocks.size();
    for (int block = 0; block <= space_.last(); ++block) {
      if (block > 0) cut_temporal(chains, static_cast<std::size_t>(block));
      for (const MeshPlace& place : space_.blocks[static_cast<std::size_t>(block)].axes) {
        cut_spatial(chains, axis++, place, rank);
      }
      keep_allowed(chains, block, rank);
    }
    std::map<Use, double> found;
    for (const auto& [use, by_tile] : chains) {
      for (std::size_t tile = 1; tile < by_tile.size(); ++tile) {
        if (by_tile[tile] == 0) continue;
        Use with_tile = use;
        with_tile.push_back(static_cast<std::int64_t>(tile));
        found[with_tile] += by_tile[tile];
      }
    }
    return found;
  }

  void cut_temporal(Chains& chains, std::size_t block) {
    Chains cut = chains;
    for (const auto& [use, by_tile] : chains) {
      Use with_loop = use;
      with_loop[block] = 1;
      auto& inside = cut[with_loop];
      inside.resize(by_tile.size(), 0);
      double larger = 0;
      for (std::size_t tile = by_tile.size() - 1; tile > 0; --tile) {
        inside[tile] += larger;
        larger += by_tile[tile];
      }
      work_ += static_cast<double>(by_tile.size());
    }
    chains = std::move(cut);
  }

  void cut_spatial(Chains& chains, std::size_t axis, const MeshPlace& place, int rank) {
    const std::int64_t given = space_.trips_given(place, rank);
    Chains cut;
    for (const auto& [use, by_tile] : chains) {
      for (std::size_t left = 1; left < by_tile.size() && work_ <= kMostWork; ++left) {
        if (by_tile[left] == 0) continue;
        work_ += static_cast<double>(left);
        for (std::size_t tile = left; tile > 0; --tile) {
          const auto trips = static_cast<std::int64_t>(1 + (left - 1) / tile);
          if (trips > place.size) break;
          if (given > 0 && trips != given) continue;
          Use with_line = use;
          with_line[axis] = trips;
          auto& inside = cut[with_line];
          inside.resize(by_tile.size(), 0);
          inside[tile] += by_tile[left];
        }
      }
    }
    chains = std::move(cut);
  }

  void keep_allowed(Chains& chains, int block, int rank) const {
    const auto given = static_cast<std::size_t>(space_.tile_given(block, rank));
    const auto most = static_cast<std::size_t>(space_.most_left(block, rank));
    for (auto& [use, by_tile] : chains) {
      for (std::size_t tile = 1; tile < by_tile.size(); ++tile) {
        if (tile > most || (given > 0 && tile != given)) by_tile[tile] = 0;
      }
    }
  }

  /// Adds the ways in which the ranks so far and one more use blocks and axes, where the axes have room.
  void add(const Use& use, const Use& more, double ways, std::map<Use, double>& joined) const {
    Use both = use;
    const std::size_t shared = space_.blocks.size() + axes_.size();
    for (std::size_t i = 0; i < shared; ++i) {
      if (i < space_.blocks.size()) {
        both[i] += more[i];
        continue;
      }
      both[i] = std::max<std::int64_t>(both[i], 1) * more[i];
      if (both[i] > axes_[i - space_.blocks.size()].size) return;
    }
    both.push_back(more.back());
    joined[both] += ways;
  }

  /// Orders of the temporal loops of all blocks; 0 where the operation does not take what is left.
  double orders(const Use& use) const {
    const Lengths left(use.end() - space_.ranks, use.end());
    if (!space_.may_end(left)) return 0;
    double product = 1;
    for (std::size_t block = 0; block < space_.blocks.size(); ++block) {
      for (std::int64_t loops = 2; loops <= use[block]; ++loops) product *= static_cast<double>(loops);
    }
    return product;
  }

  const Space& space_;
  std::vector<MeshPlace> axes_;
  double work_ = 0;
};

}  // namespace

double count_of_mappings(const Space& space) { return Counting(space).count(); }

}  // namespace einflow::imperfect
