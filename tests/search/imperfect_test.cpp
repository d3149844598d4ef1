// The best imperfect mapping: against every nest of the space tried, and against derivations by hand.
#include "search/imperfect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <random>

#include "cost/capacity.hpp"
#include "cost/cost.hpp"
#include "cost/figures.hpp"
#include "movement/movement.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::einsum;

constexpr double kClose = 1e-9;

bool close(double a, double b) { return std::abs(a - b) <= kClose * std::max({std::abs(a), std::abs(b), 1e-30}); }

// ---------------------------------------------------------------------------------------------------------------------
// Every nest of the space, one by one.

/// What a nest costs; traffic by storage level, in bits.
struct Tried {
  double energy = 0;
  double cycles = 0;
  std::vector<double> traffic;
  double energy_delay() const { return energy * cycles; }
};

class EveryNest {
 public:
  explicit EveryNest(const MapRequest& request) : request_(request), spec_{request.einsum, request.machine, {}} {
    for (const Rank& rank : request.einsum.ranks) left_.push_back(rank.extent);
    spec_.mapping.holds.assign(request.einsum.tensors.size(), {Hold{0, 0, {}}});
  }

  /// Nests before capacity, stationary and utilization constraints; gives up above `most`.
  std::int64_t count(std::int64_t most) {
    counting_ = true;
    most_ = most;
    nests_ = 0;
    temporal(1, 0);
    return nests_;
  }

  std::vector<Tried> all() {
    counting_ = false;
    most_ = INT64_MAX;
    nests_ = 0;
    tried_.clear();
    temporal(1, 0);
    return tried_;
  }

 private:
  int ranks() const { return static_cast<int>(left_.size()); }
  Mapping& nest() { return spec_.mapping; }

  template <typename T, typename U>
  static U given(const std::vector<T>& values, int index, U otherwise) {
    return values.empty() ? otherwise : U(values[static_cast<std::size_t>(index)]);
  }

  void cut(Loop loop, std::int64_t tile, const std::function<void()>& inside) {
    std::int64_t& left = left_[static_cast<std::size_t>(loop.rank)];
    const std::int64_t before = left;
    if (tile == before) return inside();
    loop.tile = tile;
    loop.trips = (before + tile - 1) / tile;
    left = tile;
    nest().loops.push_back(loop);
    inside();
    nest().loops.pop_back();
    left = before;
  }

  /// Loops of the block that ends at the next level inwards that is no mesh; ranks in `used` have theirs.
  void temporal(int level, unsigned used) {
    if (nests_ > most_) return;
    spatial(level, 0, 0, 1);
    for (int rank = 0; rank < ranks(); ++rank) {
      if ((used >> rank & 1U) != 0) continue;
      for (std::int64_t tile = 1; tile < left_[static_cast<std::size_t>(rank)]; ++tile) {
        Loop loop;
        loop.rank = rank;
        cut(loop, tile, [&] { temporal(level, used | 1U << rank); });
      }
    }
  }

  void spatial(int level, int axis, int rank, std::int64_t trips_on_axis) {
    const Mesh* mesh = request_.machine.mesh(level);
    if (mesh == nullptr) return hold(level);
    if (axis == static_cast<int>(mesh->axes.size())) return spatial(level + 1, 0, 0, 1);
    if (rank == ranks()) return spatial(level, axis + 1, 0, 1);
    const std::int64_t left = left_[static_cast<std::size_t>(rank)];
    for (std::int64_t tile = 1; tile <= left; ++tile) {
      const std::int64_t trips = (left + tile - 1) / tile;
      if (trips * trips_on_axis > mesh->axes[static_cast<std::size_t>(axis)].size) continue;
      if (!request_.constraints.spread.empty()) {
        const auto& on_mesh = request_.constraints.spread[static_cast<std::size_t>(level)];
        const std::int64_t wanted =
            on_mesh.empty() ? 0 : on_mesh[static_cast<std::size_t>(axis)][static_cast<std::size_t>(rank)];
        if (wanted != 0 && wanted != trips) continue;
      }
      Loop loop;
      loop.spatial = true;
      loop.rank = rank;
      loop.mesh = level;
      loop.axis = axis;
      cut(loop, tile, [&] { spatial(level, axis, rank + 1, trips_on_axis * trips); });
    }
  }

