// The problem library: every file loads, and its layers add up to what the papers and hand derivations say.
#include <gtest/gtest.h>

#include <algorithm>

#include "notation/library.hpp"

namespace einflow {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

ProblemFile problem(const std::string& name) {
  auto file = problem_named(name, kLibrary);
  if (!file) {
    ADD_FAILURE() << name << ": " << file.error().front().message;
    return ProblemFile{};
  }
  return *file;
}

/// Multiply-adds that are executed, repeats included, of the layers whose name contains `part`.
Count macs(const ProblemFile& file, const std::string& part = {}) {
  Count sum = 0;
  for (const Layer& layer : file.layers) {
    if (layer.name.find(part) == std::string::npos) continue;
    for (const Einsum& einsum : layer.cascade.einsums)
      if (einsum.is_mac()) sum += einsum.executed_operations() * Count(layer.repeat);
  }
  return sum;
}

/// Elements of all tensors of that name, whose axes are single ranks.
Count elements(const ProblemFile& file, const std::string& name) {
  Count sum = 0;
  for (const Layer& layer : file.layers)
    for (const Einsum& einsum : layer.cascade.einsums) {
      const int index = einsum.tensor_named(name);
      if (index < 0) continue;
      Count product = layer.repeat;
      for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(index)].axes)
        product *= Count(einsum.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent);
      sum += product;
    }
  return sum;
}

const Einsum& layer(const ProblemFile& file, const std::string& name) {
  for (const Layer& each : file.layers)
    if (each.name == name) return each.cascade.einsums.at(0);
  ADD_FAILURE() << file.name << " has no layer " << name;
  static const Einsum none;
  return none;
}

