#include "search/mapper.hpp"

#include <fmt/format.h>
#include <ctime>

#include <algorithm>
#include <cmath>

#include "cost/capacity.hpp"
#include "cost/figures.hpp"
#include "mapping/atomic.hpp"
#include "movement/movement.hpp"
#include "search/label_search.hpp"
#include "search/map_space.hpp"

namespace einflow {

namespace {

// Values that differ by less are equal: sums of the same numbers in another order.
constexpr double kEqual = 1e-10;
constexpr std::size_t kFirstLabels = 500, kTieWidth = 300, kGuessWidth = 1000;
constexpr std::uint64_t kLong = 30'000;  // labels
// The first guess is this much above the bound.
constexpr double kFirstSlack = 0.005;

/// Of the calling thread, which alone does a search.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool states_energy(const Einsum& einsum, const Machine& machine) {
  bool any = executes(machine.compute(), einsum) &&
             figure_for(machine.compute().energy, compute_type(einsum).name).has_value();
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (const Storage* storage = machine.storage(level)) any = any || storage->read_energy || storage->write_energy;
    if (const Mesh* mesh = machine.mesh(level)) any = any || mesh->hop_energy;
  }
  return any;
}

bool states_time(const Einsum& einsum, const Machine& machine) {
  bool any = compute_rate({einsum, machine, {}}).has_value();
  for (int level = 0; level < machine.compute_level(); ++level) {
    if (const Storage* storage = machine.storage(level))
      any = any || storage->read_bandwidth || storage->write_bandwidth;
  }
  return any;
}

/// A mapping with its exact figures.
struct Judged {
  MapPoint point;
  bool fits = true;
};

class Mapper {
 public:
  explicit Mapper(const MapRequest& request) : request_(request), began_(processor_seconds()) {}

  Result<MapResult> run() {
    if (auto checked = check(); !checked) return tl::unexpected(checked.error());
    const bool front = request_.front;
    const Objective::Kind kind = request_.objective.kind;
    std::vector<Figure::Kind> kinds;
    if (front || kind == Objective::Kind::energy || kind == Objective::Kind::edp) kinds.push_back(Figure::Kind::energy);
    if (!front && kind == Objective::Kind::traffic) kinds.push_back(Figure::Kind::traffic);
    if (front || kind == Objective::Kind::cycles || kind == Objective::Kind::edp) {
      kinds.push_back(Figure::Kind::compute);
      kinds.push_back(Figure::Kind::port);
    }
    goal_.kind = front                             ? Goal::Kind::front
                 : kind == Objective::Kind::cycles ? Goal::Kind::cycles
                 : kind == Objective::Kind::edp    ? Goal::Kind::product
                                                   : Goal::Kind::first;
    goal_.has_first = front || kind != Objective::Kind::cycles;
    auto model = make_model(kinds);
    if (!model) return tl::unexpected(model.error());
    if (auto fits = everything_fits(**model); !fits) return tl::unexpected(fits.error());
    result_.proof.tile_shapes = (*model)->shapes.count();
    result_.proof.mappings = mappings_in_space(**model);
    const Parents parents(**model);
    const OuterBound outer(**model, parents);
    WindowTrails trails(**model);
    const Searched searched{**model, parents, outer, trails};
    if (auto done = prove(searched); !done) return tl::unexpected(done.error());
    if (judged_.empty()) return nothing_found(**model);
    finish();
    tell_conventions();
    if (!front && result_.proof.optimal && kind != Objective::Kind::edp) break_ties();
    result_.proof.seconds = processor_seconds() - began_;
    return std::move(result_);
  }

 private:
  Result<std::unique_ptr<MapModel>> make_model(std::vector<Figure::Kind> kinds) const {
    if (request_.constraints.least_utilization > 0) kinds.push_back(Figure::Kind::spread);
    return MapModel::make(request_, kinds, request_.objective.level);
  }

  Result<bool> check() const {
    const bool energy = states_energy(request_.einsum, request_.machine);
    const bool time = states_time(request_.einsum, request_.machine);
    const std::string& name = request_.machine.name;
    const Objective::Kind kind = request_.objective.kind;
    if ((request_.front || kind == Objective::Kind::energy || kind == Objective::Kind::edp) && !energy) {
      return fail(fmt::format("the machine {} states no energies: there is no energy to minimise", name),
                  "state energies in the machine, or take --objective cycles or traffic:LEVEL");
    }
    if ((request_.front || kind == Objective::Kind::cycles || kind == Objective::Kind::edp) && !time) {
      return fail(fmt::format("the machine {} states no rate for this problem and no bandwidth: there are no cycles to "
                              "minimise",
                              name),
                  "state rates in the machine, or take --objective energy or traffic:LEVEL");
    }
    if (!request_.front && kind == Objective::Kind::traffic &&
        (request_.objective.level < 0 || request_.machine.storage(request_.objective.level) == nullptr)) {
      return fail("the traffic to minimise is that of a storage level");
    }
    return true;
  }

