// Einsums as values: counts, printing, and the checks that do not need a text.
#include "problem/einsum.hpp"

#include <gtest/gtest.h>

#include "notation/spec_reader.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {
namespace {

Einsum with_extents(const std::string& text, const std::vector<std::int64_t>& extents) {
  Einsum einsum = parse_einsum(text).value();
  EXPECT_EQ(einsum.ranks.size(), extents.size());
  for (std::size_t r = 0; r < extents.size(); ++r) einsum.ranks[r].extent = extents[r];
  return einsum;
}

TEST(Einsum, CountsOperations) {
  const Einsum matmul = with_extents("Y[m,n] += X[m,k] * W[k,n]", {64, 48, 32});
  EXPECT_EQ(matmul.operations(), Count(64 * 48 * 32));
  EXPECT_TRUE(matmul.is_mac());
  EXPECT_FALSE(parse_einsum("Y[m] max= X[m,k]")->is_mac());
  EXPECT_FALSE(parse_einsum("Y[m] += X[m,k] * W[k] * V[k]")->is_mac());
}

TEST(Einsum, RoundsTheExecutedShareUp) {
  Einsum scores = with_extents("S[q,t] += Q[q,e] * K[t,e]", {3, 3, 5});
  scores.executed = {Ratio(Count(2), Count(3)), "causal mask"};
  EXPECT_EQ(scores.executed_operations(), Count(30));
  scores.executed.share = Ratio(Count(1), Count(2));
  EXPECT_EQ(scores.executed_operations(), Count(23)) << "22.5";
}

TEST(Einsum, KnowsItsNames) {
  const Einsum einsum = parse_einsum("O[p] += I[2*p+r] * F[r]").value();
  EXPECT_EQ(einsum.rank_named("r"), 1);
  EXPECT_EQ(einsum.rank_named("x"), -1);
  EXPECT_EQ(einsum.tensor_named("O"), einsum.output());
  EXPECT_TRUE(einsum.has_rank(einsum.tensor_named("I"), 1));
  EXPECT_FALSE(einsum.has_rank(einsum.tensor_named("F"), 0));
}

std::vector<std::string> messages(const std::vector<EinsumFault>& faults) {
  std::vector<std::string> texts;
  for (const EinsumFault& fault : faults) texts.push_back(fault.message);
  return texts;
}

TEST(EinsumCheck, AxesReachLessThanTwoToThe62) {
  EXPECT_TRUE(check_sizes(with_extents("Y[m] = X[4611686018427387903*m]", {2})).empty());
  EXPECT_EQ(messages(check_sizes(with_extents("Y[m] = X[4611686018427387904*m]", {2}))),
            std::vector<std::string>{"axis '4611686018427387904*m' of tensor 'X' reaches 2^62 or beyond"});
  EXPECT_FALSE(check_sizes(with_extents("Y[m] = X[m+4611686018427387904]", {1})).empty());
  EXPECT_FALSE(check_sizes(with_extents("Y[m] = X[m-4611686018427387904]", {1})).empty());
  EXPECT_FALSE(check_sizes(with_extents("Y[m] = X[9223372036854775807*m]", {9223372036854775807})).empty());
}

TEST(EinsumCheck, CountsStayIn128Bits) {
  const std::int64_t large = std::int64_t{1} << 42;
  EXPECT_TRUE(check_sizes(with_extents("Y[a,b] += X[a,b,c]", {large, large, large})).empty()) << "2^126";
  EXPECT_EQ(messages(check_sizes(with_extents("Y[a,b] += X[a,b,c]", {large, large, 4 * large}))).size(), 2u)
      << "operations and elements";
}

TEST(EinsumCheck, ExtentsAreAtLeastOne) {
  EXPECT_EQ(messages(check_sizes(with_extents("Y[m] = X[m]", {0}))),
            std::vector<std::string>{"rank 'm' has extent 0; it must be at least 1"});
}

TEST(EinsumCheck, PaddingNeedsAStoredSize) {
  Einsum einsum = with_extents("O[p] += I[p+r-1] * F[r]", {8, 3});
  EXPECT_EQ(check_sizes(einsum).size(), 1u);
  einsum.tensors[0].axes[0].stored_size = 8;
  EXPECT_TRUE(check_sizes(einsum).empty());
}

}  // namespace
}  // namespace einflow
