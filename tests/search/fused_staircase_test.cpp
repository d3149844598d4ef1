// The least traffic of two einsums computed together: against the curves of others, against every nest of small
// chains, and every step executed.
#include "search/fused_staircase.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "notation/spec_reader.hpp"
#include "problem/constructors.hpp"
#include "search/fused_executor.hpp"
#include "search/fused_nests.hpp"

namespace einflow {
namespace {

using Sizes = std::map<std::string, std::int64_t>;
using Points = std::vector<std::pair<std::string, std::string>>;  ///< buffer and traffic, bits

Cascade cascade_of(const std::vector<std::string>& texts, const Sizes& sizes) {
  Cascade cascade;
  for (const std::string& text : texts) {
    auto einsum = parse_einsum(text);
    if (!einsum) throw std::runtime_error(render(einsum.error(), {"einsum", text}));
    for (Rank& rank : einsum->ranks) rank.extent = sizes.at(rank.name);
    for (Tensor& tensor : einsum->tensors) tensor.type = *find_element_type("int8");
    einsum->name = einsum->tensors.back().name;
    cascade.einsums.push_back(*einsum);
  }
  return cascade;
}

FusedChain chain_of(const std::vector<std::string>& texts, const Sizes& sizes) {
  auto chain = fused_chain(cascade_of(texts, sizes), cascade_of(texts, sizes).einsums.front().name);
  if (!chain) throw std::runtime_error(chain.error().front().message);
  return *chain;
}

FusedChain attention(std::int64_t m, std::int64_t n, std::int64_t d) {
  return chain_of({"S[m,n] += Q[m,d] * K[n,d]", "O[m,d] += S[m,n] * V[n,d]"}, {{"m", m}, {"n", n}, {"d", d}});
}

template <typename Step>
Points points(const std::vector<Step>& steps) {
  Points found;
  for (const Step& step : steps) found.emplace_back(step.buffer_bits.str(), step.traffic_bits.str());
  return found;
}

/// Listed in words, each of them 8 bits here.
Points points(const nlohmann::json& listed) {
  Points found;
  for (const auto& point : listed) {
    found.emplace_back((Count(point[0].get<std::int64_t>()) * 8).str(),
                       (Count(point[1].get<std::int64_t>()) * 8).str());
  }
  return found;
}

Points fused_points(const FusedChain& chain, const FusedSpace& space) {
  const auto staircase = least_fused_traffic(chain, space);
  if (!staircase) throw std::runtime_error(staircase.error().front().message);
  return points(staircase->steps);
}

/// All tensors where the branches part, none left out.
FusedSpace flash_space() {
  FusedSpace space;
  space.shared_tile = true;
  space.bypass = false;
  return space;
}

/// Whole rows of the intermediate; in a common step every tensor comes once, rows of d as a whole.
FusedSpace rows_space() {
  FusedSpace space;
  space.bypass = false;
  space.once_per_step = true;
  space.separate_rooms = true;
  space.uncut = {"n"};
  space.whole = {"d"};
  return space;
}

TEST(FusedStaircase, EqualsTheCurvesOfOthers) {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/orojenesis/attention.jsonl");
  std::string line;
  int cases = 0;
  while (std::getline(file, line)) {
    const auto fact = nlohmann::json::parse(line);
    const auto& ranks = fact["ranks"];
    const FusedChain chain = attention(ranks["m"], ranks["n"], ranks["d"]);
    EXPECT_EQ(fused_points(chain, flash_space()), points(fact["fused_flash"])) << fact["name"];
    EXPECT_EQ(fused_points(chain, rows_space()), points(fact["fused_ffmt"])) << fact["name"];
    const auto unfused = least_unfused_traffic(chain, flash_space());
    ASSERT_TRUE(unfused);
    EXPECT_EQ(points(*unfused), points(fact["unfused"])) << fact["name"];
    // With every tensor at a place of its own nothing is worse.
    const auto free = least_fused_traffic(chain, {});
    ASSERT_TRUE(free);
    for (const char* const curve : {"fused_flash", "fused_ffmt"}) {
      for (const auto& point : fact[curve]) {
        const Count buffer = point[0].get<std::int64_t>() * 8, traffic = point[1].get<std::int64_t>() * 8;
        EXPECT_TRUE(std::any_of(
            free->steps.begin(), free->steps.end(),
            [&](const FusedStep& step) { return step.buffer_bits <= buffer && step.traffic_bits <= traffic; }))
            << fact["name"] << ", " << point.dump();
      }
    }
    ++cases;
  }
  EXPECT_EQ(cases, 3);
}

TEST(FusedStaircase, MoreStepsWhereTensorsComeTwiceInACommonStep) {
  // Two rows of the intermediate, 2 * 256. First Q row by row, K row by row for each: K comes for every row of Q. Then
  // two rows of O in place while V comes row by row, once for the two.
  FusedSpace space = rows_space();
  space.once_per_step = false;
  const std::int64_t buffer = 2 * 256 + (64 + 64) + (2 * 64 + 64), once = 256 * 64;
  const std::int64_t traffic = once + 256 * once + 128 * once + once;
  const Points found = fused_points(attention(256, 256, 64), space);
  const std::pair<std::string, std::string> step{(Count(buffer) * 8).str(), (Count(traffic) * 8).str()};
  EXPECT_NE(std::find(found.begin(), found.end(), step), found.end());
  const Points rows = fused_points(attention(256, 256, 64), rows_space());
  EXPECT_EQ(std::find(rows.begin(), rows.end(), step), rows.end());
}

/// Executes the nest of every step.
void expect_attained(const FusedChain& chain, const FusedSpace& space) {
  const auto staircase = least_fused_traffic(chain, space);
  ASSERT_TRUE(staircase) << staircase.error().front().message;
  ASSERT_FALSE(staircase->steps.empty());
  const std::vector<ChainTensor> tensors = moved_tensors(chain);
  for (const FusedStep& step : staircase->steps) {
    const FusedNest nest = fused_nest(chain, step);
    const ExecutedChain executed = execute(chain, nest, space.separate_rooms);
    const std::string text = to_text(chain, nest);
    EXPECT_EQ(executed.faults, std::vector<std::string>()) << text;
    EXPECT_EQ(Count(executed.buffer_bits), step.buffer_bits) << text;
    EXPECT_EQ(Count(executed.traffic_bits), step.traffic_bits) << text;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      EXPECT_EQ(Count(executed.moved[t]), step.holds[t].hold.traffic) << t << "\n" << text;
      EXPECT_EQ(Count(executed.most_held[t]), step.holds[t].hold.elements) << t << "\n" << text;
      const bool may_come_twice = !space.once_per_step || step.holds[t].common;
      EXPECT_TRUE(may_come_twice || !executed.came_twice[t]) << t << "\n" << text;
    }
  }
  EXPECT_EQ(staircase->steps.back().traffic_bits, staircase->compulsory_bits);
}

TEST(FusedStaircase, EveryStepIsAttained) {
  for (const FusedSpace& space : {FusedSpace(), flash_space(), rows_space()}) {
    expect_attained(attention(8, 8, 4), space);
    expect_attained(attention(12, 6, 4), space);
    expect_attained(attention(4, 16, 3), space);
  }
  FusedSpace apart;
  apart.separate_rooms = true;
  expect_attained(attention(8, 16, 4), apart);
  expect_attained(chain_of({"S[g,u,q,t] += Q[g,u,q,e] * K[g,t,e]", "O[g,u,q,f] += S[g,u,q,t] * V[g,t,f]"},
                           {{"g", 2}, {"u", 2}, {"q", 4}, {"t", 4}, {"e", 2}, {"f", 3}}),
                  {});
}

void expect_every_nest_tried(const FusedChain& chain, const FusedSpace& space) {
  Points expected;
  for (const auto& [buffer, traffic] : every_fused_nest(chain, space)) {
    expected.emplace_back(buffer.str(), traffic.str());
  }
  EXPECT_EQ(fused_points(chain, space), expected) << to_text(chain.einsums[0]) << ", " << to_text(chain.einsums[1]);
  expect_attained(chain, space);
}

TEST(FusedStaircase, EqualsEveryNestTried) {
  expect_every_nest_tried(attention(2, 4, 2), {});
  expect_every_nest_tried(attention(4, 2, 3), {});
  expect_every_nest_tried(
      chain_of({"S[m,n] += Q[m,d] * K[n,d]", "O[m,f] += S[m,n] * V[n,f]"}, {{"m", 2}, {"n", 3}, {"d", 2}, {"f", 4}}),
      {});
  // The other rank of the intermediate is reduced; its axes are written in another order.
  expect_every_nest_tried(
      chain_of({"S[m,n] += Q[m,d] * K[n,d]", "O[n,f] += S[n,m] * V[m,f]"}, {{"m", 4}, {"n", 2}, {"d", 2}, {"f", 2}}),
      {});
  expect_every_nest_tried(
      chain_of({"S[m,n] += Q[m,d] * K[n,d]", "O[m] += S[m,n] * V[n]"}, {{"m", 4}, {"n", 4}, {"d", 2}}), {});
  expect_every_nest_tried(
      chain_of({"S[m,n] = A[m] * B[n]", "O[m,f] += S[m,n] * V[n,f]"}, {{"m", 3}, {"n", 4}, {"f", 2}}), {});
  // A head of keys and values for two heads of queries; a batch.
  expect_every_nest_tried(chain_of({"S[u,q,t] += Q[u,q,e] * K[t,e]", "O[u,q,f] += S[u,q,t] * V[t,f]"},
                                   {{"u", 2}, {"q", 2}, {"t", 2}, {"e", 2}, {"f", 2}}),
                          {});
  expect_every_nest_tried(chain_of({"S[b,q,t] += Q[b,q,e] * K[b,t,e]", "O[b,q,f] += S[b,q,t] * V[b,t,f]"},
                                   {{"b", 2}, {"q", 2}, {"t", 2}, {"e", 2}, {"f", 2}}),
                          {});
  // Three factors.
  expect_every_nest_tried(
      chain_of({"S[m,n] += Q[m,d] * K[n,d]", "O[m] += S[m,n] * V[n] * W[m]"}, {{"m", 2}, {"n", 4}, {"d", 2}}), {});
}

TEST(FusedStaircase, RestrictedSpacesEqualEveryNestTried) {
  for (const FusedChain& chain : {attention(2, 4, 2), attention(4, 2, 2), attention(3, 4, 2)}) {
    for (const bool bypass : {false, true}) {
      for (int which = 0; which < 5; ++which) {
        FusedSpace space;
        space.bypass = bypass;
        space.shared_tile = which == 0;
        space.separate_rooms = which == 1 || which == 4;
        space.once_per_step = which == 2 || which == 4;
        if (which >= 3) space.uncut = {"n"};
        if (which == 4) space.whole = {"d"};
        expect_every_nest_tried(chain, space);
      }
    }
  }
}

TEST(FusedStaircase, WidthsOfTheTensorsCount) {
  FusedChain chain = attention(4, 8, 2);
  chain.einsums[1].tensors.back().type = *find_element_type("fp32");
  chain.einsums[1].tensors[static_cast<std::size_t>(chain.taken)].type = *find_element_type("fp16");
  expect_attained(chain, {});
  const auto staircase = least_fused_traffic(chain, {});
  ASSERT_TRUE(staircase);
  EXPECT_EQ(staircase->compulsory_bits, Count(8 * (4 * 2 + 8 * 2 + 8 * 2) + 32 * (4 * 2)));
  // Every operation brings its operands; the intermediate is one element, as wide as it is taken.
  EXPECT_EQ(staircase->steps.front().buffer_bits, Count(16));
}

TEST(FusedStaircase, FusingPaysFromWhereItStaysBelow) {
  const auto fused = [](std::initializer_list<std::pair<int, int>> list) {
    std::vector<FusedStep> steps;
    for (const auto& [buffer, traffic] : list) {
      steps.emplace_back();
      steps.back().buffer_bits = buffer;
      steps.back().traffic_bits = traffic;
    }
    return steps;
  };
  const std::vector<UnfusedStep> unfused{{10, 100, {}}, {20, 50, {}}, {40, 30, {}}};
  EXPECT_EQ(fusing_pays_from(fused({{15, 80}, {25, 50}, {30, 40}, {45, 20}}), unfused), Count(45));
  EXPECT_EQ(fusing_pays_from(fused({{15, 80}, {25, 50}, {30, 25}}), unfused), Count(30));
  EXPECT_EQ(fusing_pays_from(fused({{5, 20}}), unfused), Count(5));
  EXPECT_EQ(fusing_pays_from(fused({{5, 20}}), {}), Count(5));
  EXPECT_EQ(fusing_pays_from(fused({{50, 30}}), unfused), std::nullopt);
}

TEST(FusedStaircase, HeadsMultiplyTheTraffic) {
  const Sizes sizes{{"h", 6}, {"m", 8}, {"n", 16}, {"d", 4}};
  const FusedChain heads = chain_of({"S[h,m,n] += Q[h,m,d] * K[h,n,d]", "O[h,m,d] += S[h,m,n] * V[h,n,d]"}, sizes);
  for (const FusedSpace& space : {FusedSpace(), flash_space()}) {
    const auto all = least_fused_traffic(heads, space), one = least_fused_traffic(attention(8, 16, 4), space);
    ASSERT_TRUE(all && one);
    ASSERT_EQ(all->steps.size(), one->steps.size());
    for (std::size_t i = 0; i < all->steps.size(); ++i) {
      EXPECT_EQ(all->steps[i].buffer_bits, one->steps[i].buffer_bits);
      EXPECT_EQ(all->steps[i].traffic_bits, one->steps[i].traffic_bits * 6);
    }
    expect_attained(heads, space);
  }
}

TEST(FusedChain, SoftmaxStandsBetween) {
  Attention shape;
  shape.heads = 2;
  shape.kv_heads = 2;
  shape.queries = 4;
  shape.keys = 8;
  shape.head_dim = 2;
  Cascade cascade;
  cascade.einsums = {*attention_scores(shape)};
  const Sizes sizes{{"b", 1}, {"h", 2}, {"q", 4}, {"t", 8}};
  for (Einsum& einsum :
       cascade_of({"M[b,h,q] max= S[b,h,q,t]", "D[b,h,q,t] = S[b,h,q,t] - M[b,h,q]", "E[b,h,q,t] = exp(D[b,h,q,t])",
                   "L[b,h,q] += E[b,h,q,t]", "P[b,h,q,t] = E[b,h,q,t] / L[b,h,q]"},
                  sizes)
           .einsums) {
    cascade.einsums.push_back(std::move(einsum));
  }
  cascade.einsums.push_back(*attention_context(shape));
  const auto chain = fused_chain(cascade);
  ASSERT_TRUE(chain);
  EXPECT_EQ(chain->between, (std::vector<std::string>{"M", "D", "E", "L", "P"}));
  EXPECT_EQ(chain->rows, (std::vector<std::string>{"M", "L"}));
  EXPECT_EQ(chain->einsums[1].tensors[static_cast<std::size_t>(chain->taken)].name, "P");
  EXPECT_EQ(moved_tensors(*chain).size(), 4U);
}

TEST(FusedChain, WhatIsNotSearchedIsSaid) {
  const Sizes sizes{{"m", 4}, {"n", 4}, {"d", 2}, {"f", 2}, {"g", 2}, {"p", 3}, {"r", 2}};
  const auto message = [&](const std::vector<std::string>& texts, const std::string& first = {}) {
    const auto chain = fused_chain(cascade_of(texts, sizes), first);
    return chain ? std::string() : chain.error().front().message;
  };
  const std::string scores = "S[m,n] += Q[m,d] * K[n,d]", context = "O[m,f] += S[m,n] * V[n,f]";
  EXPECT_NE(message({scores}).find("nothing to fuse"), std::string::npos);
  EXPECT_NE(message({scores, context}, "X").find("no einsum 'X'"), std::string::npos);
  EXPECT_NE(message({scores, context}, "O").find("no product takes"), std::string::npos);
  EXPECT_NE(message({scores, "T[m,n] = S[m,n] + B[m,n]", "O[m,f] += T[m,n] * V[n,f]"}).find("'B' from outside"),
            std::string::npos);
  EXPECT_NE(message({scores, "O[m,d] += S[m,n] * K[n,d]"}).find("'K' is a tensor of both"), std::string::npos);
  EXPECT_NE(message({scores, context, "R[m,g] += O[m,f] * W[f,g]"}).find("2 chains"), std::string::npos);
  EXPECT_EQ(message({scores, context, "R[m,g] += O[m,f] * W[f,g]"}, "O"), "");
  EXPECT_NE(message({"S[p,n] += I[p+r,n] * F[r]", "O[p,f] += S[p,n] * V[n,f]"}).find("window"), std::string::npos);
  EXPECT_NE(message({scores, "O[m,f] += S[m,f] * V[f,n]"}).find("other ranks"), std::string::npos);

  FusedSpace space;
  space.uncut = {"d"};
  const auto uncut = least_fused_traffic(attention(4, 4, 2), space);
  ASSERT_FALSE(uncut);
  EXPECT_NE(uncut.error().front().message.find("no rank of the intermediate"), std::string::npos);
  space.uncut.clear();
  space.whole = {"x"};
  EXPECT_FALSE(least_fused_traffic(attention(4, 4, 2), space));
}

}  // namespace
}  // namespace einflow