  void hold(int level) {
    if (level == request_.machine.compute_level()) return end();
    if (!request_.constraints.tile.empty()) {
      const auto& wanted = request_.constraints.tile[static_cast<std::size_t>(level)];
      for (std::size_t rank = 0; rank < wanted.size(); ++rank) {
        if (wanted[rank] != 0 && wanted[rank] != left_[rank]) return;
      }
    }
    const int tensors = static_cast<int>(request_.einsum.tensors.size());
    for (unsigned held = 0; held < 1U << tensors; ++held) {
      bool allowed = true;
      for (int t = 0; t < tensors; ++t) {
        const bool here = (held >> t & 1U) != 0;
        if (!request_.constraints.holding.empty()) {
          const auto& asked = request_.constraints.holding[static_cast<std::size_t>(level)];
          const Holding wanted = asked.empty() ? Holding::free : asked[static_cast<std::size_t>(t)];
          if (wanted == (here ? Holding::bypassed : Holding::held)) allowed = false;
        }
        const int stationary = given(request_.constraints.stationary, level, -1);
        if (stationary == t && !here) allowed = false;
      }
      if (!allowed) continue;
      for (int t = 0; t < tensors; ++t) {
        if ((held >> t & 1U) == 0) continue;
        nest().holds[static_cast<std::size_t>(t)].push_back({level, static_cast<int>(nest().loops.size()), {}});
      }
      const std::size_t depth = nest().loops.size();
      depth_of_.emplace_back(level, depth);
      temporal(level + 1, 0);
      depth_of_.pop_back();
      for (int t = 0; t < tensors; ++t) {
        if ((held >> t & 1U) != 0) nest().holds[static_cast<std::size_t>(t)].pop_back();
      }
    }
  }

  bool stationary_is_met() const {
    for (const auto& [level, depth] : depth_of_) {
      const int tensor = given(request_.constraints.stationary, level, -1);
      if (tensor < 0) continue;
      for (std::size_t i = depth; i-- > 0;) {
        const Loop& loop = spec_.mapping.loops[i];
        if (loop.spatial) continue;
        if (request_.einsum.has_rank(tensor, loop.rank)) return false;
        break;
      }
    }
    return true;
  }

  bool operation_takes_it() const {
    const auto& atomic = request_.machine.compute().atomic;  // of ranks' names
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      std::int64_t most = 1;
      for (const auto& [name, extent] : atomic) {
        if (name == request_.einsum.ranks[rank].name) most = extent;
      }
      if (left_[rank] > most) return false;
    }
    return true;
  }

  void end() {
    if (!operation_takes_it()) return;
    ++nests_;
    if (counting_ || !stationary_is_met()) return;
    for (auto& holds : nest().holds) {
      holds.push_back({request_.machine.compute_level(), static_cast<int>(nest().loops.size()), {}});
    }
    try_it();
    for (auto& holds : nest().holds) holds.pop_back();
  }

  void try_it() {
    const Counts counts = count_movement(spec_).value();
    const double in_use = counts.holds.back().instances.to_double();
    const double least = request_.constraints.least_utilization;
    if (in_use < least * request_.machine.compute_instances().to_double() * (1 - kClose)) return;
    const Cost cost = cost_of(spec_, counts).value();
    if (!misfits(spec_, counts, cost).empty()) return;
    Tried tried;
    tried.energy = cost.energy.total.value_or(0);
    tried.cycles = cost.time.overlapped.value_or(Count(0)).to_double();
    for (const LevelCost& level : cost.levels) {
      Count bits = 0;
      for (const TensorTraffic& t : level.tensors) bits += (t.reads + t.writes) * element_bits(spec_, t.tensor);
      tried.traffic.push_back(bits.to_double());
    }
    tried_.push_back(std::move(tried));
  }

  MapRequest request_;
  Spec spec_;
  std::vector<std::int64_t> left_;
  std::vector<std::pair<int, std::size_t>> depth_of_;  // places so far: level, loops outside
  std::vector<Tried> tried_;
  std::int64_t nests_ = 0, most_ = 0;
  bool counting_ = false;
};