TEST(ProblemLibrary, EveryProblemLoadsAndHasASource) {
  const std::vector<std::string> names = problem_names(kLibrary);
  for (const char* name :
       {"alexnet", "vgg16", "resnet50", "mobilenet-v2", "gpt3-175b-prefill", "gpt3-175b-decode", "llama3-8b-prefill",
        "llama3-8b-decode", "llama3-70b-prefill", "llama3-70b-decode", "mixtral-8x7b-prefill", "mixtral-8x7b-decode"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const ProblemFile file = problem(name);
    EXPECT_EQ(file.name, name);
    EXPECT_FALSE(file.source.empty());
    EXPECT_FALSE(file.notes.empty());
    EXPECT_FALSE(file.layers.empty());
  }
}

// Chen et al., JSSC 2017: CONV1 to CONV5 of AlexNet, whose exact MACs for batch 4 are 421,660,800, 895,795,200,
// 598,081,536, 448,561,152 and 299,040,768 (printed as 0.42, 0.90, 0.60, 0.45 and 0.30 G).
TEST(ProblemLibrary, AlexNet) {
  const ProblemFile file = problem("alexnet");
  EXPECT_EQ(layer(file, "conv1").operations() * Count(4), Count(421660800));
  EXPECT_EQ(layer(file, "conv2").operations() * Count(4), Count(895795200));
  EXPECT_EQ(layer(file, "conv3").operations() * Count(4), Count(598081536));
  EXPECT_EQ(layer(file, "conv4").operations() * Count(4), Count(448561152));
  EXPECT_EQ(layer(file, "conv5").operations() * Count(4), Count(299040768));
  EXPECT_EQ(macs(file, "conv"), Count(665784864));
  EXPECT_EQ(macs(file), Count(724406816));  // + 9216 x 4096 + 4096 x 4096 + 4096 x 1000
}

// 15.47 GMACs (torchvision's figure for vgg16); 138,344,128 weights: 138.36 M parameters less 13,416 biases.
TEST(ProblemLibrary, Vgg16) {
  const ProblemFile file = problem("vgg16");
  EXPECT_EQ(macs(file, "conv"), Count(15346630656));
  EXPECT_EQ(macs(file), Count(15470264320));
  EXPECT_EQ(elements(file, "F") + elements(file, "W"), Count(138344128));
}

// 4,089,184,256 MACs with the stride in the 3x3; 25,502,912 weights: torchvision's 25,557,032 parameters less 53,120
// of the batch norms and 1,000 biases.
TEST(ProblemLibrary, Resnet50) {
  const ProblemFile file = problem("resnet50");
  EXPECT_EQ(macs(file), Count(4089184256));
  EXPECT_EQ(elements(file, "F") + elements(file, "W"), Count(25502912));
}

// 300,774,272 MACs of convolutions and classifier; 3,469,760 weights: torchvision's 3,504,872 parameters less 34,112
// of the batch norms and 1,000 biases.
TEST(ProblemLibrary, MobileNetV2) {
  const ProblemFile file = problem("mobilenet-v2");
  EXPECT_EQ(macs(file), Count(300774272));
  EXPECT_EQ(elements(file, "F") + elements(file, "W"), Count(3469760));
}

// Pooling and additions are layers, but no multiply-adds.
TEST(ProblemLibrary, PoolingIsNotAMac) {
  const ProblemFile file = problem("resnet50");
  EXPECT_FALSE(layer(file, "maxpool").is_mac());
  EXPECT_EQ(layer(file, "maxpool").operations(), Count(64 * 56 * 56 * 9));
  EXPECT_FALSE(layer(file, "avgpool").is_mac());
  EXPECT_FALSE(layer(file, "layer1.0.add").is_mac());
}

// All parameters of Llama 3 8B: 32 blocks, untied embedding and head of 128,256 x 4,096, final norm: 8,030,261,248.
TEST(ProblemLibrary, Llama3Parameters) {
  EXPECT_EQ(elements(problem("llama3-8b-prefill"), "W") * Count(32) + Count(2L * 128256 * 4096 + 4096),
            Count(8030261248));
  // 70B: h = 8192, KV width 1024, f = 28672, 80 blocks: 70,553,706,496 with the same vocabulary
  // (L (2h^2 + 2h 1024 + 3hf + 2h) + 2Vh + h).
  EXPECT_EQ(elements(problem("llama3-70b-decode"), "W") * Count(80) + Count(2L * 128256 * 8192 + 8192),
            Count(70553706496));
}

// Llama 3 8B, 2048 tokens, exact causal scores, head applied to the last token only:
// 2 N_layer S + 2 V h + L 2 S (S+1) h = 29,688,401,494,016 FLOPs.
TEST(ProblemLibrary, Llama3Prefill) {
  const ProblemFile file = problem("llama3-8b-prefill");
  EXPECT_EQ((macs(file) * Count(32) + Count(128256L * 4096)) * Count(2), Count(29688401494016));
  // SwiGLU per token and layer: 6 h f = 352,321,536 FLOPs.
  const Count swiglu = macs(file, "gate_proj") + macs(file, "up_proj") + macs(file, "down_proj");
  EXPECT_EQ(swiglu * Count(2), Count(352321536) * Count(2048));
}

// A layer of h = 8192 with 64 heads, 8 KV heads of 128 and f = 28672, per token (NVIDIA/Megatron-LM#682): Q and O
// 268,435,456, K and V 33,554,432, FFN 1,409,286,144 FLOPs.
TEST(ProblemLibrary, Llama70bPerToken) {
  const ProblemFile file = problem("llama3-70b-decode");
  const Count two_per_token = Count(16);  // batch 16, one token each
  EXPECT_EQ((macs(file, "q_proj") + macs(file, "o_proj")) * Count(2), Count(268435456) * two_per_token);
  EXPECT_EQ((macs(file, "k_proj") + macs(file, "v_proj")) * Count(2), Count(33554432) * two_per_token);
  const Count swiglu = macs(file, "gate_proj") + macs(file, "up_proj") + macs(file, "down_proj");
  EXPECT_EQ(swiglu * Count(2), Count(1409286144) * two_per_token);
  // scores + values: 4 h S, with S = 2048 here.
  EXPECT_EQ((macs(file, "scores") + macs(file, "context")) * Count(2), Count(4L * 8192 * 2048) * two_per_token);
}

// KV cache of Llama 3 8B: 2 x 32 layers x 8 KV heads x 128 = 65,536 elements per token (131,072 bytes in bf16).
TEST(ProblemLibrary, KeysAndValuesAreSharedByTheGroup) {
  const ProblemFile file = problem("llama3-8b-decode");
  EXPECT_EQ((elements(file, "K") + elements(file, "V")) * Count(32), Count(65536) * Count(16) * Count(2048));
}

// A plain GPT layer has 12 h^2 weights; h = 12288.
TEST(ProblemLibrary, Gpt3) {
  const ProblemFile file = problem("gpt3-175b-prefill");
  const Count weights = Count(12L * 12288 * 12288);
  EXPECT_EQ(macs(file, "proj") + macs(file, "fc_"), weights * Count(2048));
  EXPECT_EQ(elements(file, "W"), weights + Count(2 * 12288));  // + the gains of the two norms
  // Causal: 2 x S (S+1) / 2 x h MACs.
  EXPECT_EQ(macs(file, "scores") + macs(file, "context"), Count(2048L * 2049 * 12288));
}

// Mixtral 8x7B: L (2h^2 + 2h kv + E 3hf + 8h + 2h) + 2Vh + h: 46,702,792,704 with E = 8 in all, 12,879,925,248
// with E = 2 active; every token runs two experts.
TEST(ProblemLibrary, Mixtral) {
  const ProblemFile file = problem("mixtral-8x7b-prefill");
  const Count outside = Count(2L * 32000 * 4096 + 4096);
  EXPECT_EQ(elements(file, "W") * Count(32) + outside, Count(46702792704));
  const Count active = macs(file, "proj") + macs(file, "router");  // per token: weights used once
  EXPECT_EQ(active * Count(32) + (outside + Count(32 * 2 * 4096)) * Count(2048), Count(12879925248) * Count(2048));
}

TEST(ProblemLibrary, SoftmaxFollowsTheMask) {
  const ProblemFile file = problem("llama3-8b-prefill");
  const Einsum& exp = layer(file, "softmax.exp");
  EXPECT_EQ(exp.executed.share, layer(file, "scores").executed.share);
  EXPECT_EQ(exp.executed_operations(), Count(32L * 2048 * 2049 / 2));
  EXPECT_EQ(layer(problem("llama3-8b-decode"), "softmax.exp").executed.share, Ratio(Count(1)));
}

}  // namespace
}  // namespace einflow
