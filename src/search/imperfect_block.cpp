// A block that is being chosen: the ways to cut a rank, what the choice so far costs at least, and the block as a nest.
#include <algorithm>
#include <cmath>

#include "cost/figures.hpp"
#include "search/imperfect_search.hpp"

namespace einflow::imperfect {
namespace {

/// Its number, or 0 where there is none.
std::size_t innermost_temporal(const std::vector<Loop>& loops) {
  for (std::size_t i = loops.size(); i > 0; --i) {
    if (!loops[i - 1].spatial) return i - 1;
  }
  return 0;
}

}  // namespace

std::vector<Cut> Search::ways_to_cut(const Open& open, int rank) const {
  std::vector<Cut> found;
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  const std::int64_t before = open.outside->cuts[static_cast<std::size_t>(rank)].left;
  const std::int64_t most = open.innermost == Open::kNone || open.innermost != rank ? before : before - 1;
  const std::int64_t least = open.innermost == Open::kNone ? before : 1;
  const std::int64_t last_most = at.axes.empty() ? space_.most_left(open.block, rank) : before;
  for (std::int64_t tile = least; tile <= std::min(most, last_most); ++tile) {
    if (!is_looked_at(tile, before, 0)) continue;
    Cut cut;
    cut.temporal = tile;
    add_spatial(open, rank, cut, tile, found);
  }
  return found;
}

void Search::add_spatial(const Open& open, int rank, Cut& cut, std::int64_t left, std::vector<Cut>& found) const {
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  const std::size_t axis = cut.spatial.size();
  if (axis == at.axes.size()) {
    const std::int64_t given = space_.tile_given(open.block, rank);
    if ((given == 0 || left == given) && left <= space_.most_left(open.block, rank)) found.push_back(cut);
    return;
  }
  const std::int64_t given = space_.trips_given(at.axes[axis], rank);
  const std::int64_t least = given == 1 ? left : 1 + (left - 1) / open.room[axis];
  const bool is_last = axis + 1 == at.axes.size();
  const std::int64_t most = is_last ? std::min(left, space_.most_left(open.block, rank)) : left;
  for (std::int64_t tile = least; tile <= most; ++tile) {
    if (given > 0 && 1 + (left - 1) / tile != given) continue;
    if (!is_looked_at(tile, left, open.room[axis])) continue;
    cut.spatial.push_back(tile);
    add_spatial(open, rank, cut, tile, found);
    cut.spatial.pop_back();
  }
}

/// Makes `next`, a copy of `open` but for this rank, choose the cut.
void Search::set_cut(const Open& open, int rank, const Cut& cut, Open& next) const {
  const auto r = static_cast<std::size_t>(rank);
  next.chosen[r] = true;
  next.cuts[r] = cut;
  next.inside[r] = open.outside->cuts[r].inside(cut);
  for (std::size_t axis = 0; axis < cut.spatial.size(); ++axis) next.room[axis] = open.room[axis] / cut.trips(axis);
}

bool Search::may_fit(const Open& open) const {
  if (space_.blocks[static_cast<std::size_t>(open.block)].end) return true;
  Lengths& lengths = scratch_.lengths;
  lengths.assign(static_cast<std::size_t>(space_.ranks), 1);
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (open.chosen[r]) lengths[r] = open.inside[r].left;
  }
  return space_.room_needed(open.block, open.held, lengths) <= space_.room(open.block);
}

void Search::find_longest_tiles(const Open& open) const {
  Lengths& lengths = scratch_.lengths;
  Lengths& longest = scratch_.longest;
  lengths.assign(static_cast<std::size_t>(space_.ranks), 1);
  longest = lengths;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    longest[r] = std::min(open.outside->cuts[r].left, space_.most_left(open.block, static_cast<int>(r)));
    if (open.chosen[r]) lengths[r] = longest[r] = open.inside[r].left;
  }
  if (space_.blocks[static_cast<std::size_t>(open.block)].end || std::isinf(space_.room(open.block))) return;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    if (open.chosen[r]) continue;
    std::int64_t fits = 1;
    for (std::int64_t too_long = longest[r] + 1; fits + 1 < too_long;) {
      lengths[r] = fits + (too_long - fits) / 2;
      (space_.room_needed(open.block, open.held, lengths) <= space_.room(open.block) ? fits : too_long) = lengths[r];
    }
    lengths[r] = 1;
    longest[r] = fits;
  }
}