/// The nests that no other beats in energy and cycles.
std::vector<std::pair<double, double>> front_of(const std::vector<Tried>& tried) {
  std::vector<std::pair<double, double>> points;
  for (const Tried& one : tried) points.emplace_back(one.cycles, one.energy);
  std::sort(points.begin(), points.end());
  std::vector<std::pair<double, double>> front;
  for (const auto& [cycles, energy] : points) {
    if (front.empty() || energy < front.back().first * (1 - kClose)) front.emplace_back(energy, cycles);
  }
  std::reverse(front.begin(), front.end());
  return front;
}

// ---------------------------------------------------------------------------------------------------------------------
// Random problems small enough for that.

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(static_cast<std::mt19937::result_type>(seed)) {}
  int below(int sides) { return static_cast<int>(engine_() % static_cast<unsigned>(sides)); }
  bool one_in(int sides) { return below(sides) == 0; }
  template <typename T>
  T of(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<int>(values.size())));
  }

 private:
  std::mt19937 engine_;
};

Einsum random_einsum(Dice& dice) {
  const auto small = [&] { return dice.of<std::int64_t>({1, 2, 2, 3}); };
  const auto large = [&] { return dice.of<std::int64_t>({3, 4, 5, 7}); };
  Einsum result;
  switch (dice.below(6)) {
    case 0:
      result = einsum("Z[m,n] += A[m,k] * B[k,n]", {{"m", large()}, {"n", small()}, {"k", small()}});
      break;
    case 1:
      result = einsum("Z[m,n] += A[m,k] * B[k,n]", {{"m", small()}, {"n", small()}, {"k", large()}});
      break;
    case 2:
      result = einsum("Z[p] += I[p+r] * F[r]", {{"p", large()}, {"r", dice.of<std::int64_t>({2, 3})}});
      break;
    case 3: {
      result = einsum("Z[p] += I[2*p+r-1] * F[r]", {{"p", large()}, {"r", dice.of<std::int64_t>({2, 3})}});
      result.tensors[0].axes[0].stored_size = 2 * result.ranks[0].extent - dice.below(2);
      break;
    }
    case 4:
      result = einsum("Z[k,p] += I[p+r-1] * F[k,r]", {{"k", small()}, {"p", large()}, {"r", 2}});
      result.tensors[0].axes[0].stored_size = result.ranks[1].extent;
      break;
    default:
      result = einsum("Z[m] += A[m,k] * B[k]", {{"m", large()}, {"k", large()}});
      break;
  }
  for (Tensor& tensor : result.tensors) tensor.type = *find_element_type(dice.of({"int8", "int8", "bf16"}));
  return result;
}

Storage random_storage(Dice& dice, const std::string& name, int cheaper) {
  Storage storage = testing::storage(name);
  const int price = 64 >> (2 * cheaper);
  const auto per = dice.of({AccessEnergy::Per::byte, AccessEnergy::Per::element, AccessEnergy::Per::access});
  storage.read_energy = AccessEnergy{price + 0.25 * dice.below(4), per};
  if (!dice.one_in(4)) storage.write_energy = AccessEnergy{price + 0.5 * dice.below(4), per};
  if (per == AccessEnergy::Per::access) storage.access_bits = Count(dice.of({8, 16, 32}));
  storage.shared_port = dice.one_in(3);
  if (!dice.one_in(4)) storage.read_bandwidth = Ratio(Count(1 + dice.below(3)), Count(1 + dice.below(2)));
  if (!dice.one_in(4) && !storage.shared_port) storage.write_bandwidth = Ratio(Count(1 + dice.below(3)));
  if (cheaper > 0) {
    storage.double_buffered = dice.one_in(4);
    if (!dice.one_in(5)) storage.capacity_bits = Count(8 * (2 + dice.below(14)));
  }
  return storage;
}

Mesh random_mesh(Dice& dice, bool two_axes) {
  testing::Abilities abilities{dice.one_in(2), dice.one_in(2), false};
  abilities.forwarding = abilities.multicast && dice.one_in(2);
  const int size = 2 + dice.below(2);
  Mesh mesh = two_axes ? testing::mesh("array", 2, size, abilities) : testing::mesh("array", size, abilities);
  if (dice.one_in(2)) mesh.hop_energy = AccessEnergy{0.5, AccessEnergy::Per::byte};
  if (dice.one_in(6)) mesh.systolic = dice.of({SystolicTiming::last_operation, SystolicTiming::drained});
  return mesh;
}

