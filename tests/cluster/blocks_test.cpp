// What blocks compute and move: sums over their operations, against the closed formulas of the literature.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cluster/activation_memory.hpp"
#include "cluster/gradient.hpp"
#include "cluster/model.hpp"
#include "notation/model_reader.hpp"

namespace einflow::cluster {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Transformer model(const std::string& text) {
  const auto model = load_model(kLibrary, text);
  EXPECT_TRUE(model) << (model ? "" : text + ": " + model.error().front().message);
  return model ? *model : Transformer{};
}

std::vector<Block> blocks(const Transformer& model, const Workload& workload) {
  const auto blocks = blocks_of(model, workload);
  EXPECT_TRUE(blocks) << (blocks ? "" : blocks.error().front().message);
  return blocks ? *blocks : std::vector<Block>{};
}

Workload training(std::int64_t batch, std::int64_t tokens, bool flash = false) {
  return {Phase::training, batch, tokens, tokens, flash, CausalFlops::full};
}

const Operation& operation(const Block& block, const std::string& name) {
  static const Operation kNone;
  const auto found = std::find_if(block.operations.begin(), block.operations.end(),
                                  [&](const Operation& candidate) { return candidate.name == name; });
  EXPECT_NE(found, block.operations.end()) << name;
  return found != block.operations.end() ? *found : kNone;
}

Count forward_flops(const Block& block, const std::vector<std::string>& names) {
  Count sum = 0;
  for (const std::string& name : names) sum += operation(block, name).forward_flops;
  return sum;
}

Count step_flops(const std::vector<Block>& blocks, Recompute recompute) {
  Count sum = 0;
  for (const Block& block : blocks) {
    Count of_block = 0;
    for (const Operation& operation : block.operations) of_block += operation.forward_flops + operation.backward_flops;
    const bool layer = block.name.find("layer") != block.name.npos;
    if (layer) of_block += recomputed_flops(block, recompute);
    sum += of_block * Count(block.repeat);
  }
  return sum;
}

TEST(Blocks, OfAGptHaveTheModelFlopsOfThePapers) {
  for (const char* name : {"gpt-1.7b", "gpt-22b", "gpt3-175b", "gpt-1t"}) {
    const Transformer gpt = model(name);
    const Count b = 3;
    const Count s = 2048;
    const Count h = gpt.hidden;
    const Count l = gpt.layers;
    const Count v = gpt.vocabulary;
    const auto flash = blocks(gpt, training(3, 2048, true));
    const auto stored = blocks(gpt, training(3, 2048));
    // 72 b L s h^2 (1 + s/(6h) + V/(12hL)): arXiv:2205.05198, appendix A.
    const Count of_model = b * s * h * (Count(72) * l * h + Count(12) * l * s + Count(6) * v);
    EXPECT_EQ(step_flops(stored, Recompute::none), of_model) << name;
    EXPECT_EQ(step_flops(flash, Recompute::none), of_model) << name;
    // 96 b s L h^2 (1 + s/(6h) + V/(16hL)): arXiv:2104.04473, equation 3.
    EXPECT_EQ(step_flops(stored, Recompute::full), b * s * h * (Count(96) * l * h + Count(16) * l * s + Count(6) * v));
    // Selective: scores and context once more, 4 b s^2 h of each layer.
    EXPECT_EQ(step_flops(stored, Recompute::selective), of_model + Count(4) * b * s * s * h * l);
    EXPECT_EQ(step_flops(flash, Recompute::selective), of_model);
    EXPECT_EQ(operation(flash[1], "attention").repeated_flops, Count(2) * b * s * s * h);
  }
}

TEST(Blocks, OfLlama2HaveTheFlopsOfATokenByHand) {
  const auto layer = blocks(model("llama2-70b"), training(1, 4096))[1];
  // 2 * 2 * 8192^2; 2 * 2 * 8192 * 1024; 2 * 2 * 64 * 128 * 4096; 3 * 2 * 8192 * 28672; of 4096 tokens.
  EXPECT_EQ(forward_flops(layer, {"queries", "out projection"}), Count(268435456) * Count(4096));
  EXPECT_EQ(forward_flops(layer, {"keys", "values"}), Count(33554432) * Count(4096));
  EXPECT_EQ(forward_flops(layer, {"scores", "context"}), Count(134217728) * Count(4096));
  EXPECT_EQ(forward_flops(layer, {"gate", "up", "down"}), Count(1409286144) * Count(4096));
  EXPECT_EQ(recomputed_flops(layer, Recompute::full), Count(1845493760) * Count(4096));
  EXPECT_EQ(operation(layer, "scores").flops_formula, "2 * b 1 * s 4096 * g 8 * u 8 * d 128 * t 4096");
}

TEST(Blocks, CountThePairsThatACausalMaskLeaves) {
  Workload workload = training(2, 8);
  workload.causal_flops = CausalFlops::exact;
  const Transformer small = model("{hidden: 12, layers: 1, heads: 3, ffn: 5, vocabulary: 7}");
  for (const bool flash : {false, true}) {
    workload.flash = flash;
    const Block layer = blocks(small, workload)[1];
    // 36 pairs of 8 * 8, 3 heads, 4 dimensions, 2 sequences, scores and context.
    const Count expected = 2 * 36 * 3 * 4 * 2 * 2;
    EXPECT_EQ(flash ? forward_flops(layer, {"attention"}) : forward_flops(layer, {"scores", "context"}), expected);
  }
  const Block layer = blocks(small, workload)[1];
  EXPECT_EQ(operation(layer, "attention").flops_formula,
            "2 * b 2 * g 3 * u 1 * s 8 * t 8 * (d 4 + d 4) * 9/16 (causal mask)");
}

TEST(Blocks, CountTheQuestionsOfUsers) {
  // FLOPs of both products, 8192 tokens, 32 heads of 128: 4 S^2 H d; 4 S (S + 1) / 2 H d; a window of 1024 with
  // w (w + 1) / 2 + (S - w) w pairs.
  Transformer heads = model("llama2-7b");
  Workload workload = training(1, 8192);
  EXPECT_EQ(forward_flops(blocks(heads, workload)[1], {"scores", "context"}), Count(1099511627776));
  workload.causal_flops = CausalFlops::exact;
  EXPECT_EQ(forward_flops(blocks(heads, workload)[1], {"scores", "context"}), Count(549822922752));
  heads.window = 1024;
  EXPECT_EQ(attention_pairs(heads, workload), Count(7864832));
  EXPECT_EQ(forward_flops(blocks(heads, workload)[1], {"scores", "context"}), Count(7864832) * Count(4 * 32 * 128));

  // 4 queries at the end of 10 keys see 4 * 6 + 10 of them; scores over 8 dimensions, contexts of 16.
  const Transformer one_head = model(
      "{hidden: 8, layers: 1, heads: 1, ffn: 8, vocabulary: 8, latent: {key_value_rank: 4, rope_dim: 4, "
      "nope_dim: 4, value_dim: 16}}");
  const Workload corner{Phase::prefill, 1, 4, 10, true, CausalFlops::exact};
  EXPECT_EQ(forward_flops(blocks(one_head, corner)[1], {"attention"}), Count(1632));

  // Bytes of attention, 4096 tokens, 32 heads of 128: fused Q, K, V, O once; else scores and probabilities written
  // and read too.
  const auto moved = [&](bool flash, const std::vector<std::string>& names) {
    const Block layer = blocks(model("llama2-7b"), {Phase::prefill, 1, 4096, 4096, flash, CausalFlops::full})[1];
    Count bytes = 0;
    for (const std::string& name : names) {
      bytes += bytes_of(layer, operation(layer, name).reads) + bytes_of(layer, operation(layer, name).writes);
    }
    return bytes;
  };
  EXPECT_EQ(moved(true, {"attention"}), Count(134217728));
  EXPECT_EQ(moved(false, {"scores", "softmax", "context"}), Count(4429185024));

  // Prefill of 2048 tokens by Llama 3 8B, exact pairs, logits of the last token: 2 * (weights of the layers' products)
  // * S + 2 V h + L 2 S (S + 1) h.
  Count prefill = 0;
  for (const Block& block : blocks(model("llama3-8b"), {Phase::prefill, 1, 2048, 2048, true, CausalFlops::exact})) {
    for (const Operation& operation : block.operations) prefill += operation.forward_flops * Count(block.repeat);
  }
  EXPECT_EQ(prefill, Count(29688401494016));

  // SwiGLU of h 4096, f 14336: 6 h f a token.
  const Block swiglu = blocks(model("llama3-8b"), training(1, 1))[1];
  EXPECT_EQ(forward_flops(swiglu, {"gate", "up", "down"}), Count(352321536));
}

TEST(Blocks, OfExpertsComputeWhatTheRouterSends) {
  const Transformer mixtral = model("mixtral-8x7b");
  // 3 tokens, 2 experts each: 6 of 8 * 1 places, 6 * 3 * 2 * 4096 * 14336 FLOPs.
  const Block layer = blocks(mixtral, training(1, 3))[1];
  EXPECT_EQ(layer.name, "expert layer");
  EXPECT_EQ(layer.repeat, 32);
  EXPECT_EQ(forward_flops(layer, {"gate of experts", "up of experts", "down of experts"}),
            Count(6 * 3 * 2) * Count(4096) * Count(14336));
  // Of the experts' weights only those that have tokens are read.
  EXPECT_EQ(bytes_of(layer, {operation(layer, "up of experts").reads[1]}), Count(2 * 6) * Count(4096) * Count(14336));
  EXPECT_EQ(bytes_of(layer, {operation(layer, "up of experts").reads[0]}), Count(2 * 6) * Count(4096));
}

TEST(Blocks, OfDeepSeekV3AreThreeDenseAndTheRestExperts) {
  const Transformer deepseek = model("deepseek-v3");
  const auto all = blocks(deepseek, training(1, 4096, true));
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].name, "layer");
  EXPECT_EQ(all[1].repeat, 3);
  EXPECT_EQ(all[1].extent("f"), 18432);
  EXPECT_EQ(all[2].repeat, 58);
  EXPECT_EQ(all[2].extent("f"), 2048);
  EXPECT_EQ(all[2].extent("c"), 4096 * 8 / 256);
  // Scores over 128 + 64 dimensions, context over 128, of 128 heads.
  EXPECT_EQ(forward_flops(all[1], {"attention"}), Count(2) * Count(4096) * Count(4096) * Count(128 * (192 + 128)));
  // The products of a layer's weights: 2 FLOPs a weight and token, but of the norms' vectors.
  const Count attention_weights = 187107328 - 1536 - 512;
  EXPECT_EQ(recomputed_flops(all[1], Recompute::full) - forward_flops(all[1], {"attention"}),
            Count(2) * Count(4096) * (attention_weights + Count(3) * Count(7168) * Count(18432)));
  const Count experts = Count(9 * 3) * Count(7168) * Count(2048) + Count(7168 * 256);
  EXPECT_EQ(recomputed_flops(all[2], Recompute::full) - forward_flops(all[2], {"attention"}),
            Count(2) * Count(4096) * (attention_weights + experts));
}

