#include "notation/placements/placements.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "notation/placements/assignment.hpp"
#include "notation/placements/names.hpp"
#include "support/builders.hpp"

namespace einflow {
namespace {

using testing::array_machine;
using testing::einsum;

Machine two_axes() {
  Mesh mesh;
  mesh.name = "gpus";
  mesh.axes = {{"dp", 2}, {"tp", 4}};
  mesh.multicast = mesh.reduction = true;
  return testing::machine({testing::storage("Host"), mesh, testing::storage("HBM"), testing::compute("SM")});
}

Document document_of_nest(const Einsum& problem, const Machine& machine, const std::string& nest) {
  return document_of(ReadSpec{testing::spec(problem, machine, nest), {}});
}

std::string text_of(const Result<Writing>& writing) { return writing ? writing->text : render(writing.error(), {}); }

/// The value behind "  TENSOR: " in a text with placements.
std::string line_of(const std::string& text, const std::string& tensor) {
  const std::size_t begin = text.find("\n  " + tensor + ": ", text.find("placements:"));
  if (begin == std::string::npos) return "no line\n" + text;
  const std::size_t value = begin + tensor.size() + 5;
  return text.substr(value, text.find('\n', value) - value);
}

Einsum linear_layer() { return einsum("Y[b,s,n] += X[b,s,k] * W[k,n]", {{"b", 8}, {"s", 16}, {"n", 32}, {"k", 64}}); }

constexpr const char* kInside = "for b s n k by 1\n";

struct Scheme {
  const char* rank;
  const char *x, *w, *y;              ///< DTensor
  const char *jax_x, *jax_w, *jax_y;  ///< PartitionSpec
  const char* state_of_y;
  const char* name;
};

// The rule for Y[B,S,N] = sum over K of X[B,S,K] W[K,N] with one axis of devices, as torch.distributed.tensor and
// jax.sharding spell it: data, sequence, column (Y split on its last dimension) and row parallelism (Y partial).
TEST(Placements, AxisOnEachRankOfALinearLayer) {
  const Scheme schemes[] = {{"b", "[Shard(0)]", "[Replicate()]", "[Shard(0)]", "P('tp', None, None)", "P(None, None)",
                             "P('tp', None, None)", "S(b)", "data parallel (batch)"},
                            {"s", "[Shard(1)]", "[Replicate()]", "[Shard(1)]", "P(None, 'tp', None)", "P(None, None)",
                             "P(None, 'tp', None)", "S(s)", "sequence or context parallel (tokens)"},
                            {"n", "[Replicate()]", "[Shard(1)]", "[Shard(2)]", "P(None, None, None)", "P(None, 'tp')",
                             "P(None, None, 'tp')", "S(n)", "column parallel (tensor parallel)"},
                            {"k", "[Shard(2)]", "[Shard(0)]", "[Partial(\"sum\")]", "P(None, None, 'tp')",
                             "P('tp', None)", "P(None, None, None)", "P(sum)", "row parallel (tensor parallel)"}};
  for (const Scheme& scheme : schemes) {
    const Document document =
        document_of_nest(linear_layer(), two_axes(), fmt::format("par {} into 4 on gpus.tp\n{}", scheme.rank, kInside));
    const std::string dtensor = text_of(write_dtensor(document));
    EXPECT_EQ(line_of(dtensor, "X"), scheme.x);
    EXPECT_EQ(line_of(dtensor, "W"), scheme.w);
    EXPECT_EQ(line_of(dtensor, "Y"), scheme.y);
    const std::string jax = text_of(write_jax(document));
    EXPECT_EQ(line_of(jax, "X"), scheme.jax_x);
    EXPECT_EQ(line_of(jax, "W"), scheme.jax_w);
    EXPECT_EQ(line_of(jax, "Y"), scheme.jax_y);
    const std::string table = text_of(write_placements(document));
    EXPECT_NE(table.find(scheme.state_of_y), std::string::npos) << table;
    EXPECT_NE(table.find(scheme.name), std::string::npos) << table;
  }
}

// Experts' weights W[E,K,N] are split on their first dimension, and so are the tokens sent to them.
TEST(Placements, ExpertsSplitEveryTensor) {
  const Einsum experts = einsum("Y[e,t,n] += X[e,t,k] * W[e,k,n]", {{"e", 8}, {"t", 4}, {"n", 4}, {"k", 4}});
  const Document document = document_of_nest(experts, two_axes(), "par e into 4 on gpus.tp\nfor e t n k by 1\n");
  for (const char* tensor : {"X", "W", "Y"}) {
    EXPECT_EQ(line_of(text_of(write_dtensor(document)), tensor), "[Shard(0)]");
    EXPECT_EQ(line_of(text_of(write_jax(document)), tensor), "P('tp', None, None)");
  }
  EXPECT_NE(text_of(write_placements(document)).find("expert parallel"), std::string::npos);
}

TEST(Placements, TwoAxesOnOneRankAreMajorFirst) {
  const Document document = document_of_nest(
      linear_layer(), two_axes(), fmt::format("par b into 2 on gpus.dp\npar b into 4 on gpus.tp\n{}", kInside));
  EXPECT_EQ(line_of(text_of(write_dtensor(document)), "X"), "[Shard(0), Shard(0)]");
  EXPECT_EQ(line_of(text_of(write_jax(document)), "X"), "P(('dp', 'tp'), None, None)");
  // The other way round the mesh is listed the other way round: DTensor's order is the mesh's.
  const Document other = document_of_nest(linear_layer(), two_axes(),
                                          fmt::format("par b into 4 on gpus.tp\npar b into 2 on gpus.dp\n{}", kInside));
  EXPECT_NE(text_of(write_dtensor(other)).find("DeviceMesh((4, 2), mesh_dim_names=(\"tp\", \"dp\"))"),
            std::string::npos);
  EXPECT_EQ(line_of(text_of(write_jax(other)), "X"), "P(('tp', 'dp'), None, None)");
}

TEST(Placements, DataAndTensorParallelTogether) {
  const Document document = document_of_nest(
      linear_layer(), two_axes(), fmt::format("par b into 2 on gpus.dp\npar k into 4 on gpus.tp\n{}", kInside));
  const std::string text = text_of(write_dtensor(document));
  EXPECT_EQ(line_of(text, "X"), "[Shard(0), Shard(2)]");
  EXPECT_EQ(line_of(text, "W"), "[Replicate(), Shard(0)]");
  EXPECT_EQ(line_of(text, "Y"), "[Shard(0), Partial(\"sum\")]");
  const auto jax = write_jax(document);
  ASSERT_TRUE(jax);
  ASSERT_FALSE(jax->conventions.empty());
  EXPECT_NE(jax->conventions.back().find("Y is partial over 'tp'"), std::string::npos);
  EXPECT_NE(jax->conventions.back().find("all-reduce"), std::string::npos);
}

// nn.Linear keeps its weight as [out, in]: ColwiseParallel splits dimension 0 of it, RowwiseParallel dimension 1.
TEST(Placements, TorchKeepsTheWeightTheOtherWayRound) {
  const Einsum product = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 8}, {"n", 8}, {"k", 8}});
  EXPECT_EQ(placements::torch_weight(product, 1), "nn.Linear keeps W as [out, in] = [n,k]: there it is Shard(0)");
  EXPECT_EQ(placements::torch_weight(product, 2), "nn.Linear keeps W as [out, in] = [n,k]: there it is Shard(1)");
  EXPECT_EQ(placements::torch_weight(product, 0), "");
  const Einsum as_torch = einsum("Y[m,o] += X[m,i] * W[o,i]", {{"m", 8}, {"o", 8}, {"i", 8}});
  EXPECT_EQ(placements::torch_weight(as_torch, 1), "");
}

