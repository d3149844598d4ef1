#include "cluster/block_plan.hpp"

#include <gtest/gtest.h>

#include "cluster/traffic.hpp"

namespace einflow::cluster {
namespace {

/// The sizes of GPT-3 175B's layer (arXiv:2005.14165, table 2.1).
Transformer gpt() {
  Transformer model;
  model.name = "gpt";
  model.hidden = 12288;
  model.layers = 96;
  model.heads = 96;
  model.kv_heads = 96;
  model.head_dim = 128;
  model.ffn = 4 * 12288;
  model.vocabulary = 51200;
  model.positions = 2048;
  model.dropout = true;
  model.norm = Norm::layer;
  return model;
}

constexpr std::int64_t kLength = 2048;

std::vector<Block> blocks(const Transformer& model, const Plan& plan) {
  Workload workload;
  workload.batch = plan.microbatch * plan.dp;
  workload.queries = kLength;
  workload.keys = kLength;
  workload.flash = plan.flash;
  return *blocks_of(model, workload);
}

const Block& layer(const std::vector<Block>& all, const std::string& name = "layer") {
  for (const Block& block : all) {
    if (block.name == name) return block;
  }
  return all.front();
}

/// Elements that the busiest device sends over the axis in one microbatch.
Count sent(const BlockPlan& plan, const std::string& axis) {
  Count elements = 0;
  for (const auto* const list : {&plan.forward, &plan.backward}) {
    for (const Collective& collective : *list) {
      if (plan.mesh.axes[static_cast<std::size_t>(collective.axis)].name != axis) continue;
      elements += traffic_of(collective, plan.mesh).busiest;
    }
  }
  return elements;
}

Plan plan_of(const std::vector<std::string>& words) { return *parse_plan(words); }

TEST(BlockPlan, ATensorParallelLayerSendsEightShares) {
  // Narayanan et al. 2021 (arXiv:2104.04473), section 2.3: 8 b s h (t - 1) / t elements a layer and microbatch.
  const Plan plan = plan_of({"tp=8"});
  const auto all = blocks(gpt(), plan);
  const auto planned = plan_block(layer(all), plan, gpt());
  ASSERT_TRUE(planned) << planned.error().front().message;
  EXPECT_EQ(sent(*planned, "tp"), Count(8 * kLength * 12288 * 7 / 8));
}

TEST(BlockPlan, SequenceParallelismSendsTen) {
  // Korthikanti et al. 2022 (arXiv:2205.05198), section 4.2.2: the same, and each of the two inputs gathered once
  // more in the backward pass: 10 b s h (t - 1) / t.
  const Plan plan = plan_of({"tp=8", "sp"});
  const auto all = blocks(gpt(), plan);
  const auto planned = plan_block(layer(all), plan, gpt());
  ASSERT_TRUE(planned) << planned.error().front().message;
  EXPECT_EQ(sent(*planned, "tp"), Count(10 * kLength * 12288 * 7 / 8));
}

TEST(BlockPlan, DataParallelismMovesNothingInAMicrobatch) {
  const Plan plan = plan_of({"dp=4"});
  const auto all = blocks(gpt(), plan);
  const auto planned = plan_block(layer(all), plan, gpt());
  ASSERT_TRUE(planned) << planned.error().front().message;
  EXPECT_TRUE(planned->forward.empty());
  EXPECT_TRUE(planned->backward.empty());
  const auto dp = static_cast<std::size_t>(planned->mesh.axis_named("dp"));
  for (const PlannedWeight& weight : planned->weights) {
    EXPECT_EQ(weight.rest.states[dp].kind, StateKind::replicated) << weight.name;
    EXPECT_EQ(weight.gradient.states[dp].kind, StateKind::partial) << weight.name;
  }
}

TEST(BlockPlan, GainsArePartialWhereTheirTokensAreSplit) {
  const Plan plan = plan_of({"tp=8", "sp"});
  const auto all = blocks(gpt(), plan);
  const auto planned = plan_block(layer(all), plan, gpt());
  ASSERT_TRUE(planned) << planned.error().front().message;
  const auto tp = static_cast<std::size_t>(planned->mesh.axis_named("tp"));
  int partial = 0;
  for (const PlannedWeight& weight : planned->weights) {
    if (weight.gradient.states[tp].kind == StateKind::partial) ++partial;
  }
  EXPECT_EQ(partial, 4);  // gain and shift of two norms
}

TEST(BlockPlan, ContextParallelismMovesKeysAndValues) {
  // Ring attention (arXiv:2310.01889): forward (p - 1) / p (bK + bV); backward they come again, and their gradients go.
  const Plan plan = plan_of({"cp=4"});
  Transformer model = gpt();
  model.dropout = false;
  const auto all = blocks(model, plan);
  const auto planned = plan_block(layer(all), plan, model);
  ASSERT_TRUE(planned) << planned.error().front().message;
  EXPECT_EQ(sent(*planned, "cp"), Count(6 * kLength * 12288 * 3 / 4));
}

TEST(BlockPlan, UlyssesExchangesFourTensors) {
  // arXiv:2309.14509: four all-to-all of the local (p - 1) / p^2 each way.
  const Plan plan = plan_of({"cp=4", "cp-way=ulysses"});
  Transformer model = gpt();
  model.dropout = false;
  const auto all = blocks(model, plan);
  const auto planned = plan_block(layer(all), plan, model);
  ASSERT_TRUE(planned) << planned.error().front().message;
  Count forward = 0;
  for (const Collective& collective : planned->forward) forward += traffic_of(collective, planned->mesh).busiest;
  EXPECT_EQ(forward, Count(4 * kLength * 12288 * 3 / 16));
}

TEST(BlockPlan, TokensGoToTheirExpertsAndBack) {
  // Balanced: T k h elements of a device, (p - 1) / p of them to others. There and back forward, the two gradients
  // backward, and the tokens once more for the weights' gradients, since they rest with their owners.
  Transformer model = gpt();
  model.dropout = false;
  model.gated = true;
  model.norm = Norm::rms;
  model.positions = 0;
  model.experts = Experts{};
  model.experts->count = 8;
  model.experts->chosen = 2;
  model.experts->ffn = 4096;
  const Plan plan = plan_of({"dp=8", "ep=8"});
  const auto all = blocks(model, plan);
  const auto planned = plan_block(layer(all, "expert layer"), plan, model);
  ASSERT_TRUE(planned) << planned.error().front().message;
  EXPECT_EQ(sent(*planned, "ep"), Count(5 * kLength * 2 * 12288 * 7 / 8));
}

TEST(BlockPlan, EveryBlockOfEveryKindOfModelHasAPlan) {
  for (const bool experts : {false, true}) {
    for (const bool latent : {false, true}) {
      Transformer model = gpt();
      model.positions = 0;
      model.norm = Norm::rms;
      model.gated = true;
      model.dropout = false;
      if (experts) model.experts = Experts{16, 2, 2048, 1, 1, 0};
      if (latent) model.latent = LatentAttention{1536, 512, 64, 128, 128};
      for (const auto& words : std::vector<std::vector<std::string>>{
               {"tp=8"}, {"tp=4", "sp", "dp=4"}, {"tp=4", "sp", "attention=unfused"}}) {
        Plan plan = plan_of(words);
        if (experts) plan.ep = plan.dp;
        const auto all = blocks(model, plan);
        for (const Block& block : all) {
          const auto planned = plan_block(block, plan, model);
          EXPECT_TRUE(planned) << block.name << " " << to_text(plan) << ": "
                               << (planned ? "" : planned.error().front().message);
        }
      }
    }
  }
}

}  // namespace
}  // namespace einflow::cluster
