#include "search/imperfect_search.hpp"

#include <algorithm>
#include <cmath>

#include "cost/capacity.hpp"
#include "movement/movement.hpp"

namespace einflow::imperfect {
namespace {

constexpr int kMostDetours = 3;
constexpr std::int64_t kMostBounded = 100'000;  ///< choices of a first look
constexpr double kSecondsBetweenReports = 0.05;

}  // namespace

Search::Search(const Space& space, Count most_mappings)
    : space_(space),
      figures_(space),
      steps_(space),
      most_mappings_(most_mappings),
      uniform_(space.einsum, space.machine),
      scratch_(space),
      spec_{space.einsum, space.machine, {}} {}

Result<MapResult> Search::run() {
  start_ = std::clock();
  for (const Look look : {Look::few_detours, Look::few_tiles, Look::all}) {
    if (!stopped_.empty() || error_) break;
    // What a first look leaves out, the last one sees; until then only the whole space is bounded.
    explore(look);
    if (look != Look::all) open_bound_ = figures_.objective(root_bound_);
  }
  if (error_) return tl::unexpected(*error_);
  if (best_.empty()) return tl::unexpected(nothing_found());
  return result();
}

void Search::explore(Look look) {
  look_ = look;
  open_bound_ = std::numeric_limits<double>::infinity();
  detours_ = kMostDetours;
  bounded_ = 0;
  Node root;
  root.mapping.holds.assign(static_cast<std::size_t>(space_.tensors), {Hold{0, 0, {}}});
  for (int rank = 0; rank < space_.ranks; ++rank) {
    root.cuts.push_back(RankCuts::whole(space_.extent(rank)));
    const std::int64_t given = space_.tile_given(0, rank);
    if (given > 0 && given != space_.extent(rank)) return;
  }
  for (int tensor = 0; tensor < space_.tensors; ++tensor) {
    root.holders.block.push_back(0);
    root.holders.residencies.push_back(space_.touched(tensor));
    root.holders.shared.push_back(1);
    if (space_.holding(0, tensor) == Holding::bypassed) return;
  }
  const Lengths& whole = [&] {
    Lengths lengths;
    for (const RankCuts& cuts : root.cuts) lengths.push_back(cuts.left);
    return lengths;
  }();
  if (space_.room_needed(0, (1U << space_.tensors) - 1, whole) > space_.room(0)) return;
  root.instances.push_back(1);
  for (std::size_t block = 1; block < space_.blocks.size(); ++block) {
    root.instances.push_back(root.instances.back());
    for (const MeshPlace& axis : space_.blocks[block].axes) root.instances.back() *= static_cast<double>(axis.size);
  }
  const std::vector<double> once(root.cuts.size(), 1);
  set_arrivals(space_, 0, root.cuts, std::vector<bool>(root.cuts.size(), true), once, root.holders);
  Sums sums;
  for (int figure = 0; figure < figures_.linear_count(); ++figure) {
    root.known.push_back(figures_.bound(figure).constant());
    sums.push_back(root.known.back() + figures_.bound(figure).ahead(0, root.holders));
  }
  std::vector<const LengthClasses*> reference;
  for (const RankCuts& cuts : root.cuts) reference.push_back(&cuts.reference);
  root.bound = figures_.value(sums, steps_.least(0, reference, once, 1), root.instances);
  root_bound_ = root.bound;
  choose_holds(root, 1);
}

template <typename T, typename Visit>
void Search::visit(std::vector<Child<T>>& children, Visit&& visit_child) {
  std::stable_sort(children.begin(), children.end(), [&](const Child<T>& a, const Child<T>& b) {
    const double x = figures_.order(a.bound);
    const double y = figures_.order(b.bound);
    return x != y ? x < y : a.size > b.size;
  });
  const int detours = detours_;
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (is_hopeless(children[i].bound)) continue;
    if (look_ == Look::few_detours && static_cast<int>(i) > detours) break;
    if (is_over()) {
      note_open(children[i].bound);
      continue;
    }
    detours_ = detours - static_cast<int>(i);
    visit_child(children[i]);
    detours_ = detours;
  }
}

