#include "cluster/plan.hpp"

#include <gtest/gtest.h>

namespace einflow::cluster {
namespace {

Transformer small() {
  Transformer model;
  model.name = "small";
  model.hidden = 64;
  model.layers = 6;
  model.heads = 8;
  model.kv_heads = 2;
  model.head_dim = 8;
  model.ffn = 256;
  model.vocabulary = 1000;
  return model;
}

std::string first_error(const std::vector<std::string>& words) {
  const auto plan = parse_plan(words);
  if (!plan) return plan.error().front().message;
  const Diagnostics errors = check(*plan, small());
  return errors.empty() ? "" : errors.front().message;
}

TEST(Plan, ReadsTheWordsAndSaysThemAgain) {
  const auto plan =
      parse_plan({"tp=8", "pp=12", "dp=16", "sp", "zero=1", "microbatch=1", "batch=64", "recompute=selective"});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->devices(), 8 * 12 * 16);
  EXPECT_TRUE(plan->sequence);
  EXPECT_EQ(plan->zero, 1);
  EXPECT_EQ(plan->microbatches(), 4);  // 64 sequences over 16 groups, one at a time
  EXPECT_EQ(to_text(*plan), "tp=8 sp pp=12 dp=16 zero=1 microbatch=1 batch=64 recompute=selective");
}

TEST(Plan, SaysAgainWhatItReadsInEveryKey) {
  const std::vector<std::string> words{
      "tp=2",           "sp",     "cp=4",         "cp-way=ulysses", "ep=2",    "pp=3",           "interleave=2",
      "dp=4",           "zero=3", "microbatch=2", "batch=24",       "seq=512", "recompute=full", "attention=unfused",
      "gradients=fp32", "overlap"};
  const auto plan = parse_plan(words);
  ASSERT_TRUE(plan);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  EXPECT_EQ(to_text(*plan), text);
}

TEST(Plan, WrongWordsAreNamed) {
  EXPECT_EQ(first_error({"pt=8"}), "a plan has no key 'pt'");
  EXPECT_EQ(first_error({"tp=0"}), "tp: found '0', expected a whole number from 1 to 2^30, as in tp=8");
  EXPECT_EQ(first_error({"zero=4"}), "zero: found '4', expected one of 0, 1, 2, 3");
  EXPECT_EQ(first_error({"tp=2", "tp=4"}), "tp stands twice: 'tp=2' and 'tp=4'");
}

TEST(Plan, ImpossiblePlansNameTheirNumbers) {
  EXPECT_EQ(first_error({"tp=16"}), "tp=16 is more than the 8 heads of small: a device would have none");
  EXPECT_EQ(first_error({"pp=7"}), "pp=7 with 1 chunk(s) each needs 7 layers, small has 6");
  EXPECT_EQ(first_error({"ep=2", "dp=2"}), "ep=2: small has no experts");
  EXPECT_EQ(first_error({"dp=4", "batch=6"}), "batch=6 is no multiple of microbatch x dp = 1 x 4 = 4");
  EXPECT_EQ(first_error({"pp=2", "interleave=2", "batch=3"}),
            "the interleaved schedule needs a multiple of pp=2 microbatches, a step has 3");
}

TEST(Plan, UnevenPlansAreWarnedAbout) {
  const auto plan = parse_plan({"tp=3", "pp=4"});
  ASSERT_TRUE(plan);
  const std::vector<std::string> texts = warnings(*plan, small());
  ASSERT_GE(texts.size(), 3U);
  EXPECT_EQ(texts[0], "8 heads over tp=3: the busiest device has 3, the mean is 2.67");
  EXPECT_EQ(texts[3], "6 layers over pp=4: the busiest device has 2, the mean is 1.50");
}

}  // namespace
}  // namespace einflow::cluster