// Tangram: the tensor without the split loop is the one that is shared. BATP shares weights, OUTP inputs, INPP sums
// outputs, OFMP splits pixels with a halo of filter less stride rows.
TEST(Placements, ConvolutionHasTangramsAndMaestrosNames) {
  const Einsum conv = einsum("O[n,k,p,q] += I[n,c,p+r,q+s] * F[k,c,r,s]",
                             {{"n", 4}, {"k", 4}, {"c", 4}, {"p", 8}, {"q", 8}, {"r", 3}, {"s", 3}});
  const std::map<std::string, std::pair<std::string, std::string>> names{
      {"n", {"BATP", "N"}}, {"k", {"OUTP", "K"}}, {"c", {"INPP", "C"}}, {"p", {"OFMP", "Y'"}}, {"q", {"OFMP", "X'"}}};
  for (const auto& [rank, name] : names) {
    EXPECT_EQ(placements::tangram_name(conv, conv.rank_named(rank)).substr(0, 4), name.first);
    const Spec spec = testing::spec(conv, array_machine(4, 4, {}),
                                    fmt::format("par {} into 4 on array.x\nfor n k p q c r s by 1\n", rank));
    EXPECT_NE(placements::maestro_name(spec, spec.mapping.loops[0]).find(") " + name.second + " in"),
              std::string::npos);
  }
  const std::string nest = "par p into 4 on array.x\nfor n k p q c r s by 1\n";
  const Document document = document_of_nest(conv, array_machine(4, 4, {}), nest);
  const std::string table = text_of(write_placements(document));
  EXPECT_NE(table.find("neighbours share 2 positions of p+r in I (a halo)"), std::string::npos) << table;
  const auto dtensor = write_dtensor(document);
  ASSERT_FALSE(dtensor);
  EXPECT_EQ(
      dtensor.error().front().message,
      "'par p by 2 on array.x' has no DTensor spelling: the axis p+r of I has a window: shards of it would overlap (a "
      "halo)");
}