  /// The outermost level holds everything.
  Result<bool> everything_fits(const MapModel& model) const {
    if (model.fits(0, (1U << model.tensor_count()) - 1, model.shapes.whole())) return true;
    Spec spec{request_.einsum, request_.machine, {}};
    spec.mapping.holds.assign(request_.einsum.tensors.size(), {Hold{model.places[0], 0, {}}});
    Misfit misfit;
    misfit.level = model.places[0];
    const Storage& storage = *request_.machine.storage(misfit.level);
    misfit.double_buffered = storage.double_buffered;
    Count bits = 0;
    for (int t = 0; t < model.tensor_count(); ++t) {
      const Count elements(static_cast<long long>(model.tensors[static_cast<std::size_t>(t)].tile.back()));
      const Count part = elements * element_bits(spec, t) * (storage.double_buffered ? 2 : 1);
      misfit.parts.push_back({t, elements, bytes_of_bits(part)});
      bits += part;
    }
    std::stable_sort(misfit.parts.begin(), misfit.parts.end(),
                     [](const Misfit::Part& a, const Misfit::Part& b) { return b.bytes < a.bytes; });
    misfit.need_bytes = bytes_of_bits(bits);
    if (storage.capacity_bits) misfit.room_bytes = bytes_of_bits(*storage.capacity_bits);
    Diagnostic diagnostic = to_diagnostic(misfit, spec);
    diagnostic.message = "no mapping fits" + diagnostic.message.substr(diagnostic.message.find(':'));
    return tl::unexpected<Diagnostics>(Diagnostics{diagnostic});
  }

  Result<Judged> judge(const Mapping& mapping) const {
    Judged judged;
    judged.point.spec = {request_.einsum, request_.machine, mapping};
    const Result<Counts> counts = count_movement(judged.point.spec);
    if (!counts) return tl::unexpected(counts.error());
    const Result<Cost> cost = cost_of(judged.point.spec, *counts);
    if (!cost) return tl::unexpected(cost.error());
    judged.fits = misfits(judged.point.spec, *counts, *cost).empty();
    judged.point.energy_picojoules = cost->energy.total;
    judged.point.cycles = cost->time.overlapped;
    // A mapping that uses nothing that figures are stated for costs nothing of what is stated.
    if (!judged.point.energy_picojoules && states_energy(request_.einsum, request_.machine))
      judged.point.energy_picojoules = 0;
    if (!judged.point.cycles && states_time(request_.einsum, request_.machine)) judged.point.cycles = Count(0);
    switch (request_.objective.kind) {
      case Objective::Kind::energy:
        judged.point.value = judged.point.energy_picojoules.value_or(0);
        break;
      case Objective::Kind::cycles:
        judged.point.value = judged.point.cycles ? judged.point.cycles->to_double() : 0;
        break;
      case Objective::Kind::edp:
        judged.point.value =
            judged.point.energy_picojoules.value_or(0) * (judged.point.cycles ? judged.point.cycles->to_double() : 0);
        break;
      case Objective::Kind::traffic:
        for (const LevelCost& level : cost->levels) {
          if (level.level == request_.objective.level) {
            judged.point.value = ((level.bytes_read + level.bytes_written) * Ratio(Count(8))).to_double();
          }
        }
        break;
    }
    return judged;
  }

  SearchLimits limits(std::size_t width) {
    SearchLimits limits;
    limits.widest = width;
    limits.go_on = [this](std::uint64_t expanded, double bound) {
      const double now = processor_seconds();
      if (request_.most_seconds && now - began_ > *request_.most_seconds) {
        out_of_time_ = true;
        return false;
      }
      if (!request_.progress || now - told_ < 0.05) return true;
      told_ = now;
      MapProgress progress;
      progress.stage = stage_;
      progress.expanded = Count(static_cast<unsigned long>(expanded_ + expanded));
      progress.bound = std::max(least_, stage_ == "proof" && !request_.front ? bound : 0);
      if (!judged_.empty() && !request_.front) progress.best = judged_.front().value;
      return request_.progress(progress);
    };
    return limits;
  }

  /// What a search is done in.
  struct Searched {
    const MapModel& model;
    const Parents& parents;
    const OuterBound& outer;
    WindowTrails& trails;
  };

