// Whole networks: which layers are searched, how time is shared, what adds up. The search of one einsum is a stand-in
// with figures that are easy to add by hand.
#include "search/network_map.hpp"

#include <gtest/gtest.h>

#include "problem/constructors.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::two_level;

NetworkLayer layer(const std::string& name, std::int64_t repeat, Einsum einsum) {
  einsum.name = name;
  return {name, repeat, std::move(einsum), two_level()};
}

/// Two equal products under two names, another product, and an addition.
NetworkRequest small() {
  NetworkRequest request;
  request.layers = {layer("first", 1, matmul(2, 3, 4)), layer("second", 5, matmul(4, 4, 4)),
                    layer("third", 2, matmul(2, 3, 4)), layer("sum", 1, elementwise(2, 3))};
  return request;
}

/// A mapping that costs one pJ for each operation and a cycle for each two.
Result<MapResult> half_a_cycle(const MapRequest& request) {
  MapResult result;
  MapPoint point;
  point.energy_picojoules = request.einsum.operations().to_double();
  point.cycles = Count(request.einsum.operations().value() / 2);
  point.value = *point.energy_picojoules;
  result.points.push_back(point);
  result.proof.optimal = true;
  return result;
}

TEST(NetworkMap, EqualEinsumsAreSearchedOnce) {
  std::vector<std::string> searched;
  const NetworkMap map = map_network(small(), [&](const MapRequest& request) {
    searched.push_back(request.einsum.name);
    return half_a_cycle(request);
  });
  EXPECT_EQ(searched, (std::vector<std::string>{"first", "second", "sum"}));
  EXPECT_EQ(map.search_of_layer, (std::vector<std::size_t>{0, 1, 0, 2}));
}

TEST(NetworkMap, ThereAreOtherMachinesAndTypes) {
  NetworkRequest request = small();
  request.layers.resize(3);
  request.layers[2].einsum.tensors[0].type = *find_element_type("int8");
  EXPECT_EQ(map_network(request, half_a_cycle).searches.size(), 3U);
  request = small();
  request.layers[2].machine.name = "another";
  EXPECT_EQ(map_network(request, half_a_cycle).searches.size(), 4U);
}

TEST(NetworkMap, TotalsCountEveryOccurrence) {
  const NetworkRequest request = small();
  const NetworkTotals totals = totals_of(request, map_network(request, half_a_cycle));
  // 24 + 5 x 64 + 2 x 24 + 6 operations.
  EXPECT_DOUBLE_EQ(*totals.energy_picojoules, 398);
  EXPECT_DOUBLE_EQ(*totals.value, 398);
  EXPECT_EQ(*totals.cycles, Count(199));
  EXPECT_TRUE(totals.optimal);
  EXPECT_TRUE(totals.missing.empty());
}

TEST(NetworkMap, TheProductOfANetworkIsThatOfItsSums) {
  NetworkRequest request = small();
  request.objective.kind = Objective::Kind::edp;
  EXPECT_DOUBLE_EQ(*totals_of(request, map_network(request, half_a_cycle)).value, 398.0 * 199.0);
}

TEST(NetworkMap, ALayerThatNothingFitsForDoesNotEndTheRun) {
  const NetworkRequest request = small();
  const NetworkMap map = map_network(request, [](const MapRequest& one) -> Result<MapResult> {
    if (one.einsum.name == "second") return fail("Buffer needs 8 B and has 4 B");
    return half_a_cycle(one);
  });
  EXPECT_FALSE(map.searches[1].found);
  EXPECT_EQ(map.searches[1].errors.front().message, "Buffer needs 8 B and has 4 B");
  const NetworkTotals totals = totals_of(request, map);
  EXPECT_EQ(totals.missing, (std::vector<std::size_t>{1}));
  EXPECT_DOUBLE_EQ(*totals.energy_picojoules, 24 + 2 * 24 + 6);
  EXPECT_FALSE(totals.optimal);
}

TEST(NetworkMap, AFigureThatALayerLacksIsNotAZero) {
  const NetworkRequest request = small();
  const NetworkTotals totals = totals_of(request, map_network(request, [](const MapRequest& one) {
                                           Result<MapResult> result = half_a_cycle(one);
                                           if (one.einsum.name == "sum") result->points[0].energy_picojoules.reset();
                                           return result;
                                         }));
  EXPECT_FALSE(totals.energy_picojoules);
  EXPECT_EQ(*totals.cycles, Count(199));
}

TEST(NetworkMap, AStopKeepsWhatIsThereAndSearchesNoOther) {
  NetworkRequest request = small();
  int calls = 0;
  request.progress = [&](const NetworkProgress& progress) {
    EXPECT_EQ(progress.searches, 3U);
    return ++calls < 2;
  };
  const NetworkMap map = map_network(request, [](const MapRequest& one) {
    one.progress({"testing", 0, 0, {}});
    return half_a_cycle(one);
  });
  EXPECT_TRUE(map.searches[0].found);
  EXPECT_TRUE(map.searches[1].found);
  EXPECT_FALSE(map.searches[2].found);
  EXPECT_EQ(map.searches[2].stopped, "not searched: the run was stopped before");
}

TEST(NetworkMap, SecondsAreShared) {
  NetworkRequest request = small();
  request.most_seconds = 9;
  std::vector<double> given;
  map_network(request, [&](const MapRequest& one) {
    given.push_back(*one.most_seconds);
    return half_a_cycle(one);
  });
  // The stand-in takes next to no time: the second gets half of what is left, the last all of it.
  ASSERT_EQ(given.size(), 3U);
  EXPECT_NEAR(given[0], 3, 0.5);
  EXPECT_NEAR(given[1], 4.5, 0.5);
  EXPECT_NEAR(given[2], 9, 0.5);
  request.most_seconds = 0;
  EXPECT_EQ(map_network(request, half_a_cycle).searches[0].stopped, "not searched: the time was over before");
}

}  // namespace
}  // namespace einflow
