#include "movement/movement.hpp"

#include <gtest/gtest.h>

#include "movement/uniform.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::array_machine;
using testing::einsum;
using testing::spec;
using testing::two_level;

const HoldCounts& at(const Counts& counts, const Spec& s, const char* level, const char* tensor) {
  for (const HoldCounts& hold : counts.holds) {
    const Hold& place = s.mapping.holds[static_cast<std::size_t>(hold.tensor)][static_cast<std::size_t>(hold.hold)];
    if (s.machine.level_name(place.level) == level &&
        s.einsum.tensors[static_cast<std::size_t>(hold.tensor)].name == tensor) {
      return hold;
    }
  }
  throw std::runtime_error("no such hold");
}

Einsum matmul(std::int64_t m, std::int64_t n, std::int64_t k) {
  return einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", m}, {"n", n}, {"k", k}});
}

// 1024^3 in 32^3 tiles, output stationary: MNK/32 words of each input, each output once (hand derivation).
TEST(Movement, OutputStationaryMatmulFollowsTheTextbookRule) {
  const Spec s = spec(matmul(1024, 1024, 1024), two_level(),
                      "for m by 32\nfor n by 32\nfor k by 32\nat Buffer: X W Y\nfor m n k by 1\n");
  const Counts counts = *count_movement(s);
  EXPECT_EQ(at(counts, s, "Buffer", "X").fills, Count(33554432));
  EXPECT_EQ(at(counts, s, "Buffer", "W").fills, Count(33554432));
  EXPECT_EQ(at(counts, s, "Buffer", "Y").parent_updates, Count(1048576));
  EXPECT_EQ(at(counts, s, "Buffer", "Y").parent_rmw_reads, Count(0));
}

// 10 = 4 + 4 + 2: three tiles of k, all of X once for each of 2 tiles of n.
TEST(Movement, TheLastTileIsWhatRemains) {
  const Spec s = spec(matmul(3, 6, 10), two_level(), "for n by 3\nfor k by 4\nat Buffer: X W Y\nfor m n k by 1\n");
  const Counts counts = *count_movement(s);
  EXPECT_EQ(at(counts, s, "Buffer", "X").fills, Count(2 * 3 * 10));
  EXPECT_EQ(at(counts, s, "Buffer", "W").fills, Count(10 * 6));
  EXPECT_EQ(at(counts, s, "Buffer", "X").tile_elements, Count(3 * 4));
}

// O[p] += I[p+r]: tiles of 4 outputs need 6 inputs, of which the next tile finds 2; 10 outputs: 12 inputs in all.
TEST(Movement, ASlidingWindowKeepsItsHalo) {
  const Spec s = spec(einsum("O[p] += I[p+r] * F[r]", {{"p", 10}, {"r", 3}}), two_level(),
                      "for p by 4\nat Buffer: I F O\nfor p r by 1\n");
  const Counts counts = *count_movement(s);
  EXPECT_EQ(at(counts, s, "Buffer", "I").fills, Count(12));
  EXPECT_EQ(at(counts, s, "Buffer", "I").tile_elements, Count(6));
}

// Stride 3 and a window of 2: positions 3p, 3p+1; 3p+2 is never touched.
TEST(Movement, HolesOfAStrideAreNotCounted) {
  const Spec s = spec(einsum("O[p] += I[3*p+r] * F[r]", {{"p", 5}, {"r", 2}}), two_level(),
                      "for p by 2\nat Buffer: I F O\nfor p r by 1\n");
  EXPECT_EQ(at(*count_movement(s), s, "Buffer", "I").fills, Count(10));
}

// Four rows of an array share W (multicast) and split X; without multicast every row reads W by itself.
TEST(Movement, MulticastReadsOnce) {
  for (const bool multicast : {true, false}) {
    const Spec s = spec(matmul(4, 2, 8), array_machine(4, 1, {multicast, false, false}),
                        "at Buffer: X W Y\npar m by 1 on array.x\nat RF: X W Y\nfor n k by 1\n");
    const Counts counts = *count_movement(s);
    EXPECT_EQ(at(counts, s, "RF", "W").fills, Count(4 * 16));
    EXPECT_EQ(at(counts, s, "RF", "W").parent_reads, Count(multicast ? 16 : 64));
    EXPECT_EQ(at(counts, s, "RF", "X").parent_reads, Count(32));
  }
}

