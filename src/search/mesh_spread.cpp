#include "search/mesh_spread.hpp"

#include <map>

namespace einflow {

namespace {

using Trips = std::vector<std::int64_t>;  ///< per rank

/// All ways to use one axis.
void ways_on_axis(const MapModel& model, int mesh, int axis, int rank, std::int64_t left, Trips& trips,
                  std::vector<Trips>& ways) {
  if (rank == model.shapes.ranks()) {
    ways.push_back(trips);
    return;
  }
  for (const std::int64_t wanted : model.shapes.divisors_of(rank)) {
    if (wanted > left) break;
    if (!model.may_spread(mesh, axis, rank, wanted)) continue;
    trips[static_cast<std::size_t>(rank)] = wanted;
    ways_on_axis(model, mesh, axis, rank + 1, left / wanted, trips, ways);
  }
  trips[static_cast<std::size_t>(rank)] = 1;
}

}  // namespace

MeshSpreads::MeshSpreads(const MapModel& model, int mesh) : shapes_(model.shapes) {
  const auto ranks = static_cast<std::size_t>(shapes_.ranks());
  // Trips of each rank over all axes -> the lines of the first way found.
  std::map<Trips, std::vector<MeshSpread::Line>> spreads{{Trips(ranks, 1), {}}};
  const auto& axes = model.machine.mesh(mesh)->axes;
  for (int axis = 0; axis < static_cast<int>(axes.size()); ++axis) {
    std::vector<Trips> ways;
    Trips trips(ranks, 1);
    ways_on_axis(model, mesh, axis, 0, axes[static_cast<std::size_t>(axis)].size, trips, ways);
    std::map<Trips, std::vector<MeshSpread::Line>> extended;
    for (const auto& [known, lines] : spreads) {
      for (const Trips& way : ways) {
        Trips product = known;
        bool divides = true;
        for (std::size_t rank = 0; rank < ranks && divides; ++rank) {
          product[rank] *= way[rank];
          divides = shapes_.extent(static_cast<int>(rank)) % product[rank] == 0;
        }
        if (!divides || extended.contains(product)) continue;
        std::vector<MeshSpread::Line> all = lines;
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          if (way[rank] > 1) all.push_back({axis, static_cast<int>(rank), way[rank]});
        }
        extended.emplace(std::move(product), std::move(all));
      }
    }
    spreads = std::move(extended);
  }
  for (auto& [trips, lines] : spreads) {
    MeshSpread spread;
    spread.lines = std::move(lines);
    spread.lacking.fill(1);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      if (trips[rank] == 1) continue;
      const int index = shapes_.index_of(static_cast<int>(rank), trips[rank]);
      spread.ranks.push_back({static_cast<int>(rank), trips[rank], index});
      for (int t = 0; t < model.tensor_count(); ++t) {
        if (model.tensors[static_cast<std::size_t>(t)].group_of[rank] < 0) {
          spread.lacking[static_cast<std::size_t>(t)] *= static_cast<double>(trips[rank]);
        }
      }
    }
    all_.push_back(std::move(spread));
  }
  for (int rank = 0; rank < shapes_.ranks(); ++rank) {
    const auto& tiles = shapes_.divisors_of(rank);
    std::vector<int> table;
    for (const std::int64_t a : tiles) {
      for (const std::int64_t b : tiles) {
        table.push_back(a > tiles.back() / b ? -1 : shapes_.index_of(rank, a * b));
      }
    }
    products_.push_back(std::move(table));
  }
}

}  // namespace einflow
