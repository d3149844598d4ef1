#include "search/imperfect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "search/imperfect_search.hpp"

namespace einflow {
namespace imperfect {
namespace {

MapPoint point_of(const Found& found, const Figures& figures) {
  MapPoint point;
  point.spec = found.spec;
  point.value = figures.objective(found.value);
  const auto counts = count_movement(found.spec);
  const auto cost = cost_of(found.spec, *counts);
  point.energy_picojoules = cost->energy.total;
  point.cycles = cost->time.overlapped;
  return point;
}

}  // namespace

MapResult Search::result() const {
  MapResult result;
  for (const Found& found : best_) result.points.push_back(point_of(found, figures_));
  std::sort(result.points.begin(), result.points.end(), [](const MapPoint& a, const MapPoint& b) {
    return a.energy_picojoules.value_or(0) < b.energy_picojoules.value_or(0);
  });
  MapProof& proof = result.proof;
  proof.value = result.points.front().value;
  proof.stopped = stopped_;
  proof.optimal = stopped_.empty();
  proof.bound = proof.optimal ? proof.value : std::min(open_bound_, proof.value);
  proof.tile_shapes = 1;
  for (const Rank& rank : space_.einsum.ranks) proof.tile_shapes *= Count(rank.extent);
  proof.mappings = count_of_mappings(space_);
  proof.states = states_;
  proof.expanded = counted_;
  proof.seconds = static_cast<double>(std::clock() - start_) / CLOCKS_PER_SEC;
  result.conventions = {
      "mappings: every loop may cut to any tile, the last tile is what remains",
      "between two places one temporal loop per rank at most, and one par line per rank and mesh axis",
      "all tensors that a level holds are held at one place",
  };
  return result;
}

Diagnostics Search::nothing_found() const {
  if (!stopped_.empty()) return fail("no mapping was found before the search was stopped: " + stopped_).value();
  for (int block = 0; block < space_.last(); ++block) {
    Lengths least;
    for (int rank = 0; rank < space_.ranks; ++rank) least.push_back(block == 0 ? space_.extent(rank) : 1);
    for (int rank = 0; rank < space_.ranks; ++rank) {
      const std::int64_t given = space_.tile_given(block, rank);
      if (given > 0) least[static_cast<std::size_t>(rank)] = std::min(given, space_.extent(rank));
    }
    double need = std::numeric_limits<double>::infinity();
    const std::vector<unsigned> all{(1U << space_.tensors) - 1};
    for (const unsigned held : block == 0 ? all : space_.hold_choices(block)) {
      need = std::min(need, space_.room_needed(block, held, least));
    }
    if (need <= space_.room(block)) continue;
    const std::string& level = space_.machine.level_name(space_.blocks[static_cast<std::size_t>(block)].level);
    return fail(fmt::format("no mapping fits: {} needs at least {} B an instance and has room for {} B", level,
                            need / 8, space_.room(block) / 8))
        .value();
  }
  return fail("no mapping of the space fits and meets all constraints").value();
}

}  // namespace imperfect

Result<MapResult> best_imperfect_mapping(const MapRequest& request, Count most_mappings) {
  const imperfect::Space space(request);
  if (space.tensors > imperfect::kMostTensors) {
    return fail(fmt::format("the search takes at most {} tensors", imperfect::kMostTensors));
  }
  if (space.loops_per_rank() >= static_cast<int>(imperfect::LengthClasses::kMost)) {
    return fail("the machine has too many levels and mesh axes for this search");
  }
  const std::string missing = imperfect::missing_figure(space);
  if (!missing.empty()) return fail(missing, "choose another objective, or state the figures");
  return imperfect::Search(space, most_mappings).run();
}

}  // namespace einflow
