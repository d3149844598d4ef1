// The canonical nest text reads back as the same mapping.
#include <gtest/gtest.h>

#include "mapping/mapping.hpp"
#include "notation/spec_reader.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

const Einsum& matmul() {
  static const Einsum einsum = testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 64}, {"n", 64}, {"k", 64}});
  return einsum;
}

std::string canonical(const std::string& nest, const Machine& machine) {
  const Spec spec = testing::spec(matmul(), machine, nest);
  const std::string text = to_text(spec.mapping, spec.einsum, spec.machine);
  const auto again = parse_mapping(text, spec.einsum, spec.machine);
  EXPECT_TRUE(again && *again == spec.mapping) << text;
  return text;
}

TEST(MappingText, PrintsOneLoopALineAndTheOutermostHolds) {
  EXPECT_EQ(canonical("for m n by 32\n"
                      "at Buffer: Y   # only the sums\n"
                      "for k into 4\n"
                      "at Buffer: W X\n"
                      "par n by 8 on array.x\n"
                      "par m into 4 on array.y\n"
                      "at RF: Y\n"
                      "for m n k by 1\n",
                      testing::array_machine(4, 4, {})),
            "at DRAM: X W Y\n"
            "for m by 32\n"
            "for n by 32\n"
            "at Buffer: Y\n"
            "for k by 16\n"
            "at Buffer: X W\n"
            "par n by 8 on array.x\n"
            "par m by 8 on array.y\n"
            "at RF: Y\n"
            "for m by 1\n"
            "for n by 1\n"
            "for k by 1\n");
}

TEST(MappingText, HoldsBetweenTheSameLoopsStandInTheMachinesOrder) {
  EXPECT_EQ(canonical("at Buffer: X\nat Buffer: Y\nat RF: X\nfor m n k by 1\n", testing::array_machine(4, 4, {})),
            "at DRAM: X W Y\nat Buffer: X Y\nat RF: X\nfor m by 1\nfor n by 1\nfor k by 1\n");
}

TEST(TileAt, IsWhatTheLoopsLeave) {
  const Spec spec =
      testing::spec(matmul(), testing::two_level(), "for m by 40\nfor k by 16\nfor m by 3\nfor m n k by 1\n");
  EXPECT_EQ(tile_at(spec, 0), (std::vector<std::int64_t>{64, 64, 64}));
  EXPECT_EQ(tile_at(spec, 2), (std::vector<std::int64_t>{40, 64, 16}));
  EXPECT_EQ(tile_at(spec, 3), (std::vector<std::int64_t>{3, 64, 16}));
  EXPECT_EQ(tile_at(spec, 6), (std::vector<std::int64_t>{1, 1, 1}));
}

TEST(Trips, AreThoseOfTheLargestInterval) {
  const Spec spec =
      testing::spec(matmul(), testing::two_level(), "for m by 40\nfor m by 7\nfor m into 7\nfor n k by 1\n");
  EXPECT_EQ(spec.mapping.loops[0].trips, 2) << "64 = 40 + 24";
  EXPECT_EQ(spec.mapping.loops[1].trips, 6) << "40 = 5 x 7 + 5";
  EXPECT_EQ(spec.mapping.loops[2].tile, 1);
}

TEST(Into, CutsByTheRoundedUpShare) {
  const Spec spec =
      testing::spec(matmul(), testing::two_level(), "for m into 5\nfor m by 1\nfor n into 1000\nfor k by 1\n");
  EXPECT_EQ(spec.mapping.loops[0].tile, 13) << "ceil(64 / 5)";
  EXPECT_EQ(spec.mapping.loops[0].trips, 5);
  EXPECT_EQ(spec.mapping.loops[2].tile, 1) << "never below 1";
  EXPECT_EQ(spec.mapping.loops[2].trips, 64);
}

}  // namespace
}  // namespace einflow