TEST(Placements, BlockCyclicPiecesAreNoShard) {
  const Einsum product = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 16}, {"n", 8}, {"k", 8}});
  const Document document =
      document_of_nest(product, two_axes(), "for m by 8\npar m into 4 on gpus.tp\nfor m n k by 1\n");
  const auto dtensor = write_dtensor(document);
  ASSERT_FALSE(dtensor);
  EXPECT_NE(dtensor.error().front().message.find("block-cyclic"), std::string::npos);
  EXPECT_FALSE(write_jax(document));
  EXPECT_NE(text_of(write_placements(document)).find("block-cyclic"), std::string::npos);
  // A loop over another rank only orders the work.
  EXPECT_TRUE(
      write_dtensor(document_of_nest(product, two_axes(), "for k by 2\npar m into 4 on gpus.tp\nfor m n k by 1\n")));
}

TEST(Placements, AnAxisWithTwoRanksIsSplitInWords) {
  const Einsum product = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 2}, {"k", 8}});
  const Document document =
      document_of_nest(product, two_axes(), "par m into 2 on gpus.tp\npar n into 2 on gpus.tp\nfor k by 1\n");
  const auto dtensor = write_dtensor(document);
  ASSERT_FALSE(dtensor);
  EXPECT_NE(dtensor.error().front().message.find("split it into two axes"), std::string::npos);
}

TEST(Placements, MeshesFurtherInMayBePartOfADevice) {
  const Einsum product = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 8}, {"n", 8}, {"k", 8}});
  Machine machine = two_axes();
  machine.levels.insert(machine.levels.end() - 1, testing::mesh("array", 2, {}));
  const auto writing = write_dtensor(document_of_nest(
      product, machine, "par n into 4 on gpus.tp\nfor n by 1\nfor k by 4\npar k into 2 on array.x\nfor m k by 1\n"));
  ASSERT_TRUE(writing) << render(writing.error(), {});
  EXPECT_EQ(line_of(writing->text, "W"), "[Shard(1)]");
  EXPECT_NE(writing->text.find("  par k by 2 on array.x"), std::string::npos);
}

// torch.chunk of every piece by itself against the nest's tiles, piece by piece.
TEST(Placements, ShardsAreTilesWhereTorchCutsAlike) {
  const auto chunked = [](const std::vector<std::int64_t>& pieces, std::int64_t size) {
    std::vector<std::int64_t> shards;
    for (const std::int64_t piece : pieces) {
      const std::int64_t shard = (piece + size - 1) / size;
      for (std::int64_t i = 0; i < size; ++i) {
        shards.push_back(std::max<std::int64_t>(0, std::min(shard, piece - i * shard)));
      }
    }
    return shards;
  };
  const auto tiled = [](const std::vector<std::int64_t>& pieces, std::int64_t size, std::int64_t tile) {
    std::vector<std::int64_t> tiles;
    for (const std::int64_t piece : pieces) {
      for (std::int64_t i = 0; i < size; ++i)
        tiles.push_back(std::max<std::int64_t>(0, std::min(tile, piece - i * tile)));
    }
    return tiles;
  };
  int alike = 0;
  int different = 0;
  for (std::int64_t extent = 1; extent <= 24; ++extent) {
    for (std::int64_t a = 1; a <= 4; ++a) {
      for (std::int64_t b = 1; b <= 4; ++b) {
        const std::int64_t tile = (extent + a - 1) / a;
        const std::int64_t inner = (tile + b - 1) / b;
        const bool same = chunked(chunked({extent}, a), b) == tiled(tiled({extent}, a, tile), b, inner);
        EXPECT_EQ(placements::cut_fault(placements::Words::dtensor, {extent}, tile, a), "");
        EXPECT_EQ(placements::cut_fault(placements::Words::dtensor, placements::cut({extent}, tile), inner, b).empty(),
                  same)
            << extent << " over " << a << " and " << b;
        ++(same ? alike : different);
      }
    }
  }
  EXPECT_GT(alike, 0);
  EXPECT_GT(different, 0);
}

