// What the writers print, word by word, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>

#include "notation/loops/loops.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

Document document_with(const Spec& spec) { return document_of(ReadSpec{spec, {}}); }

Spec weight_stationary() {
  const Einsum product = testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 10}, {"n", 4}, {"k", 6}});
  return testing::spec(product, testing::array_machine(4, 2, {true, true, false}),
                       "for m by 4\n"
                       "at Buffer: X Y\n"
                       "par n by 1 on array.x\n"
                       "for k by 2\n"
                       "at RF: W\n"
                       "for k by 1\n"
                       "for m by 1\n");
}

TEST(WriteLoops, WordByWord) {
  // docs/law.md section 5: m is not a rank of W, so the innermost loop leaves W in place; under k, W moves.
  const auto writing = write_loops(document_with(weight_stationary()));
  ASSERT_TRUE(writing);
  EXPECT_EQ(writing->text,
            "einsum: Y[m,n] += X[m,k] * W[k,n]\n"
            "ranks: m = 10, n = 4, k = 6\n"
            "types: X bf16, W bf16, Y bf16\n"
            "\n"
            "// DRAM: X W Y\n"
            "for m1 in [0, 3):  // W refetched\n"
            "  // Buffer: X Y\n"
            "  parallel-for n in [0, 4):  // array.x: W and Y split, X replicated\n"
            "    for k1 in [0, 3):  // Y refetched\n"
            "      // RF: W\n"
            "      for k0 in [0, 2):  // Y refetched\n"
            "        for m0 in [0, min(4, 10 - 4*m1)):  // W stationary\n"
            "          Y[m1*4+m0, n] += X[m1*4+m0, k1*2+k0] * W[k1*2+k0, n]\n");
}

TEST(WriteLoops, FiguresOfTheMachineAreNamed) {
  Spec spec = weight_stationary();
  std::get<Storage>(spec.machine.levels[0]).read_bandwidth = Ratio(Count(4));
  std::get<Storage>(spec.machine.levels[1]).capacity_bits = Count(4096);
  const auto writing = write_loops(document_with(spec));
  ASSERT_TRUE(writing);
  const std::vector<std::string> expected{"DRAM: bandwidth", "Buffer: capacity", "array: size 2 of axis y"};
  for (const std::string& line : expected) {
    EXPECT_NE(std::find(writing->left_out.begin(), writing->left_out.end(), line), writing->left_out.end()) << line;
  }
}

TEST(WriteLoops, NamesThatLoopsCannotHave) {
  Spec spec = weight_stationary();
  std::get<Storage>(spec.machine.levels[1]).name = "global buffer";
  auto writing = write_loops(document_with(spec));
  ASSERT_FALSE(writing);
  EXPECT_EQ(writing.error().front().message,
            "the level 'global buffer' cannot stand in a loop nest: a name has letters, digits and '_'");
  spec = weight_stationary();
  spec.einsum.tensors[2].name = "for";
  EXPECT_FALSE(write_loops(document_with(spec)));
}

TEST(WriteLoops, WithoutAMappingThereIsNoNest) {
  Spec spec = weight_stationary();
  spec.mapping = {};
  for (const auto write : {write_loops, write_c, write_numpy}) {
    const auto writing = write(document_with(spec));
    ASSERT_FALSE(writing);
    EXPECT_EQ(writing.error().front().message, "there is no mapping, so there is no nest to write");
  }
}

TEST(WriteLoops, UnknownFunctionsHaveNoProgram) {
  const Einsum einsum = testing::einsum("Y[m] = gelo(X[m])", {{"m", 4}});
  const Spec spec = testing::spec(einsum, testing::two_level(), "for m by 1\n");
  EXPECT_TRUE(write_loops(document_with(spec))) << "as a nest it can be written";
  const auto writing = write_c(document_with(spec));
  ASSERT_FALSE(writing);
  EXPECT_EQ(writing.error().front().message, "no program text is known for the function 'gelo'");
  EXPECT_EQ(writing.error().front().hint, "did you mean 'gelu'?");
}

TEST(WriteLoops, PythonNestsTwentyBlocks) {
  const Einsum einsum = testing::einsum("Y[m] = X[m]", {{"m", 1 << 21}});
  std::string nest;
  for (int bit = 20; bit >= 0; --bit) nest += "for m by " + std::to_string(1 << bit) + "\n";
  const Document document = document_with(testing::spec(einsum, testing::two_level(), nest));
  EXPECT_TRUE(write_c(document));
  const auto writing = write_numpy(document);
  ASSERT_FALSE(writing);
  EXPECT_EQ(writing.error().front().message, "Python nests at most 20 blocks; outside the innermost hold are 21 loops");
}

}  // namespace
}  // namespace einflow