Machine random_machine(Dice& dice, const Einsum& einsum) {
  std::vector<Level> levels{random_storage(dice, "DRAM", 0)};
  const int mesh_at = dice.below(5);
  const bool two_axes = dice.one_in(5);
  if (mesh_at == 0) levels.emplace_back(random_mesh(dice, two_axes));
  levels.emplace_back(random_storage(dice, "Buffer", 1));
  if (mesh_at == 1) levels.emplace_back(random_mesh(dice, two_axes));
  if (dice.one_in(2)) levels.emplace_back(random_storage(dice, "RF", 2));
  if (mesh_at == 2) levels.emplace_back(random_mesh(dice, two_axes));
  Compute compute = testing::compute("MAC", {}, dice.one_in(4));
  if (dice.one_in(5)) compute.atomic.emplace_back(einsum.ranks[0].name, 2);
  compute.energy[""] = 0.5;
  levels.emplace_back(compute);
  return testing::machine(std::move(levels));
}

MapConstraints random_constraints(Dice& dice, const Einsum& einsum, const Machine& machine) {
  MapConstraints constraints;
  const auto levels = machine.levels.size();
  if (!dice.one_in(4)) {  // keeps the space small
    constraints.holding.assign(levels, {});
    for (std::size_t level = 1; level + 1 < levels; ++level) {
      for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
        constraints.holding[level].push_back(dice.of({Holding::free, Holding::held, Holding::bypassed}));
      }
    }
  }
  if (dice.one_in(5)) {
    constraints.tile.assign(levels, {});
    for (std::size_t level = 1; level + 1 < levels; ++level) {
      constraints.tile[level].assign(einsum.ranks.size(), 0);
      const auto rank = static_cast<std::size_t>(dice.below(static_cast<int>(einsum.ranks.size())));
      if (dice.one_in(2)) constraints.tile[level][rank] = 1 + dice.below(static_cast<int>(einsum.ranks[rank].extent));
    }
  }
  if (dice.one_in(5)) {
    constraints.stationary.assign(levels, -1);
    for (std::size_t level = 1; level + 1 < levels; ++level) {
      if (machine.storage(static_cast<int>(level)) == nullptr) continue;
      constraints.stationary[level] = dice.below(static_cast<int>(einsum.tensors.size()));
      break;
    }
  }
  if (dice.one_in(5)) constraints.least_utilization = dice.of({0.5, 1.0});
  if (dice.one_in(4)) {
    constraints.spread.assign(levels, {});
    for (std::size_t level = 0; level < levels; ++level) {
      const Mesh* mesh = machine.mesh(static_cast<int>(level));
      if (mesh == nullptr) continue;
      for (const MeshAxis& axis : mesh->axes) {
        static_cast<void>(axis);
        std::vector<std::int64_t> trips(einsum.ranks.size(), 0);
        trips[static_cast<std::size_t>(dice.below(static_cast<int>(trips.size())))] = 1 + dice.below(2);
        constraints.spread[level].push_back(trips);
      }
    }
  }
  return constraints;
}

MapRequest random_request(Dice& dice) {
  MapRequest request;
  request.einsum = random_einsum(dice);
  request.machine = random_machine(dice, request.einsum);
  request.constraints = random_constraints(dice, request.einsum, request.machine);
  return request;
}

// ---------------------------------------------------------------------------------------------------------------------

std::vector<Objective> objectives(const Machine& machine) {
  using Kind = Objective::Kind;
  std::vector<Objective> found{{Kind::energy, -1}, {Kind::cycles, -1}, {Kind::edp, -1}};
  for (const int level : storage_levels(machine)) found.push_back({Kind::traffic, level});
  return found;
}

