// The closed formulas of Korthikanti et al. 2022 (arXiv:2205.05198, table 2), by sums over what operations keep.
#include "cluster/activation_memory.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "cluster/block_plan.hpp"
#include "notation/model_reader.hpp"

namespace einflow::cluster {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Transformer model(const std::string& text) {
  const auto model = load_model(kLibrary, text);
  EXPECT_TRUE(model) << (model ? "" : text + ": " + model.error().front().message);
  return model ? *model : Transformer{};
}

std::vector<Block> blocks(const Transformer& model, std::int64_t batch, std::int64_t tokens, bool flash = false) {
  const auto blocks = blocks_of(model, {Phase::training, batch, tokens, tokens, flash, CausalFlops::full});
  EXPECT_TRUE(blocks) << (blocks ? "" : blocks.error().front().message);
  return blocks ? *blocks : std::vector<Block>{};
}

/// Where tensors of the block rest: by the one rule, tensor parallelism in g, f and v; what the rule leaves alone is
/// cut in s where `sequence_parallel`. Partials are summed: to replicated, or to split in s.
Elements on_a_device(const Block& block, std::int64_t tensor_parallel, bool sequence_parallel) {
  const DeviceMesh mesh{{{"tp", tensor_parallel}}};
  std::map<std::string, Placement> rest;
  for (const Operation& operation : block.operations) {
    std::vector<ParLoop> par;
    for (const char* rank : {"g", "f", "v"}) {
      if (par.empty() && operation.shape.rank_named(rank) >= 0) par = {{rank, "tp"}};
    }
    const bool parted = !par.empty();
    if (!parted && sequence_parallel) par = {{"s", "tp"}};
    const auto states = states_of(operation, par, mesh);
    for (std::size_t i = 0; i < states.size(); ++i) {
      Placement placement = states[i];
      const std::string& name = operation.shape.tensors[i].name;
      if (placement.states[0].kind == StateKind::partial || (parted && placement == everywhere(mesh))) {
        placement.states[0] = sequence_parallel ? split("s") : replicated();
      }
      rest.emplace(name, placement);
    }
    for (const std::string& other : operation.also_writes) rest.emplace(other, Placement{{split("g")}});
  }
  return largest_pieces(block, mesh, std::move(rest));
}

Count bytes(const Block& block, std::int64_t tensor_parallel, bool sequence_parallel, Recompute recompute) {
  return activation_memory(block, on_a_device(block, tensor_parallel, sequence_parallel), recompute).bytes;
}

/// Of the layer, on the device that keeps most under the plan.
Count planned_bytes(const std::string& name, std::int64_t tokens, const std::vector<std::string>& words) {
  const Transformer transformer = model(name);
  const auto plan = parse_plan(words);
  EXPECT_TRUE(plan) << (plan ? "" : plan.error().front().message);
  if (!plan) return 0;
  const Block layer = blocks(transformer, plan->microbatch * plan->dp, tokens, plan->flash)[1];
  const auto planned = plan_block(layer, *plan, transformer);
  EXPECT_TRUE(planned) << (planned ? "" : planned.error().front().message);
  if (!planned) return 0;
  return activation_memory(layer, largest_pieces(layer, planned->mesh, planned->rest), plan->recompute).bytes;
}

struct Sizes {
  std::int64_t s;
  std::int64_t b;
  std::int64_t h;
  std::int64_t a;
  std::int64_t t;
};

TEST(ActivationMemory, IsTheClosedFormulaOfEveryConfiguration) {
  for (const Sizes& size : std::vector<Sizes>{{2048, 1, 12288, 96, 8},
                                              {2048, 4, 6144, 64, 8},
                                              {512, 3, 256, 8, 2},
                                              {128, 1, 64, 4, 4},
                                              {64, 2, 32, 2, 1}}) {
    const auto [s, b, h, a, t] = size;
    const Block layer = blocks(
        model("{hidden: " + std::to_string(h) + ", layers: 1, heads: " + std::to_string(a) +
              ", ffn: " + std::to_string(4 * h) + ", vocabulary: 512, biases: true, dropout: true, norm: layer}"),
        b, s)[1];
    const std::int64_t sbh = s * b * h;
    const std::int64_t pairs = 5 * a * s * s * b;  // 5 a s / h of sbh
    EXPECT_EQ(bytes(layer, 1, false, Recompute::none), Count(34 * sbh + pairs));
    EXPECT_EQ(bytes(layer, t, false, Recompute::none), Count(10 * sbh + (24 * sbh + pairs) / t));
    EXPECT_EQ(bytes(layer, t, true, Recompute::none), Count((34 * sbh + pairs) / t));
    EXPECT_EQ(bytes(layer, t, false, Recompute::selective), Count(10 * sbh + 24 * sbh / t));
    EXPECT_EQ(bytes(layer, t, true, Recompute::selective), Count(34 * sbh / t));
    EXPECT_EQ(bytes(layer, t, false, Recompute::full), Count(2 * sbh));
    EXPECT_EQ(bytes(layer, t, true, Recompute::full), Count(2 * sbh / t));
  }
}

TEST(ActivationMemory, OfGpt3) {
  // sbh (34 + 5as/h), the same / 8, 34 sbh / 8 with s 2048, b 1, h 12288, a 96.
  const Block layer = blocks(model("gpt3-175b"), 1, 2048)[1];
  EXPECT_EQ(bytes(layer, 1, false, Recompute::none), Count(2868903936));
  EXPECT_EQ(bytes(layer, 8, true, Recompute::none), Count(358612992));
  EXPECT_EQ(bytes(layer, 8, true, Recompute::selective), Count(106954752));
}

TEST(ActivationMemory, IsFigure1OfThePaper) {
  std::ifstream file(EINFLOW_SOURCE_DIR "/tests/reference/models/activations.txt");
  int models = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name;
    std::int64_t batch = 0;
    std::int64_t tensor = 0;
    std::int64_t pipeline = 0;
    std::int64_t chunks = 0;
    double none = 0;
    double selective = 0;
    words >> name >> batch >> tensor >> pipeline >> chunks >> none >> selective;
    const Block layer = blocks(model(name), batch, 2048)[1];
    // The first stage of the interleaved schedule holds L (1 + (p - 1) / (p v)) layers (section 4.2.3); without
    // interleaving L.
    const double held =
        chunks == 1 ? 1 : 1 + static_cast<double>(pipeline - 1) / static_cast<double>(pipeline * chunks);
    const double layers = static_cast<double>(layer.repeat) * held / (std::int64_t{1} << 30);
    EXPECT_DOUBLE_EQ(bytes(layer, tensor, false, Recompute::none).to_double() * layers, none) << name;
    EXPECT_DOUBLE_EQ(bytes(layer, tensor, true, Recompute::selective).to_double() * layers, selective) << name;
    ++models;
  }
  EXPECT_EQ(models, 4);
}

