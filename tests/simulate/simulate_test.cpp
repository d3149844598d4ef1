// The executor on nests small enough to count by hand, one for each clause of the law of movement.
#include "simulate/simulate.hpp"

#include <gtest/gtest.h>

#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::Abilities;
using testing::compute;
using testing::einsum;
using testing::machine;
using testing::mesh;
using testing::spec;
using testing::storage;

Simulation run(const Spec& spec) {
  const Result<Simulation> simulation = simulate(spec);
  EXPECT_TRUE(simulation);
  if (!simulation) return {};
  EXPECT_TRUE(simulation->result_matches) << simulation->first_mismatch;
  return *simulation;
}

/// The counts of the hold of a tensor at a level.
HoldCounts at(const Simulation& simulation, const Spec& spec, const std::string& tensor, const std::string& level) {
  for (const HoldCounts& counts : simulation.counts.holds) {
    const auto t = static_cast<std::size_t>(counts.tensor);
    const Hold& hold = spec.mapping.holds[t][static_cast<std::size_t>(counts.hold)];
    if (spec.einsum.tensors[t].name == tensor && spec.machine.level_name(hold.level) == level) return counts;
  }
  ADD_FAILURE() << "no hold of " << tensor << " at " << level;
  return {};
}

Einsum matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  return einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", m}, {"n", n}, {"k", k}});
}

// 4 x 6 x 8 in blocks of 2 x 3 x 4, k innermost outside the buffer: X and W are read for each of the 2*2*2 blocks
// (8 tiles of 8, of 12), Y stays while k runs: 4 tiles of 6, never read back. In the end 192 operations one at a time.
TEST(Simulate, CountsATiledMatmul) {
  const Spec tiled = spec(matmul(4, 6, 8), testing::two_level(),
                          "for m by 2\nfor n by 3\nfor k by 4\nat Buffer: X W Y\nfor m by 1\nfor n by 1\nfor k by 1");
  const Simulation result = run(tiled);
  EXPECT_EQ(at(result, tiled, "X", "Buffer").fills, Count(64));
  EXPECT_EQ(at(result, tiled, "X", "Buffer").parent_reads, Count(64));
  EXPECT_EQ(at(result, tiled, "X", "Buffer").tile_elements, Count(8));
  EXPECT_EQ(at(result, tiled, "W", "Buffer").fills, Count(96));
  EXPECT_EQ(at(result, tiled, "Y", "Buffer").drains, Count(24));
  EXPECT_EQ(at(result, tiled, "Y", "Buffer").parent_updates, Count(24));
  EXPECT_EQ(at(result, tiled, "Y", "Buffer").parent_rmw_reads, Count(0));
  EXPECT_EQ(at(result, tiled, "Y", "MAC").parent_updates, Count(192));
  EXPECT_EQ(at(result, tiled, "Y", "MAC").parent_rmw_reads, Count(192 - 24));
  EXPECT_EQ(result.counts.operations, Count(192));
  EXPECT_EQ(result.counts.steps, Count(192));
}

// With k outermost every tile of Y comes twice; the second time it is added to what the DRAM has.
TEST(Simulate, CountsReadModifyWrites) {
  const Spec split = spec(matmul(4, 6, 8), testing::two_level(),
                          "for k by 4\nfor m by 2\nfor n by 3\nat Buffer: X W Y\nfor m by 1\nfor n by 1\nfor k by 1");
  const Simulation result = run(split);
  EXPECT_EQ(at(result, split, "Y", "Buffer").parent_updates, Count(48));
  EXPECT_EQ(at(result, split, "Y", "Buffer").parent_rmw_reads, Count(24));
}

// 5 = 2 + 2 + 1: three steps, the last tile has one element.
TEST(Simulate, HasASmallerLastTile) {
  const Spec imperfect =
      spec(einsum("Z[m] = X[m]", {{"m", 5}}), testing::two_level(), "for m by 2\nat Buffer: X\nfor m by 1");
  const Simulation result = run(imperfect);
  EXPECT_EQ(at(result, imperfect, "X", "Buffer").fills, Count(5));
  EXPECT_EQ(at(result, imperfect, "X", "Buffer").tile_elements, Count(2));
  EXPECT_EQ(result.counts.steps, Count(5));
}

/// Two columns of a matrix product side by side, k one after the other: X is wanted by both.
Spec columns(Abilities abilities) {
  return spec(matmul(1, 2, 3), machine({storage("DRAM"), mesh("A", 2, abilities), storage("RF"), compute("MAC")}),
              "for k by 1\npar n by 1 on A.x\nat RF: X W Y\nfor m by 1");
}

TEST(Simulate, ReadsOnceForAllChildrenWithMulticast) {
  const Spec with = columns({true, false, false});
  EXPECT_EQ(at(run(with), with, "X", "RF").fills, Count(6));
  EXPECT_EQ(at(run(with), with, "X", "RF").parent_reads, Count(3));
  const Spec without = columns({});
  EXPECT_EQ(at(run(without), without, "X", "RF").parent_reads, Count(6));
}