void Search::choose_holds(const Node& outside, int block) {
  if (is_over()) return note_open(outside.bound);
  Open open;
  open.outside = &outside;
  open.block = block;
  const auto ranks = static_cast<std::size_t>(space_.ranks);
  open.chosen.assign(ranks, false);
  open.cuts.resize(ranks);
  open.inside = outside.cuts;
  const Block& at = space_.blocks[static_cast<std::size_t>(block)];
  for (const MeshPlace& axis : at.axes) open.room.push_back(axis.size);
  std::vector<Child<unsigned>> children;
  for (const unsigned held : at.end ? std::vector<unsigned>{0} : space_.hold_choices(block)) {
    open.held = held;
    if (!may_fit(open)) continue;
    children.push_back({bound_of(open), 0, held});
  }
  visit(children, [&](const Child<unsigned>& child) {
    open.held = child.what;
    choose_innermost(open);
  });
}

bool Search::may_be_innermost(const Open& open, int rank) const {
  const int stationary = space_.stationary(open.block);
  if (rank == Open::kNone) {
    if (stationary < 0) return true;
    const auto& loops = open.outside->mapping.loops;
    const auto innermost = std::find_if(loops.rbegin(), loops.rend(), [](const Loop& loop) { return !loop.spatial; });
    return innermost == loops.rend() || !space_.has(stationary, innermost->rank);
  }
  return open.outside->cuts[static_cast<std::size_t>(rank)].left > 1 &&
         (stationary < 0 || !space_.has(stationary, rank));
}

void Search::choose_innermost(const Open& open) {
  Open next = open;
  if (!order_matters(space_, open.block)) {
    next.innermost = Open::kAny;
    return choose_cuts(next);
  }
  std::vector<Child<int>> children;
  for (int rank = Open::kNone; rank < space_.ranks; ++rank) {
    if (!may_be_innermost(open, rank)) continue;
    next.innermost = rank;
    children.push_back({bound_of(next), 0, rank});
  }
  visit(children, [&](const Child<int>& child) {
    next.innermost = child.what;
    choose_cuts(next);
  });
}

void Search::choose_cuts(const Open& open) {
  // The innermost loop's rank first: it says which tensors stay.
  int rank = open.innermost >= 0 && !open.chosen[static_cast<std::size_t>(open.innermost)] ? open.innermost : 0;
  while (rank < space_.ranks && open.chosen[static_cast<std::size_t>(rank)]) ++rank;
  if (rank == space_.ranks) return choose_order(open);
  std::vector<Child<Cut>> children;
  Open next = open;
  for (Cut& cut : ways_to_cut(open, rank)) {
    set_cut(open, rank, cut, next);
    if (!may_fit(next)) continue;
    const Value bound = bound_of(next);
    if (is_hopeless(bound)) continue;
    const auto size = static_cast<double>(cut.left());
    children.push_back({bound, size, std::move(cut)});
  }
  visit(children, [&](const Child<Cut>& child) {
    set_cut(open, rank, child.what, next);
    choose_cuts(next);
  });
}

void Search::choose_order(const Open& open) {
  OrderQuestion question{open.block,   open.held, std::max(open.innermost, -1), {}, &open.outside->cuts,
                         &open.inside, &open.cuts};
  for (int rank = 0; rank < space_.ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (open.cuts[r].temporal < open.outside->cuts[r].left) question.ranks.push_back(rank);
  }
  const bool several = question.ranks.size() > 1 && order_matters(space_, open.block);
  std::vector<Child<Node>> children;
  for (const std::vector<int>& order : orders_of(space_, question)) {
    if (is_over()) return note_open(open.outside->bound);
    if (several && is_hopeless(bound_of(open, &order))) continue;
    std::optional<Node> node = closed(open, order);
    if (error_) return;
    if (!node || is_hopeless(node->bound)) continue;
    const Value bound = node->bound;
    children.push_back({bound, 0, std::move(*node)});
  }
  visit(children, [&](const Child<Node>& child) {
    if (open.block == space_.last()) {
      finish(child.what);
    } else {
      choose_holds(child.what, open.block + 1);
    }
  });
}