  /// Searches until no mapping can be better than the best found, or it is stopped.
  Result<bool> prove(const Searched& in) {
    MapProof& proof = result_.proof;
    const std::size_t narrow = std::max<std::size_t>(kFirstLabels / static_cast<std::size_t>(in.parents.count()), 4);
    SearchLimits bound_only;
    bound_only.bound_only = true;
    least_ = search_labels(in.model, in.parents, in.outer, in.trails, goal_, known_, bound_only).first_bound;
    if (least_ >= OuterBound::kNever) return true;
    stage_ = "proof";
    // Some mapping to fall back upon.
    if (auto found = search(in, 4, OuterBound::kNever, true); !found) return found;
    // Mappings below a guess a little above the bound first: where there is none, the guess is a bound.
    double slack = kFirstSlack;
    std::uint64_t before = 0;
    bool unguided = false;
    while (!proof.optimal && proof.stopped.empty()) {
      const bool guessing = !request_.front && least_ > 0;
      const double guess = guessing ? least_ * (1 + slack) : OuterBound::kNever;
      const std::uint64_t expanded = expanded_;
      // A better one to fall back upon, where the proof is long.
      if (!unguided && (!guessing || in.model.figure_count() > 1 || before > kLong)) {
        unguided = true;
        if (auto found = search(in, narrow, OuterBound::kNever); !found) return found;
      }
      // A mapping below the guess, found in part of the time, makes the search of all of them shorter.
      if (auto found = search(in, before > kLong ? kGuessWidth : narrow, guess); !found) return found;
      if (proof.optimal || !proof.stopped.empty()) break;
      if (auto found = search(in, 0, guess); !found) return found;
      // A wider guess costs more: widen faster while it does not.
      slack = expanded_ - expanded > 3 * before && before > 0 ? slack : slack * 2;
      before = expanded_ - expanded;
    }
    return true;
  }

  /// Looks for mappings below `guess` and what is known.
  Result<bool> search(const Searched& in, std::size_t width, double guess, bool direct = false) {
    Known known = known_;
    const bool guessed = guess < known.value;
    if (guessed) known.value = guess;
    SearchLimits limited = limits(width);
    limited.direct = direct;
    SearchOutcome outcome = search_labels(in.model, in.parents, in.outer, in.trails, goal_, known, limited);
    expanded_ += outcome.expanded;
    MapProof& proof = result_.proof;
    proof.states += Count(static_cast<unsigned long>(outcome.created));
    proof.expanded += Count(static_cast<unsigned long>(outcome.expanded));
    for (const FoundMapping& found : outcome.found) {
      const double least = goal_value(goal_, found.first, found.cycles);
      // Lower bounds come in rising order: nothing further on can be better.
      if (goal_.kind != Goal::Kind::front && least >= known_.value * (1 - kEqual)) break;
      auto judged = judge(found.mapping);
      if (!judged) return tl::unexpected(judged.error());
      if (!judged->fits) continue;
      add(std::move(judged->point));
    }
    if (outcome.complete && proof.stopped.empty()) {
      proof.optimal = !guessed || known_.value <= guess;
      if (!proof.optimal) least_ = std::max(least_, guess);
    } else if (!outcome.stopped.empty()) {
      proof.stopped = out_of_time_ ? fmt::format("the time limit, {:g} s", *request_.most_seconds) : outcome.stopped;
      proof.bound = std::min(std::max(least_, outcome.bound), known_.value);
    }
    // What is found is as good as the bound.
    if (!request_.front && !judged_.empty() && least_ >= known_.value * (1 - kEqual)) proof.optimal = true;
    return true;
  }

  void add(MapPoint point) {
    if (goal_.kind != Goal::Kind::front) {
      if (!judged_.empty() && point.value >= judged_.front().value) return;
      known_.value = point.value;
      judged_ = {std::move(point)};
      return;
    }
    const double energy = *point.energy_picojoules, cycles = point.cycles->to_double();
    for (const auto& [other_energy, other_cycles] : known_.front) {
      if (other_energy <= energy * (1 + kEqual) && other_cycles <= cycles) return;
    }
    known_.front.emplace_back(energy, cycles);
    std::erase_if(judged_, [&](const MapPoint& other) {
      return energy <= *other.energy_picojoules * (1 + kEqual) && cycles <= other.cycles->to_double();
    });
    std::erase_if(known_.front, [&](const auto& other) {
      return &other != &known_.front.back() && energy <= other.first * (1 + kEqual) && cycles <= other.second;
    });
    judged_.push_back(std::move(point));
  }

  void finish() {
    MapProof& proof = result_.proof;
    std::sort(judged_.begin(), judged_.end(), [](const MapPoint& a, const MapPoint& b) {
      return a.energy_picojoules.value_or(0) < b.energy_picojoules.value_or(0);
    });
    proof.value = judged_.front().value;
    if (proof.optimal) proof.bound = proof.value;
    result_.points = std::move(judged_);
  }

