// The least traffic for every buffer size: against exhaustive runs by others, against brute force, and against the law.
#include "search/staircase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "movement/movement.hpp"
#include "notation/spec_reader.hpp"
#include "search/lattice.hpp"

namespace einflow {
namespace {

Einsum einsum_of(const std::string& text, const std::vector<std::pair<std::string, std::int64_t>>& ranks) {
  auto einsum = parse_einsum(text);
  if (!einsum) throw std::runtime_error(render(einsum.error(), {"einsum", text}));
  for (const auto& [name, extent] : ranks) {
    einsum->ranks.at(static_cast<std::size_t>(einsum->rank_named(name))).extent = extent;
  }
  for (Tensor& tensor : einsum->tensors) tensor.type = *find_element_type("int8");
  return *einsum;
}

/// Elements that the outermost storage reads and writes by the law, and elements that the buffer holds.
std::pair<Count, Count> by_the_law(const Einsum& einsum, const StaircaseStep& step) {
  const Spec spec = staircase_spec(einsum, step);
  const auto counts = count_movement(spec);
  if (!counts) throw std::runtime_error(counts.error().front().message);
  Count buffer = 0, traffic = 0;
  for (const HoldCounts& count : counts->holds) {
    const Hold& hold = spec.mapping.holds[static_cast<std::size_t>(count.tensor)][static_cast<std::size_t>(count.hold)];
    if (hold.level == 1) buffer += count.tile_elements;
    if (count.hold == 1) traffic += count.parent_reads + count.parent_updates + count.parent_rmw_reads;
  }
  return {buffer, traffic};
}

std::vector<std::pair<std::string, std::string>> points(const Staircase& staircase) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const StaircaseStep& step : staircase.steps) {
    found.emplace_back(Count(step.buffer_bits.value() / 8).str(), Count(step.traffic_bits.value() / 8).str());
  }
  return found;
}

TEST(Staircase, SharedTilesEqualExhaustiveRunsOfOthers) {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/orojenesis/cases.jsonl");
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    const auto fact = nlohmann::json::parse(line);
    std::vector<std::pair<std::string, std::int64_t>> ranks;
    for (const auto& [name, extent] : fact["ranks"].items()) ranks.emplace_back(name, extent.get<std::int64_t>());
    const Einsum einsum = einsum_of(fact["einsum"], ranks);
    StaircaseSpace space;
    space.shared_tile = true;
    space.bypass = fact["bypass"];
    for (const auto& rank : fact["whole"]) space.whole.push_back(einsum.rank_named(rank.get<std::string>()));
    const auto staircase = least_traffic(einsum, space);
    ASSERT_TRUE(staircase) << fact["name"];
    std::vector<std::pair<std::string, std::string>> expected;
    for (const auto& point : fact["points"]) expected.emplace_back(point[0].dump(), point[1].dump());
    EXPECT_EQ(points(*staircase), expected) << fact["name"];
    for (const StaircaseStep& step : staircase->steps) {
      const auto [buffer, traffic] = by_the_law(einsum, step);
      EXPECT_EQ(buffer * 8, step.buffer_bits) << fact["name"];
      EXPECT_EQ(traffic * 8, step.traffic_bits) << fact["name"];
    }
    ++cases;
  }
  EXPECT_EQ(cases, 13);
}