TEST(ActivationMemory, OfEmbeddingAndHead) {
  // Section 4.3: sbh for the embedding's dropout; final norm 2sbh, logits' input 2sbh, 4sbV of 32-bit logits.
  const auto all = blocks(model("gpt3-175b"), 1, 2048);
  const std::int64_t sbh = std::int64_t{2048} * 12288;
  EXPECT_EQ(bytes(all.front(), 1, false, Recompute::none), Count(sbh));
  EXPECT_EQ(bytes(all.front(), 8, true, Recompute::none), Count(sbh / 8));
  EXPECT_EQ(bytes(all.back(), 1, false, Recompute::none), Count(4 * sbh + std::int64_t{4} * 2048 * 51200));
  EXPECT_EQ(bytes(all.back(), 8, true, Recompute::none), Count((4 * sbh + std::int64_t{4} * 2048 * 51200) / 8));
}

TEST(ActivationMemory, OfLlamaWithFlashAttention) {
  // sbh (12 + 4 n_kv/a + 6 f/h) + 4 b a s, summed by hand: norms and column inputs 8, Q and O 4, K and V 4 n_kv/a;
  // gate, up and their product 6 f/h; log-sum-exp.
  for (const char* name : {"llama2-7b", "llama3-8b", "llama2-70b"}) {
    const Transformer llama = model(name);
    const Block layer = blocks(llama, 2, 4096, true)[1];
    const Count bs = 2 * 4096;
    const Count expected = bs * (Count(12 * llama.hidden) + Count(4 * llama.kv_heads * llama.head_dim) +
                                 Count(6 * llama.ffn) + Count(4 * llama.heads));
    EXPECT_EQ(bytes(layer, 1, false, Recompute::none), expected) << name;
    EXPECT_EQ(bytes(layer, 8, true, Recompute::none) * Count(8), expected) << name;
    EXPECT_EQ(bytes(layer, 1, false, Recompute::selective), expected) << name << ": keeps no pairs anyway";
  }
}

