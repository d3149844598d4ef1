#include "cluster/gradient.hpp"

#include <gtest/gtest.h>

namespace einflow::cluster {
namespace {

/// Ranks m, n, k; X[m,k], W[k,n], Y[m,n].
Einsum product() {
  Einsum einsum;
  einsum.ranks = {{"m", 2}, {"n", 3}, {"k", 4}};
  const auto tensor = [](const char* name, int first, int second) {
    return Tensor{name, {Axis{{Term{first, 1}}, 0, {}}, Axis{{Term{second, 1}}, 0, {}}}, {}};
  };
  einsum.tensors = {tensor("X", 0, 2), tensor("W", 2, 1), tensor("Y", 0, 1)};
  return einsum;
}

TEST(Gradient, OfAProductIsTheProductWithTheOther) {
  // dX = dY W^T, dW = X^T dY.
  EXPECT_EQ(to_text(gradient_of(product(), 0)->back()), "dX[m,k] += dY[m,n] * W[k,n]");
  EXPECT_EQ(to_text(gradient_of(product(), 1)->back()), "dW[k,n] += dY[m,n] * X[m,k]");
}

TEST(Gradient, OfAMaximumIsNone) {
  Einsum einsum = product();
  einsum.reduce = "max";
  EXPECT_TRUE(gradient_of(einsum, 0)->empty());
}

TEST(Gradient, OfASumOverARankThatTheOperandLacksIsRefused) {
  // Y[m,n] += X[m,k] + W[k,n]: each W[k,n] counts once, but a rank of X alone would count it as often as its extent.
  Einsum einsum = product();
  einsum.map = "+";
  einsum.tensors[1].axes.front() = Axis{{Term{0, 1}}, 0, {}};
  EXPECT_FALSE(gradient_of(einsum, 1));
}

TEST(Gradient, OfAFunctionIsItsSlopeTimesTheOutputs) {
  Einsum einsum = product();
  einsum.ranks.pop_back();
  einsum.tensors = {einsum.tensors[2], einsum.tensors[2]};
  einsum.tensors.front().name = "X";
  einsum.map = "gelu";
  einsum.reduce.clear();
  const auto parts = gradient_of(einsum, 0);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->front().map, "gelu'");
  EXPECT_EQ(to_text(parts->back()), "dX[m,n] = dY[m,n] * dX.Y.slope[m,n]");
}

}  // namespace
}  // namespace einflow::cluster
