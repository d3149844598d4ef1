// What docs/law.md section 3 accepts; what it refuses, with the messages, is in tests/notation/wrong_specs.
#include "mapping/nest_builder.hpp"

#include <gtest/gtest.h>

#include "notation/spec_reader.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

Einsum matmul() { return testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 8}, {"n", 8}, {"k", 8}}); }

TEST(Nest, EveryTensorStartsOutermostAndEndsAtTheOperation) {
  const Spec spec = testing::spec(matmul(), testing::two_level(), "for m n k by 1");
  for (const auto& holds : spec.mapping.holds) {
    ASSERT_EQ(holds.size(), 2u);
    EXPECT_EQ(holds[0], (Hold{0, 0, {}}));
    EXPECT_EQ(holds[1], (Hold{2, 3, {}}));
  }
}

TEST(Nest, TheOutermostLevelMayBeNamedInSeveralLines) {
  EXPECT_TRUE(parse_mapping("at DRAM: X W Y\nfor m n k by 1", matmul(), testing::two_level()));
  EXPECT_TRUE(parse_mapping("at DRAM: X Y\nat DRAM: W\nfor m n k by 1", matmul(), testing::two_level()));
}

TEST(Nest, ALevelMayHoldEachTensorAtAnotherPlace) {
  const Spec spec = testing::spec(matmul(), testing::two_level(),
                                  "at Buffer: Y\nfor m by 4\nat Buffer: X\nfor n by 2\nat Buffer: W\nfor m n k by 1");
  EXPECT_EQ(spec.mapping.holds[2][1].depth, 0);  // Y
  EXPECT_EQ(spec.mapping.holds[0][1].depth, 1);  // X
  EXPECT_EQ(spec.mapping.holds[1][1].depth, 2);  // W
}

TEST(Nest, ALevelMayBePassedBy) {
  const Spec spec = testing::spec(matmul(), testing::array_machine(4, 4, {}), "at RF: Y\nfor m n k by 1");
  EXPECT_EQ(spec.mapping.holds[2].size(), 3u);
  EXPECT_EQ(spec.mapping.holds[2][1].level, 3);
}

TEST(Nest, TripsOnOneAxisMultiply) {
  const Machine machine = testing::array_machine(4, 4, {});
  EXPECT_TRUE(parse_mapping("par m by 4 on array.x\npar n by 4 on array.x\nfor m n k by 1", matmul(), machine))
      << "2 x 2";
  EXPECT_FALSE(parse_mapping("par m by 4 on array.x\npar n by 2 on array.x\nfor m n k by 1", matmul(), machine))
      << "2 x 4";
  EXPECT_TRUE(parse_mapping("par m by 2 on array.x\npar m by 1 on array.y\nfor n k by 1", matmul(), machine)) << "4, 2";
}

TEST(Nest, TheAtomicShapeIsLeftWhole) {
  const Machine machine =
      testing::machine({testing::storage("DRAM"), testing::compute("TC", {{"m", 4}, {"k", 16}, {"other", 3}})});
  EXPECT_TRUE(parse_mapping("for m by 4\nfor n by 1", matmul(), machine)) << "k has 8 of the 16 that fit";
  EXPECT_TRUE(parse_mapping("for m by 3\nfor n by 1", matmul(), machine)) << "the shape may be filled in part";
  EXPECT_FALSE(parse_mapping("for n by 1", matmul(), machine)) << "m has 8, 4 fit";
}

TEST(Nest, AMatrixShapeLiesOverTheRanksByTheirRoles) {
  // An MMA of m 16, n 8, k 4 on a convolution: pixels are m, output channels n, input channels and window k.
  const Einsum conv = testing::einsum("O[k,p] += I[c,p+r] * F[k,c,r]", {{"k", 8}, {"p", 16}, {"c", 4}, {"r", 3}});
  const Machine machine =
      testing::machine({testing::storage("DRAM"), testing::compute("TC", {{"m", 16}, {"n", 8}, {"k", 4}})});
  EXPECT_TRUE(parse_mapping("for r by 1", conv, machine)) << "k 8 as n, p 16 as m, c 4 as k";
  EXPECT_TRUE(parse_mapping("for c by 1\nfor k by 4", conv, machine)) << "r 3 as k";
  EXPECT_FALSE(parse_mapping("for c by 2", conv, machine)) << "c 2 x r 3 is more than 4";
  EXPECT_TRUE(parse_mapping("for p by 8\nfor r by 1", conv, machine));
}

TEST(Nest, SpansPointAtTheLine) {
  const Spec spec =
      testing::spec(matmul(), testing::two_level(), "# first\nfor m by 2\n  at Buffer: X Y\nfor m n k by 1");
  EXPECT_EQ(spec.mapping.loops[0].span, (Span{2, 1, 10}));
  EXPECT_EQ(spec.mapping.holds[2][1].span, (Span{3, 16, 1}));
}

TEST(Nest, LinesOfCodeAreCheckedLikeText) {
  NestLine loop;
  loop.ranks = {{"m", {}}, {"n", {}}, {"k", {}}};
  EXPECT_TRUE(build_mapping({loop}, matmul(), testing::two_level()));
  NestLine hold;
  hold.kind = NestLine::Kind::at;
  hold.level = {"DRAM", {}};
  hold.tensors = {{"X", {}}, {"W", {}}, {"Y", {}}};
  EXPECT_TRUE(build_mapping({hold, loop}, matmul(), testing::two_level()));
  EXPECT_FALSE(build_mapping({hold, hold, loop}, matmul(), testing::two_level())) << "held twice";
  loop.ranks.pop_back();
  EXPECT_FALSE(build_mapping({loop}, matmul(), testing::two_level())) << "k is left";
}

TEST(Nest, ManyLinesAreReadFastOrRefused) {
  std::string text;
  while (text.size() < 1000000) text += "at Buffer: X\n";
  EXPECT_FALSE(parse_mapping(text, matmul(), testing::two_level()));
  std::string names = "for";
  while (names.size() < 1000000) names += " m";
  EXPECT_FALSE(parse_mapping(names + " by 1", matmul(), testing::two_level()));
}

}  // namespace
}  // namespace einflow