/// Ranks that are still to be cut: how many positions they have at least. Their loops stand outside the innermost one.
void Search::find_unchosen(const Open& open) const {
  find_longest_tiles(open);
  const Lengths& longest = scratch_.longest;
  Unchosen& unchosen = scratch_.unchosen;
  unchosen.positions.assign(longest.size(), 0);
  unchosen.everywhere.assign(longest.size(), 0);
  double spread = 1;
  for (const std::int64_t room : open.room) spread *= static_cast<double>(room);
  for (std::size_t r = 0; r < longest.size(); ++r) {
    if (open.chosen[r]) continue;
    const auto tile = static_cast<double>(longest[r]);
    unchosen.positions[r] = cut_into(open.outside->cuts[r].reference, tile * spread);
    unchosen.everywhere[r] = cut_into(open.outside->cuts[r].everywhere, tile);
  }
}

/// All loops outside the block's place, as far as chosen, in the order that is best for the tensor.
void Search::find_loops_for(const Open& open, int tensor) const {
  std::vector<int>& order = scratch_.order;
  order.clear();
  for (const bool own : {true, false}) {
    for (int rank = 0; rank < space_.ranks; ++rank) {
      const bool chosen = open.chosen[static_cast<std::size_t>(rank)] && rank != open.innermost;
      if (chosen && space_.has(tensor, rank) == own) order.push_back(rank);
    }
  }
  if (open.innermost >= 0 && open.chosen[static_cast<std::size_t>(open.innermost)]) order.push_back(open.innermost);
  scratch_.loops = open.outside->mapping.loops;
  add_loops(open, order, scratch_.loops);
}

double Search::least_steps(const Open& open) const {
  auto& reference = scratch_.reference;
  auto& spread = scratch_.spread;
  reference.clear();
  spread.clear();
  double instances = 1;
  for (std::size_t r = 0; r < open.chosen.size(); ++r) {
    instances *= open.inside[r].trips_spatial;
    reference.push_back(&open.inside[r].reference);
    spread.push_back(1);
    if (open.chosen[r]) continue;
    for (const std::int64_t room : open.room) spread.back() *= static_cast<double>(room);
  }
  for (const std::int64_t room : open.room) instances *= static_cast<double>(room);
  return steps_.least(open.block, reference, spread, instances);
}

/// Coordinates that can be in use at each place, if every axis that is still open is used to the full.
std::vector<double> Search::instances_of(const Open& open) const {
  std::vector<double> instances = open.outside->instances;
  double chosen = 1;
  bool all_chosen = true;
  for (std::size_t r = 0; r < open.chosen.size(); ++r) {
    chosen *= open.inside[r].trips_spatial;
    all_chosen = all_chosen && open.chosen[r];
  }
  if (!all_chosen) {
    for (const std::int64_t room : open.room) chosen *= static_cast<double>(room);
  }
  const double fewer = chosen / instances[static_cast<std::size_t>(open.block)];
  for (auto block = static_cast<std::size_t>(open.block); block < instances.size(); ++block) instances[block] *= fewer;
  return instances;
}

/// What one transfer may serve beyond the block's place: at most all coordinates of ranks that the tensor lacks, or has
/// in a window.
void Search::set_shared(const Open& open, Holders& holders) const {
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    if (holders.block[t] == open.block) {
      holders.shared[t] = 1;
      continue;
    }
    for (std::size_t axis = 0; axis < at.axes.size(); ++axis) {
      const Mesh& mesh = *space_.machine.mesh(at.axes[axis].mesh);
      if (!(space_.einsum.is_output(tensor) ? mesh.reduction : mesh.multicast)) continue;
      bool all_chosen = true;
      for (int rank = 0; rank < space_.ranks; ++rank) {
        const auto r = static_cast<std::size_t>(rank);
        all_chosen = all_chosen && open.chosen[r];
        if (!open.chosen[r] || space_.alone(tensor, rank)) continue;
        holders.shared[t] *= static_cast<double>(open.cuts[r].trips(axis));
      }
      if (!all_chosen) holders.shared[t] *= static_cast<double>(open.room[axis]);
    }
  }
}