TEST(Blocks, OfADecodeStepReadLatentVectorsOnce) {
  const auto layer = blocks(model("deepseek-v3"), {Phase::decode, 1, 1, 1000, true, CausalFlops::full})[1];
  const Operation& attention = operation(layer, "attention");
  // Absorbed queries over 512 + 64, contexts over 512, of 128 heads.
  EXPECT_EQ(attention.forward_flops, Count(2) * Count(1000) * Count(128 * (512 + 64 + 512)));
  // Queries, 1000 tokens of 576 elements, contexts.
  EXPECT_EQ(bytes_of(layer, attention.reads), Count(2 * (128 * 576 + 1000 * 576)));
  EXPECT_EQ(bytes_of(layer, attention.writes), Count(2 * 128 * 512));
  EXPECT_EQ(attention.backward_flops, Count(0));
  EXPECT_TRUE(attention.keeps.empty());
}

TEST(Blocks, MoveEachTensorOnce) {
  // b 2, s 8, h 12, f 5; MKN of up: 16 x 12 x 5, 2 bytes.
  const auto all = blocks(model("{hidden: 12, layers: 1, heads: 3, ffn: 5, vocabulary: 7}"), training(2, 8, true));
  const Block& layer = all[1];
  const Operation& up = operation(layer, "up");
  EXPECT_EQ(bytes_of(layer, up.reads), Count(2 * (16 * 12 + 12 * 5)));
  EXPECT_EQ(bytes_of(layer, up.writes), Count(2 * 16 * 5));
  EXPECT_EQ(bytes_of(layer, up.backward_reads), Count(2 * (2 * 16 * 5 + 16 * 12 + 12 * 5)));
  EXPECT_EQ(bytes_of(layer, up.backward_writes), Count(2 * (16 * 12 + 12 * 5)));
  // Q, K, V, O of 16 x 12 elements, and 4 bytes of each query and head; backward reads those and dO, writes three.
  const Operation& attention = operation(layer, "attention");
  EXPECT_EQ(bytes_of(layer, attention.reads) + bytes_of(layer, attention.writes), Count(2 * 4 * 192 + 4 * 16 * 3));
  EXPECT_EQ(bytes_of(layer, attention.backward_reads), Count(2 * 5 * 192 + 4 * 16 * 3));
  EXPECT_EQ(bytes_of(layer, attention.backward_writes), Count(2 * 3 * 192));
  // 16 tokens of a table of 7 rows touch it all; of the logits 4 bytes.
  EXPECT_EQ(bytes_of(all[0], {operation(all[0], "embedding").reads[1]}), Count(2 * 7 * 12));
  EXPECT_EQ(bytes_of(all[2], operation(all[2], "loss").reads), Count(4 * 16 * 7 + 4 * 16));
}