void Search::finish(const Node& node) {
  spec_.mapping = node.mapping;
  const Result<Counts> counts = count_movement(spec_);
  if (!counts) {
    error_ = counts.error();
    return;
  }
  const Result<Cost> cost = cost_of(spec_, *counts);
  if (!cost) {
    error_ = cost.error();
    return;
  }
  const double in_use = counts->holds.back().instances.to_double();
  const double wanted = space_.request.constraints.least_utilization * space_.machine.compute_instances().to_double();
  if (in_use >= wanted * (1 - kEqual) && misfits(spec_, *counts, *cost).empty()) take(spec_, *cost);
}

bool Search::is_hopeless(const Value& bound) const {
  if (std::isinf(figures_.objective(bound))) return true;
  if (figures_.front()) {
    return std::any_of(best_.begin(), best_.end(), [&](const Found& found) {
      return found.value.energy <= bound.energy * (1 + kEqual) && found.value.cycles <= bound.cycles;
    });
  }
  if (best_.empty()) return false;
  const Objective::Kind kind = space_.request.objective.kind;
  const bool summed = kind == Objective::Kind::energy || kind == Objective::Kind::edp;
  const double best = figures_.objective(best_.front().value);
  return figures_.objective(bound) >= (summed ? best * (1 - kEqual) : best);
}

void Search::take(const Spec& spec, const Cost& cost) {
  const Value value = figures_.exact(spec, cost);
  if (is_hopeless(value)) return;
  if (figures_.front()) {
    std::erase_if(best_, [&](const Found& found) {
      return value.energy <= found.value.energy * (1 + kEqual) && value.cycles <= found.value.cycles;
    });
  } else {
    best_.clear();
  }
  best_.push_back({spec, value});
}

/// In a first look, only tiles of some even cuts.
bool Search::is_looked_at(std::int64_t tile, std::int64_t left, std::int64_t room) const {
  if (look_ != Look::few_tiles || left % tile == 0) return true;
  const std::int64_t trips = 1 + (left - 1) / tile;
  const bool is_even = tile == 1 + (left - 1) / trips;
  return is_even && ((trips & (trips - 1)) == 0 || trips == room);
}

bool Search::is_over() {
  if (!stopped_.empty() || error_) return true;
  if (look_ != Look::all && bounded_ > kMostBounded) return true;
  if (counted_ >= most_mappings_) {
    stop("limit of " + most_mappings_.str() + " mappings");
    return true;
  }
  if (++ticks_ % 16 != 0) return false;
  const double seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  if (space_.request.most_seconds && seconds >= *space_.request.most_seconds) stop("limit of time");
  if (stopped_.empty() && space_.request.progress && seconds >= told_at_ + kSecondsBetweenReports) {
    tell_progress(seconds);
  }
  return !stopped_.empty();
}

void Search::stop(const std::string& why) { stopped_ = why; }

void Search::tell_progress(double seconds) {
  told_at_ = seconds;
  MapProgress progress;
  progress.stage = look_ != Look::all ? "first look" : "branch and bound";
  progress.expanded = counted_;
  progress.bound = figures_.objective(root_bound_);
  for (const Found& found : best_) {
    const double value = figures_.objective(found.value);
    progress.best = std::min(progress.best.value_or(value), value);
  }
  if (!space_.request.progress(progress)) stop("stopped by the caller");
}

}  // namespace einflow::imperfect