/// Two halves of the sums side by side.
Spec halves(Abilities abilities) {
  return spec(matmul(3, 1, 2), machine({storage("DRAM"), mesh("A", 2, abilities), storage("RF"), compute("MAC")}),
              "for m by 1\npar k by 1 on A.x\nat RF: X W Y\nfor n by 1");
}

TEST(Simulate, MergesPartialSumsWithReduction) {
  const Spec with = halves({false, true, false});
  EXPECT_EQ(at(run(with), with, "Y", "RF").drains, Count(6));
  EXPECT_EQ(at(run(with), with, "Y", "RF").parent_updates, Count(3));
  EXPECT_EQ(at(run(with), with, "Y", "RF").parent_rmw_reads, Count(0));
  const Spec without = halves({});
  EXPECT_EQ(at(run(without), without, "Y", "RF").parent_updates, Count(6));
  EXPECT_EQ(at(run(without), without, "Y", "RF").parent_rmw_reads, Count(3));
}

/// A window of 2 elements that slides by one over 4 positions, its elements on two children: I[p] on one, I[p+1] on the
/// other. What the first wants next the second had before.
Spec diagonal(Abilities abilities) {
  return spec(einsum("O[p] += I[p+r] * F[r]", {{"p", 4}, {"r", 2}}),
              machine({storage("DRAM"), mesh("A", 2, abilities), storage("RF"), compute("MAC")}),
              "for p by 1\npar r by 1 on A.x\nat RF: I F O");
}

TEST(Simulate, TakesFromSiblingsWithForwarding) {
  const Spec with = diagonal({true, false, true});
  EXPECT_EQ(at(run(with), with, "I", "RF").fills, Count(8));
  EXPECT_EQ(at(run(with), with, "I", "RF").parent_reads, Count(5));
  EXPECT_EQ(at(run(with), with, "I", "RF").forwarded, Count(3));
  const Spec without = diagonal({true, false, false});
  EXPECT_EQ(at(run(without), without, "I", "RF").parent_reads, Count(8));
  EXPECT_EQ(at(run(without), without, "I", "RF").forwarded, Count(0));
}

TEST(Simulate, ForwardsNothingIntoTheComputeLevel) {
  const Spec direct = spec(einsum("O[p] += I[p+r] * F[r]", {{"p", 4}, {"r", 2}}),
                           machine({storage("DRAM"), mesh("A", 2, {true, false, true}), compute("MAC", {}, true)}),
                           "for p by 1\npar r by 1 on A.x");
  EXPECT_EQ(at(run(direct), direct, "I", "MAC").forwarded, Count(0));
  EXPECT_EQ(at(run(direct), direct, "I", "MAC").parent_reads, Count(8));
}

/// X, of one element, on 2 x 3 children: 2 told apart by mesh A, 3 by mesh B.
Spec two_meshes(bool multicast_a, bool multicast_b) {
  return spec(matmul(2, 3, 1),
              machine({storage("DRAM"), mesh("A", 2, {multicast_a, false, false}),
                       mesh("B", 3, {multicast_b, false, false}), storage("RF"), compute("MAC")}),
              "par m by 1 on A.x\npar n by 1 on B.x\nat RF: X W Y\nfor k by 1");
}

// W[0,n] is wanted by both m; X[m,0] by all three n.
TEST(Simulate, TellsChildrenApartByTheMeshesWithoutTheAbility) {
  const auto reads = [](const Spec& nest, const char* tensor) {
    return at(run(nest), nest, tensor, "RF").parent_reads;
  };
  EXPECT_EQ(reads(two_meshes(true, true), "X"), Count(2));
  EXPECT_EQ(reads(two_meshes(true, true), "W"), Count(3));
  EXPECT_EQ(reads(two_meshes(true, false), "X"), Count(6));
  EXPECT_EQ(reads(two_meshes(true, false), "W"), Count(3));
  EXPECT_EQ(reads(two_meshes(false, true), "X"), Count(2));
  EXPECT_EQ(reads(two_meshes(false, true), "W"), Count(6));
}

/// 2 x 3 operations one by one, n innermost.
Spec one_by_one(bool latches) {
  return spec(einsum("Y[m] += X[m] * W[n]", {{"m", 2}, {"n", 3}}),
              machine({storage("DRAM"), compute("MAC", {}, latches)}), "for m by 1\nfor n by 1");
}

// X and the sum stay in their latches while n runs.
TEST(Simulate, KeepsOperandsAndSumsInLatches) {
  const Spec with = one_by_one(true);
  EXPECT_EQ(at(run(with), with, "X", "MAC").fills, Count(2));
  EXPECT_EQ(at(run(with), with, "W", "MAC").fills, Count(6));
  EXPECT_EQ(at(run(with), with, "Y", "MAC").drains, Count(2));
  EXPECT_EQ(at(run(with), with, "Y", "MAC").parent_rmw_reads, Count(0));
  const Spec without = one_by_one(false);
  EXPECT_EQ(at(run(without), without, "X", "MAC").fills, Count(6));
  EXPECT_EQ(at(run(without), without, "Y", "MAC").drains, Count(6));
  EXPECT_EQ(at(run(without), without, "Y", "MAC").parent_rmw_reads, Count(4));
}