const char* const kProblem = "problem:\n  einsum: Y[m,n] += X[m,k] * W[k,n]\n  ranks: {m: 16, n: 8, k: 8}\n";

Document read(Result<Document> (*reader)(const std::vector<SourceText>&, const ReadOptions&), const std::string& text,
              const ReadOptions& options = {}) {
  const std::vector<SourceText> sources{SourceText{"text", text}};
  auto document = reader(sources, options);
  EXPECT_TRUE(document) << (document ? "" : render_in(document.error(), sources));
  return document ? *document : Document{};
}

std::string nest_of(const Document& document) {
  const DocumentLayer& layer = document.layers.at(0);
  return to_text(*layer.mapping, layer.cascade.einsums.at(0), *layer.machine);
}

TEST(Placements, EveryUsualSpellingIsRead) {
  const std::string nest =
      "at HBM: X W Y\npar m by 8 on devices.dp\npar k by 2 on devices.tp\nat Device: X W Y\n"
      "for m by 1\nfor n by 1\nfor k by 1\n";
  for (const char* text :
       {"mesh: DeviceMesh((2, 4), mesh_dim_names=(\"dp\", \"tp\"))\nplacements:\n  X: [Shard(0), Shard(1)]\n"
        "  W: [Replicate(), Shard(0)]\n  Y: [Shard(0), Partial(\"sum\")]\n",
        "mesh: init_device_mesh('cuda', [2, 4], mesh_dim_names=['dp', 'tp'])\nplacements:\n  Y: [S(-2), P(sum)]\n"
        "  X: [Shard(dim=0), Shard(-1)]\n  W: [R, S(0)]\n",
        "mesh: torch.distributed.DeviceMesh(\"cuda\", (2, 4,), mesh_dim_names=(\"dp\", \"tp\",))\nplacements:\n"
        "  X:\n    - Shard( 0 )\n    - Shard(dim = 1)\n  W: [Replicate(), Shard(0)]\n  Y: [Shard(0), Partial()]\n"}) {
    EXPECT_EQ(nest_of(read(read_dtensor, std::string(kProblem) + text)), nest);
  }
  for (const char* text :
       {"mesh: Mesh((2, 4), ('dp', 'tp'))\nplacements:\n  X: P('dp', 'tp')\n  W: P('tp', None)\n  Y: P('dp', None)\n",
        "mesh: jax.make_mesh((2, 4), (\"dp\", \"tp\"))\nplacements:\n  X: PartitionSpec('dp', ('tp',))\n  W: P('tp')\n"
        "  Y: jax.sharding.PartitionSpec('dp',)\n",
        "mesh: jax.sharding.Mesh((2, 4), axis_names=('dp', 'tp'))\nplacements:\n  X: P(('dp',), 'tp')\n  W: P('tp', "
        "None)\n"
        "  Y: P( 'dp' )\n"}) {
    EXPECT_EQ(nest_of(read(read_jax, std::string(kProblem) + text)), nest);
  }
}

TEST(Placements, ATupleSaysWhichAxisIsMajor) {
  const Document document =
      read(read_jax, std::string(kProblem) +
                         "mesh: Mesh((2, 4), ('dp', 'tp'))\nplacements:\n  X: P(('tp', 'dp'), None)\n"
                         "  W: P()\n  Y: P(('tp', 'dp'), None)\n");
  EXPECT_NE(nest_of(document).find("\npar m by 4 on devices.tp\npar m by 2 on devices.dp\n"), std::string::npos);
}