TEST(Blocks, OfInferenceWriteTheNewTokensToTheCache) {
  const Workload decode{Phase::decode, 4, 1, 100, true, CausalFlops::full};
  const Block layer = blocks(model("llama3-8b"), decode)[1];
  EXPECT_EQ(layer.tensor_named("Kt")->role, Role::cache);
  EXPECT_EQ(bytes_of(layer, operation(layer, "K by key").writes), Count(2 * 4 * 8 * 128));
  EXPECT_EQ(bytes_of(layer, operation(layer, "attention").reads), Count(2 * 4 * (4096 + 2 * 100 * 1024)));
  // Prefill wants logits of the last token only.
  const auto prefill = blocks(model("llama3-8b"), {Phase::prefill, 4, 50, 100, true, CausalFlops::full});
  EXPECT_EQ(forward_flops(prefill[2], {"logits"}), Count(2 * 4) * Count(4096) * Count(128256));
}

TEST(Blocks, AreWellFormed) {
  for (const char* name : {"gpt-1.7b", "llama3-8b", "mixtral-8x7b", "deepseek-v3"}) {
    for (const Phase phase : {Phase::training, Phase::prefill, Phase::decode}) {
      for (const bool flash : {false, true}) {
        const Workload workload{phase, 2, phase == Phase::decode ? 1 : 32, 32, flash, CausalFlops::exact};
        for (const Block& block : blocks(model(name), workload)) {
          SCOPED_TRACE(std::string(name) + " " + block.name);
          std::set<std::string> made;
          std::set<std::string> names;
          for (const ModelTensor& tensor : block.tensors) {
            EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name << " is there twice";
          }
          std::set<std::string> written;
          for (const Operation& operation : block.operations) {
            written.insert(operation.shape.tensors.back().name);
            written.insert(operation.also_writes.begin(), operation.also_writes.end());
          }
          for (const Operation& operation : block.operations) {
            for (int i = 0; i < operation.shape.output(); ++i) {
              const std::string& input = operation.shape.tensors[static_cast<std::size_t>(i)].name;
              EXPECT_TRUE(written.count(input) == 0 || made.count(input) == 1) << input << " is read before";
            }
            EXPECT_TRUE(made.insert(operation.shape.tensors.back().name).second) << operation.name;
            for (const std::string& kept : operation.keeps) EXPECT_EQ(names.count(kept), 1u) << kept;
            EXPECT_EQ(
                operation.shape.reduce.empty() && operation.renames.empty(),
                operation.renames.empty() && operation.shape.ranks.size() == operation.shape.tensors.back().axes.size())
                << operation.name;
          }
          EXPECT_EQ(names.count(block.input), 1u);
          EXPECT_EQ(made.count(block.output), 1u);
        }
      }
    }
  }
}

