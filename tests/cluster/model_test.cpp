// Parameters of published models, the pairs that attention counts, KV caches, states of renaming operations.
#include "cluster/model.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "cluster/kv_cache.hpp"
#include "notation/model_reader.hpp"

namespace einflow::cluster {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Transformer model(const std::string& text) {
  const auto model = load_model(kLibrary, text);
  EXPECT_TRUE(model) << (model ? "" : text + ": " + model.error().front().message);
  return model ? *model : Transformer{};
}

TEST(Model, HasThePublishedParameters) {
  std::ifstream file(EINFLOW_SOURCE_DIR "/tests/reference/models/parameters.txt");
  int models = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::string parameters;
    std::string active;
    words >> name >> parameters >> active;
    EXPECT_EQ(model(name).parameters().str(), parameters) << name;
    EXPECT_EQ(model(name).active_parameters().str(), active) << name;
    ++models;
  }
  EXPECT_EQ(models, 22);
}

TEST(Model, CountsATiedMatrixOnce) {
  Transformer model;
  model.hidden = 8;
  model.layers = 1;
  model.heads = model.kv_heads = 2;
  model.head_dim = 4;
  model.ffn = 16;
  model.vocabulary = 100;
  // 4 h^2 of attention, 2 h f, norms of h: two of the layer and the final one; E, and again for the logits.
  EXPECT_EQ(model.parameters(), Count(4 * 64 + 2 * 8 * 16 + 3 * 8 + 2 * 800));
  model.tied = true;
  EXPECT_EQ(model.parameters(), Count(4 * 64 + 2 * 8 * 16 + 3 * 8 + 800));
}

TEST(Model, TellsWhatIsWrong) {
  Transformer model;
  model.hidden = 8;
  model.layers = 2;
  model.heads = 6;
  model.kv_heads = 4;
  model.head_dim = 4;
  model.vocabulary = 10;
  model.experts = Experts{.count = 2, .chosen = 3, .ffn = 0, .shared = 0, .every = 1, .dense_layers = 3};
  std::vector<std::string> keys;
  for (const ModelFault& fault : faults_of(model)) keys.push_back(fault.key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"ffn", "kv_heads", "experts.ffn", "experts.chosen", "experts.dense_layers"}));
  model.latent = LatentAttention{0, 0, 4, 8, 8};
  keys.clear();
  for (const ModelFault& fault : faults_of(model)) keys.push_back(fault.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"ffn", "kv_heads", "latent.key_value_rank", "experts.ffn", "experts.chosen",
                                            "experts.dense_layers"}));
  EXPECT_FALSE(check(model));
  EXPECT_FALSE(blocks_of(model, {}));
  EXPECT_EQ(model.parameters(), Count(0));
}

TEST(AttentionPairs, AreThoseThatMaskAndWindowLeave) {
  Transformer model;
  for (std::int64_t window = 0; window <= 9; ++window) {
    for (std::int64_t keys = 1; keys <= 8; ++keys) {
      for (std::int64_t queries = 1; queries <= keys; ++queries) {
        model.window = window;
        // By enumeration: query q is token keys - queries + q, and sees itself and the window - 1 tokens before it.
        std::int64_t seen = 0;
        for (std::int64_t query = keys - queries; query < keys; ++query) {
          for (std::int64_t key = 0; key <= query; ++key) seen += window == 0 || query - key < window ? 1 : 0;
        }
        Workload workload{Phase::prefill, 1, queries, keys, true, CausalFlops::exact};
        EXPECT_EQ(attention_pairs(model, workload), Count(seen)) << window << " " << queries << " " << keys;
        workload.causal_flops = CausalFlops::full;
        const bool windowed = window > 0 && window < keys;
        EXPECT_EQ(attention_pairs(model, workload), Count(windowed ? seen : queries * keys));
      }
    }
  }
}

TEST(KvCache, OfPublishedModels) {
  // 2 * 32 layers * 8 heads * 128 * 2 B; 2 * 32 * 32 * 128 * 2 B.
  EXPECT_EQ(kv_cache(model("llama3-8b"), 1)->bytes_per_token, Count(131072));
  EXPECT_EQ(kv_cache(model("llama2-7b"), 1)->bytes_per_token, Count(524288));
  // 16 sequences of 4096 tokens of Llama 2 7B: 32 GiB.
  EXPECT_EQ(kv_cache(model("llama2-7b"), 4096)->bytes_per_sequence * Count(16), Count(std::int64_t{32} << 30));
  // "Insights into DeepSeek-V3" (arXiv:2505.09343), table 1: 70.272, 516.096 kB a token (Llama 3.1 405B).
  EXPECT_EQ(kv_cache(model("deepseek-v3"), 1)->bytes_per_token, Count(70272));
  EXPECT_EQ(kv_cache(model("llama3-405b"), 1)->bytes_per_token, Count(516096));
  EXPECT_EQ(kv_cache(model("llama3-8b"), 1)->formula, "(32 layers * (Kt g 8 * d 128 + Vt g 8 * d 128)) * 16 bits / 8");
}