// 3 x 2 x 4 as atomic 2 x 2 x 2 shapes: ceil(3/2) * 1 * 2 = 4 steps; each reads what it touches of X: (2+1) rows of 2,
// twice.
TEST(Simulate, DoesAtomicShapesAtOnce) {
  const Spec shapes = spec(matmul(3, 2, 4), machine({storage("DRAM"), compute("MMA", {{"m", 2}, {"n", 2}, {"k", 2}})}),
                           "for m by 2\nfor k by 2");
  const Simulation result = run(shapes);
  EXPECT_EQ(result.counts.steps, Count(4));
  EXPECT_EQ(result.counts.operations, Count(24));
  EXPECT_EQ(at(result, shapes, "X", "MMA").fills, Count(12));
  EXPECT_EQ(at(result, shapes, "X", "MMA").tile_elements, Count(4));
  EXPECT_EQ(at(result, shapes, "Y", "MMA").drains, Count(12));
}

// A window of 3 over 3 stored elements with one zero on either side: tiles {0,1} {0,1,2} {1,2} of I.
TEST(Simulate, NeitherStoresNorMovesPadding) {
  Einsum padded = einsum("O[p] += I[p+r-1] * F[r]", {{"p", 3}, {"r", 3}});
  padded.tensors[0].axes[0].stored_size = 3;
  const Spec nest = spec(padded, testing::two_level(), "for p by 1\nat Buffer: I F O\nfor r by 1");
  const Simulation result = run(nest);
  EXPECT_EQ(at(result, nest, "I", "DRAM").tile_elements, Count(3));
  EXPECT_EQ(at(result, nest, "I", "Buffer").fills, Count(3));
  EXPECT_EQ(at(result, nest, "I", "MAC").fills, Count(7));  // 9 operations, 2 of them on zeros
}

// 3 = 2 + 1 rows on two children, row by row: in the second step one is idle and keeps nothing.
TEST(Simulate, KeepsNothingOnIdleCoordinates) {
  const Spec nest = spec(einsum("Z[m,n] = X[m] + W[n]", {{"m", 3}, {"n", 2}}),
                         machine({storage("DRAM"), mesh("A", 2, {}), storage("RF"), compute("MAC")}),
                         "for n by 1\npar m by 2 on A.x\nfor m by 1\nat RF: X W");
  const Simulation result = run(nest);
  EXPECT_EQ(result.counts.steps, Count(4));
  EXPECT_EQ(at(result, nest, "W", "RF").instances, Count(2));
  // Per n: child 0 reads W[n] once and keeps it, child 1 reads it, is idle, and reads the next.
  EXPECT_EQ(at(result, nest, "W", "RF").fills, Count(4));
  EXPECT_EQ(at(result, nest, "X", "RF").fills, Count(6));
}

TEST(Simulate, CountsTheSameWithoutValues) {
  const Spec nest = diagonal({true, true, true});
  SimulateOptions options;
  options.values = false;
  const Result<Simulation> without = simulate(nest, options);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->counts, run(nest).counts);
  EXPECT_TRUE(without->result_matches);
}

TEST(Simulate, ReportsProgressAtTheEnd) {
  std::vector<Count> seen;
  SimulateOptions options;
  options.progress = [&seen](Count done, Count total) {
    EXPECT_EQ(total, Count(8));
    seen.push_back(done);
  };
  ASSERT_TRUE(simulate(diagonal({}), options));
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen.back(), Count(8));
}

TEST(Simulate, DeclinesMoreOperationsThanTheLimit) {
  SimulateOptions options;
  options.limit_operations = 7;
  const Result<Simulation> result = simulate(diagonal({}), options);
  ASSERT_FALSE(result);
  ASSERT_EQ(result.error().size(), 1U);
  EXPECT_EQ(result.error()[0].message,
            "the simulator executes every operation, and this problem has 8; the limit is 7");
  EXPECT_EQ(result.error()[0].hint, "raise the limit (--limit 8) or make the ranks smaller");
}

// Not a mapping that the reader lets pass: the inner hold stands outside its parent's loops, so it wants elements that
// the parent does not have yet. The check must say so and not crash.
TEST(Simulate, ReportsAnElementThatIsNotWhereItIsNeeded) {
  Spec wrong =
      spec(einsum("Z[m] = X[m]", {{"m", 2}}), machine({storage("DRAM"), storage("L1"), storage("L2"), compute("MAC")}),
           "at L1: X\nfor m by 1\nat L2: X");
  std::swap(wrong.mapping.holds[0][1].depth, wrong.mapping.holds[0][2].depth);
  const Result<Simulation> result = simulate(wrong);
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->result_matches);
  EXPECT_EQ(result->first_mismatch, "at L2: X[1] is wanted, but not in the parent hold");
}

}  // namespace
}  // namespace einflow
