#include "notation/scalesim/scalesim.hpp"

#include <gtest/gtest.h>

#include "base/diagnostic.hpp"
#include "notation/scalesim/array.hpp"
#include "notation/scalesim/topology.hpp"
#include "problem/constructors.hpp"

namespace einflow {
namespace {

const char* const kHeader =
    "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n";
const char* const kArray = "[architecture_presets]\nArrayHeight: 16\nArrayWidth: 8\nDataflow: ";

Document read(const std::string& topology, const std::string& configuration = {}) {
  std::vector<SourceText> sources{{"net.csv", topology}};
  if (!configuration.empty()) sources.push_back({"array.cfg", configuration});
  auto document = read_scalesim(sources, ReadOptions{});
  EXPECT_TRUE(document) << (document ? "" : render_in(document.error(), sources));
  return document ? *document : Document{};
}

const Einsum& einsum_of(const Document& document, std::size_t layer = 0) {
  return document.layers.at(layer).cascade.einsums.front();
}

bool says(const std::vector<std::string>& texts, const std::string& part) {
  for (const std::string& text : texts) {
    if (text.find(part) != std::string::npos) return true;
  }
  return false;
}

// The nests of tests/commands/test_scalesim.py: folds, rows, columns, what stays, what streams.
TEST(ScaleSim, NestIsFoldsThenArrayThenStream) {
  const std::pair<const char*, const char*> nests[] = {
      {"os",
       "at SRAM: X W Y\nfor m by 16\nfor n by 8\npar m by 1 on array.rows\npar n by 1 on array.cols\nat Reg: Y\n"
       "for k by 1\n"},
      {"ws",
       "at SRAM: X W Y\nfor k by 16\nfor n by 8\npar k by 1 on array.rows\npar n by 1 on array.cols\nat Reg: W\n"
       "for m by 1\n"},
      {"is",
       "at SRAM: X W Y\nfor k by 16\nfor m by 8\npar k by 1 on array.rows\npar m by 1 on array.cols\nat Reg: X\n"
       "for n by 1\n"}};
  for (const auto& [dataflow, nest] : nests) {
    const Document document = read("Layer, M, N, K\ng, 100, 70, 50\n", kArray + std::string(dataflow));
    const DocumentLayer& layer = document.layers.front();
    EXPECT_EQ(to_text(*layer.mapping, einsum_of(document), *layer.machine), nest);
    const auto parsed = parse_mapping(nest, einsum_of(document), *layer.machine);
    ASSERT_TRUE(parsed) << render(parsed.error(), {"nest", nest});
    EXPECT_EQ(*parsed, *layer.mapping);
  }
}

TEST(ScaleSim, RankThatFitsTheArrayHasNoFold) {
  const Document document = read("Layer, M, N, K\ng, 16, 1, 3\n", kArray + std::string("os"));
  EXPECT_EQ(to_text(*document.layers[0].mapping, einsum_of(document), *document.layers[0].machine),
            "at SRAM: X W Y\npar m by 1 on array.rows\npar n by 1 on array.cols\nat Reg: Y\nfor k by 1\n");
}

TEST(ScaleSim, TrailingCommasBlankLinesAndLineEndsChangeNothing) {
  const std::string rows = std::string(kHeader) + "Conv1, 224, 224, 7, 7, 3, 64, 2,\nb,56,28,3,1,64,32,1,\n";
  const Document plain = read(rows);
  for (const std::string& other :
       {std::string(kHeader) + "\nConv1,224,224,7,7,3,64,2\n\n  \n,,,,\nb ,56, 28,3,1,64,32,1",
        std::string("\xEF\xBB\xBF") +
            "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num "
            "Filter, Strides\r\nConv1,224,224,7,7,3,64,2,,,\r\nb,56,28,3,1,64,32,1, \r\n"}) {
    const Document document = read(other);
    ASSERT_EQ(document.layers.size(), 2U);
    EXPECT_EQ(einsum_of(document, 0), einsum_of(plain, 0));
    EXPECT_EQ(einsum_of(document, 1), einsum_of(plain, 1));
    EXPECT_EQ(document.layers[1].name, "b");
  }
}

TEST(ScaleSim, NinthColumnIsTheOtherStrideOrTheSparsity) {
  const Document document = read(std::string(kHeader) +
                                 "a, 9, 9, 3, 3, 1, 1, 2, 3,\nb, 9, 9, 3, 3, 1, 1, 2, 2:4,\n"
                                 "c, 9, 9, 3, 3, 1, 1, 2, 3, 1:1,\n");
  // 1 + (9 - 3) / 2 = 4 rows; 1 + (9 - 3) / 3 = 3 or 4 columns
  const auto output = [&](std::size_t layer) {
    const Einsum& einsum = einsum_of(document, layer);
    return std::pair(einsum.ranks[static_cast<std::size_t>(einsum.rank_named("p"))].extent,
                     einsum.ranks[static_cast<std::size_t>(einsum.rank_named("q"))].extent);
  };
  EXPECT_EQ(output(0), std::pair(std::int64_t{4}, std::int64_t{3}));
  EXPECT_EQ(output(1), std::pair(std::int64_t{4}, std::int64_t{4}));
  EXPECT_EQ(output(2), std::pair(std::int64_t{4}, std::int64_t{3}));
  EXPECT_TRUE(says(document.left_out, "net.csv:3: sparsity 2:4"));
}

// SCALE-Sim rounds a 38 x 38 input with a 7 x 7 filter and stride 2 up to 17 x 17 outputs.
TEST(ScaleSim, OutputSizeIsRoundedUp) {
  const std::string text = std::string(kHeader) + "c, 38, 38, 7, 7, 3, 32, 2,\n";
  EXPECT_EQ(to_text(einsum_of(read(text))), "O[n,k,p,q] += I[n,c,2*p+r,2*q+s] * F[k,c,r,s]");
  EXPECT_EQ(einsum_of(read(text)).tensors[0].axes[2].stored_size, 38);
  EXPECT_TRUE(says(read(text).conventions, "rounded up"));
  EXPECT_EQ(einsum_of(read(text, kArray + std::string("ws"))).ranks[0].extent, 17 * 17);
  EXPECT_EQ(einsum_of(read(std::string(kHeader) + "c, 37, 37, 7, 7, 3, 32, 2,\n")).tensors[0].axes[2].stored_size,
            std::nullopt);
}

TEST(ScaleSim, DepthwiseRowIsALayerForEachChannel) {
  const Document document =
      read(std::string(kHeader) + "Conv2DP, 114, 114, 3, 3, 32, 1, 1,\n", kArray + std::string("os"));
  EXPECT_EQ(document.layers[0].repeat, 32);
  EXPECT_EQ(einsum_of(document), [] {
    Einsum product = matmul(112 * 112, 1, 9);
    for (Tensor& tensor : product.tensors) tensor.type = *find_element_type("int8");
    product.name = "Conv2DP";
    return product;
  }());
}

TEST(ScaleSim, EveryLayerHasANameOfItsOwn) {
  const Document document = read("Layer, M, N, K\na,1,1,1\na,2,1,1\na_1,3,1,1\n,4,1,1\na,5,1,1\n");
  std::vector<std::string> names;
  for (const DocumentLayer& layer : document.layers) names.push_back(layer.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "a_2", "a_1", "layer3", "a_3"}));
}

