// Configs of published models, with figures from their papers and model cards (tests/commands/test_huggingface.py has
// more of them), and what --set changes.
#include "notation/huggingface/huggingface.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <fstream>
#include <sstream>

#include "notation/form.hpp"
#include "notation/library.hpp"

namespace einflow {
namespace {

using Settings = std::map<std::string, std::string>;

SourceText published(const std::string& name) {
  std::ifstream file(fmt::format("{}/tests/reference/huggingface/{}.json", EINFLOW_SOURCE_DIR, name));
  std::stringstream text;
  text << file.rdbuf();
  return {name + ".json", text.str()};
}

Result<Document> read(const SourceText& source, const Settings& settings = {}) {
  ReadOptions options;
  options.settings = settings;
  return read_huggingface({source}, options);
}

Document model(const std::string& name, const Settings& settings = {}) {
  const SourceText source = published(name);
  const auto document = read(source, settings);
  if (!document) throw std::runtime_error(render(document.error(), source));
  return *document;
}

std::string error_of(const SourceText& source, const Settings& settings) {
  const auto document = read(source, settings);
  return document ? "read" : document.error().front().message;
}

Count figure(const Document& document, const std::string& name) {
  for (const DocumentFigure& figure : document.figures) {
    if (figure.name == name) return figure.value;
  }
  return -1;
}

const DocumentLayer* layer(const Document& document, const std::string& name) {
  for (const DocumentLayer& candidate : document.layers) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

Count macs(const Document& document, const std::string& name) {
  Count sum = 0;
  for (const DocumentLayer& candidate : document.layers) {
    if (candidate.name != name) continue;
    for (const Einsum& einsum : candidate.cascade.einsums) {
      if (einsum.is_mac()) sum += einsum.executed_operations() * Count(candidate.repeat);
    }
  }
  return sum;
}

/// "attention_norm.gain" of a library problem is the part "gain" of the layer "attention_norm".
const Einsum* part_named(const Document& document, const std::string& name) {
  for (const DocumentLayer& candidate : document.layers) {
    for (const Einsum& einsum : candidate.cascade.einsums) {
      if (candidate.name == name || candidate.name + "." + einsum.name == name) return &einsum;
    }
  }
  return nullptr;
}

void expect_library_problem(const std::string& problem, const Document& document) {
  const auto file = problem_named(problem, Library{{EINFLOW_SOURCE_DIR}});
  ASSERT_TRUE(file);
  for (const Layer& expected : file->layers) {
    std::string name = expected.name;
    if (name.rfind("router.", 0) == 0) name.insert(7, "softmax.");
    const Einsum* found = part_named(document, name);
    ASSERT_NE(found, nullptr) << name;
    Einsum einsum = expected.cascade.einsums.front();
    einsum.name = found->name;
    EXPECT_EQ(found->operations(), einsum.operations()) << name;
    if (expected.name.rfind("router.", 0) == 0) continue;  // there exp(D) is named X, here E
    EXPECT_EQ(to_text(*found), to_text(einsum)) << name;
    EXPECT_EQ(found->ranks, einsum.ranks) << name;
    EXPECT_EQ(found->executed, einsum.executed) << name;
    EXPECT_EQ(found->tensors, einsum.tensors) << name;
  }
}

TEST(HuggingFace, LayersAreThoseOfTheLibrarysProblems) {
  const Settings decode{{"phase", "decode"}, {"batch", "16"}, {"context", "2048"}};
  expect_library_problem("llama3-8b-prefill", model("llama-3-8b"));
  expect_library_problem("llama3-8b-decode", model("llama-3-8b", decode));
  expect_library_problem("llama3-70b-prefill", model("llama-3-70b"));
  expect_library_problem("llama3-70b-decode", model("llama-3-70b", decode));
  expect_library_problem("mixtral-8x7b-prefill", model("mixtral-8x7b"));
  expect_library_problem("mixtral-8x7b-decode", model("mixtral-8x7b", decode));
}

// Every token is multiplied with every weight matrix once: tokens x (parameters - embedding - norms).
TEST(HuggingFace, MacsAreTokensTimesWeightsAndAttention) {
  const Document document = model("llama-3-8b", {{"phase", "decode"}, {"context", "4096"}});
  const Count weights = Count(8030261248) - Count(128256) * 4096 - Count(65) * 4096;
  const Count attention = Count(32) * 2 * 32 * 128 * 4096;
  EXPECT_EQ(figure(document, "MACs"), weights + attention);
}

TEST(HuggingFace, EveryFigureOfALayerIsThereOrAbsentButNeverSilentlyZero) {
  const Document document = model("deepseek-v3");
  for (const DocumentLayer& each : document.layers) {
    EXPECT_TRUE(each.parameters) << each.name;
    for (const Einsum& einsum : each.cascade.einsums) EXPECT_GT(einsum.operations(), Count(0)) << each.name;
  }
  for (const Uncounted& operation : document.uncounted) EXPECT_FALSE(operation.because.empty());
  EXPECT_EQ(document.left_out.size(), 2u);  // quantization_config, num_nextn_predict_layers
}

// arXiv 2412.19437 section 4.2: 61 layers, the first three without experts.
TEST(HuggingFace, DeepSeekHasThreeDenseLayers) {
  const Document document = model("deepseek-v3");
  EXPECT_EQ(layer(document, "q_a_proj")->repeat, 61);
  EXPECT_EQ(layer(document, "gate_proj")->repeat, 3);
  EXPECT_EQ(layer(document, "router")->repeat, 58);
  EXPECT_EQ(layer(document, "experts.gate_proj")->repeat, 58);
  EXPECT_EQ(layer(document, "shared_experts.gate_proj")->repeat, 58);
}

// Per head and key: expanded 192 for the score and 128 for the value, absorbed 512 + 64 and 512.
TEST(HuggingFace, AbsorbedAttentionMultipliesInTheCompressedSpace) {
  const Settings decode{{"phase", "decode"}, {"context", "1000"}};
  const Document absorbed = model("deepseek-v3", decode);
  EXPECT_EQ(macs(absorbed, "scores"), Count(61) * 128 * 1000 * 576);
  EXPECT_EQ(macs(absorbed, "context"), Count(61) * 128 * 1000 * 512);
  Settings expanded_decode = decode;
  expanded_decode["mla"] = "expanded";
  const Document expanded = model("deepseek-v3", expanded_decode);
  EXPECT_EQ(macs(expanded, "scores"), Count(61) * 128 * 1000 * 192);
  EXPECT_EQ(macs(expanded, "context"), Count(61) * 128 * 1000 * 128);
  EXPECT_EQ(macs(expanded, "kv_b_proj"), Count(61) * 1000 * 512 * (128 * 256));
  EXPECT_EQ(figure(absorbed, "parameters"), figure(expanded, "parameters"));
}

TEST(HuggingFace, TokensThatExpertsDoNotShareEvenlyAreStillAllComputed) {
  for (const int batch : {1, 2, 3, 4, 5, 7, 8, 16, 33}) {
    const Document document = model("mixtral-8x7b", {{"phase", "decode"}, {"batch", std::to_string(batch)}});
    Count sum = 0;
    for (const char* prefix : {"experts.", "fuller_experts."}) {
      for (const char* part : {"gate_proj", "up_proj", "down_proj"}) sum += macs(document, std::string(prefix) + part);
    }
    EXPECT_EQ(sum, Count(32) * batch * 2 * 3 * 4096 * 14336) << batch;
    EXPECT_EQ(figure(document, "parameters"), Count(46702792704)) << batch;
  }
}

TEST(HuggingFace, ASlidingWindowLimitsScoresAndCache) {
  const Document document = model("mistral-7b-v0.1", {{"phase", "decode"}, {"context", "32768"}});
  EXPECT_EQ(macs(document, "scores"), Count(32) * 32 * 128 * 4096);
  EXPECT_EQ(figure(document, "KV cache"), Count(131072) * 4096);
  // Query i of 8192 sees min(i + 1, 4096) keys.
  const Document prefill = model("mistral-7b-v0.1", {{"seq", "8192"}});
  const Count pairs = Count(4096 * 4097 / 2) + Count(4096) * 4096;
  EXPECT_EQ(macs(prefill, "scores"), Count(32) * 32 * 128 * pairs);
}

TEST(HuggingFace, LayersWithAndWithoutAWindowAreApart) {
  const Document document = model("gemma-3-1b", {{"phase", "decode"}, {"context", "32768"}});
  EXPECT_EQ(layer(document, "scores")->repeat, 4);  // layers 5, 11, 17 and 23 of 26
  EXPECT_EQ(layer(document, "window_scores")->repeat, 22);
  EXPECT_EQ(figure(document, "KV cache"), Count(2 * 256 * 2) * (Count(4) * 32768 + Count(22) * 512));
}

TEST(HuggingFace, PartOfThePromptMayBeCachedAlready) {
  const Document document = model("llama-3-8b", {{"seq", "100"}, {"context", "1000"}});
  // Query i of 100 sees 900 + i + 1 keys.
  EXPECT_EQ(macs(document, "scores"), Count(32) * 32 * 128 * (Count(100) * 900 + Count(100 * 101 / 2)));
}

TEST(HuggingFace, LogitsMayBeThoseOfTheLastToken) {
  EXPECT_EQ(macs(model("llama-3-8b"), "lm_head"), Count(2048) * 4096 * 128256);
  EXPECT_EQ(macs(model("llama-3-8b", {{"logits", "last"}, {"batch", "3"}}), "lm_head"), Count(3) * 4096 * 128256);
}

TEST(HuggingFace, TypesAreTheConfigsOrThoseSet) {
  EXPECT_EQ(layer(model("llama-2-7b"), "q_proj")->cascade.einsums[0].tensors[0].type.name, "fp16");
  const Document document = model("llama-2-7b", {{"type", "fp8"}, {"kv_type", "fp4"}});
  EXPECT_EQ(figure(document, "weights"), Count(6738415616));
  EXPECT_EQ(figure(document, "KV cache per token"), Count(2 * 32 * 32 * 128 * 4));  // bits
}

TEST(HuggingFace, TheBareModelHasNoHead) {
  SourceText source = published("llama-3-8b");
  source.text.replace(source.text.find("LlamaForCausalLM"), 16, "LlamaModel");
  const auto document = read(source);
  ASSERT_TRUE(document);
  EXPECT_EQ(layer(*document, "lm_head"), nullptr);
  EXPECT_EQ(figure(*document, "parameters"), Count(8030261248) - Count(128256) * 4096);
}

TEST(HuggingFace, WrongSettingsAreExplained) {
  const SourceText llama = published("llama-3-8b");
  const auto unknown = read(llama, {{"bach", "3"}});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error()[0].message, "--set 'bach': there is no such setting here");
  EXPECT_EQ(unknown.error()[0].hint, "did you mean 'batch'?");
  EXPECT_EQ(error_of(llama, {{"batch", "0"}}), "--set batch: found '0', expected a whole number from 1 to 1073741824");
  EXPECT_EQ(error_of(llama, {{"seq", "1e3"}}), "--set seq: found '1e3', expected a whole number from 1 to 1073741824");
  EXPECT_EQ(error_of(llama, {{"phase", "decoding"}}), "--set phase: found 'decoding', expected prefill or decode");
  EXPECT_EQ(error_of(llama, {{"phase", "decode"}, {"seq", "8"}}),
            "--set seq: in the decode phase a sequence has one new token");
  EXPECT_EQ(error_of(llama, {{"seq", "8"}, {"context", "7"}}),
            "--set context: 7 tokens in all are fewer than the 8 new ones of seq");
  EXPECT_EQ(error_of(llama, {{"type", "bf17"}}), "--set type: there is no element type 'bf17'");
  EXPECT_EQ(error_of(llama, {{"mla", "absorbed"}}), "--set 'mla': there is no such setting here");
  EXPECT_EQ(error_of(published("gpt2"), {{"seq", "1025"}}),
            "a sequence of 1025 tokens: the model's position embedding has rows for 1024");
  EXPECT_EQ(error_of(published("vit-base-patch16-224"), {{"seq", "8"}}), "--set 'seq': there is no such setting here");
  EXPECT_EQ(error_of(published("bert-base-uncased"), {{"context", "8"}}),
            "--set 'context': there is no such setting here");
}

TEST(HuggingFace, LargestSizesAreCountedOrRefused) {
  const std::string most = "1073741824";
  SourceText source{"large.json",
                    R"({"model_type": "llama", "hidden_size": 1073741824, "num_hidden_layers": 1073741824,
  "num_attention_heads": 1073741824, "vocab_size": 1073741824, "intermediate_size": 1073741824,
  "head_dim": 1073741824})"};
  const auto document = read(source, {{"batch", most}, {"seq", most}});
  ASSERT_FALSE(document);
  EXPECT_NE(document.error()[0].message.find("too large"), std::string::npos) << document.error()[0].message;
}

TEST(HuggingFace, AKeyThatIsNotUnderstoodIsTold) {
  SourceText source = published("llama-3-8b");
  source.text.insert(1, "\n  \"mixture_of_depths\": 3,");
  const auto document = read(source);
  ASSERT_TRUE(document);
  EXPECT_EQ(document->left_out, std::vector<std::string>{"not understood: 'mixture_of_depths' (line 2)"});
}

TEST(HuggingFace, AnyJsonTextMayStandInAKeyThatDoesNotCount) {
  SourceText source = published("llama-3-8b");
  source.text.insert(1, "\t\"_name_or_path\":\"\\/a\\u00e9 \\ud83d\\ude00 \\\\ud83d\",\"rms_norm_eps_2\" : 1e-05 ,");
  const auto document = read(source);
  ASSERT_TRUE(document) << render(document.error(), source);
  EXPECT_EQ(document->left_out.size(), 1u);
}

TEST(HuggingFace, IsRecognisedByItsModelType) {
  EXPECT_TRUE(is_huggingface(published("llama-3-8b")));
  EXPECT_FALSE(is_huggingface({"a.json", "{\"problem\": {}}"}));
  EXPECT_FALSE(is_huggingface({"a.yaml", "# \"model_type\"\n"}));
  EXPECT_FALSE(is_huggingface({"a.json", ""}));
  const auto form = recognised_form({published("gpt2")});
  ASSERT_TRUE(form);
  EXPECT_EQ((*form)->name, "huggingface");
}

TEST(HuggingFace, TenMegabytesAreReadInTwoSeconds) {
  SourceText source = published("llama-3-8b");
  std::string keys;
  for (int key = 0; keys.size() < 10'000'000; ++key)
    keys += fmt::format("\n  \"a key with number {:60}\": {},", key, key);
  source.text.insert(1, keys);
  const std::clock_t start = std::clock();  // other work of the machine does not count
  const auto document = read(source);
  ASSERT_TRUE(document) << render(document.error(), source);
  EXPECT_EQ(document->left_out.size(), 201u);
  EXPECT_EQ(figure(*document, "parameters"), Count(8030261248));
  source.text.erase(source.text.find("\"hidden_size\""), 21);
  EXPECT_FALSE(read(source));
  EXPECT_FALSE(read({"deep.json", "{\"model_type\": \"llama\", \"x\": " + std::string(100000, '[')}));
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 4.0);  // both texts
}

}  // namespace
}  // namespace einflow
