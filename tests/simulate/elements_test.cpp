#include "simulate/elements.hpp"

#include <gtest/gtest.h>

#include "support/builders.hpp"

namespace einflow::execution {
namespace {

using testing::einsum;

Tile tile(Elements& elements, const std::vector<Interval>& box) {
  Tile result;
  elements.tile(box.data(), result);
  return result;
}

Element at(const Elements& elements, const std::vector<std::int64_t>& point) { return elements.at(point.data()); }

TEST(Elements, AreNumberedRowByRow) {
  const Einsum matmul = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 3}, {"k", 4}});
  Elements x(matmul.tensors[0], matmul.ranks);
  EXPECT_EQ(x.count(), 8);
  EXPECT_EQ(at(x, {1, 0, 2}), 6);
  EXPECT_EQ(tile(x, {{0, 2}, {0, 1}, {1, 3}}), (Tile{1, 2, 5, 6}));
  EXPECT_EQ(x.name(6), "X[1,2]");
}

// Positions 0 2 4: 1 and 3 are never touched.
TEST(Elements, LeaveOutTheHolesOfAStride) {
  const Einsum strided = einsum("O[p] = I[2*p]", {{"p", 3}});
  Elements i(strided.tensors[0], strided.ranks);
  EXPECT_EQ(i.count(), 3);
  EXPECT_EQ(tile(i, {{1, 3}}), (Tile{1, 2}));
  EXPECT_EQ(i.name(2), "I[4]");
}

// 3*p + 2*r for p in {0,1,2}, r in {0,1}: 0 2 3 5 6 8.
TEST(Elements, OfASlidingWindowAreTheExactImage) {
  const Einsum dilated = einsum("O[p] += I[3*p+2*r] * F[r]", {{"p", 3}, {"r", 2}});
  Elements i(dilated.tensors[0], dilated.ranks);
  EXPECT_EQ(i.count(), 6);
  EXPECT_EQ(i.name(1), "I[2]");
  EXPECT_EQ(tile(i, {{0, 2}, {1, 2}}), (Tile{1, 3}));  // 2 and 5
}

TEST(Elements, ThatSeveralPointsTouchCountOnce) {
  const Einsum window = einsum("O[p] += I[p+r] * F[r]", {{"p", 4}, {"r", 3}});
  Elements i(window.tensors[0], window.ranks);
  EXPECT_EQ(i.count(), 6);
  EXPECT_EQ(tile(i, {{1, 3}, {0, 3}}), (Tile{1, 2, 3, 4}));
}

TEST(Elements, OfPaddingDoNotExist) {
  Einsum padded = einsum("O[p] += I[p+r-1] * F[r]", {{"p", 3}, {"r", 3}});
  padded.tensors[0].axes[0].stored_size = 3;
  Elements i(padded.tensors[0], padded.ranks);
  EXPECT_EQ(i.count(), 3);
  EXPECT_EQ(at(i, {0, 0}), -1);
  EXPECT_EQ(at(i, {2, 2}), -1);
  EXPECT_EQ(at(i, {2, 1}), 2);
  EXPECT_EQ(tile(i, {{0, 1}, {0, 3}}), (Tile{0, 1}));
  EXPECT_EQ(tile(i, {{0, 1}, {0, 1}}), Tile{});
}

TEST(Elements, OfAScalarIsOne) {
  const Einsum total = einsum("S[] += A[m]", {{"m", 5}});
  Elements s(total.tensors[1], total.ranks);
  EXPECT_EQ(s.count(), 1);
  EXPECT_EQ(at(s, {4}), 0);
  EXPECT_EQ(tile(s, {{0, 5}}), Tile{0});
  EXPECT_EQ(s.name(0), "S[]");
}

}  // namespace
}  // namespace einflow::execution
