#include "report/report.hpp"

#include <utility>

#include "movement/movement.hpp"

namespace einflow {

Result<Report> analyze(Spec spec, std::vector<std::string> conventions, bool with_derivations) {
  Report report;
  Result<Counts> counts = count_movement(spec);
  if (!counts) return tl::unexpected(counts.error());
  Result<Cost> cost = cost_of(spec, *counts);
  if (!cost) return tl::unexpected(cost.error());
  if (with_derivations) {
    Result<std::vector<Derivation>> derivations = derive(spec);
    if (!derivations) return tl::unexpected(derivations.error());
    report.derivations = std::move(*derivations);
    Result<std::vector<LevelDerivation>> levels = derive_levels(spec, *counts, *cost);
    if (!levels) return tl::unexpected(levels.error());
    report.level_derivations = std::move(*levels);
  }
  report.misfits = misfits(spec, *counts, *cost);
  report.orders = movement_orders(spec);
  report.conventions = std::move(conventions);
  report.conventions.insert(report.conventions.end(), cost->conventions.begin(), cost->conventions.end());
  report.spec = std::move(spec);
  report.counts = std::move(*counts);
  report.cost = std::move(*cost);
  return report;
}

}  // namespace einflow
