// Time, energy, space (docs/law.md section 6). Every expected figure is derived by hand in the comment beside it.
#include "cost/cost.hpp"

#include <gtest/gtest.h>

#include "cost/capacity.hpp"
#include "movement/movement.hpp"
#include "support/worked_example.hpp"

namespace einflow {
namespace {

using testing::read;
using testing::with;
using testing::worked_example_text;

constexpr int kX = 0;
constexpr int kW = 1;
constexpr int kY = 2;

struct Costed {
  Spec spec;
  Counts counts;
  Cost cost;
};

Costed costed(const std::string& yaml) {
  Costed result;
  result.spec = read(yaml);
  result.counts = *count_movement(result.spec);
  result.cost = *cost_of(result.spec, result.counts);
  return result;
}

const LevelCost& level(const Costed& costed, const std::string& name) {
  for (const LevelCost& entry : costed.cost.levels) {
    if (costed.spec.machine.level_name(entry.level) == name) return entry;
  }
  throw std::runtime_error("no level " + name);
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  for (const std::string& line : lines) {
    if (line.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(Cost, ReadsAndWritesOfTheWorkedExample) {
  const Costed example = costed(worked_example_text());
  const LevelCost& dram = level(example, "DRAM");
  EXPECT_EQ(dram.tensors[kX].reads, Count(8388608)) << "128 x 128 at each of 8 x 8 x 8 steps";
  EXPECT_EQ(dram.tensors[kW].reads, Count(8388608));
  EXPECT_EQ(dram.tensors[kY].reads, Count(0)) << "Y leaves the Buffer complete";
  EXPECT_EQ(dram.tensors[kY].writes, Count(1048576)) << "1024 x 1024, once";
  EXPECT_EQ(dram.bytes_read, Ratio(Count(33554432))) << "2 x 8388608 x 2 B";
  EXPECT_EQ(dram.bytes_written, Ratio(Count(4194304))) << "1048576 x 4 B";

  const LevelCost& buffer = level(example, "Buffer");
  // 4194304 steps (8 x 8 x 8 x 128 x 8 x 8), 16 rows of X and 16 columns of W in each.
  EXPECT_EQ(buffer.tensors[kX].reads, Count(67108864));
  EXPECT_EQ(buffer.tensors[kX].writes, Count(8388608)) << "its fills";
  EXPECT_EQ(buffer.tensors[kY].reads, Count(1048576)) << "its drains to DRAM";
  EXPECT_EQ(buffer.tensors[kY].writes, Count(1048576)) << "the drains of the RFs";
  EXPECT_EQ(buffer.bytes_read, Ratio(Count(272629760))) << "2 x 67108864 x 2 B + 1048576 x 4 B";

  const LevelCost& rf = level(example, "RF");
  ASSERT_EQ(rf.tensors.size(), 1u);
  // Each of 2^30 MACs updates a sum; all but the first of 1048576 read it first; 1048576 drains.
  EXPECT_EQ(rf.tensors[0].writes, Count(1073741824));
  EXPECT_EQ(rf.tensors[0].reads, Count(1073741824 - 1048576 + 1048576));
}

TEST(Cost, OccupancyCountsDoubleBuffersTwice) {
  const Costed example = costed(worked_example_text());
  EXPECT_EQ(level(example, "Buffer").occupancy_bytes, Ratio(Count(262144))) << "16384 x (2 + 2 + 4) B, twice";
  EXPECT_EQ(level(example, "RF").occupancy_bytes, Ratio(Count(256))) << "8 x 8 x 4 B";
  EXPECT_EQ(level(example, "DRAM").occupancy_bytes, Ratio(Count(8388608))) << "1048576 x (2 + 2 + 4) B";
  EXPECT_FALSE(level(example, "DRAM").capacity_bytes);
}

TEST(Cost, HalfBytesAreExact) {
  const Costed fp4 = costed(with(with(worked_example_text(), "X: bf16", "X: fp4"), "m: 1024", "m: 1023"));
  // X is read 8 times (n by 128): 8 x 1023 x 1024 elements of half a byte; W 8 times (m by 128, the last tile 127
  // wide).
  EXPECT_EQ(level(fp4, "DRAM").bytes_read, Ratio(Count(8) * 1023 * 1024, Count(2)) + Ratio(Count(8388608 * 2)));
}

TEST(Cost, CyclesOfTheWorkedExample) {
  const Costed example = costed(worked_example_text());
  EXPECT_EQ(example.cost.time.steps, Count(4194304)) << "8 x 8 x 8 x 128 x 8 x 8";
  EXPECT_EQ(example.cost.time.compute, Count(4194304)) << "one operation a cycle";
  EXPECT_EQ(level(example, "DRAM").cycles, Count(524288)) << "33554432 B read at 64 B/cycle; writing takes 65536";
  EXPECT_EQ(level(example, "Buffer").cycles, Count(2129920)) << "272629760 B read at 128 B/cycle";
  EXPECT_FALSE(level(example, "RF").cycles) << "it states no bandwidth";
  EXPECT_EQ(example.cost.time.overlapped, Count(4194304));
  EXPECT_EQ(example.cost.time.limited_by, "compute");
  EXPECT_DOUBLE_EQ(*example.cost.time.seconds, 4194304e-9) << "1 GHz";
  EXPECT_DOUBLE_EQ(*example.cost.time.utilization, 1.0) << "2^30 MACs / (4194304 x 256)";
}

TEST(Cost, ASharedPortCarriesBothDirections) {
  const Costed shared = costed(with(worked_example_text(), "{read: 64 GB/s, write: 64 GB/s}", "{shared: 4 GB/s}"));
  EXPECT_EQ(level(shared, "DRAM").cycles, Count(9437184)) << "(33554432 + 4194304) B / 4 B a cycle";
  EXPECT_EQ(shared.cost.time.limited_by, "DRAM");
  EXPECT_DOUBLE_EQ(*shared.cost.time.utilization, 4194304.0 / 9437184.0);
}

TEST(Cost, AnAtomicShapeTakesWholeCycles) {
  const std::string mma = R"(
problem: {einsum: "Y[m,n] += X[m,k] * W[k,n]", ranks: {m: 33, n: 8, k: 16}}
machine:
  name: tensor core
  levels:
    - {storage: SMEM}
    - {compute: MMA, rate: {bf16: 600 MAC/cycle, int8: 2048 MAC/cycle}, atomic: {m: 16, n: 8, k: 16}}
mapping: "for m by 16"
)";
  // 33 rows are 3 steps, the last with one row; 2048 MACs at 600 a cycle are 4 cycles.
  const Costed bf16 = costed(mma);
  EXPECT_EQ(bf16.cost.time.steps, Count(3));
  EXPECT_EQ(bf16.cost.time.compute, Count(12));
  EXPECT_DOUBLE_EQ(*bf16.cost.time.utilization, 33.0 * 8 * 16 / (12 * 600));
  // The widest input sets the rate: X int8 and W int8 run at 2048, one step a cycle; with W bf16 at 600.
  EXPECT_EQ(
      costed(with(mma, "m: 33, n: 8, k: 16}}", "m: 33, n: 8, k: 16}, types: {X: int8, W: int8}}")).cost.time.compute,
      Count(3));
  EXPECT_EQ(
      costed(with(mma, "m: 33, n: 8, k: 16}}", "m: 33, n: 8, k: 16}, types: {X: int8, W: bf16}}")).cost.time.compute,
      Count(12));
}

TEST(Cost, ARateThatIsNotStatedIsNotGuessed) {
  const Costed int8 = costed(with(with(worked_example_text(), "rate: 1 op/cycle", "rate: {int8: 1 op/cycle}"),
                                  "energy: 0.5 pJ", "energy: {int8: 0.5 pJ}"));
  EXPECT_FALSE(int8.cost.time.compute);
  EXPECT_FALSE(int8.cost.time.utilization);
  EXPECT_FALSE(int8.cost.energy.compute);
  EXPECT_FALSE(int8.cost.roofline);
  EXPECT_EQ(int8.cost.time.limited_by, "Buffer");
  EXPECT_TRUE(says(int8.cost.uncounted, "MAC states no rate for bf16"));
  EXPECT_TRUE(says(int8.cost.uncounted, "MAC (bf16)"));
}

TEST(Cost, EnergyOfTheWorkedExample) {
  const Costed example = costed(worked_example_text());
  EXPECT_DOUBLE_EQ(*level(example, "DRAM").energy_picojoules, 301989888) << "8 pJ x (33554432 + 4194304) B";
  EXPECT_DOUBLE_EQ(*example.cost.energy.compute, 536870912) << "0.5 pJ x 2^30";
  EXPECT_FALSE(level(example, "Buffer").energy_picojoules);
  EXPECT_DOUBLE_EQ(*example.cost.energy.total, 838860800);
  EXPECT_DOUBLE_EQ(*example.cost.energy.energy_delay, 838860800e-12 * 4194304e-9);
  EXPECT_TRUE(says(example.cost.uncounted, "energy not stated: Buffer, RF"));
}

TEST(Cost, EnergyPerElementAndPerAccess) {
  const std::string per_element = with(worked_example_text(), "energy: {read: 8 pJ/B, write: 8 pJ/B}",
                                       "energy: {read: 3 pJ/element, write: 8 pJ/B}");
  EXPECT_DOUBLE_EQ(*level(costed(per_element), "DRAM").energy_picojoules, 3.0 * 16777216 + 8.0 * 4194304);
  // 8 B an access: 4 elements of X or W, 2 of Y; tiles of 128 x 128 divide, so nothing is rounded up.
  const std::string per_access =
      with(worked_example_text(), "energy: {read: 8 pJ/B, write: 8 pJ/B}", "energy: 10 pJ/access, access: 8 B");
  EXPECT_DOUBLE_EQ(*level(costed(per_access), "DRAM").energy_picojoules, 10.0 * (33554432 + 4194304) / 8);
}

TEST(Cost, EveryElementDeliveredIsAHop) {
  const Costed example =
      costed(with(worked_example_text(), "forwarding: false", "forwarding: false, hop_energy: 0.25 pJ/element"));
  double expected = 0;
  for (const NetworkCost& network : example.cost.networks) {
    // X and W reach 256 MACs at each of 4194304 steps; Y leaves the RFs once.
    EXPECT_EQ(network.hops, Count(network.counts.tensor == kY ? 1048576 : 1073741824));
    expected += 0.25 * network.hops.to_double();
  }
  EXPECT_DOUBLE_EQ(*example.cost.energy.network, expected);
  EXPECT_DOUBLE_EQ(*example.cost.energy.total, 838860800 + 0.25 * (2.0 * 1073741824 + 1048576));
}

TEST(Cost, IntensityAndRoofline) {
  const Costed example = costed(worked_example_text());
  EXPECT_DOUBLE_EQ(*level(example, "DRAM").flop_per_byte, 2147483648.0 / 37748736);
  // The Buffer gives 2 x 67108864 x 2 B to the array and takes 1048576 x 4 B from it; DRAM's side is not in it.
  EXPECT_DOUBLE_EQ(*level(example, "Buffer").flop_per_byte, 2147483648.0 / (268435456 + 4194304));
  const RooflineCost& roofline = *example.cost.roofline;
  EXPECT_EQ(roofline.level, 0);
  EXPECT_DOUBLE_EQ(roofline.peak, 512) << "256 MACs a cycle";
  EXPECT_DOUBLE_EQ(roofline.bandwidth, 72) << "37748736 B in 524288 cycles, reads and writes side by side";
  EXPECT_DOUBLE_EQ(roofline.ridge, 512.0 / 72);
  EXPECT_FALSE(roofline.memory_bound());
  EXPECT_DOUBLE_EQ(roofline.attainable, 512);
  EXPECT_DOUBLE_EQ(roofline.ideal_intensity, 256) << "2^31 FLOPs / (2 + 2 + 4) MiB";
}

TEST(Cost, MemoryBoundSideOfTheRidge) {
  const Costed slow = costed(with(worked_example_text(), "{read: 64 GB/s, write: 64 GB/s}", "{shared: 4 GB/s}"));
  const RooflineCost& roofline = *slow.cost.roofline;
  EXPECT_TRUE(roofline.memory_bound());
  EXPECT_DOUBLE_EQ(roofline.ridge, 128) << "512 FLOP a cycle / 4 B a cycle";
  EXPECT_DOUBLE_EQ(roofline.attainable, 4 * 2147483648.0 / 37748736);
}

TEST(Cost, ADeclaredShareScalesWorkNotMovement) {
  const Costed whole = costed(worked_example_text());
  const Costed half = costed(
      with(worked_example_text(), "Y: fp32}", "Y: fp32}\n  executes: \"1/2\"\n  because: every second is masked"));
  EXPECT_EQ(half.counts.holds, whole.counts.holds);
  EXPECT_EQ(half.cost.time.compute, whole.cost.time.compute);
  EXPECT_DOUBLE_EQ(*half.cost.energy.compute, 536870912.0 / 2);
  EXPECT_DOUBLE_EQ(*half.cost.time.utilization, 0.5);
  EXPECT_TRUE(says(half.cost.conventions, "every second is masked"));
}

TEST(Cost, OtherOperatorsHaveNoFlops) {
  const Costed maximum = costed(with(with(worked_example_text(), "+=", "max="), "X[m,k] * W", "X[m,k] + W"));
  EXPECT_FALSE(level(maximum, "DRAM").flop_per_byte);
  EXPECT_FALSE(maximum.cost.roofline->in_flops);
  EXPECT_DOUBLE_EQ(maximum.cost.roofline->peak, 256);
}

TEST(Systolic, WeightStationaryFolds) {
  // 128 x 128, rows hold k, columns n: (2R + C + M - 2) a fold, 6 x 2 folds (SCALE-Sim, dataflow "ws").
  const std::string ws = R"(
problem: {einsum: "Y[m,n] += X[m,k] * W[k,n]", ranks: {m: 256, k: 768, n: 256}, types: {X: int8, W: int8, Y: int32}}
machine:
  name: ws
  levels:
    - {storage: SRAM}
    - {mesh: array, axes: {row: 128, col: 128}, multicast: true, reduction: true, systolic: last-operation}
    - {storage: PE}
    - {compute: MAC, rate: 1 op/cycle}
mapping: |
  for n by 128
  for k by 128
  par k by 1 on array.row
  par n by 1 on array.col
  at PE: W
  for m by 1
)";
  const Costed gemm = costed(ws);
  ASSERT_EQ(gemm.cost.time.arrays.size(), 1u);
  EXPECT_EQ(gemm.cost.time.arrays[0].stationary, kW);
  EXPECT_EQ(gemm.cost.time.arrays[0].folds, Count(12));
  EXPECT_EQ(gemm.cost.time.systolic, Count(12 * (2 * 128 + 128 + 256 - 2)));
  EXPECT_EQ(costed(with(ws, "m: 256", "m: 1")).cost.time.systolic, Count(12 * (2 * 128 + 128 + 1 - 2)));
}

TEST(Systolic, OutputStationaryUntilTheLastOperationOrDrained) {
  // One fold of 4 x 4 with k = 4: last operation R + C + K - 2 = 10, drained 2R + C + K - 2 = 14.
  const std::string os = R"(
problem: {einsum: "Y[m,n] += X[m,k] * W[k,n]", ranks: {m: 4, k: 4, n: 4}}
machine:
  name: os
  levels:
    - {storage: SRAM}
    - {mesh: array, axes: {row: 4, col: 4}, multicast: true, systolic: drained}
    - {storage: PE}
    - {compute: MAC, rate: 1 op/cycle}
mapping: |
  par m by 1 on array.row
  par n by 1 on array.col
  at PE: Y
  for k by 1
)";
  EXPECT_EQ(costed(os).cost.time.systolic, Count(14));
  EXPECT_EQ(costed(with(os, "drained", "last-operation")).cost.time.systolic, Count(10));
  // The whole array counts, not the part in use: 3 x 4 of it takes as long.
  EXPECT_EQ(costed(with(os, "m: 4", "m: 3")).cost.time.systolic, Count(14));
}

TEST(Capacity, AMappingThatDoesNotFitNamesNeedRoomAndTensorsBySize) {
  const Costed tight = costed(with(worked_example_text(), "512 KiB", "255 KiB"));
  const std::vector<Misfit> found = misfits(tight.spec, tight.counts, tight.cost);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].need_bytes, Ratio(Count(262144)));
  EXPECT_EQ(found[0].room_bytes, Ratio(Count(261120)));
  ASSERT_EQ(found[0].parts.size(), 3u);
  EXPECT_EQ(found[0].parts[0].tensor, kY) << "fp32, the largest";
  EXPECT_EQ(found[0].parts[0].bytes, Ratio(Count(131072))) << "16384 x 4 B, twice";
  const Diagnostic error = to_diagnostic(found[0], tight.spec);
  EXPECT_EQ(error.message, "the mapping does not fit: Buffer needs 262,144 B an instance and has room for 261,120 B");
  EXPECT_EQ(
      error.hint,
      "held there: Y 131,072 B (16,384 elements of fp32), X 65,536 B (16,384 elements of bf16), W 65,536 B (16,384 "
      "elements of bf16); the level is double-buffered, so every tile counts twice");
}

TEST(Capacity, ExactlyFullFits) {
  const Costed full = costed(with(worked_example_text(), "512 KiB", "256 KiB"));
  EXPECT_TRUE(misfits(full.spec, full.counts, full.cost).empty());
}

TEST(Cost, WhatLeaves128BitsIsAnError) {
  // 2^62 points fit, but 2^60 bits an element do not; reads of the RF are 10^36 elements of 32 bits.
  const std::string huge = with(worked_example_text(), "{m: 1024, n: 1024, k: 1024}",
                                "{m: 1000000000000, n: 1000000000000, k: 10000000000000}");
  const Spec spec = read(huge);
  const Result<Counts> counts = count_movement(spec);
  ASSERT_TRUE(counts);
  const Result<Cost> cost = cost_of(spec, *counts);
  ASSERT_FALSE(cost);
  EXPECT_NE(cost.error()[0].message.find("leaves 128 bits"), std::string::npos);
}

}  // namespace
}  // namespace einflow