// The counts of a product of 10^10 x 10^10 x 10^10 stay exact; tiles that do not divide too.
TEST(Movement, CountsOfTenToTheThirtyAreExact) {
  constexpr std::int64_t kLarge = 10'000'000'000;
  const Spec even = spec(matmul(kLarge, kLarge, kLarge), two_level(),
                         "for m by 1000\nfor n by 1000\nfor k by 1000\nat Buffer: X W Y\nfor m n k by 1\n");
  const Counts counts = *count_movement(even);
  EXPECT_EQ(counts.operations.str(), "1000000000000000000000000000000");
  EXPECT_EQ(counts.steps.str(), "1000000000000000000000000000000");
  EXPECT_EQ(at(counts, even, "Buffer", "X").fills.str(), "1000000000000000000000000000");
  EXPECT_EQ(at(counts, even, "MAC", "Y").parent_rmw_reads.str(), "999999999900000000000000000000");

  // 10^10 = 1,428,571,428 x 7 + 4: X is read once for each of 1,428,571,429 tiles of n.
  const Spec uneven = spec(matmul(kLarge, kLarge, kLarge), two_level(),
                           "for m by 7\nfor n by 7\nfor k by 7\nat Buffer: X W Y\nfor m n k by 1\n");
  EXPECT_EQ(at(*count_movement(uneven), uneven, "Buffer", "X").fills.str(), "142857142900000000000000000000");
}

TEST(Movement, LeavingOneHundredAndTwentyEightBitsIsAnError) {
  // 2^42 each way: 2^126 operations fit in 127 bits, four times as many do not.
  constexpr std::int64_t kLarge = std::int64_t{1} << 42;
  const Spec s = spec(matmul(kLarge, kLarge, kLarge), array_machine(4, 1, {}), "at Buffer: X W Y\nfor m n k by 1\n");
  ASSERT_TRUE(count_movement(s)) << "2^126 fits";
  const Einsum larger = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", kLarge * 4}, {"n", kLarge}, {"k", kLarge}});
  Spec grown = s;
  grown.einsum = larger;
  grown.mapping.loops[0].trips *= 4;
  const auto counts = count_movement(grown);
  ASSERT_FALSE(counts);
  EXPECT_NE(counts.error()[0].message.find("128 bits"), std::string::npos);
}

// Three ranks on an axis, none of which fills the gaps of another by itself: no list of every pair is made.
TEST(Movement, WideStridedWindowsAreCountedQuickly) {
  const Spec s = spec(einsum("O[p] += I[97*p+13*r+7*s] * F[r,s]", {{"p", 10'000}, {"r", 10'003}, {"s", 1'007}}),
                      two_level(), "for p by 71\nfor r by 113\nfor s by 11\nat Buffer: I F O\nfor p r s by 1\n");
  const Counts counts = *count_movement(s);
  EXPECT_EQ(at(counts, s, "Buffer", "F").fills, Count(141) * Count(10'003) * Count(1'007));
  EXPECT_EQ(counts.operations, Count(10'000) * Count(10'003) * Count(1'007));
}

// A million trips cost no more than two: classes of equal positions, not positions, are visited.
TEST(Movement, TripCountsDoNotMatterToTheGeneralForm) {
  const Spec s = spec(einsum("O[p] += I[2*p+r] * F[r]", {{"p", 999'999'937}, {"r", 3}}), two_level(),
                      "for p by 1000\nfor p by 7\nat Buffer: I F O\nfor p r by 1\n");
  // Every input once: each tile's halo of one element is found in place.
  EXPECT_EQ(at(*count_movement_general(s), s, "Buffer", "I").fills, Count(2 * (std::int64_t{999'999'937} - 1) + 3));
}

}  // namespace
}  // namespace einflow
