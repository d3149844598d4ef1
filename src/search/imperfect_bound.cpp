#include "search/imperfect_bound.hpp"

#include <algorithm>
#include <limits>

namespace einflow::imperfect {
namespace {

constexpr double kMostCells = 3000;
constexpr std::size_t kMostSpreads = 256;

std::vector<std::pair<std::int64_t, std::int64_t>> ranges(std::int64_t most, double growth) {
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t low = 1; low <= most;) {
    const auto high = std::clamp(static_cast<std::int64_t>(static_cast<double>(low) * growth), low, most);
    found.emplace_back(low, high);
    low = high + 1;
  }
  return found;
}

/// Elements of all tiles of the tensor that have more than `most`, each of its own positions once. Requires ranks that
/// are alone.
double larger_than(const Space& space, int tensor, const std::vector<RankCuts>& inside, double most) {
  double total = 0;
  const auto choose = [&](auto&& self, int rank, double elements, double times) -> void {
    if (rank == space.ranks) {
      if (elements > most) total += elements * times;
      return;
    }
    if (!space.has(tensor, rank)) return self(self, rank + 1, elements, times);
    for (const auto& [length, count] : inside[static_cast<std::size_t>(rank)].everywhere) {
      self(self, rank + 1, elements * static_cast<double>(length), times * count);
    }
  };
  choose(choose, 0, 1, 1);
  return total;
}

}  // namespace

Weights::Weights(const Space& space) {
  read.assign(space.machine.levels.size(), std::vector<double>(static_cast<std::size_t>(space.tensors), 0));
  write = forward = hop = read;
}

std::vector<Cell> cells_of(const Space& space, int block) {
  std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> by_rank;
  for (double growth = 1;; growth = growth * 1.15 + 0.02) {
    double product = 1;
    by_rank.clear();
    for (int rank = 0; rank < space.ranks; ++rank) {
      by_rank.push_back(ranges(space.most_left(block, rank), growth));
      product *= static_cast<double>(by_rank.back().size());
    }
    if (product <= kMostCells || growth > 1e18) break;
  }
  std::vector<Cell> cells;
  std::vector<std::size_t> at(by_rank.size(), 0);
  while (true) {
    Cell cell;
    double product = 1;
    for (std::size_t rank = 0; rank < at.size(); ++rank) {
      cell.low.push_back(by_rank[rank][at[rank]].first);
      cell.high.push_back(by_rank[rank][at[rank]].second);
      product *= static_cast<double>(cell.high.back());
    }
    for (int tensor = 0; tensor < space.tensors; ++tensor) {
      cell.share.push_back(space.padded(tensor) ? 0 : space.elements(tensor, cell.high) / product);
    }
    cells.push_back(std::move(cell));
    std::size_t rank = 0;
    while (rank < at.size() && ++at[rank] == by_rank[rank].size()) at[rank++] = 0;
    if (rank == at.size()) return cells;
  }
}

void set_arrivals(const Space& space, int block, const std::vector<RankCuts>& inside, const std::vector<bool>& chosen,
                  const std::vector<double>& positions, Holders& holders) {
  holders.arrivals.assign(holders.block.size() * space.blocks.size(), 0);
  for (int tensor = 0; tensor < space.tensors; ++tensor) {
    for (int next = block + 1; next < space.last(); ++next) {
      holders.arriving(next, tensor) = holders.residencies[static_cast<std::size_t>(tensor)];
    }
    bool known = !space.padded(tensor);
    double steps = 1;
    for (int rank = 0; rank < space.ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      if (!space.has(tensor, rank)) steps *= positions[r];
      if (space.has(tensor, rank) && !(space.alone(tensor, rank) && chosen[r])) known = false;
    }
    if (!known) continue;
    double instances = 1;
    for (int next = block + 1; next < space.last(); ++next) {
      for (const MeshPlace& axis : space.blocks[static_cast<std::size_t>(next)].axes) {
        instances *= static_cast<double>(axis.size);
      }
      const double most = space.most_elements(next, tensor) * instances;
      double& arriving = holders.arriving(next, tensor);
      arriving = std::max(arriving, steps * larger_than(space, tensor, inside, most));
    }
  }
}