Value Search::bound_of(const Open& open, const std::vector<int>* order) const {
  ++bounded_;
  const bool end = space_.blocks[static_cast<std::size_t>(open.block)].end;
  const std::vector<double> instances = instances_of(open);
  const double share = space_.request.constraints.least_utilization;
  Value hopeless;
  hopeless.energy = hopeless.cycles = hopeless.traffic = std::numeric_limits<double>::infinity();
  if (instances.back() < share * space_.machine.compute_instances().to_double() * (1 - kEqual)) return hopeless;

  find_unchosen(open);
  Unchosen& unchosen = scratch_.unchosen;
  const bool anew = end && space_.forgets;
  std::vector<Loop>& loops = scratch_.loops;
  if (order != nullptr) {
    loops = open.outside->mapping.loops;
    add_loops(open, *order, loops);
  }
  Holders& holders = scratch_.holders;
  holders = open.outside->holders;
  std::vector<Passed>& passed = scratch_.passed;
  passed.resize(static_cast<std::size_t>(space_.tensors));
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    if (!end && (open.held >> tensor & 1U) == 0) continue;
    if (order == nullptr) find_loops_for(open, tensor);
    const bool innermost_known = open.innermost >= 0 && open.chosen[static_cast<std::size_t>(open.innermost)];
    unchosen.depth = anew ? 0 : innermost_known ? innermost_temporal(loops) : loops.size() + 1;
    passed[t] = scratch_.reload.at_least(tensor, loops, unchosen, anew);
    passed[t].merged = std::max(passed[t].merged, open.outside->holders.residencies[t]);
    passed[t].alone = std::max(passed[t].alone, passed[t].merged);
    holders.block[t] = open.block;
    holders.residencies[t] = passed[t].alone;
  }
  set_shared(open, holders);
  if (!end) {
    std::vector<double>& positions = scratch_.positions;
    positions = unchosen.positions;
    for (std::size_t r = 0; r < positions.size(); ++r) {
      if (open.chosen[r]) positions[r] = open.inside[r].positions();
    }
    set_arrivals(space_, open.block, open.inside, open.chosen, positions, holders);
  }
  Sums& sums = scratch_.sums;
  sums = open.outside->known;
  for (int figure = 0; figure < figures_.linear_count(); ++figure) {
    const auto f = static_cast<std::size_t>(figure);
    const LinearBound& bound = figures_.bound(figure);
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      const auto t = static_cast<std::size_t>(tensor);
      if (holders.block[t] != open.block) continue;
      sums[f] += bound.crossing(tensor, open.outside->holders.block[t], open.block, passed[t]);
    }
    if (!end) sums[f] += bound.ahead(open.block, holders);
  }
  const double steps = figures_.needs_cycles() ? least_steps(open) : 1;
  return figures_.value(sums, steps, instances).at_least(open.outside->bound);
}

void Search::add_loops(const Open& open, const std::vector<int>& order, std::vector<Loop>& loops) const {
  Lengths& left = scratch_.left;
  left.clear();
  for (const RankCuts& cuts : open.outside->cuts) left.push_back(cuts.left);
  const auto add = [&](Loop loop) {
    std::int64_t& of_rank = left[static_cast<std::size_t>(loop.rank)];
    if (loop.tile == of_rank) return;
    loop.trips = 1 + (of_rank - 1) / loop.tile;
    of_rank = loop.tile;
    loops.push_back(loop);
  };
  for (const int rank : order) {
    Loop loop;
    loop.rank = rank;
    loop.tile = open.cuts[static_cast<std::size_t>(rank)].temporal;
    add(loop);
  }
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  for (std::size_t axis = 0; axis < at.axes.size(); ++axis) {
    for (int rank = 0; rank < space_.ranks; ++rank) {
      if (!open.chosen[static_cast<std::size_t>(rank)]) continue;
      Loop loop;
      loop.spatial = true;
      loop.rank = rank;
      loop.tile = open.cuts[static_cast<std::size_t>(rank)].spatial[axis];
      loop.mesh = at.axes[axis].mesh;
      loop.axis = at.axes[axis].axis;
      add(loop);
    }
  }
}

