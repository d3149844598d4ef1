// The mapper against brute force: on random small cases best_mapping() finds what trying every mapping finds.
// EINFLOW_MAP_CASES and EINFLOW_MAP_SEED choose how many cases and the first seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>

#include "cost/capacity.hpp"
#include "cost/figures.hpp"
#include "movement/movement.hpp"
#include "support/exhaustive_mapper.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_map_case.hpp"
#include "support/spec_yaml.hpp"

namespace einflow {
namespace {

using testing::MapCase;
using Kind = Objective::Kind;

/// Cases in which every feature must occur.
constexpr int kCases = 150;
#ifdef __SANITIZE_ADDRESS__
constexpr int kDefaultCases = 15;
#else
constexpr int kDefaultCases = kCases;
#endif

/// Sums of the same terms in another order differ by rounding.
bool equal(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

std::string name_of(const Objective& objective, const Machine& machine) {
  switch (objective.kind) {
    case Kind::energy:
      return "energy";
    case Kind::cycles:
      return "cycles";
    case Kind::edp:
      return "edp";
    case Kind::traffic:
      return "traffic of " + machine.level_name(objective.level);
  }
  return "";
}

/// Energy, cycles, their product, and the traffic of every storage level.
std::vector<Objective> all_objectives(const Machine& machine) {
  std::vector<Objective> objectives{{Kind::energy, -1}, {Kind::cycles, -1}, {Kind::edp, -1}};
  for (const int level : storage_levels(machine)) objectives.push_back({Kind::traffic, level});
  return objectives;
}

/// Nothing where the cost has no such figure.
std::optional<double> value_of(const Objective& objective, const Cost& cost) {
  const std::optional<double> energy = cost.energy.total;
  const std::optional<Count> cycles = cost.time.overlapped;
  switch (objective.kind) {
    case Kind::energy:
      return energy;
    case Kind::cycles:
      return cycles ? std::optional(cycles->to_double()) : std::nullopt;
    case Kind::edp:
      return energy && cycles ? std::optional(*energy * cycles->to_double()) : std::nullopt;
    case Kind::traffic:
      for (const LevelCost& level : cost.levels) {
        if (level.level == objective.level) return ((level.bytes_read + level.bytes_written) * Ratio(8)).to_double();
      }
  }
  return std::nullopt;
}

/// A mapping that uses nothing that the machine states energies (or rates and bandwidths) for costs nothing of what is
/// stated, where something is: what is not stated counts for nothing in every mapping alike.
Cost completed(Cost cost, const MapCase& map_case) {
  for (const Objective& stated : objectives_of(map_case.einsum, map_case.machine)) {
    if (stated.kind == Kind::energy && !cost.energy.total) cost.energy.total = 0;
    if (stated.kind == Kind::cycles && !cost.time.overlapped) cost.time.overlapped = Count(0);
  }
  return cost;
}

struct FrontPoint {
  double energy = 0;
  Count cycles;
};

/// What trying every mapping finds.
struct Tried {
  struct Best {
    double value = 0;
    Spec spec;
  };
  std::int64_t fitting = 0;
  std::int64_t too_large = 0;
  std::vector<std::optional<Best>> best;  ///< by all_objectives()
  std::map<Count, double> least_energy;   ///< by cycles, of mappings that have both

  /// Rising energy, falling cycles. Energies that differ by rounding alone are the same.
  std::vector<FrontPoint> front() const {
    std::vector<FrontPoint> points;  // from few cycles to many
    for (const auto& [cycles, energy] : least_energy) {
      const bool less = points.empty() || (energy < points.back().energy && !equal(energy, points.back().energy));
      if (less) points.push_back({energy, cycles});
    }
    std::reverse(points.begin(), points.end());
    return points;
  }
};

Tried try_all(const MapCase& map_case) {
  const std::vector<Objective> objectives = all_objectives(map_case.machine);
  Tried tried;
  tried.best.resize(objectives.size());
  const auto consider = [&](const Spec& spec, const Counts&, const Cost& as_stated) {
    const Cost cost = completed(as_stated, map_case);
    ++tried.fitting;
    for (std::size_t i = 0; i < objectives.size(); ++i) {
      const std::optional<double> value = value_of(objectives[i], cost);
      if (value && (!tried.best[i] || *value < tried.best[i]->value)) tried.best[i] = Tried::Best{*value, spec};
    }
    if (!cost.energy.total || !cost.time.overlapped) return;
    const auto [at, is_new] = tried.least_energy.emplace(*cost.time.overlapped, *cost.energy.total);
    if (!is_new) at->second = std::min(at->second, *cost.energy.total);
  };
  tried.too_large = testing::for_each_mapping(map_case.einsum, map_case.machine, map_case.constraints, consider);
  return tried;
}

std::string nest_of(const Spec& spec) { return to_text(spec.mapping, spec.einsum, spec.machine); }

/// What is wrong with a point by itself: another problem, outside the space or the constraints, too large, or figures
/// that are not its mapping's. Empty where nothing is.
std::string fault_of(const MapPoint& point, const MapCase& map_case) {
  const Spec& spec = point.spec;
  if (!(spec.einsum == map_case.einsum)) return "another einsum";
  if (!(spec.machine == map_case.machine)) return "another machine";
  if (std::string outside = testing::outside_space(spec); !outside.empty()) return outside;
  if (const std::string violated = testing::violated_constraint(spec, map_case.constraints); !violated.empty()) {
    return "a constraint is not met: " + violated;
  }
  const Result<Counts> counts = count_movement(spec);
  if (!counts) return render(counts.error(), {});
  Result<Cost> cost = cost_of(spec, *counts);
  if (!cost) return render(cost.error(), {});
  *cost = completed(std::move(*cost), map_case);
  if (!misfits(spec, *counts, *cost).empty()) return "does not fit";
  const std::optional<double> energy = cost->energy.total;
  if (energy.has_value() != point.energy_picojoules.has_value()) return "energy there or not";
  if (energy && !equal(*energy, *point.energy_picojoules)) {
    return fmt::format("costs {} pJ, said are {}", *energy, *point.energy_picojoules);
  }
  return cost->time.overlapped == point.cycles ? "" : "other cycles than said";
}

/// The value of the point's mapping by the law.
std::optional<double> value_of(const Objective& objective, const MapPoint& point, const MapCase& map_case) {
  const Result<Counts> counts = count_movement(point.spec);
  const Result<Cost> cost = cost_of(point.spec, *counts);
  return value_of(objective, completed(*cost, map_case));
}

MapRequest request_of(const MapCase& map_case, const Objective& objective, bool front) {
  MapRequest request;
  request.einsum = map_case.einsum;
  request.machine = map_case.machine;
  request.objective = objective;
  request.front = front;
  request.constraints = map_case.constraints;
  return request;
}

/// What two threads find and one does not, or the reverse.
std::string fault_of_threads(MapRequest request, const Result<MapResult>& with_one) {
  request.threads = 2;
  const Result<MapResult> with_two = best_mapping(request);
  if (with_one.has_value() != with_two.has_value()) return "with two threads: a result or none";
  if (!with_one) return {};
  if (with_one->points.size() != with_two->points.size()) return "with two threads: another number of points";
  for (std::size_t i = 0; i < with_one->points.size(); ++i) {
    const std::string one = nest_of(with_one->points[i].spec);
    const std::string two = nest_of(with_two->points[i].spec);
    if (one != two) return fmt::format("with one thread\n{}with two threads\n{}", one, two);
  }
  return {};
}

/// Compares the best mapping for one objective; nothing tried has such a figure where `expected` is empty.
std::string fault_of_best(const MapCase& map_case, const Objective& objective,
                          const std::optional<Tried::Best>& expected) {
  const MapRequest request = request_of(map_case, objective, false);
  const Result<MapResult> result = best_mapping(request);
  if (!expected) return result ? "found a mapping; expected an error" : fault_of_threads(request, result);
  const std::string best = fmt::format("expected {} with\n{}", expected->value, nest_of(expected->spec));
  if (!result) return render(result.error(), {}) + best;
  if (result->points.size() != 1) return fmt::format("{} points, expected 1", result->points.size());
  const MapPoint& point = result->points.front();
  std::string found = fmt::format("found {} with\n{}{}", point.value, nest_of(point.spec), best);
  if (const std::string fault = fault_of(point, map_case); !fault.empty()) return fault + "\n" + found;
  const std::optional<double> value = value_of(objective, point, map_case);
  if (!value || !equal(*value, point.value)) return "the value is not that of the mapping\n" + found;
  if (!equal(point.value, expected->value)) return found;
  const MapProof& proof = result->proof;
  if (!proof.optimal || !proof.stopped.empty()) return "not proved optimal\n" + found;
  if (!equal(proof.value, point.value) || !equal(proof.bound, point.value)) {
    return fmt::format("proof of value {} and bound {}\n{}", proof.value, proof.bound, found);
  }
  return fault_of_threads(request, result);
}

std::string text_of(const std::vector<FrontPoint>& front) {
  std::string text;
  for (const FrontPoint& point : front) text += fmt::format("  {} pJ, {} cycles\n", point.energy, point.cycles.str());
  return text;
}

std::string fault_of_front(const MapCase& map_case, const std::vector<FrontPoint>& expected) {
  const MapRequest request = request_of(map_case, {}, true);
  const Result<MapResult> result = best_mapping(request);
  if (expected.empty()) return result ? "found a front; expected an error" : fault_of_threads(request, result);
  if (!result) return render(result.error(), {}) + "expected\n" + text_of(expected);
  std::vector<FrontPoint> found;
  for (const MapPoint& point : result->points) {
    if (const std::string fault = fault_of(point, map_case); !fault.empty()) return fault + "\n" + nest_of(point.spec);
    if (!point.energy_picojoules || !point.cycles) return "a point without energy or cycles\n" + nest_of(point.spec);
    const FrontPoint next{*point.energy_picojoules, *point.cycles};
    // Energies that differ by rounding alone are one point, with the fewer cycles.
    if (!found.empty() && equal(found.back().energy, next.energy)) {
      found.back().cycles = std::min(found.back().cycles, next.cycles);
    } else {
      found.push_back(next);
    }
  }
  const bool same = std::equal(
      found.begin(), found.end(), expected.begin(), expected.end(),
      [](const FrontPoint& a, const FrontPoint& b) { return equal(a.energy, b.energy) && a.cycles == b.cycles; });
  if (!same) return "found\n" + text_of(found) + "expected\n" + text_of(expected);
  if (!result->proof.optimal || !result->proof.stopped.empty()) return "not proved optimal";
  return fault_of_threads(request, result);
}

/// Everything that is wrong in a case.
std::string faults_of(const MapCase& map_case, const Tried& tried) {
  const std::vector<Objective> stated = objectives_of(map_case.einsum, map_case.machine);
  const std::vector<Objective> objectives = all_objectives(map_case.machine);
  std::string faults;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const std::string name = name_of(objectives[i], map_case.machine);
    const bool has_figures = std::any_of(stated.begin(), stated.end(),
                                         [&](const Objective& other) { return other.kind == objectives[i].kind; });
    if (!has_figures && tried.best[i]) faults += name + ": objectives_of() leaves it out\n";
    const std::string fault = fault_of_best(map_case, objectives[i], tried.best[i]);
    if (!fault.empty()) faults += fmt::format("{}: {}\n", name, fault);
  }
  const std::string fault = fault_of_front(map_case, tried.front());
  return fault.empty() ? faults : faults + "front: " + fault + "\n";
}

// ---- features of what was tried

const std::vector<std::string>& outcomes() {
  static const std::vector<std::string> kOutcomes{"nothing fits",
                                                  "some mappings do not fit",
                                                  "all mappings fit",
                                                  "no energy figures",
                                                  "no cycles figures",
                                                  "front of one point",
                                                  "front of many points",
                                                  "the best bypasses a level",
                                                  "the best is spread",
                                                  "the best is not spread",
                                                  "the best holds tensors further in"};
  return kOutcomes;
}

std::set<std::string> outcomes_of(const MapCase& map_case, const Tried& tried) {
  std::set<std::string> found;
  if (tried.fitting == 0) return {"nothing fits"};
  found.insert(tried.too_large > 0 ? "some mappings do not fit" : "all mappings fit");
  if (!tried.best[0]) found.insert("no energy figures");
  if (!tried.best[1]) found.insert("no cycles figures");
  const std::size_t points = tried.front().size();
  if (points > 0) found.insert(points == 1 ? "front of one point" : "front of many points");
  if (!tried.best[0]) return found;
  const Mapping& best = tried.best[0]->spec.mapping;
  const bool spread = std::any_of(best.loops.begin(), best.loops.end(), [](const Loop& loop) { return loop.spatial; });
  found.insert(spread ? "the best is spread" : "the best is not spread");
  for (const int level : storage_levels(map_case.machine)) {
    int held = 0;
    for (int tensor = 0; tensor <= map_case.einsum.output(); ++tensor) held += hold_at(best, tensor, level) >= 0;
    if (held <= map_case.einsum.output()) found.insert("the best bypasses a level");
    if (held > 0 && level > 0) found.insert("the best holds tensors further in");
  }
  return found;
}

TEST(MapProperty, BestMappingIsTheBestOfAll) {
  const int cases = static_cast<int>(testing::from_environment("EINFLOW_MAP_CASES", kDefaultCases));
  const std::uint64_t first = testing::from_environment("EINFLOW_MAP_SEED", 1);
  std::map<std::string, int> seen;
  std::int64_t mappings = 0;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(cases) && failed < 5; ++seed) {
    const MapCase map_case = testing::random_map_case(seed);
    const Tried tried = try_all(map_case);
    mappings += tried.fitting;
    for (const std::string& feature : testing::map_features(map_case)) ++seen[feature];
    for (const std::string& feature : outcomes_of(map_case, tried)) ++seen[feature];
    const std::string faults = faults_of(map_case, tried);
    if (faults.empty()) continue;
    ++failed;
    ADD_FAILURE() << "EINFLOW_MAP_SEED=" << seed << " EINFLOW_MAP_CASES=1, " << tried.fitting << " mappings fit\n"
                  << testing::to_yaml({map_case.einsum, map_case.machine, {}}) << testing::to_text(map_case) << faults;
  }

  std::cout << fmt::format("Of {} cases with {} mappings that fit:\n", cases, mappings);
  std::vector<std::string> all = testing::all_map_features();
  all.insert(all.end(), outcomes().begin(), outcomes().end());
  for (const std::string& feature : all) {
    std::cout << fmt::format("{:>6}  {}\n", seen[feature], feature);
    EXPECT_TRUE(seen[feature] > 0 || cases < kCases || failed > 0) << "never generated: " << feature;
  }
  EXPECT_EQ(seen.size(), all.size()) << "a feature is missing in the lists";
}

}  // namespace
}  // namespace einflow
