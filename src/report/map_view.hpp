// The best mapping of a problem with its proof, for people and for scripts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/json.hpp"
#include "report/layout.hpp"
#include "report/report.hpp"
#include "search/mapper.hpp"

namespace einflow {

/// What `einflow map` answers for one problem.
struct MapReport {
  std::string name;  ///< of the problem; may be empty
  Objective objective;
  bool front = false;
  bool imperfect = false;  ///< the space has tiles of every size
  MapProof proof;
  std::vector<double> values;            ///< of the objective, one per point
  std::vector<Report> points;            ///< what `analyze` has for each mapping found, at least one
  std::vector<std::string> given;        ///< parts of the mapping that were asked for, as written
  std::vector<std::string> conventions;  ///< of the reading of the problem and of the search

  /// These and those of the points' figures, each once.
  std::vector<std::string> all_conventions() const;
  /// What no figure of the points counts, each once.
  std::vector<std::string> uncounted() const;
};

/// The answer to a request, with every mapping analysed. `result` has a point. Fails only where a number leaves 128
/// bits.
Result<MapReport> map_report(const MapRequest& request, const MapResult& result, std::vector<std::string> conventions);

/// "einflow-map-1":
/// - problem, machine
/// - objective: "energy", "cycles", "edp", "traffic:LEVEL" or "front"
/// - value, unit ("pJ", "cycles", "pJ cycles", "bits"), bound, gap = (value - bound) / value; not with "front"
/// - optimal: no mapping of the space is better (a front: it is complete); stopped: why that is not proved, if so
/// - space: tile_shapes (of one place), mappings (before capacity), given (constraints)
/// - states: partial mappings left after those that do not differ in what stays were joined
/// - expanded: of these, looked into
/// - seconds: of processor time
/// - points: energy_pj, cycles, edp (J s, where a clock is stated), utilization, limited_by, mapping (nest lines),
///   report (`analyze --json`; of a front only with `reports`)
/// - conventions, uncounted
Json to_json(const MapReport& report, bool reports);

/// Which mappings of a front are shown in full.
struct ShownNests {
  bool all = false;
  std::size_t number = 0;  ///< from 1; 0 = none
};

std::string to_text(const MapReport& report, const ShownNests& shown, const TextStyle& style);

/// "energy", "traffic:Buffer": as the user writes it.
std::string objective_name(const Objective& objective, const Machine& machine);
/// The unit of MapPoint::value.
std::string objective_unit(const Objective& objective);
/// A value as people read it, "5.432 mJ".
std::string value_text(const Objective& objective, double value);
/// What the search says of its own end: "the optimum of this space", or the gap and why it is not closed.
std::string proof_text(const Objective& objective, const MapProof& proof);
/// "nest lines" with reads, writes, room, energy and cycles of each level, and the totals.
std::string mapping_text(const Report& report, const TextStyle& style);

}  // namespace einflow