TEST(KvCache, OfAWindowKeepsItsTokensOnly) {
  const Transformer windowed = model("{hidden: 8, layers: 3, heads: 2, ffn: 16, vocabulary: 10, window: 5}");
  // 3 layers, keys and values, 8 elements, fp8.
  EXPECT_EQ(kv_cache(windowed, 100, 8)->bytes_per_token, Count(48));
  EXPECT_EQ(kv_cache(windowed, 4, 8)->bytes_per_sequence, Count(4 * 48));
  EXPECT_EQ(kv_cache(windowed, 100, 8)->bytes_per_sequence, Count(5 * 48));
  EXPECT_FALSE(kv_cache(windowed, 0));
  EXPECT_FALSE(kv_cache(windowed, 5, 0));
}

std::string states(const Block& block, const std::string& name, const std::vector<ParLoop>& par,
                   const DeviceMesh& mesh) {
  for (const Operation& operation : block.operations) {
    if (operation.name != name) continue;
    std::string text;
    const auto placements = states_of(operation, par, mesh);
    for (std::size_t i = 0; i < placements.size(); ++i) {
      text += (i > 0 ? "; " : "") + operation.shape.tensors[i].name + " " + to_text(placements[i], mesh);
    }
    return text;
  }
  return "no such operation";
}

TEST(StatesOf, FollowTheOneRule) {
  const auto blocks = blocks_of(model("llama3-8b"), {Phase::training, 2, 64, 64, true, CausalFlops::full});
  ASSERT_TRUE(blocks);
  const DeviceMesh mesh{{{"tp", 2}}};
  EXPECT_EQ(states((*blocks)[1], "queries", {{"g", "tp"}}, mesh), "Xnormed tp: R; Wq tp: S(g); Q tp: S(g)");
  EXPECT_EQ(states((*blocks)[1], "out projection", {{"g", "tp"}}, mesh),
            "Context tp: S(g); Wo tp: S(g); Attended tp: P(+)");
  EXPECT_EQ(states((*blocks)[1], "down", {{"f", "tp"}}, mesh), "Wide tp: S(f); Wdown tp: S(f); Down tp: P(+)");
  EXPECT_EQ(states((*blocks)[0], "embedding", {{"v", "tp"}}, mesh), "Tokens tp: R; E tp: S(v); X tp: P(+)");
  // Keys split over devices: each has a term of the context, merged by its log-sum-exp (split-KV).
  EXPECT_EQ(states((*blocks)[1], "attention", {{"t", "tp"}}, mesh),
            "Q tp: R; Kt tp: S(t); Vt tp: S(t); Context tp: P(log-sum-exp)");
}

TEST(Elements, AreOfTheDeviceThatHasMost) {
  const auto blocks = blocks_of(model("llama3-8b"), {Phase::training, 2, 64, 64, true, CausalFlops::full});
  ASSERT_TRUE(blocks);
  const Block& layer = (*blocks)[1];
  const ModelTensor& q = *layer.tensor_named("Q");
  EXPECT_EQ(whole_tensors(layer)(q), Count(2 * 64 * 4096));
  // 8 KV heads over 3 devices: the busiest has 3 of them.
  const DeviceMesh mesh{{{"tp", 3}}};
  const Elements pieces = largest_pieces(layer, mesh, {{"Q", Placement{{split("g")}}}});
  EXPECT_EQ(pieces(q), Count(2 * 64 * 3 * 512));
  EXPECT_EQ(pieces(*layer.tensor_named("X")), Count(2 * 64 * 4096));
}

TEST(StatesOf, FollowRenames) {
  const auto dense = blocks_of(model("llama3-8b"), {Phase::training, 2, 64, 64, true, CausalFlops::full});
  const auto experts = blocks_of(model("mixtral-8x7b"), {Phase::training, 2, 64, 64, true, CausalFlops::full});
  ASSERT_TRUE(dense && experts);
  const DeviceMesh mesh{{{"dp", 2}, {"cp", 2}}};
  EXPECT_EQ(states((*dense)[1], "K by key", {{"b", "dp"}, {"s", "cp"}}, mesh),
            "K dp: S(b), cp: S(s); Kt dp: S(b), cp: S(t)");
  EXPECT_EQ(states((*experts)[1], "dispatch", {{"b", "dp"}, {"s", "cp"}}, mesh),
            "Znormed dp: S(b), cp: S(s); Sent dp: S(c), cp: S(c)");
  EXPECT_EQ(states((*experts)[1], "combine", {{"b", "dp"}}, mesh),
            "Down_e dp: S(c), cp: R; Shares dp: S(b), cp: R; Combined dp: S(b), cp: R");
  EXPECT_EQ(states((*experts)[1], "combine", {{"e", "dp"}}, mesh),
            "Down_e dp: S(e), cp: R; Shares dp: R, cp: R; Combined dp: P(+), cp: R");
}

}  // namespace
}  // namespace einflow::cluster
