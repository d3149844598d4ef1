#include "simulate/arithmetic.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/builders.hpp"

namespace einflow::execution {
namespace {

using testing::einsum;

Value mapped(const std::string& text, std::vector<Value> operands) {
  return Arithmetic(einsum(text, {})).map(operands);
}

TEST(Arithmetic, MapsFromLeftToRight) {
  EXPECT_EQ(mapped("Z[m] = A[m] * B[m] * C[m]", {2, 3, -5}), -30);
  EXPECT_EQ(mapped("Z[m] = A[m] + B[m] + C[m]", {2, 3, -5}), 0);
  EXPECT_EQ(mapped("Z[m] = A[m] - B[m] - C[m]", {2, 3, -5}), 4);
  EXPECT_EQ(mapped("Z[m] = max(A[m], B[m], C[m])", {2, 3, -5}), 3);
  EXPECT_EQ(mapped("Z[m] = min(A[m], B[m], C[m])", {2, 3, -5}), -5);
}

TEST(Arithmetic, PassesASingleOperandOn) { EXPECT_EQ(mapped("Z[m] = A[m]", {7}), 7); }

TEST(Arithmetic, StandsInForDivisionAndFunctions) {
  EXPECT_EQ(mapped("Z[m] = A[m] / B[m]", {2, 3}), 3 * 2 - 5 * 3);
  EXPECT_EQ(mapped("Z[m] = exp(A[m])", {4}), 4 * 4 + 3 * 4 + 1);
}

TEST(Arithmetic, Reduces) {
  EXPECT_EQ(Arithmetic(einsum("Z[m] += A[m,k]", {})).reduce(4, -6), -2);
  EXPECT_EQ(Arithmetic(einsum("Z[m] *= A[m,k]", {})).reduce(4, -6), -24);
  EXPECT_EQ(Arithmetic(einsum("Z[m] max= A[m,k]", {})).reduce(4, -6), 4);
  EXPECT_EQ(Arithmetic(einsum("Z[m] min= A[m,k]", {})).reduce(4, -6), -6);
}

TEST(Arithmetic, IdentityChangesNothing) {
  for (const char* text : {"Z[m] += A[m,k]", "Z[m] *= A[m,k]", "Z[m] max= A[m,k]", "Z[m] min= A[m,k]", "Z[m] = A[m]"}) {
    const Arithmetic arithmetic(einsum(text, {}));
    for (Value value : {Value{0}, Value{-999}, std::numeric_limits<Value>::min(), std::numeric_limits<Value>::max()}) {
      EXPECT_EQ(arithmetic.reduce(arithmetic.identity(), value), value) << text;
    }
  }
}

TEST(Arithmetic, InputsAreSmallOddAndDiffer) {
  std::size_t equal = 0;
  for (Element element = 0; element < 1000; ++element) {
    const Value value = Arithmetic::input(0, element);
    EXPECT_LE(std::abs(value), 999);
    EXPECT_EQ(std::abs(value % 2), 1);
    equal += value == Arithmetic::input(1, element) ? 1 : 0;
  }
  EXPECT_LT(equal, 20U);  // one in 1000 by chance
}

// The matrix product, written out with the inputs' values: elements are numbered row by row.
TEST(PlainEvaluation, ComputesAMatrixProduct) {
  const Einsum matmul = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 3}, {"k", 4}});
  std::vector<Elements> elements;
  for (const Tensor& tensor : matmul.tensors) elements.emplace_back(tensor, matmul.ranks);
  std::vector<Value> expected;
  for (int m = 0; m < 2; ++m) {
    for (int n = 0; n < 3; ++n) {
      Value sum = 0;
      for (int k = 0; k < 4; ++k) sum += Arithmetic::input(0, 4 * m + k) * Arithmetic::input(1, 3 * k + n);
      expected.push_back(sum);
    }
  }
  EXPECT_EQ(evaluate_plainly(matmul, Arithmetic(matmul), elements), expected);
}

// O[p] += I[p+r-1] * F[r] with 3 stored elements of I: I[-1] and I[3] are zero.
TEST(PlainEvaluation, TakesPaddingAsZero) {
  Einsum convolution = einsum("O[p] += I[p+r-1] * F[r]", {{"p", 3}, {"r", 3}});
  convolution.tensors[0].axes[0].stored_size = 3;
  std::vector<Elements> elements;
  for (const Tensor& tensor : convolution.tensors) elements.emplace_back(tensor, convolution.ranks);
  const auto i = [](int element) { return Arithmetic::input(0, element); };
  const auto f = [](int element) { return Arithmetic::input(1, element); };
  const std::vector<Value> expected{i(0) * f(1) + i(1) * f(2), i(0) * f(0) + i(1) * f(1) + i(2) * f(2),
                                    i(1) * f(0) + i(2) * f(1)};
  EXPECT_EQ(evaluate_plainly(convolution, Arithmetic(convolution), elements), expected);
}

}  // namespace
}  // namespace einflow::execution
