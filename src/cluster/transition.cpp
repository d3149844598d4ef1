// The way from one placement to another: the cheapest chain of collectives, each on one mesh axis.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <queue>

#include "cluster/program.hpp"
#include "cluster/traffic.hpp"

namespace einflow::cluster {

namespace {

/// Fewest elements sent; then no redistribution, fewer collectives, fewer steps.
struct Cost {
  Count sent;
  int redistributions = 0;
  int collectives = 0;
  Count steps;
  auto operator<=>(const Cost&) const = default;
};

std::string key_of(const Placement& placement) {
  std::string key;
  for (const State& state : placement.states) key += fmt::format("{}@{};", to_text(state), state.depth);
  return key;
}

int depth_of(const Placement& placement, const std::string& rank) {
  int axes = 0;
  for (const State& state : placement.states) axes += state.kind == StateKind::split && state.rank == rank ? 1 : 0;
  return axes;
}

class Search {
 public:
  Search(Collective pattern, const DeviceMesh& mesh) : pattern_(std::move(pattern)), mesh_(mesh) {}

  Result<std::vector<Collective>> run() {
    visit(pattern_.from, {}, {});
    const std::string goal = key_of(pattern_.to);
    while (!queue_.empty()) {
      const auto [cost, key] = queue_.top();
      queue_.pop();
      if (done_.count(key) != 0) continue;
      done_[key] = true;
      if (key == goal) return reached_.at(key).path;
      expand(reached_.at(key));
    }
    return fail(
        fmt::format("no collective leads from {} to {}", to_text(pattern_.from, mesh_), to_text(pattern_.to, mesh_)));
  }

 private:
  struct Reached {
    Placement placement;
    Cost cost;
    std::vector<Collective> path;
  };
  using Entry = std::pair<Cost, std::string>;

  void visit(const Placement& placement, const Cost& cost, std::vector<Collective> path) {
    const std::string key = key_of(placement);
    const auto found = reached_.find(key);
    if (found != reached_.end() && found->second.cost <= cost) return;
    reached_[key] = {placement, cost, std::move(path)};
    queue_.emplace(cost, key);
  }

  void step(const Reached& from, CollectiveKind kind, int axis, const Placement& to) {
    Collective next = pattern_;
    next.kind = kind;
    next.axis = axis;
    next.from = from.placement;
    next.to = to;
    Cost cost = from.cost;
    const bool redistributes = kind == CollectiveKind::redistribute;
    cost.sent += total_sent(next, mesh_);
    cost.steps += redistributes ? Count(1) : traffic_of(next, mesh_).steps;
    ++cost.collectives;
    if (redistributes) ++cost.redistributions;
    std::vector<Collective> path = from.path;
    path.push_back(std::move(next));
    visit(to, cost, std::move(path));
  }

  void expand(const Reached& node) {
    const Reached from = node;  // visiting moves what the map holds
    bool partial_somewhere = false;
    for (std::size_t axis = 0; axis < mesh_.axes.size(); ++axis) {
      const State state = from.placement.states[axis];
      const int number = static_cast<int>(axis);
      partial_somewhere = partial_somewhere || state.kind == StateKind::partial;
      // A cut can be undone only where none is inside it.
      if (state.kind == StateKind::split && state.depth + 1 != depth_of(from.placement, state.rank)) continue;
      Placement next = from.placement;
      next.states[axis] = replicated();
      if (state.kind == StateKind::partial) step(from, CollectiveKind::all_reduce, number, next);
      if (state.kind == StateKind::split) step(from, CollectiveKind::all_gather, number, next);
      for (const Rank& rank : pattern_.ranks) {
        if (state.kind == StateKind::split && state.rank == rank.name) continue;
        next.states[axis] = split(rank.name, depth_of(from.placement, rank.name));
        if (state.kind == StateKind::partial) step(from, CollectiveKind::reduce_scatter, number, next);
        if (state.kind == StateKind::split) step(from, CollectiveKind::all_to_all, number, next);
        if (state.kind == StateKind::replicated) step(from, CollectiveKind::slice, number, next);
      }
      if (state.kind == StateKind::replicated && pattern_.to.states[axis].kind == StateKind::partial) {
        next.states[axis] = pattern_.to.states[axis];
        step(from, CollectiveKind::slice, number, next);
      }
    }
    const bool partial_at_the_end = std::any_of(pattern_.to.states.begin(), pattern_.to.states.end(),
                                                [](const State& s) { return s.kind == StateKind::partial; });
    if (!partial_somewhere && !partial_at_the_end) step(from, CollectiveKind::redistribute, 0, pattern_.to);
  }

  Collective pattern_;
  const DeviceMesh& mesh_;
  std::map<std::string, Reached> reached_;
  std::map<std::string, bool> done_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

/// The collective that changes one axis directly, where there is one.
std::optional<CollectiveKind> direct_change(const State& from, const State& to, int depth_before, int depth_after) {
  const auto innermost = [](const State& state, int axes) {
    return state.kind != StateKind::split || state.depth + 1 == axes;
  };
  if (!innermost(from, depth_before) || !innermost(to, depth_after)) return std::nullopt;
  if (from.kind == StateKind::partial && to.kind == StateKind::replicated) return CollectiveKind::all_reduce;
  if (from.kind == StateKind::partial && to.kind == StateKind::split) return CollectiveKind::reduce_scatter;
  if (from.kind == StateKind::split && to.kind == StateKind::replicated) return CollectiveKind::all_gather;
  if (from.kind == StateKind::split && to.kind == StateKind::split && from.rank != to.rank) {
    return CollectiveKind::all_to_all;
  }
  if (from.kind == StateKind::replicated) return CollectiveKind::slice;
  return std::nullopt;
}

}  // namespace

Result<std::vector<Collective>> transition(const std::string& tensor, const std::vector<Rank>& ranks,
                                           const ElementType& type, const Placement& from, const Placement& to,
                                           const DeviceMesh& mesh) {
  if (auto fits = check(from, mesh, ranks); !fits) return tl::unexpected(fits.error());
  if (auto fits = check(to, mesh, ranks); !fits) return tl::unexpected(fits.error());
  Collective pattern;
  pattern.tensor = tensor;
  pattern.ranks = ranks;
  pattern.type = type;
  pattern.from = from;
  pattern.to = to;
  int changed = -1;
  int changes = 0;
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (from.states[axis] == to.states[axis]) continue;
    changed = static_cast<int>(axis);
    ++changes;
  }
  if (changes == 0) return std::vector<Collective>{};
  if (changes == 1) {
    const State& before = from.states[static_cast<std::size_t>(changed)];
    const State& after = to.states[static_cast<std::size_t>(changed)];
    const auto kind = direct_change(before, after, depth_of(from, before.rank), depth_of(to, after.rank));
    if (kind) {
      pattern.kind = *kind;
      pattern.axis = changed;
      return std::vector<Collective>{pattern};
    }
  }
  return Search(std::move(pattern), mesh).run();
}

}  // namespace einflow::cluster