TEST(ScaleSim, ColumnsThatTheToolDoesNotKnowAreSaid) {
  const Document document = read("Layer name,H,W,R,S,C,M,Strides,,,Eh,Ew\nc,9,9,3,3,1,1,1,,,7,7\n");
  EXPECT_EQ(document.left_out, (std::vector<std::string>{"net.csv:2: column 11 (Eh): SCALE-Sim has no such column",
                                                         "net.csv:2: column 12 (Ew): SCALE-Sim has no such column"}));
}

TEST(ScaleSim, IsRecognised) {
  EXPECT_TRUE(is_scalesim({"net.csv", ""}));
  EXPECT_TRUE(is_scalesim({"<stdin>", kHeader}));
  EXPECT_TRUE(is_scalesim({"<stdin>", "# made by hand\n[general]\n"}));
  EXPECT_FALSE(is_scalesim({"spec.yaml", "problem: x\n"}));
}

TEST(ScaleSim, TextsOfAnyBytesAreReadOrRefused) {
  for (const std::string& text : {std::string("\0,\0,1", 5), std::string(100000, ','), std::string(100000, '['),
                                  std::string("a,b,c,d\n") + std::string(300000, ','), std::string("[[]]=\n[=\n=:\n"),
                                  std::string("Layer,M,N,K\nx,1,1,\xff\xfe\n")}) {
    for (const char* name : {"x.csv", "x.cfg"}) EXPECT_FALSE(read_scalesim({{name, text}}, ReadOptions{}));
    EXPECT_FALSE(read_scalesim({{"net.csv", "Layer,M,N,K\na,1,1,1\n"}, {"x.cfg", text}}, ReadOptions{}));
  }
  EXPECT_FALSE(read_scalesim({}, ReadOptions{}));
}

}  // namespace
}  // namespace einflow