LinearBound::LinearBound(const Space& space, Weights weights)
    : space_(space), weights_(std::move(weights)), operations_(space.einsum.operations().to_double()) {
  const auto output = static_cast<std::size_t>(space.einsum.output());
  constant_ = -weights_.read[0][output] * space.touched(space.einsum.output());
  for (int block = 0; block <= space.last(); ++block) {
    const bool is_inside = block > 0 && block < space.last();
    cells_.push_back(is_inside ? cells_of(space, block) : std::vector<Cell>{});
    choices_.push_back(is_inside ? space.hold_choices(block) : std::vector<unsigned>{});
  }
  for (int outer = 0; outer <= space.last(); ++outer) {
    spreads_.emplace_back();
    for (int inner = 0; inner <= space.last(); ++inner) {
      spreads_.back().push_back(outer < inner ? spreads_of(space, outer + 1, inner) : std::vector<Lengths>{});
      if (spreads_.back().back().size() > kMostSpreads) spreads_.back().back().clear();
    }
  }
  for (int tensor = 0; tensor < space.tensors; ++tensor) {
    accesses_.push_back(least_accesses(tensor));
    for (int parent = 0; parent <= space.last(); ++parent) {
      for (int child = 0; child <= space.last(); ++child) {
        prices_.push_back(parent < child ? make_price(tensor, parent, child) : Price{});
      }
    }
  }
}

const LinearBound::Price& LinearBound::price(int tensor, int parent, int child) const {
  const int blocks = space_.last() + 1;
  return prices_[static_cast<std::size_t>((tensor * blocks + parent) * blocks + child)];
}

LinearBound::Price LinearBound::make_price(int tensor, int parent, int child) const {
  Price price;
  price.merged = crossing(tensor, parent, child, {1, 0, 0});
  price.alone = crossing(tensor, parent, child, {0, 1, 0});
  const auto level = [&](int block) { return space_.blocks[static_cast<std::size_t>(block)].level; };
  for (int between = level(parent) + 1; between < level(child); ++between) {
    const Mesh* mesh = space_.machine.mesh(between);
    if (mesh == nullptr) continue;
    if (space_.einsum.is_output(tensor) ? mesh->reduction : mesh->multicast) {
      price.shared_by *= static_cast<double>(mesh->size());
    }
  }
  return price;
}

bool LinearBound::may_forward(int tensor, int parent, int child) const {
  if (space_.einsum.is_output(tensor)) return false;
  const auto level = [&](int block) { return space_.blocks[static_cast<std::size_t>(block)].level; };
  for (int between = level(parent) + 1; between < level(child); ++between) {
    const Mesh* mesh = space_.machine.mesh(between);
    if (mesh != nullptr && mesh->forwarding) return true;
  }
  return false;
}

double LinearBound::crossing(int tensor, int parent, int child, const Passed& passed) const {
  const auto t = static_cast<std::size_t>(tensor);
  const auto from = static_cast<std::size_t>(space_.blocks[static_cast<std::size_t>(parent)].level);
  const auto to = static_cast<std::size_t>(space_.blocks[static_cast<std::size_t>(child)].level);
  double cost = 0;
  if (space_.einsum.is_output(tensor)) {
    // Read-modify-writes and drains together are the updates that arrive, less (at the outermost) its residencies.
    cost = passed.merged * (weights_.read[from][t] + weights_.write[from][t]);
  } else {
    cost = passed.merged * weights_.read[from][t] + passed.forwarded * weights_.forward[to][t];
    if (child != space_.last()) cost += passed.alone * weights_.write[to][t];
  }
  bool innermost = true;  // what crosses the innermost mesh goes to single instances
  for (std::size_t between = to - 1; between > from; --between) {
    if (space_.machine.mesh(static_cast<int>(between)) == nullptr) continue;
    cost += weights_.hop[between][t] * (innermost ? passed.alone : passed.merged + passed.forwarded);
    innermost = false;
  }
  return cost;
}

double LinearBound::least_accesses(int tensor) const {
  if (!space_.forgets || space_.padded(tensor)) return 0;
  double reuse = 1;  // operations of an atomic shape that share one operand
  for (const auto& layout : atomic_layouts(space_.einsum, space_.machine.compute())) {
    double product = 1;
    for (const AtomicRole& role : layout) {
      double extents = 1;
      bool shares = false;
      for (const int rank : role.ranks) {
        extents *= static_cast<double>(space_.extent(rank));
        shares = shares || !space_.alone(tensor, rank);
      }
      if (shares) product *= std::min(extents, static_cast<double>(role.extent));
    }
    reuse = std::max(reuse, product);
  }
  return operations_ / reuse;
}

double LinearBound::shared_by(int tensor, int child, const Way& way, const Lengths* spread) const {
  const auto t = static_cast<std::size_t>(tensor);
  const bool moved_in = way.at[t] != way.holders->block[t];
  const double outside = moved_in ? 1 : way.holders->shared[t];
  const double most = price(tensor, std::max(way.at[t], way.from), child).shared_by;
  if (spread == nullptr) return outside * most;
  double product = 1;
  for (int rank = 0; rank < space_.ranks; ++rank) {
    if (!space_.alone(tensor, rank)) product *= static_cast<double>((*spread)[static_cast<std::size_t>(rank)]);
  }
  return outside * std::min(product, most);
}