/// Every nest of prime cuts with every tensor held after any cut, or nowhere, each counted by the law.
std::vector<std::pair<Count, Count>> by_brute_force(const Einsum& einsum, bool shared_tile) {
  StaircaseStep empty;
  empty.holds.resize(einsum.tensors.size());
  const Spec base = staircase_spec(einsum, empty);  // for its machine
  std::map<Count, Count> best;                      // buffer elements -> traffic
  std::vector<std::int64_t> left;
  for (const Rank& rank : einsum.ranks) left.push_back(rank.extent);
  std::vector<Loop> loops;
  const auto consider = [&](const std::vector<int>& depths) {
    Spec spec = base;
    spec.mapping.loops = loops;
    for (std::size_t t = 0; t < depths.size(); ++t) {
      auto& holds = spec.mapping.holds[t];
      holds = {Hold{0, 0, {}}};
      if (depths[t] >= 0) holds.push_back({1, depths[t], {}});
      holds.push_back({2, static_cast<int>(loops.size()), {}});
    }
    const auto counts = count_movement(spec);
    Count buffer = 0, traffic = 0;
    for (const HoldCounts& count : counts->holds) {
      if (depths[static_cast<std::size_t>(count.tensor)] >= 0 && count.hold == 1) buffer += count.tile_elements;
      if (count.hold == 1) traffic += count.parent_reads + count.parent_updates + count.parent_rmw_reads;
    }
    const auto [at, is_new] = best.emplace(buffer, traffic);
    if (!is_new && traffic < at->second) at->second = traffic;
  };
  const std::function<void(std::vector<int>&)> choose_holds = [&](std::vector<int>& depths) {
    if (depths.size() == einsum.tensors.size()) return consider(depths);
    for (int depth = -1; depth <= static_cast<int>(loops.size()); ++depth) {
      if (shared_tile && depth >= 0 &&
          std::any_of(depths.begin(), depths.end(), [&](int other) { return other >= 0 && other != depth; })) {
        continue;
      }
      depths.push_back(depth);
      choose_holds(depths);
      depths.pop_back();
    }
  };
  const std::function<void()> cut = [&] {
    bool done = true;
    for (std::size_t r = 0; r < left.size(); ++r) {
      for (const std::int64_t prime : {2, 3, 5}) {
        if (left[r] % prime != 0) continue;
        done = false;
        left[r] /= prime;
        Loop loop;
        loop.rank = static_cast<int>(r);
        loop.tile = left[r];
        loop.trips = prime;
        loops.push_back(loop);
        cut();
        loops.pop_back();
        left[r] *= prime;
      }
    }
    if (!done) return;
    std::vector<int> depths;
    choose_holds(depths);
  };
  cut();
  std::vector<std::pair<Count, Count>> steps;
  for (const auto& [buffer, traffic] : best) {
    if (steps.empty() || traffic < steps.back().second) steps.emplace_back(buffer, traffic);
  }
  return steps;
}

void expect_brute_force(const std::string& text, const std::vector<std::pair<std::string, std::int64_t>>& ranks) {
  const Einsum einsum = einsum_of(text, ranks);
  const auto staircase = least_traffic(einsum, {});
  ASSERT_TRUE(staircase) << text;
  std::vector<std::pair<Count, Count>> found;
  for (const StaircaseStep& step : staircase->steps) {
    EXPECT_EQ(by_the_law(einsum, step),
              (std::pair{Count(step.buffer_bits.value() / 8), Count(step.traffic_bits.value() / 8)}))
        << text;
    found.emplace_back(step.buffer_bits.value() / 8, step.traffic_bits.value() / 8);
  }
  const auto expected = by_brute_force(einsum, false);
  ASSERT_EQ(found.size(), expected.size()) << text;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first.str(), expected[i].first.str()) << text << ", step " << i;
    EXPECT_EQ(found[i].second.str(), expected[i].second.str()) << text << ", step " << i;
  }
}

TEST(Staircase, UnevenPlacementEqualsEveryNestTried) {
  expect_brute_force("Z[m,n] += A[m,k] * B[k,n]", {{"m", 4}, {"n", 2}, {"k", 4}});
  expect_brute_force("Z[m,n] += A[m,k] * B[k,n]", {{"m", 6}, {"n", 2}, {"k", 3}});
  expect_brute_force("Z[m,n] += A[m,k] * B[k,n]", {{"m", 2}, {"n", 8}, {"k", 2}});
  expect_brute_force("Z[b,m,n] += A[b,m,k] * B[b,k,n]", {{"b", 2}, {"m", 2}, {"n", 4}, {"k", 2}});
  expect_brute_force("Z[m] += A[m,k] * B[k]", {{"m", 8}, {"k", 6}});
  expect_brute_force("Z[m,n] = A[m] * B[n]", {{"m", 6}, {"n", 4}});
  expect_brute_force("Z[m] += A[m,k,l] * B[k,l]", {{"m", 4}, {"k", 2}, {"l", 2}});
  expect_brute_force("Z[m,n] += A[m,k] * B[k,l] * C[l,n]", {{"m", 2}, {"n", 2}, {"k", 2}, {"l", 2}});
  expect_brute_force("Z[m] max= A[m,k]", {{"m", 4}, {"k", 4}});
  expect_brute_force("Z += A[k] * B[k]", {{"k", 12}});
}