TEST(ActivationMemory, SaysWhoWantsATensor) {
  const Block layer = blocks(model("gpt3-175b"), 1, 2048)[1];
  const Elements whole = whole_tensors(layer);
  std::map<std::string, std::string> because;
  for (const KeptTensor& kept : activation_memory(layer, whole, Recompute::none).tensors) {
    because[kept.tensor] = kept.because;
  }
  EXPECT_EQ(because.at("Xnormed"), "backward of queries, backward of keys, backward of values");
  EXPECT_EQ(because.at("Probabilities"), "backward of softmax");
  EXPECT_EQ(because.count("Scores"), 0u);
  const ActivationMemory selective = activation_memory(layer, whole, Recompute::selective);
  because.clear();
  for (const KeptTensor& kept : selective.tensors) because[kept.tensor] = kept.because;
  EXPECT_EQ(because.at("Kt"), "scores computed again");
  EXPECT_EQ(because.at("Context"), "backward of out projection");
  EXPECT_EQ(because.count("Probabilities") + because.count("Probabilities_mask"), 0u);
  const ActivationMemory full = activation_memory(layer, whole, Recompute::full);
  ASSERT_EQ(full.tensors.size(), 1u);
  EXPECT_EQ(full.tensors[0],
            (KeptTensor{"X", Count(2048 * 12288), Count(2 * 2048 * 12288), "the block is computed again from it"}));
}

TEST(ActivationMemory, OfExperts) {
  // Mixtral, b 1, s 512, h 4096, f 14336, k 2: norms and inputs 8 bsh, Q and O 4 bsh, K and V 4 bsh/4, log-sum-exp
  // 4 b s a; of experts k times: input 2h, gate, up and their product 6f, output 2h; the router's shares of 32 bits,
  // kept once.
  const Block layer = blocks(model("mixtral-8x7b"), 1, 512, true)[1];
  const Count per_token =
      Count(12 * 4096 + 4096 + 4 * 32) + Count(2 * (2 * 4096 + 6 * 14336 + 2 * 4096)) + Count(4 * 8);
  EXPECT_EQ(activation_memory(layer, whole_tensors(layer), Recompute::none).bytes, per_token * Count(512));
  // A sequence and an expert a device: every device has as much.
  EXPECT_EQ(planned_bytes("mixtral-8x7b", 512, {"dp=8", "ep=8"}), per_token * Count(512));
}

TEST(ActivationMemory, OfLatentAttention) {
  // DeepSeek-V3's dense layer, a token: norm inputs X and Z 4h, their outputs 4h; queries' latent vector before and
  // after its norm 4 * 1536, keys' and values' 4 * 512; 128 heads of Q and K of 128 each, rotated Q of 64, V and
  // context of 128: 2 * 128 * (4 * 128 + 64); the rotated key 2 * 64; log-sum-exp 4 * 128; gate, up, product 6f.
  const Block layer = blocks(model("deepseek-v3"), 1, 64, true)[1];
  const std::int64_t per_token = 8 * 7168 + 4 * (1536 + 512) + 2 * 128 * (4 * 128 + 64) + 2 * 64 + 4 * 128 + 6 * 18432;
  EXPECT_EQ(activation_memory(layer, whole_tensors(layer), Recompute::none).bytes, Count(64 * per_token));
}

TEST(ActivationMemory, UnderAPlanIsTheClosedFormula) {
  // The same formulas (arXiv:2205.05198, table 2) where plan_block says what rests where; t = 8 and s, b, h, a of
  // GPT-3.
  const std::int64_t sbh = std::int64_t{2048} * 12288;
  const std::int64_t pairs = std::int64_t{5} * 96 * 2048 * 2048;
  const std::string unfused = "attention=unfused";
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused}), Count(34 * sbh + pairs));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8"}), Count(10 * sbh + (24 * sbh + pairs) / 8));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8", "sp"}), Count((34 * sbh + pairs) / 8));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8", "recompute=selective"}), Count(13 * sbh));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8", "sp", "recompute=selective"}), Count(34 * sbh / 8));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8", "recompute=full"}), Count(2 * sbh));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=8", "sp", "recompute=full"}), Count(2 * sbh / 8));
  // Context parallelism splits the positions of all that is kept.
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "cp=4"}), Count((34 * sbh + pairs) / 4));
  EXPECT_EQ(planned_bytes("gpt3-175b", 2048, {unfused, "tp=2", "sp", "cp=4"}), Count((34 * sbh + pairs) / 8));
}

TEST(ActivationMemory, OfMoreDevicesThanKeyValueHeads) {
  // Llama 2 70B on 16 devices: each of 8 KV heads is on two of them, so K and V are cut in 8 only; Q, context, gate,
  // up, their product and the log-sum-exp in 16; norms' inputs and outputs 8h a token, whole.
  const std::int64_t per_token = 8 * 8192 + 4 * 1024 / 8 + (4 * 8192 + 6 * 28672 + 4 * 64) / 16;
  EXPECT_EQ(planned_bytes("llama2-70b", 4096, {"tp=16"}), Count(4096 * per_token));
}

}  // namespace
}  // namespace einflow::cluster
