#include "search/map_space.hpp"

namespace einflow {

namespace {

/// Number of ways to reach each shape from inside.
using Ways = std::vector<double>;

/// Any sequence of temporal loops, two neighbours never of one rank; none at all is one way.
Ways with_temporal_loops(const MapModel& model, const Ways& inside) {
  const Shapes& shapes = model.shapes;
  const auto ranks = static_cast<std::size_t>(shapes.ranks());
  // by_last[rank]: sequences whose outermost loop so far is of that rank.
  std::vector<Ways> by_last(ranks, Ways(inside.size(), 0));
  Ways all = inside;
  for (int shape = 0; shape < shapes.size(); ++shape) {
    const auto s = static_cast<std::size_t>(shape);
    for (std::size_t last = 0; last < ranks; ++last) all[s] += by_last[last][s];
    if (all[s] == 0) continue;
    for (int rank = 0; rank < shapes.ranks(); ++rank) {
      const auto& tiles = shapes.divisors_of(rank);
      const int index = shapes.index(shape, rank);
      const double ways = all[s] - by_last[static_cast<std::size_t>(rank)][s];
      for (int larger = index + 1; larger < static_cast<int>(tiles.size()); ++larger) {
        if (tiles[static_cast<std::size_t>(larger)] % tiles[static_cast<std::size_t>(index)] != 0) continue;
        by_last[static_cast<std::size_t>(rank)][static_cast<std::size_t>(shapes.with(shape, rank, larger))] += ways;
      }
    }
  }
  return all;
}

/// Par lines on one axis: a factor for each rank, their product at most the axis's size.
Ways with_axis(const MapModel& model, const Ways& inside, int mesh, int axis) {
  const Shapes& shapes = model.shapes;
  const std::int64_t size = model.machine.mesh(mesh)->axes[static_cast<std::size_t>(axis)].size;
  std::vector<std::vector<std::pair<std::int64_t, double>>> at(inside.size());  // coordinates in use, ways
  for (std::size_t s = 0; s < inside.size(); ++s) {
    if (inside[s] > 0) at[s].push_back({1, inside[s]});
  }
  const auto add = [](std::vector<std::pair<std::int64_t, double>>& list, std::int64_t used, double ways) {
    for (auto& [known, sum] : list) {
      if (known != used) continue;
      sum += ways;
      return;
    }
    list.push_back({used, ways});
  };
  for (int rank = 0; rank < shapes.ranks(); ++rank) {
    const auto& tiles = shapes.divisors_of(rank);
    for (int shape = shapes.size() - 1; shape >= 0; --shape) {
      const auto from = at[static_cast<std::size_t>(shape)];
      if (model.forced_trips(mesh, axis, rank) > 1) at[static_cast<std::size_t>(shape)].clear();
      const int index = shapes.index(shape, rank);
      for (int larger = index + 1; larger < static_cast<int>(tiles.size()); ++larger) {
        const std::int64_t wide = tiles[static_cast<std::size_t>(larger)],
                           tile = tiles[static_cast<std::size_t>(index)];
        if (wide / tile > size) break;
        if (wide % tile != 0 || !model.may_spread(mesh, axis, rank, wide / tile)) continue;
        for (const auto& [used, ways] : from) {
          if (used * (wide / tile) > size) continue;
          add(at[static_cast<std::size_t>(shapes.with(shape, rank, larger))], used * (wide / tile), ways);
        }
      }
    }
  }
  Ways outside(inside.size(), 0);
  for (std::size_t s = 0; s < inside.size(); ++s) {
    for (const auto& [used, ways] : at[s]) outside[s] += ways;
  }
  return outside;
}

}  // namespace

double mappings_in_space(const MapModel& model) {
  Ways ways(static_cast<std::size_t>(model.shapes.size()), 0);
  for (const int start : model.starts) ways[static_cast<std::size_t>(start)] = 1;
  for (int place = model.place_count(); place > 0; --place) {
    const auto& gap = model.meshes[static_cast<std::size_t>(place)];
    for (auto mesh = gap.rbegin(); mesh != gap.rend(); ++mesh) {
      for (int axis = 0; axis < static_cast<int>(model.machine.mesh(*mesh)->axes.size()); ++axis) {
        ways = with_axis(model, ways, *mesh, axis);
      }
    }
    const int outer = place - 1;
    if (outer == 0) return with_temporal_loops(model, ways).back();
    double held = 1;
    bool may_be_empty = true;
    for (int t = 0; t < model.tensor_count(); ++t) {
      if (model.may_hold(outer, t) && !model.must_hold(outer, t)) held *= 2;
      may_be_empty = may_be_empty && !model.must_hold(outer, t);
    }
    // A level that holds nothing has no place and no loops of its own.
    const Ways placed = with_temporal_loops(model, ways);
    for (std::size_t s = 0; s < ways.size(); ++s) {
      ways[s] = placed[s] * (may_be_empty ? held - 1 : held) + (may_be_empty ? ways[s] : 0);
    }
  }
  return 0;
}

}  // namespace einflow