TEST(Blocks, KeepWhatTheGradientsEinsumsRead) {
  for (const char* name : {"gpt-1.7b", "llama3-8b", "mixtral-8x7b", "deepseek-v3"}) {
    for (const bool flash : {false, true}) {
      for (const Block& block : blocks(model(name), {Phase::training, 2, 32, 32, flash, CausalFlops::exact})) {
        for (const Operation& operation : block.operations) {
          SCOPED_TRACE(std::string(name) + " " + block.name + " " + operation.name);
          // What backward reads beside gradients, weights and data is kept, and nothing else is.
          std::set<std::string> read;
          for (const Access& access : operation.backward_reads) {
            const Role role = block.tensor_named(access.tensor)->role;
            if (!access.gradient && role != Role::weight && role != Role::tokens) read.insert(access.tensor);
          }
          EXPECT_EQ(std::set<std::string>(operation.keeps.begin(), operation.keeps.end()), read);
          if (operation.kind != OperationKind::product) continue;
          // Of products, by the einsums that carry gradients back.
          std::set<std::string> of_einsums;
          Count flops = 0;
          for (int input = 0; input < operation.shape.output(); ++input) {
            const auto gradient = gradient_of(operation.shape, input);
            ASSERT_TRUE(gradient) << gradient.error().front().message;
            ASSERT_EQ(gradient->size(), 1u);
            const Einsum& einsum = gradient->front();
            const Ratio& share = operation.shape.executed.share;
            flops += ceil_div(einsum.operations() * share.numerator(), share.denominator()) * Count(2);
            for (int tensor = 0; tensor < einsum.output(); ++tensor) {
              const ModelTensor* read_tensor =
                  block.tensor_named(einsum.tensors[static_cast<std::size_t>(tensor)].name);
              if (read_tensor != nullptr && read_tensor->role != Role::weight) of_einsums.insert(read_tensor->name);
            }
          }
          EXPECT_EQ(operation.backward_flops, flops);
          EXPECT_EQ(of_einsums, read);
        }
      }
    }
  }
}

TEST(Blocks, RefuseWorkloadsThatCannotBe) {
  const auto fault = [](const std::string& name, const Workload& workload) {
    const auto blocks = blocks_of(model(name), workload);
    return blocks ? "none" : blocks.error().front().message;
  };
  EXPECT_EQ(fault("gpt3-175b", training(1, 4096)), "4096 tokens, but gpt3-175b has 2048 learned positions");
  EXPECT_EQ(fault("llama3-8b", training(0, 4096)), "0 sequences, expected 1 to 2^40");
  EXPECT_EQ(fault("llama3-8b", {Phase::decode, 1, 2, 1, true, CausalFlops::full}),
            "1 keys for 2 queries: the new tokens are among the keys");
  EXPECT_EQ(fault("llama3-8b", {Phase::training, 1, 2, 4, true, CausalFlops::full}),
            "4 keys for 2 queries: in training every token is both");
  EXPECT_EQ(fault("mixtral-8x7b", training(std::int64_t{1} << 40, std::int64_t{1} << 40)),
            "the experts have more than 2^63 tokens");
}

}  // namespace
}  // namespace einflow::cluster
