// Pipelined cycles of specs small enough to draw the timeline by hand.
#include "simulate/pipeline.hpp"

#include <gtest/gtest.h>

#include "simulate/simulate.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::compute;
using testing::machine;
using testing::mesh;
using testing::storage;

Ratio ratio(int numerator, int denominator) { return Ratio(Count(numerator), Count(denominator)); }

Count pipelined(Einsum einsum, const Machine& machine, const std::string& nest) {
  for (Tensor& tensor : einsum.tensors) tensor.type = {"int8", 8};
  const Result<Simulation> simulation = simulate(testing::spec(einsum, machine, nest));
  EXPECT_TRUE(simulation && simulation->result_matches);
  return simulation ? simulation->pipelined_cycles : Count(-1);
}

/// Sums of 8 rows of 25 elements of a byte. A row is a tile: it takes 25 / write_bandwidth cycles to load, 25 to add
/// up, and its sum takes 5 to store, at a fifth of a byte per cycle.
Count eight_rows(const Ratio& write_bandwidth, bool double_buffered, bool shared_port = false) {
  Storage buffer = storage("Buffer", ratio(1, 5), write_bandwidth, double_buffered);
  Storage outside = storage("DRAM");
  outside.shared_port = shared_port;  // without a bandwidth: takes no time, but takes turns
  return pipelined(testing::einsum("Y[m] += X[m,k]", {{"m", 8}, {"k", 25}}), machine({outside, buffer, compute("MAC")}),
                   "for m by 1\nat Buffer: X Y\nfor k by 1");
}

constexpr bool kDouble = true;
constexpr bool kSingle = false;

// Loads hide behind computation: first load, 8 computations, last store: 10 + 8*25 + 5.
TEST(Pipeline, OfDoubleBuffersIsBoundByComputation) { EXPECT_EQ(eight_rows(ratio(5, 2), kDouble), Count(215)); }

// Computation hides behind loads: 8 loads, then the last computation and store: 8*30 + 25 + 5.
TEST(Pipeline, OfDoubleBuffersIsBoundByLoads) { EXPECT_EQ(eight_rows(ratio(5, 6), kDouble), Count(270)); }

// Load, compute, store, one after the other: 8*(10+25+5) and 8*(30+25+5).
TEST(Pipeline, OfSingleBuffersIsTheSum) {
  EXPECT_EQ(eight_rows(ratio(5, 2), kSingle), Count(320));
  EXPECT_EQ(eight_rows(ratio(5, 6), kSingle), Count(480));
}

// Loads of 10: load 1 at 10..20 and store 0 at 35..40 do not meet, nor do later ones: as with two ports.
// Loads of 30: load 0 and 1 until 60, store 0 until 65, load 2 until 95, store 1 until 100, and so on every 35 cycles;
// load 7 ends at 95 + 5*35 = 270, store 6 at 275, computation 7 at 295, store 7 at 300.
TEST(Pipeline, TakesTurnsAtASharedPort) {
  EXPECT_EQ(eight_rows(ratio(5, 2), kDouble, /*shared_port=*/true), Count(215));
  EXPECT_EQ(eight_rows(ratio(5, 6), kDouble, /*shared_port=*/true), Count(300));
  EXPECT_EQ(eight_rows(ratio(5, 2), kSingle, /*shared_port=*/true), Count(320));
}

/// 2 rows of 4 bytes in L1: 10 cycles to load, their sum 2 to store. Half rows in L2: 4 cycles to load, 2 to compute.
Count rows_in_halves(bool l1_double, bool l2_double) {
  return pipelined(testing::einsum("Y[m] += X[m,k]", {{"m", 2}, {"k", 4}}),
                   machine({storage("DRAM"), storage("L1", ratio(1, 2), ratio(2, 5), l1_double),
                            storage("L2", ratio(1, 2), ratio(1, 2), l2_double), compute("MAC")}),
                   "for m by 1\nat L1: X Y\nfor k by 2\nat L2: X\nfor k by 1");
}

