// What a model's text means, and what is refused, with its place.
#include "notation/model_reader.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "notation/library.hpp"

namespace einflow {
namespace {

using cluster::Experts;
using cluster::LatentAttention;
using cluster::Norm;
using cluster::Transformer;

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

const std::string kText =
    "name: small\n"
    "source: \"made up\"\n"
    "hidden: 64\n"
    "layers: 6\n"
    "heads: 8\n"
    "kv_heads: 8\n"
    "head_dim: 16\n"
    "ffn: 128\n"
    "vocabulary: 1000\n"
    "positions: 512\n"
    "gated: true\n"
    "tied: true\n"
    "biases: true\n"
    "dropout: true\n"
    "norm: layer\n"
    "causal: true\n"
    "window: 32\n"
    "experts: {count: 4, chosen: 2, ffn: 32, shared: 1, every: 2, dense_layers: 1}\n"
    "latent: {query_rank: 24, key_value_rank: 16, rope_dim: 4, nope_dim: 8, value_dim: 12}\n"
    "notes: [\"a note\"]\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

std::string first_error(const Result<Transformer>& model) {
  if (model) return "none";
  const Diagnostic& error = model.error().front();
  const std::string hint = error.hint.empty() ? "" : "; " + error.hint;
  return std::to_string(error.span.line) + ":" + std::to_string(error.span.column) + " " + error.message + hint;
}

/// The first error of the text in which `from` became `to`: "line:column message; hint".
std::string error_of(const std::string& from, const std::string& to) {
  const auto model = read_model_text({"m.yaml", replaced(kText, from, to)});
  EXPECT_TRUE(model || model.error().front().source == "m.yaml");
  return first_error(model);
}

TEST(ReadModel, ReadsEveryKey) {
  const auto model = read_model_text({"m.yaml", kText});
  ASSERT_TRUE(model) << first_error(model);
  Transformer expected;
  expected.name = "small";
  expected.source = "made up";
  expected.hidden = 64;
  expected.layers = 6;
  expected.heads = 8;
  expected.kv_heads = 8;
  expected.head_dim = 16;
  expected.ffn = 128;
  expected.vocabulary = 1000;
  expected.positions = 512;
  expected.gated = expected.tied = expected.biases = expected.dropout = true;
  expected.norm = Norm::layer;
  expected.window = 32;
  expected.experts = Experts{4, 2, 32, 1, 2, 1};
  expected.latent = LatentAttention{24, 16, 4, 8, 12};
  EXPECT_EQ(*model, expected);
}

TEST(ReadModel, FillsInWhatIsLeftOut) {
  const auto model = load_model(kLibrary, "{hidden: 64, layers: 2, heads: 4, ffn: 128, vocabulary: 10}");
  ASSERT_TRUE(model) << first_error(model);
  EXPECT_EQ(model->kv_heads, 4);
  EXPECT_EQ(model->head_dim, 16);
  EXPECT_EQ(model->norm, Norm::rms);
  EXPECT_TRUE(model->causal);
  EXPECT_FALSE(model->gated || model->tied || model->biases || model->dropout || model->experts || model->latent);
  // Where every layer has experts there is no dense network.
  EXPECT_EQ(first_error(load_model(kLibrary,
                                   "{hidden: 64, layers: 2, heads: 4, vocabulary: 10, experts: {count: 4, "
                                   "chosen: 1, ffn: 8}}")),
            "none");
}

TEST(ReadModel, PointsAtWhatIsWrong) {
  EXPECT_EQ(error_of("layers: 6", "layrs: 6"), "4:1 unknown key 'layrs' in the model; did you mean 'layers'?");
  EXPECT_EQ(error_of("layers: 6\n", ""), "1:1 'layers' is missing in the model; layers: 32");
  EXPECT_EQ(error_of("norm: layer", "norm: layers"), "15:7 unknown norm 'layers'; did you mean 'layer'?");
  EXPECT_EQ(error_of("shared: 1", "sharde: 1"), "18:41 unknown key 'sharde' in 'experts'; did you mean 'shared'?");
  EXPECT_EQ(error_of("chosen: 2", "chosen: 5"), "18:29 5 experts are chosen of 4");
  EXPECT_EQ(error_of("causal: true", "causal: false"),
            "17:9 a window is of causal attention, but the model is not causal");
  EXPECT_EQ(error_of("kv_heads: 8", "kv_heads: 2"),
            "6:11 latent attention has keys and values of each of its 8 heads, found 2 KV heads");
  EXPECT_EQ(error_of("query_rank: 24, key_value_rank: 16, ", "query_rank: 24, "),
            "19:9 'key_value_rank' is missing in 'latent'; key_value_rank: 512");
}

TEST(LoadModel, PointsAtWhatIsWrongInPlace) {
  EXPECT_EQ(first_error(load_model(kLibrary,
                                   "{hidden: 64, layers: 2, heads: 6, kv_heads: 4, head_dim: 8, ffn: 128, "
                                   "vocabulary: 10}")),
            "1:45 6 heads cannot share 4 KV heads evenly");
  EXPECT_EQ(first_error(load_model(kLibrary, "{hidden: 64, layers: 2, heads: 6, ffn: 128, vocabulary: 10}")),
            "1:32 hidden 64 is not a multiple of 6 heads; state 'head_dim'");
  EXPECT_EQ(first_error(load_model(kLibrary, "llama3-8v")), "0:0 unknown model 'llama3-8v'; did you mean 'llama3-8b'?");
}

TEST(LoadModel, EveryModelOfTheLibraryLoadsAndSaysWhereItsFiguresAreFrom) {
  const std::vector<std::string> names = model_names(kLibrary);
  EXPECT_GE(names.size(), 20u);
  for (const std::string& name : names) {
    const auto model = load_model(kLibrary, name);
    ASSERT_TRUE(model) << name << ": " << first_error(model);
    EXPECT_EQ(model->name, name);
    EXPECT_GT(model->source.size(), 20u) << name;
    EXPECT_GT(model->parameters(), Count(0)) << name;
  }
}

/// The text of a published config (tests/reference/huggingface).
std::string config(const std::string& name) {
  std::ifstream file(EINFLOW_SOURCE_DIR "/tests/reference/huggingface/" + name + ".json");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(LoadModel, ReadsConfigsOfHuggingFace) {
  // The same model by its config as by its file in the library, but for name and source.
  for (const auto& [name, published] :
       std::vector<std::pair<std::string, std::string>>{{"llama2-7b", "llama-2-7b"},
                                                        {"llama2-70b", "llama-2-70b"},
                                                        {"llama3-8b", "llama-3-8b"},
                                                        {"llama3-405b", "llama-3.1-405b"},
                                                        {"deepseek-v3", "deepseek-v3"}}) {
    auto read = load_model(kLibrary, config(published));
    ASSERT_TRUE(read) << published << ": " << first_error(read);
    auto expected = load_model(kLibrary, name);
    ASSERT_TRUE(expected);
    EXPECT_EQ(read->parameters(), expected->parameters()) << name;
    EXPECT_TRUE(read->latent || read->head_dim == expected->head_dim);
    read->name = expected->name;
    read->source = expected->source;
    read->head_dim = expected->head_dim;
    EXPECT_EQ(*read, *expected) << name;
  }
  // num_parameters() of the transformers library.
  EXPECT_EQ(load_model(kLibrary, config("mixtral-8x7b"))->parameters(), Count(46702792704));
  EXPECT_EQ(load_model(kLibrary, config("gpt2"))->parameters(), Count(124439808));
  EXPECT_EQ(load_model(kLibrary, config("mistral-7b-v0.1"))->parameters(), Count(7241732096));
  EXPECT_EQ(load_model(kLibrary, config("mistral-7b-v0.1"))->window, 4096);
}

TEST(LoadModel, RefusesConfigsThatBlocksCannotExpress) {
  EXPECT_EQ(first_error(load_model(kLibrary, config("qwen2-7b"))),
            "0:0 biases of some projections only: the blocks of a parallel plan do not have it; `einflow translate` "
            "reads the network's operations");
  EXPECT_EQ(load_model(kLibrary, config("qwen3-8b")).error().size(), 1u) << "a norm of queries and keys";
  EXPECT_FALSE(load_model(kLibrary, config("vit-base-patch16-224")));
  EXPECT_FALSE(load_model(kLibrary, config("gemma-2-9b")));
}

}  // namespace
}  // namespace einflow
