// The brute-force mapper itself: numbers of mappings counted by hand, validity, and counts against the simulator.
#include "support/exhaustive_mapper.hpp"

#include <gtest/gtest.h>

#include <set>

#include "notation/spec_reader.hpp"
#include "simulate/simulate.hpp"
#include "support/builders.hpp"
#include "support/counts_text.hpp"
#include "support/random_map_case.hpp"
#include "support/spec_yaml.hpp"

namespace einflow {
namespace {

using testing::compute;
using testing::einsum;
using testing::machine;
using testing::mesh;
using testing::storage;

const Machine& without_buffer() {
  static const Machine kMachine = machine({storage("DRAM"), compute("MAC")});
  return kMachine;
}

std::int64_t nests(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints = {}) {
  return testing::count_nests(einsum, machine, constraints, 1000000);
}

TEST(ExhaustiveMapper, TriesEveryOrderAndCut) {
  // One block. Of m = 4 alone: `for m by 1`; m in two cuts would be one loop.
  EXPECT_EQ(nests(einsum("Y[m] = exp(X[m])", {{"m", 4}}), without_buffer()), 1);
  // m k, k m.
  EXPECT_EQ(nests(einsum("Y[m] += X[m,k]", {{"m", 2}, {"k", 3}}), without_buffer()), 2);
  // m k, k m, and m in two cuts with k between them.
  EXPECT_EQ(nests(einsum("Y[m] += X[m,k]", {{"m", 4}, {"k", 2}}), without_buffer()), 3);
  // Nothing to loop over.
  EXPECT_EQ(nests(einsum("Y[m] = exp(X[m])", {{"m", 1}}), without_buffer()), 1);
}

TEST(ExhaustiveMapper, TriesEverySetOfHeldTensors) {
  // The buffer holds nothing: 1. X, Y or both: the loop over m stands outside or inside: 3 x 2.
  EXPECT_EQ(nests(einsum("Y[m] = exp(X[m])", {{"m", 2}}), testing::two_level()), 7);
  // What is left of m at the buffer is 4, 2 or 1: 1 + 3 x 3.
  EXPECT_EQ(nests(einsum("Y[m] = exp(X[m])", {{"m", 4}}), testing::two_level()), 10);
}

TEST(ExhaustiveMapper, TriesEveryWayToSpread) {
  const auto spread_over = [](std::int64_t x, std::int64_t y) {
    return machine({storage("DRAM"), mesh("A", x, y, {}), compute("MAC")});
  };
  const Einsum line = einsum("Y[m] = exp(X[m])", {{"m", 4}});
  // m on (x, y): not; 2 on x; 2 on y; 2 on both.
  EXPECT_EQ(nests(line, spread_over(2, 2)), 4);
  // 1, 2 or 4 on x.
  EXPECT_EQ(nests(line, spread_over(4, 1)), 3);
  // 1 or 2 on x: 3 does not divide.
  EXPECT_EQ(nests(line, spread_over(3, 1)), 2);
  // m x n on one axis: not spread, in two orders; m alone; n alone; both, where 2 x 2 fit.
  const Einsum square = einsum("Y[m,n] = exp(X[m,n])", {{"m", 2}, {"n", 2}});
  EXPECT_EQ(nests(square, spread_over(4, 1)), 5);
  EXPECT_EQ(nests(square, spread_over(3, 1)), 4);
}

/// DRAM, Buffer, A of 2, RF, MAC.
Machine two_places_and_a_mesh() {
  return machine({storage("DRAM"), storage("Buffer"), mesh("A", 2, {}), storage("RF"), compute("MAC")});
}

TEST(ExhaustiveMapper, PutsMeshesBetweenThePlacesThatAreThere) {
  // m = 2 is one loop. Neither buffer nor registers hold anything: `for` or `par`, 2. The buffer alone (3 sets): `for`
  // outside it, `for` or `par` inside, 3 x 3. The registers alone: `for` or `par` outside, `for` inside, 3 x 3.
  // Both (9 sets): `for` in three blocks or `par`, 9 x 4.
  EXPECT_EQ(nests(einsum("Y[m] = exp(X[m])", {{"m", 2}}), two_places_and_a_mesh()), 2 + 9 + 9 + 36);
}

TEST(ExhaustiveMapper, LeavesTheAtomicShapeWhole) {
  const auto atomic = [](std::int64_t m, std::int64_t n, std::int64_t k) {
    return machine({storage("DRAM"), compute("MMA", {{"m", m}, {"n", n}, {"k", k}})});
  };
  const Einsum product = einsum("Y[a,b] += X[a,c] * W[c,b]", {{"a", 2}, {"b", 1}, {"c", 2}});
  // Nothing left, in two orders; a left, where the shape's m or n takes it.
  EXPECT_EQ(nests(product, atomic(2, 1, 1)), 3);
  EXPECT_EQ(nests(product, atomic(1, 2, 1)), 3);
  EXPECT_EQ(nests(product, atomic(1, 1, 1)), 2);
  // ... and c left, or both.
  EXPECT_EQ(nests(product, atomic(2, 1, 2)), 5);
  // Two ranks share an extent: of i and j either may be left, not both. i j, j i, i, j.
  const Einsum shared = einsum("Y[i,j] += X[i,j,c] * W[c]", {{"i", 2}, {"j", 2}, {"c", 1}});
  EXPECT_EQ(nests(shared, atomic(2, 1, 1)), 4);
  EXPECT_EQ(nests(shared, atomic(4, 1, 1)), 5);
}

TEST(ExhaustiveMapper, MeetsConstraintsOnHoldsAndTiles) {
  const Einsum line = einsum("Y[m] = exp(X[m])", {{"m", 4}});
  MapConstraints held;
  held.holding = {{}, {Holding::free, Holding::held}, {}};
  EXPECT_EQ(nests(line, testing::two_level(), held), 6) << "Y, X and Y: 2 x 3";
  MapConstraints bypassed;
  bypassed.holding = {{}, {Holding::free, Holding::bypassed}, {}};
  EXPECT_EQ(nests(line, testing::two_level(), bypassed), 4) << "nothing: 1; X: 3";
  MapConstraints tile;
  tile.tile = {{}, {2}, {}};
  EXPECT_EQ(nests(line, testing::two_level(), tile), 3) << "one for each set that is not empty";
}

TEST(ExhaustiveMapper, MeetsConstraintsOnWhatStays) {
  // Y is held in two of the sets. Loops outside the buffer: none (2 orders inside), k (1), m outside k (1); not m, nor
  // k outside m.
  MapConstraints stationary;
  stationary.stationary = {-1, 1, -1};
  EXPECT_EQ(nests(einsum("Y[m] += X[m,k]", {{"m", 2}, {"k", 2}}), testing::two_level(), stationary), 8);
}

TEST(ExhaustiveMapper, MeetsConstraintsOnSpreading) {
  const Einsum line = einsum("Y[m] = exp(X[m])", {{"m", 2}});
  MapConstraints spread;
  spread.spread = {{}, {}, {{1}}, {}, {}};
  EXPECT_EQ(nests(line, two_places_and_a_mesh(), spread), 1 + 6 + 6 + 27);
  spread.spread = {{}, {}, {{2}}, {}, {}};
  EXPECT_EQ(nests(line, two_places_and_a_mesh(), spread), 1 + 3 + 3 + 9);
  MapConstraints used;
  used.least_utilization = 0.5;
  EXPECT_EQ(nests(line, two_places_and_a_mesh(), used), 56);
  used.least_utilization = 0.75;
  EXPECT_EQ(nests(line, two_places_and_a_mesh(), used), 16);
}

TEST(ExhaustiveMapper, VisitsWhatFits) {
  Einsum line = einsum("Y[m] = exp(X[m])", {{"m", 4}});
  for (Tensor& tensor : line.tensors) tensor.type = {"int8", 8};
  Storage buffer = storage("Buffer");
  buffer.capacity_bits = Count(16);
  const auto fitting = [&] {
    int visited = 0;
    const std::int64_t too_large =
        testing::for_each_mapping(line, machine({storage("DRAM"), buffer, compute("MAC")}), {},
                                  [&](const Spec&, const Counts&, const Cost&) { ++visited; });
    EXPECT_EQ(visited + too_large, 10);
    return visited;
  };
  // 2 bytes: nothing held, 1; X or Y with 2 or 1 of m, 4; both with 1 of m, 1.
  EXPECT_EQ(fitting(), 6);
  // Twice in two bytes: nothing, and X or Y with 1 of m.
  buffer.double_buffered = true;
  EXPECT_EQ(fitting(), 3);
}

TEST(ExhaustiveMapper, VisitsValidNestsOfTheSpaceOnce) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const testing::MapCase random = testing::random_map_case(seed, 1000);
    std::set<std::string> seen;
    testing::for_each_nest(random.einsum, random.machine, random.constraints, [&](const Spec& spec) {
      EXPECT_EQ(testing::outside_space(spec), "") << testing::to_yaml(spec);
      EXPECT_TRUE(seen.insert(to_text(spec.mapping, spec.einsum, spec.machine)).second) << testing::to_yaml(spec);
      return !::testing::Test::HasFailure();
    });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(ExhaustiveMapper, CountsAsTheSimulatorDoes) {
  int simulated = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const testing::MapCase random = testing::random_map_case(seed, 1000);
    const std::int64_t stride = random.nests / 5 + 1;
    std::int64_t visited = 0;
    testing::for_each_mapping(
        random.einsum, random.machine, random.constraints, [&](const Spec& spec, const Counts& counts, const Cost&) {
          if (visited++ % stride != 0) return;
          const Result<Simulation> simulation = simulate(spec);
          ASSERT_TRUE(simulation) << render(simulation.error(), {});
          EXPECT_TRUE(simulation->result_matches) << simulation->first_mismatch;
          EXPECT_EQ(testing::difference(counts, simulation->counts, spec), "") << testing::to_yaml(spec);
          ++simulated;
        });
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
  EXPECT_GE(simulated, 200);
}

TEST(ExhaustiveMapper, SeesWhatIsOutsideTheSpace) {
  const Einsum line = einsum("Y[m] += X[m,k]", {{"m", 4}, {"k", 2}});
  const auto outside = [&](const Machine& machine, const std::string& nest) {
    return testing::outside_space(testing::spec(line, machine, nest));
  };
  const Machine spread = two_places_and_a_mesh();
  EXPECT_EQ(outside(testing::two_level(), "at Buffer: X\nfor m k by 1\n"), "");
  EXPECT_EQ(outside(testing::two_level(), "at Buffer: X\nfor m by 1\nat Buffer: Y\nfor k by 1\n"),
            "uneven holds at Buffer");
  EXPECT_EQ(outside(testing::two_level(), "for m by 3\nfor m k by 1\n"), "a tile does not divide");
  EXPECT_EQ(outside(spread, "par m by 2 on A.x\nfor m k by 1\n"),
            "a temporal loop stands inside a par line of its block");
  EXPECT_EQ(outside(spread, "par m by 2 on A.x\nat RF: X\nfor m k by 1\n"), "");
}

}  // namespace
}  // namespace einflow