double LinearBound::find_for_room(int block, unsigned held, const Way& way) const {
  // One row of prices for each way to spread the ranks; where these are too many, all of a mesh shares.
  std::vector<std::vector<double>> rows;
  const auto add_row = [&](const Lengths* spread) {
    std::vector<double> prices(static_cast<std::size_t>(space_.tensors), 0);
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      const auto t = static_cast<std::size_t>(tensor);
      if ((held >> tensor & 1U) == 0) continue;
      const Price& each = price(tensor, way.at[t], block);
      // What siblings forward, the parent need not read.
      const bool forwarded = may_forward(tensor, way.at[t], block);
      prices[t] = each.alone + (forwarded ? 0 : each.merged / shared_by(tensor, block, way, spread));
    }
    rows.push_back(std::move(prices));
  };
  const auto& spreads = spreads_[static_cast<std::size_t>(way.from)][static_cast<std::size_t>(block)];
  for (const Lengths& spread : spreads) add_row(&spread);
  if (rows.empty()) add_row(nullptr);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());

  double least = std::numeric_limits<double>::infinity();
  for (const Cell& cell : cells_[static_cast<std::size_t>(block)]) {
    double of_cell = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& prices : rows) of_cell = std::min(of_cell, replaced_at_least(prices, cell));
    if (of_cell < least && space_.room_needed(block, held, cell.low) <= space_.room(block)) least = of_cell;
  }
  if (least < std::numeric_limits<double>::infinity()) return least * operations_;
  // No cell: nothing fits. No rank to advance: one step, which the compulsory traffic bounds.
  const Lengths ones(static_cast<std::size_t>(space_.ranks), 1);
  return space_.room_needed(block, held, ones) <= space_.room(block) ? 0 : least;
}

double LinearBound::replaced_at_least(const std::vector<double>& prices, const Cell& cell) const {
  double least = std::numeric_limits<double>::infinity();
  for (int rank = 0; rank < space_.ranks && least > 0; ++rank) {
    if (space_.extent(rank) == 1) continue;
    double replaced = 0;
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      const auto t = static_cast<std::size_t>(tensor);
      if (space_.alone(tensor, rank)) replaced += prices[t] * cell.share[t];
    }
    least = std::min(least, replaced);
  }
  return least;
}

double LinearBound::for_room(int block, unsigned held, const Way& way) const {
  RoomKey key{block, way.from, static_cast<int>(held)};
  std::size_t next = 3;
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    if ((held >> tensor & 1U) == 0) continue;
    key[next++] = way.at[t];
    key[next++] = way.at[t] != way.holders->block[t] ? 1 : static_cast<int>(way.holders->shared[t]);
  }
  if (const auto found = for_room_.find(key); found != for_room_.end()) return found->second;
  return for_room_.emplace(key, find_for_room(block, held, way)).first->second;
}

double LinearBound::operands(const Way& way) const {
  const auto with = [&](const Lengths* spread) {
    double cost = 0;
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      const auto t = static_cast<std::size_t>(tensor);
      const int holder = way.at[t];
      const Price& each = price(tensor, holder, space_.last());
      const bool moved_in = holder != way.holders->block[t];
      const double arrived = moved_in ? way.holders->arriving(holder, tensor) : way.holders->residencies[t];
      const double shared = shared_by(tensor, space_.last(), way, spread);
      cost += each.merged * std::max(arrived, accesses_[t] / shared) + each.alone * std::max(arrived, accesses_[t]);
    }
    return cost;
  };
  const auto& spreads = spreads_[static_cast<std::size_t>(way.from)][static_cast<std::size_t>(space_.last())];
  if (spreads.empty()) return with(nullptr);
  double least = std::numeric_limits<double>::infinity();
  for (const Lengths& spread : spreads) least = std::min(least, with(&spread));
  return least;
}

double LinearBound::inwards(int block, const Way& way) const {
  if (block == space_.last()) return operands(way);
  double least = std::numeric_limits<double>::infinity();
  Way inside = way;
  for (const unsigned held : choices_[static_cast<std::size_t>(block)]) {
    double arriving = 0;
    inside.at = way.at;
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      if ((held >> tensor & 1U) == 0) continue;
      const auto t = static_cast<std::size_t>(tensor);
      const Price& each = price(tensor, way.at[t], block);
      arriving += (each.merged + each.alone) * way.holders->arriving(block, tensor);
      inside.at[t] = block;
    }
    const double place = std::max(arriving, for_room(block, held, way));
    if (place < least) least = std::min(least, place + inwards(block + 1, inside));
  }
  return least;
}

double LinearBound::ahead(int block, const Holders& holders) const {
  Way way{block, &holders, {}};
  std::copy(holders.block.begin(), holders.block.end(), way.at.begin());
  return inwards(block + 1, way);
}

}  // namespace einflow::imperfect