TEST(Staircase, SharedTileWithBypassEqualsEveryNestTried) {
  for (const auto& [text, ranks] :
       std::vector<std::pair<std::string, std::vector<std::pair<std::string, std::int64_t>>>>{
           {"Z[m,n] += A[m,k] * B[k,n]", {{"m", 2}, {"n", 2}, {"k", 5}}},
           {"Z[m,n] += A[m,k] * B[k,n]", {{"m", 3}, {"n", 5}, {"k", 2}}},
           {"Z[p] += I[p+r] * F[r]", {{"p", 5}, {"r", 3}}},
           {"Z[k,p] += I[2*p+r] * F[k,r]", {{"k", 2}, {"p", 3}, {"r", 3}}}}) {
    const Einsum einsum = einsum_of(text, ranks);
    StaircaseSpace space;
    space.shared_tile = true;
    const auto staircase = least_traffic(einsum, space);
    ASSERT_TRUE(staircase);
    std::vector<std::pair<std::string, std::string>> expected;
    // Prime extents: one loop per rank is every nest there is.
    for (const auto& [buffer, traffic] : by_brute_force(einsum, true))
      expected.emplace_back(buffer.str(), traffic.str());
    EXPECT_EQ(points(*staircase), expected) << text;
  }
}

TEST(Staircase, EndsWhereEveryTensorMovesOnce) {
  const Einsum einsum = einsum_of("Z[m,n] += A[m,k] * B[k,n]", {{"m", 64}, {"n", 32}, {"k", 16}});
  const auto staircase = least_traffic(einsum, {});
  ASSERT_TRUE(staircase);
  EXPECT_EQ(staircase->compulsory_bits, Count(8 * (64 * 16 + 16 * 32 + 64 * 32)));
  EXPECT_EQ(staircase->steps.back().traffic_bits, staircase->compulsory_bits);
  // The smaller input whole (16 x 32), a row of the other (16) in place while its row of outputs is made one by one
  // (1).
  EXPECT_EQ(staircase->steps.back().buffer_bits, Count(8 * (16 * 32 + 16 + 1)));
}

TEST(Staircase, WidthsOfTheTensorsCount) {
  Einsum einsum = einsum_of("Z[m,n] += A[m,k] * B[k,n]", {{"m", 8}, {"n", 8}, {"k", 8}});
  einsum.tensors[2].type = *find_element_type("fp32");
  const auto staircase = least_traffic(einsum, {});
  ASSERT_TRUE(staircase);
  EXPECT_EQ(staircase->compulsory_bits, Count(8 * 64 + 8 * 64 + 32 * 64));
}

TEST(Staircase, WindowsNeedTheSharedTile) {
  const Einsum einsum = einsum_of("Z[p] += I[p+r] * F[r]", {{"p", 4}, {"r", 3}});
  const auto staircase = least_traffic(einsum, {});
  ASSERT_FALSE(staircase);
  EXPECT_EQ(staircase.error().front().hint, "--shared-tile");
}

TEST(Divisors, AreAllAndRise) {
  for (std::int64_t number = 1; number <= 2000; ++number) {
    std::vector<std::int64_t> expected;
    for (std::int64_t d = 1; d <= number; ++d) {
      if (number % d == 0) expected.push_back(d);
    }
    ASSERT_EQ(divisors(number), expected) << number;
  }
  EXPECT_EQ(divisors(INT64_MAX).size(), 96U) << "7^2 x 73 x 127 x 337 x 92737 x 649657: 3 x 2^5";
}

}  // namespace
}  // namespace einflow