  /// What the space leaves out, and what costs nothing because it is not stated.
  void tell_conventions() {
    const bool energy = request_.front || request_.objective.kind == Objective::Kind::energy ||
                        request_.objective.kind == Objective::Kind::edp;
    if (!energy) return;
    std::string silent;
    for (const int level : storage_levels(request_.machine)) {
      const Storage& storage = *request_.machine.storage(level);
      if (storage.read_energy && storage.write_energy) continue;
      silent += (silent.empty() ? "" : ", ") + storage.name;
    }
    if (silent.empty()) return;
    result_.conventions.push_back("levels that do not state all their energies: " + silent +
                                  ": moving data there costs nothing in this search");
  }

  /// Among the mappings of the best value, the one that is best otherwise.
  void break_ties() {
    const Objective::Kind kind = request_.objective.kind;
    const bool energy = states_energy(request_.einsum, request_.machine);
    const bool time = states_time(request_.einsum, request_.machine);
    MapPoint& best = result_.points.front();
    std::vector<Figure::Kind> kinds;
    Goal goal;
    Known known;
    if (kind == Objective::Kind::cycles) {
      if (!energy) return;
      kinds = {Figure::Kind::energy, Figure::Kind::compute, Figure::Kind::port};
      goal.most_cycles = best.value;
      known.value = *best.energy_picojoules;
    } else {
      if (!time) return;
      kinds = {kind == Objective::Kind::energy ? Figure::Kind::energy : Figure::Kind::traffic, Figure::Kind::compute,
               Figure::Kind::port};
      goal.kind = Goal::Kind::cycles;
      goal.most_first = best.value;
      known.value = best.cycles->to_double();
    }
    auto model = make_model(kinds);
    if (!model) return;
    const Parents parents(**model);
    const OuterBound outer(**model, parents);
    WindowTrails trails(**model);
    stage_ = "ties";
    SearchOutcome outcome = search_labels(**model, parents, outer, trails, goal, known, limits(kTieWidth));
    for (const FoundMapping& found : outcome.found) {
      const auto judged = judge(found.mapping);
      if (!judged || !judged->fits || judged->point.value > best.value * (1 + kEqual)) continue;
      const double other =
          kind == Objective::Kind::cycles ? *judged->point.energy_picojoules : judged->point.cycles->to_double();
      if (other >= known.value) continue;
      known.value = other;
      const double value = best.value;
      best = judged->point;
      best.value = std::min(value, best.value);
    }
  }

  Result<MapResult> nothing_found(const MapModel& model) const {
    if (!result_.proof.stopped.empty()) {
      return fail(fmt::format("no mapping was found before the search ended ({})", result_.proof.stopped));
    }
    for (int place = 1; place < model.place_count(); ++place) {
      unsigned held = 0;
      for (int t = 0; t < model.tensor_count(); ++t) {
        if (model.must_hold(place, t)) held |= 1U << t;
      }
      if (held == 0) continue;
      bool any = false;
      for (int shape = 0; shape < model.shapes.size() && !any; ++shape) any = model.fits(place, held, shape);
      if (any) continue;
      const Storage& storage = *request_.machine.storage(model.places[static_cast<std::size_t>(place)]);
      return fail(fmt::format("no mapping fits: {} has no room for any tile of what must be held there", storage.name),
                  storage.capacity_bits
                      ? fmt::format("it has {} B an instance", bytes_of_bits(*storage.capacity_bits).to_double())
                      : "the tile that is asked for there is none of dividing loops");
    }
    return fail("no mapping fits: the constraints and the capacities leave none",
                "take constraints away one by one to see which of them rules all out");
  }

  const MapRequest& request_;
  double began_;
  double told_ = 0;
  std::uint64_t expanded_ = 0;
  double least_ = 0;  ///< no mapping has less
  bool out_of_time_ = false;
  std::string stage_;
  Goal goal_;
  Known known_;
  std::vector<MapPoint> judged_;
  MapResult result_;
};

}  // namespace

Result<MapResult> best_mapping(const MapRequest& request) { return Mapper(request).run(); }

std::vector<Objective> objectives_of(const Einsum& einsum, const Machine& machine) {
  std::vector<Objective> objectives;
  const bool energy = states_energy(einsum, machine), time = states_time(einsum, machine);
  if (energy) objectives.push_back({Objective::Kind::energy, -1});
  if (time) objectives.push_back({Objective::Kind::cycles, -1});
  if (energy && time) objectives.push_back({Objective::Kind::edp, -1});
  for (const int level : storage_levels(machine)) objectives.push_back({Objective::Kind::traffic, level});
  return objectives;
}

}  // namespace einflow