double figure(const Tried& tried, const Objective& objective, const Machine& machine) {
  if (objective.kind == Objective::Kind::energy) return tried.energy;
  if (objective.kind == Objective::Kind::cycles) return tried.cycles;
  if (objective.kind == Objective::Kind::edp) return tried.energy_delay();
  const std::vector<int> levels = storage_levels(machine);
  const auto at = std::find(levels.begin(), levels.end(), objective.level);
  return tried.traffic[static_cast<std::size_t>(at - levels.begin())];
}

std::string describe(const MapRequest& request) {
  std::string text = to_text(request.einsum);
  for (const Rank& rank : request.einsum.ranks) text += " " + rank.name + "=" + std::to_string(rank.extent);
  for (const Level& level : request.machine.levels) {
    text += std::visit([](const auto& one) { return " > " + one.name; }, level);
  }
  return text;
}

/// With the search cut short, what it says must still be true.
void expect_honest_bound(MapRequest request, double best) {
  for (const int most : {1, 5, 40}) {
    const auto found = best_imperfect_mapping(request, most);
    if (!found) continue;  // nothing before the limit
    const MapProof& proof = found->proof;
    EXPECT_LE(proof.bound, best * (1 + kClose));
    EXPECT_GE(proof.value, best * (1 - kClose));
    EXPECT_GE(proof.gap(), 0);
    EXPECT_EQ(proof.optimal, proof.stopped.empty());
    EXPECT_LE(proof.expanded, Count(most));
    if (proof.optimal) {
      EXPECT_TRUE(close(proof.value, best));
    }
  }
}

void expect_objective(MapRequest request, const Objective& objective, const std::vector<Tried>& tried,
                      std::int64_t nests) {
  request.objective = objective;
  const auto found = best_imperfect_mapping(request, 1'000'000);
  if (tried.empty()) {
    EXPECT_FALSE(found);
    return;
  }
  double best = INFINITY;
  for (const Tried& one : tried) best = std::min(best, figure(one, objective, request.machine));
  ASSERT_TRUE(found) << found.error().front().message;
  ASSERT_EQ(found->points.size(), 1U);
  const MapPoint& point = found->points.front();
  EXPECT_TRUE(close(point.value, best)) << point.value << ", every nest tried: " << best << "\n"
                                        << to_text(point.spec.mapping, request.einsum, request.machine);
  EXPECT_TRUE(found->proof.optimal);
  EXPECT_EQ(found->proof.bound, found->proof.value);
  EXPECT_EQ(found->proof.stopped, "");
  EXPECT_EQ(found->proof.mappings, static_cast<double>(nests));
  expect_honest_bound(request, best);
}

void expect_front(MapRequest request, const std::vector<Tried>& tried) {
  request.front = true;
  const auto found = best_imperfect_mapping(request, 1'000'000);
  if (tried.empty()) {
    EXPECT_FALSE(found);
    return;
  }
  ASSERT_TRUE(found) << found.error().front().message;
  const auto expected = front_of(tried);
  ASSERT_EQ(found->points.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(close(found->points[i].energy_picojoules.value_or(0), expected[i].first)) << i;
    EXPECT_EQ(found->points[i].cycles.value_or(Count(0)).to_double(), expected[i].second) << i;
  }
}

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoll(text, nullptr, 10);
}

TEST(Imperfect, EqualsEveryNestTried) {
  const std::int64_t cases = from_environment("EINFLOW_IMPERFECT_CASES", 80);
  const std::int64_t most_nests = from_environment("EINFLOW_IMPERFECT_NESTS", 1500);
  std::int64_t seed = from_environment("EINFLOW_IMPERFECT_SEED", 1) * 1'000'000;
  int feasible = 0;
  for (std::int64_t done = 0; done < cases; ++seed) {
    Dice dice(static_cast<std::uint64_t>(seed));
    const MapRequest request = random_request(dice);
    EveryNest every(request);
    const std::int64_t nests = every.count(most_nests);
    if (nests < 10 || nests > most_nests) continue;
    ++done;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + describe(request));
    const std::vector<Tried> tried = every.all();
    feasible += tried.empty() ? 0 : 1;
    for (const Objective& objective : objectives(request.machine)) expect_objective(request, objective, tried, nests);
    expect_front(request, tried);
    if (HasFailure()) break;
  }
  EXPECT_GE(feasible, cases / 2);
}

}  // namespace
}  // namespace einflow
