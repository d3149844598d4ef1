// docs/law.md section 5, read off the nest of the user guide by hand.
#include "mapping/stationarity.hpp"

#include <gtest/gtest.h>

#include "support/builders.hpp"
#include "support/worked_example.hpp"

namespace einflow {
namespace {

constexpr int kX = 0;
constexpr int kW = 1;
constexpr int kY = 2;
using Tensors = std::vector<int>;

TEST(Stationarity, OnePlaceForEachLevelAndDepthOutermostFirst) {
  const std::vector<MovementOrder> orders = movement_orders(testing::read(testing::worked_example_text()));
  ASSERT_EQ(orders.size(), 4u);
  EXPECT_EQ(orders[0].level, 0);  // DRAM
  EXPECT_EQ(orders[0].tensors, (Tensors{kX, kW, kY}));
  EXPECT_TRUE(orders[0].loops.empty()) << "nothing is outside it";
  EXPECT_EQ(orders[1].level, 1);  // Buffer
  EXPECT_EQ(orders[2].level, 3);  // RF
  EXPECT_EQ(orders[2].tensors, (Tensors{kY}));
  EXPECT_EQ(orders[3].level, 4);  // MAC
  EXPECT_EQ(orders[3].tensors, (Tensors{kX, kW, kY}));
}

TEST(Stationarity, LoopsFromTheInnermostOutwards) {
  const std::vector<MovementOrder> orders = movement_orders(testing::read(testing::worked_example_text()));
  // Outside the Buffer: for n (0), for m (1), for k (2).
  const std::vector<SeenLoop> expected = {{2, {kX, kW}, {kY}}, {1, {kX, kY}, {kW}}, {0, {kW, kY}, {kX}}};
  EXPECT_EQ(orders[1].loops, expected);
  EXPECT_EQ(stationary_groups(orders[1]), (std::vector<Tensors>{{kY}, {kW}, {kX}}))
      << "output stationary first, then weights, then inputs";
}

TEST(Stationarity, TheUnbrokenRunOfLoopsThatLeaveATensorInPlace) {
  const Spec spec = testing::read(testing::worked_example_text());
  const std::vector<MovementOrder> orders = movement_orders(spec);
  EXPECT_EQ(steps_in_place(spec, orders[1], kY), Count(8)) << "k by 128 of 1024";
  EXPECT_EQ(steps_in_place(spec, orders[1], kW), Count(1)) << "the innermost loop moves it";
  EXPECT_EQ(steps_in_place(spec, orders[2], kY), Count(1024)) << "128 trips of k by 1 in 8 of k by 128";
}

TEST(Stationarity, LoopsOfASingleTripAreLeftOut) {
  const Einsum einsum = testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 4}, {"n", 4}, {"k", 4}});
  const Spec spec =
      testing::spec(einsum, testing::two_level(), "for m by 1\nfor k by 4\nat Buffer: X W Y\nfor k n by 1");
  const std::vector<MovementOrder> orders = movement_orders(spec);
  ASSERT_EQ(orders[1].loops.size(), 1u);
  EXPECT_EQ(orders[1].loops[0], (SeenLoop{0, {kX, kY}, {kW}}));
}

TEST(Stationarity, SpatialRoles) {
  const Spec spec = testing::read(testing::worked_example_text());
  const Loop& over_n = spec.mapping.loops[4];
  EXPECT_EQ(to_text(over_n, spec.einsum, spec.machine), "par n by 8 on array.x");
  EXPECT_EQ(spatial_role(spec.einsum, over_n, kX), SpatialRole::replicated);
  EXPECT_EQ(spatial_role(spec.einsum, over_n, kW), SpatialRole::split);
  EXPECT_EQ(spatial_role(spec.einsum, over_n, kY), SpatialRole::split);
  Loop over_k = over_n;
  over_k.rank = spec.einsum.rank_named("k");
  EXPECT_EQ(spatial_role(spec.einsum, over_k, kY), SpatialRole::partial_sums);
}

}  // namespace
}  // namespace einflow
