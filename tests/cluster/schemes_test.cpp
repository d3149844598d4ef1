// Formulas of PARALLELISM literature for schemes; sizes here are einflow's own.
#include "cluster/schemes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cluster/traffic.hpp"

namespace einflow::cluster {
namespace {

const NamedScheme& named(const std::string& text) {
  const auto term = find_scheme(text);
  EXPECT_TRUE(term && term->scheme != nullptr) << text;
  return *term->scheme;
}

Program program_of(const std::string& name, const SchemeSizes& sizes = {}) {
  const auto scheme = build_scheme(named(name), sizes);
  EXPECT_TRUE(scheme) << name << ": " << scheme.error().front().message;
  auto program = named(name).training ? training_program(*scheme) : forward_program(*scheme);
  EXPECT_TRUE(program) << name << ": " << program.error().front().message;
  return *program;
}

/// Elements that each device sends; every device must send as many.
Count each_sends(const std::vector<Step>& steps, const DeviceMesh& mesh) {
  const Traffic traffic = traffic_of(steps, mesh);
  EXPECT_EQ(traffic.total.str(), (traffic.busiest * Count(mesh.devices())).str());
  return traffic.busiest;
}

/// "all-gather W, ..." in order.
std::string moves(const std::vector<Step>& steps, const DeviceMesh& mesh) {
  static const char* const kNames[] = {"AR", "RS", "AG", "A2A", "slice", "redistribute"};
  std::string text;
  for (const Step& step : steps) {
    const auto* const collective = std::get_if<Collective>(&step);
    if (collective == nullptr || collective->kind == CollectiveKind::slice) continue;
    text += fmt::format("{}{} {} on {}", text.empty() ? "" : ", ", kNames[static_cast<int>(collective->kind)],
                        collective->tensor, mesh.axes[static_cast<std::size_t>(collective->axis)].name);
  }
  return text;
}

constexpr std::int64_t kB = 4, kS = 8, kH = 64;  // the defaults
constexpr std::int64_t kBsh = kB * kS * kH;

TEST(Schemes, AllAreBuiltAndPlanned) {
  EXPECT_GE(named_schemes().size(), 24U);
  for (const NamedScheme& scheme : named_schemes()) {
    SCOPED_TRACE(scheme.name);
    const Program program = program_of(scheme.name);
    EXPECT_FALSE(program.forward.empty());
    EXPECT_EQ(program.backward.empty(), !scheme.training);
    EXPECT_FALSE(scheme.sentence.empty());
    EXPECT_FALSE(scheme.split.empty());
  }
}

// Narayanan et al. 2021, section 2.3: 8 (t-1)/t b s h elements a layer, in four all-reduces.
TEST(Schemes, AMegatronLayerHasFourAllReduces) {
  const Program program = program_of("megatron-layer");
  EXPECT_EQ(moves(program.forward, program.mesh), "AR P on tp, AR F on tp");
  EXPECT_EQ(moves(program.backward, program.mesh), "AR dN2 on tp, AR dN1 on tp");
  const Count sent = each_sends(program.forward, program.mesh) + each_sends(program.backward, program.mesh);
  EXPECT_EQ(sent, Count(8 * 3 * kBsh / 4));
  EXPECT_EQ(each_sends(program.finish, program.mesh), Count(0));
}

// Korthikanti et al. 2022: as many bytes as without, and once more the input of each column layer where only its
// slice is kept; gradients of the gains are added once a step.
TEST(Schemes, SequenceParallelismGathersAndScatters) {
  const Program program = program_of("megatron-sp");
  EXPECT_EQ(moves(program.forward, program.mesh), "AG N1 on tp, RS P on tp, AG N2 on tp, RS F on tp");
  const Count sent = each_sends(program.forward, program.mesh) + each_sends(program.backward, program.mesh);
  EXPECT_EQ(sent, Count(10 * 3 * kBsh / 4));
  EXPECT_EQ(moves(program.finish, program.mesh), "AR dgain1.sum on tp, AR dgain2.sum on tp");
  EXPECT_EQ(each_sends(program.finish, program.mesh), Count(2 * 2 * 3 * kH / 4));
}

// With t devices above the KV heads each KV head is whole on t/g devices: dWK and dWV are partial over those.
TEST(Schemes, MoreDevicesThanKeyValueHeads) {
  SchemeSizes sizes;
  sizes.devices = {8};
  const Program program = program_of("megatron-attention", sizes);
  ASSERT_EQ(program.mesh.axes.size(), 2U);
  EXPECT_EQ(program.mesh.axes[0].size, 4);
  EXPECT_EQ(program.mesh.axes[1].size, 2);
  // Over both axes an all-reduce of 8 devices: 2 x 7/8.
  EXPECT_EQ(each_sends(program.forward, program.mesh), Count(2 * 7 * kBsh / 8));
  Count key_weights = 0;
  for (const Step& step : program.backward) {
    const auto* const collective = std::get_if<Collective>(&step);
    if (collective == nullptr || (collective->tensor != "dWK" && collective->tensor != "dWV")) continue;
    EXPECT_EQ(collective->axis, 1);
    key_weights += traffic_of(*collective, program.mesh).busiest;
  }
  // Two all-reduces over 2 devices of h x d elements (one KV head each); dK and dV may be reduced in their place.
  EXPECT_TRUE(key_weights == Count(2 * 2 * kH * 8 / 2) || key_weights == Count(0)) << key_weights.str();
  sizes.devices = {6};
  EXPECT_FALSE(build_scheme(named("megatron-attention"), sizes));
  sizes.devices = {16};
  EXPECT_FALSE(build_scheme(named("megatron-attention"), sizes)) << "8 heads on 16 devices";
}

// Korthikanti et al. 2022, and Megatron-LM's cross entropy: three values a token in place of the vocabulary.
TEST(Schemes, VocabularyParallelism) {
  const Program program = program_of("vocabulary");
  EXPECT_EQ(each_sends(program.forward, program.mesh), Count(2 * 3 * (kBsh + 3 * kB * kS) / 4));
  EXPECT_EQ(each_sends(program.backward, program.mesh), Count(2 * 3 * kBsh / 4));
}

TEST(Schemes, SplitKeysInDecodeMergeTwoValuesAndTheContext) {
  const Program program = program_of("split-kv");
  EXPECT_EQ(each_sends(program.forward, program.mesh), Count(2 * 3 * kB * 8 * (8 + 2) / 4));  // 8 heads of 8
}

// FSDP's names: NO_SHARD, SHARD_GRAD_OP, FULL_SHARD, HYBRID_SHARD.
TEST(Schemes, FullyShardedDataParallelism) {
  SchemeSizes sizes;
  sizes.microbatches = 3;
  constexpr std::int64_t kPsi = 64 * 256;
  const auto step = [&](const std::string& name) {
    const Program program = program_of(name, sizes);
    return (each_sends(program.forward, program.mesh) + each_sends(program.backward, program.mesh)) *
               Count(program.microbatches) +
           each_sends(program.finish, program.mesh);
  };
  EXPECT_EQ(step("NO_SHARD"), Count(2 * 3 * kPsi / 4));
  EXPECT_EQ(step("SHARD_GRAD_OP"), Count(2 * 3 * 3 * kPsi / 4));
  EXPECT_EQ(step("FULL_SHARD"), Count(3 * 3 * 3 * kPsi / 4));
  EXPECT_EQ(step("HYBRID_SHARD"), Count(3 * 3 * kPsi / 2 + kPsi / 2));  // 2 x 2: ZeRO-3 of 2, all-reduce of halves
}

// X and W of 2.5-D: Solomonik and Demmel 2011; Tesseract (Wang et al. 2021).
TEST(Schemes, TwoAndAHalfDimensions) {
  constexpr std::int64_t kX = 32 * 64, kW = 64 * 256, kY = 32 * 256;
  const Program classic = program_of("2.5d-classic");
  // q = 2, c = 2: panels within a layer, then the layers' sums.
  EXPECT_EQ(each_sends(classic.forward, classic.mesh), Count((kX + kW) / 8 + 2 * kY / 4 / 2));
  const Program tesseract = program_of("tesseract");
  EXPECT_EQ(each_sends(tesseract.forward, tesseract.mesh), Count(kX / 8 + kW / 4));
  EXPECT_EQ(moves(tesseract.finish, tesseract.mesh), "AR dW.sum on l");
  EXPECT_EQ(each_sends(tesseract.finish, tesseract.mesh), Count(kW / 4));
}

// Bian et al. 2021: each of forward, dX and dW moves (q-1)/p (bX + bW + bY); dX and dW share the gathered dY.
TEST(Schemes, ThreeDimensions) {
  constexpr std::int64_t kX = 32 * 64, kW = 64 * 256, kY = 32 * 256;
  const Program program = program_of("3d-tp");
  EXPECT_EQ(each_sends(program.forward, program.mesh), Count((kX + kW + kY) / 8));
  EXPECT_EQ(each_sends(program.backward, program.mesh), Count((2 * (kX + kW + kY) - kY) / 8));
}

// K and V again, and the sums of dK and dV: as many bytes as two forward passes.
TEST(Schemes, ContextParallelBackward) {
  for (const char* const name : {"ring", "all-gather-cp"}) {
    const Program program = program_of(name);
    const Count forward = each_sends(program.forward, program.mesh);
    EXPECT_EQ(forward, Count(3 * 2 * (kB * 4 * kS * 8) / 4));  // 4 KV heads of 8
    EXPECT_EQ(each_sends(program.backward, program.mesh), forward * Count(2));
  }
}

// Jacobs et al. 2023: four all-to-alls, and four again.
TEST(Schemes, Ulysses) {
  const Program program = program_of("ulysses");
  EXPECT_EQ(moves(program.forward, program.mesh), "A2A Q on cp, A2A K on cp, A2A V on cp, A2A O on cp");
  const Count forward = each_sends(program.forward, program.mesh);
  EXPECT_EQ(forward, Count(3 * 2 * (kBsh + kBsh / 2) / 16));  // Q, O of 8 heads; K, V of 4
}

TEST(Schemes, ExpertsExchangeTokensFourTimes) {
  const Program program = program_of("moe");
  EXPECT_EQ(moves(program.forward, program.mesh), "A2A D on ep, A2A O on ep");
  EXPECT_EQ(each_sends(program.forward, program.mesh), each_sends(program.backward, program.mesh));
}

TEST(Schemes, NamesOfOtherPeople) {
  const std::vector<std::pair<std::string, std::string>> names{{"column tensor parallel", "column"},
                                                               {"ColwiseParallel", "column"},
                                                               {"tp column", "column"},
                                                               {"Column-parallel linear", "column"},
                                                               {"RowParallelLinear", "row"},
                                                               {"FSDP", "zero-3"},
                                                               {"fully sharded data parallel", "zero-3"},
                                                               {"ZeRO stage 2", "zero-2"},
                                                               {"zero2", "zero-2"},
                                                               {"DDP", "data"},
                                                               {"data parallelism", "data"},
                                                               {"DeepSpeed-Ulysses", "ulysses"},
                                                               {"ring attention", "ring"},
                                                               {"gpipe", "pipeline"},
                                                               {"zero bubble", "pipeline"},
                                                               {"pipeline parallelism", "pipeline"},
                                                               {"SUMMA", "summa"},
                                                               {"2D tensor parallelism", "summa"},
                                                               {"3D tensor parallelism", "3d-tp"},
                                                               {"expert parallel", "expert"},
                                                               {"VocabParallelEmbedding", "vocabulary"},
                                                               {"flash-decoding", "split-kv"},
                                                               {"Megatron sequence parallelism", "megatron-sp"},
                                                               {"context parallel all-gather", "all-gather-cp"}};
  for (const auto& [text, name] : names) {
    const auto term = find_scheme(text);
    ASSERT_TRUE(term) << text;
    ASSERT_NE(term->scheme, nullptr) << text;
    EXPECT_EQ(term->scheme->name, name) << text;
  }
}

TEST(Schemes, NamesOfSeveralThingsAreQuestions) {
  for (const char* const text : {"tensor parallelism", "TP", "sequence parallel", "context parallelism", "2.5D",
                                 "3D parallelism", "3d", "ZeRO", "model parallel", "megatron"}) {
    const auto term = find_scheme(text);
    ASSERT_TRUE(term) << text;
    ASSERT_NE(term->ambiguous, nullptr) << text;
    EXPECT_FALSE(term->ambiguous->question.empty());
    for (const auto& [name, who] : term->ambiguous->readings) EXPECT_NE(find_scheme(name)->scheme, nullptr) << name;
  }
}

TEST(Schemes, EveryNameLeadsToItsScheme) {
  for (const NamedScheme& scheme : named_schemes()) {
    EXPECT_EQ(named(scheme.name).name, scheme.name);
    for (const std::string& synonym : scheme.synonyms) {
      const auto term = find_scheme(synonym);
      ASSERT_TRUE(term) << synonym;
      ASSERT_NE(term->scheme, nullptr) << synonym;
      EXPECT_EQ(term->scheme->name, scheme.name) << synonym;
    }
  }
}

TEST(Schemes, UnknownNamesGetTheNearest) {
  const auto misspelt = find_scheme("colum parallel");
  ASSERT_FALSE(misspelt);
  EXPECT_NE(misspelt.error().front().hint.find("'column'"), std::string::npos) << misspelt.error().front().hint;
  EXPECT_FALSE(find_scheme(""));
  EXPECT_FALSE(find_scheme("parallelism"));
}

TEST(Schemes, SizesThatCannotBe) {
  SchemeSizes sizes;
  sizes.devices = {6};
  const auto grid = build_scheme(named("summa"), sizes);
  ASSERT_FALSE(grid);
  EXPECT_EQ(grid.error().front().message, "6 devices are not q x q");
  sizes.devices = {2, 2};
  EXPECT_FALSE(build_scheme(named("column"), sizes));
  sizes.devices = {0};
  EXPECT_FALSE(build_scheme(named("column"), sizes));
  sizes.devices = {16};
  EXPECT_FALSE(build_scheme(named("pipeline"), sizes)) << "8 layers";
  sizes.devices = {};
  sizes.ranks = {{"q", 3}};
  const auto rank = build_scheme(named("column"), sizes);
  ASSERT_FALSE(rank);
  EXPECT_EQ(rank.error().front().message, "column has no rank 'q'");
  sizes.ranks = {{"k", 0}};
  EXPECT_FALSE(build_scheme(named("column"), sizes));
  sizes.ranks = {{"b", std::int64_t{1} << 32}};
  EXPECT_FALSE(build_scheme(named("summa"), sizes));
}

}  // namespace
}  // namespace einflow::cluster