std::optional<Node> Search::closed(const Open& open, const std::vector<int>& order) {
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  Lengths left;
  for (const RankCuts& cuts : open.inside) left.push_back(cuts.left);
  if (at.end && !space_.may_end(left)) return std::nullopt;
  Node node;
  node.mapping = open.outside->mapping;
  node.cuts = open.inside;
  node.holders = open.outside->holders;
  node.known = open.outside->known;
  node.instances = instances_of(open);
  add_loops(open, order, node.mapping.loops);
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    if (!at.end && (open.held >> tensor & 1U) == 0) continue;
    const auto t = static_cast<std::size_t>(tensor);
    node.mapping.holds[t].push_back({at.level, static_cast<int>(node.mapping.loops.size()), {}});
    node.holders.block[t] = open.block;
  }
  set_shared(open, node.holders);
  states_ += 1;
  if (at.end) counted_ += 1;
  spec_.mapping = std::move(node.mapping);
  const bool fits = count_into(open, node);
  node.mapping = std::move(spec_.mapping);
  if (!fits) return std::nullopt;

  std::vector<double> positions;
  for (const RankCuts& cuts : node.cuts) positions.push_back(cuts.positions());
  if (!at.end) set_arrivals(space_, open.block, node.cuts, open.chosen, positions, node.holders);
  Sums sums = node.known;
  for (int figure = 0; figure < figures_.linear_count() && !at.end; ++figure) {
    sums[static_cast<std::size_t>(figure)] += figures_.bound(figure).ahead(open.block, node.holders);
  }
  const double steps = figures_.needs_cycles() ? least_steps(open) : 1;
  node.bound = figures_.value(sums, steps, node.instances).at_least(open.outside->bound);
  return node;
}

/// Counts what passes into the place of the block; false where that does not fit, or where it cannot be counted.
bool Search::count_into(const Open& open, Node& node) {
  const Block& at = space_.blocks[static_cast<std::size_t>(open.block)];
  const bool short_form = uniform_.count(spec_.mapping, counts_);
  PositionCache cache;
  double need = 0;
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    const auto t = static_cast<std::size_t>(tensor);
    if (node.holders.block[t] != open.block) continue;
    const int hold = static_cast<int>(spec_.mapping.holds[t].size()) - 1;
    const auto counted = short_form ? std::optional(crossing_of(einflow::counts_of(counts_, tensor, hold), tensor))
                                    : count_crossing(spec_, tensor, hold, cache);
    if (!counted) {
      error_ = fail("a nest has too many different tile positions to be counted in closed form").value();
      return false;
    }
    node.holders.residencies[t] = counted->passed.alone;
    need += counted->tile * space_.bits(tensor);
    for (int figure = 0; figure < figures_.linear_count(); ++figure) {
      node.known[static_cast<std::size_t>(figure)] +=
          figures_.bound(figure).crossing(tensor, open.outside->holders.block[t], open.block, counted->passed);
    }
  }
  if (at.end) return true;
  return need * (space_.machine.storage(at.level)->double_buffered ? 2 : 1) <= space_.room(open.block);
}

/// The same, read off counts.
CountedCrossing Search::crossing_of(const HoldCounts& counts, int tensor) const {
  const bool output = space_.einsum.is_output(tensor);
  return {{(output ? counts.parent_updates : counts.parent_reads).to_double(),
           (output ? counts.drains : counts.fills).to_double(), counts.forwarded.to_double()},
          counts.tile_elements.to_double()};
}

}  // namespace einflow::imperfect