TEST(Placements, AxesAreFoundInTheMachine) {
  ReadOptions options;
  options.machine = two_axes();
  const std::string text =
      "mesh: DeviceMesh((4,), mesh_dim_names=(\"NAME\",))\nplacements:\n  X: [R]\n  W: [S(1)]\n  Y: [S(1)]\n";
  for (const char* name : {"tp", "gpus.tp"}) {
    std::string named = text;
    named.replace(named.find("NAME"), 4, name);
    EXPECT_EQ(nest_of(read(read_dtensor, kProblem + named, options)),
              "at Host: X W Y\npar n by 2 on gpus.tp\nat HBM: X W Y\nfor m by 1\nfor n by 1\nfor k by 1\n");
  }
  for (const auto& [name, message] : std::map<std::string, std::string>{{"ep", " has no mesh axis 'ep'"},
                                                                        {"dp", "'dp' has 4 devices here and 2 in "}}) {
    std::string named = text;
    named.replace(named.find("NAME"), 4, name);
    const auto document = read_dtensor({SourceText{"text", kProblem + named}}, options);
    ASSERT_FALSE(document);
    EXPECT_NE(document.error().front().message.find(message), std::string::npos) << document.error().front().message;
  }
}

TEST(Placements, AnAxisOfOneDeviceMaySplitNothing) {
  EXPECT_EQ(nest_of(read(read_dtensor, std::string(kProblem) +
                                           "mesh: DeviceMesh((1, 4), mesh_dim_names=(\"pp\", \"tp\"))\nplacements:\n"
                                           "  X: [R, R]\n  W: [R, S(1)]\n  Y: [R, S(1)]\n")),
            "at HBM: X W Y\npar n by 2 on devices.tp\nat Device: X W Y\nfor m by 1\nfor n by 1\nfor k by 1\n");
}

TEST(Placements, AreRecognised) {
  const std::string placed = "\nplacements:\n  X: [R]\n";
  EXPECT_TRUE(is_placements({"a", kProblem + std::string("mesh: DeviceMesh((4,), mesh_dim_names=(\"x\",))") + placed}));
  EXPECT_FALSE(is_jax({"a", kProblem + std::string("mesh: DeviceMesh((4,), mesh_dim_names=(\"x\",))") + placed}));
  EXPECT_TRUE(is_jax({"a", kProblem + std::string("mesh: Mesh((4,), ('x',))") + placed}));
  EXPECT_FALSE(is_placements({"a", "problem: x\nmachine: toy\nmapping: |\n  for m by 1\n"}));
  EXPECT_FALSE(is_jax({"a", "problem: x\nmachine: toy\nmapping: |\n  for m by 1\n"}));
}

TEST(Placements, ADocumentWithoutParLoopsIsRefused) {
  const Einsum product = einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 2}, {"k", 2}});
  const Document document = document_of_nest(product, two_axes(), "for m n k by 1\n");
  EXPECT_FALSE(write_dtensor(document));
  EXPECT_NE(text_of(write_placements(document)).find("no par loop"), std::string::npos);
  Document without = document;
  without.layers.front().mapping.reset();
  for (const auto& writing : {write_dtensor(without), write_jax(without), write_placements(without)}) {
    ASSERT_FALSE(writing);
    EXPECT_EQ(writing.error().front().hint, "--mapping FILE");
  }
}

TEST(Placements, HostileTextsAreRefused) {
  std::string brackets = "mesh: DeviceMesh(" + std::string(200000, '(');
  std::string ones = "mesh: Mesh((1";
  for (int i = 0; i < 300000; ++i) ones += ",1";
  std::string commas = "mesh: Mesh((" + std::string(100000, ',') + "), ())";
  for (const std::string& mesh :
       {brackets, commas, ones, std::string("mesh: DeviceMesh((9223372036854775807, 2), (\"a\", \"b\"))"),
        std::string("mesh: DeviceMesh((-9223372036854775808,), (\"a\",))"), std::string("mesh: Mesh((2,), ('a))"),
        std::string("mesh: \"\\x01\""), std::string("mesh: jax......"), std::string("mesh: P")}) {
    const std::string text = kProblem + mesh + "\nplacements: {X: [R], W: [R], Y: [R]}\n";
    EXPECT_FALSE(read_dtensor({SourceText{"text", text}}, {}));
    EXPECT_FALSE(read_jax({SourceText{"text", text}}, {}));
  }
}

}  // namespace
}  // namespace einflow