// Row 0 in L1 until 10. Halves in L2 until 14, 18; computed until 16, 20; sum stored until 22.
// Row 1 in L1 until 20. Halves in L2 until 24, 28; computed until 26, 30; sum stored until 32.
TEST(Pipeline, NestsTilesInTiles) { EXPECT_EQ(rows_in_halves(kDouble, kDouble), Count(32)); }

// Row 1 waits for the sum of row 0: loaded from 22 to 32; halves until 36, 40; computed until 38, 42; stored until 44.
TEST(Pipeline, WaitsForAnOuterTileToBeFree) { EXPECT_EQ(rows_in_halves(kSingle, kDouble), Count(44)); }

// Each half is loaded after the half before is computed: 10+4+2+4+2 = 22, sum 24, and the same again.
TEST(Pipeline, WaitsForAnInnerTileToBeFree) { EXPECT_EQ(rows_in_halves(kSingle, kSingle), Count(48)); }

/// 4 bytes for each of two instances, from DRAM at a byte per cycle; then 4 steps.
Count two_copies(bool multicast) {
  return pipelined(testing::einsum("Z[m,n] = X[m]", {{"m", 4}, {"n", 2}}),
                   machine({storage("DRAM", ratio(1, 1), ratio(100, 1)), mesh("A", 2, {multicast, false, false}),
                            storage("L1"), compute("MAC")}),
                   "par n by 1 on A.x\nat L1: X\nfor m by 1");
}

TEST(Pipeline, ReadsOnceWhatIsMulticast) {
  EXPECT_EQ(two_copies(true), Count(4 + 4));
  EXPECT_EQ(two_copies(false), Count(8 + 4));
}

// One instance gets 3 bytes, the other 1: the larger tile counts, 3 cycles; then 3 steps.
TEST(Pipeline, WaitsForTheInstanceWithTheMostToLoad) {
  EXPECT_EQ(
      pipelined(testing::einsum("Z[m] = X[m]", {{"m", 4}}),
                machine({storage("DRAM"), mesh("A", 2, {}), storage("L1", ratio(1, 1), ratio(1, 1)), compute("MAC")}),
                "par m by 3 on A.x\nat L1: X\nfor m by 1"),
      Count(6));
}

// Rows of window sums slide by one: 3 elements at first, then one new element a step. 3+1 load cycles at one byte a
// cycle, single-buffered, each followed by 3 steps of computation: 3+3 + 1+3.
TEST(Pipeline, LoadsOnlyWhatTheTileBeforeDidNotHave) {
  EXPECT_EQ(pipelined(testing::einsum("O[p] += I[p+r]", {{"p", 2}, {"r", 3}}),
                      machine({storage("DRAM"), storage("L1", ratio(1, 1), ratio(1, 1)), compute("MAC")}),
                      "for p by 1\nat L1: I\nfor r by 1"),
            Count(10));
}

// Nothing below the outermost storage: the steps. 5 in tiles of the atomic shape 2, at 1 operation a cycle 2 cycles
// each.
TEST(Pipeline, ChargesPartialAtomicShapesInFull) {
  const Machine wide = machine({storage("DRAM"), compute("MMA", {{"m", 2}})});
  EXPECT_EQ(pipelined(testing::einsum("Z[m] = X[m]", {{"m", 5}}), wide, "for m by 2"), Count(6));
}

// The rate of the widest input type: 3 operations at 2 a cycle take 2 cycles, a step.
TEST(Pipeline, TakesTheRateOfTheWidestInput) {
  Machine mixed = machine({storage("DRAM"), compute("MMA", {{"i", 3}})});
  std::get<Compute>(mixed.levels.back()).rate = {{"fp32", ratio(2, 1)}, {"int8", ratio(8, 1)}};
  Einsum problem = testing::einsum("Z[i] = X[i] + B[i]", {{"i", 6}});
  problem.tensors[0].type = {"int8", 8};
  problem.tensors[1].type = {"fp32", 32};
  EXPECT_EQ(simulate(testing::spec(problem, mixed, "for i by 3"))->pipelined_cycles, Count(4));
}

}  // namespace
}  // namespace einflow
