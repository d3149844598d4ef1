#include "notation/onnx/onnx.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "notation/form.hpp"
#include "notation/onnx/graph.hpp"
#include "notation/onnx/windows.hpp"
#include "notation/onnx/wire.hpp"

namespace einflow {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Protocol Buffers' wire format, as far as models need it.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80U | (value & 0x7fU));
  return bytes + static_cast<char>(value);
}
std::string message(std::uint64_t field, const std::string& contents) {
  return varint(field << 3 | 2) + varint(contents.size()) + contents;
}
std::string number(std::uint64_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }

std::string model_of(const std::string& graph) {
  return number(1, 8) + message(8, message(1, "") + number(2, 13)) + message(7, graph);
}
std::string node(const std::string& operation, const std::vector<std::string>& inputs, const std::string& output) {
  std::string bytes;
  for (const std::string& input : inputs) bytes += message(1, input);
  return message(1, bytes + message(2, output) + message(4, operation));
}
std::string input(const std::string& name, const std::vector<std::uint64_t>& sizes) {
  std::string shape;
  for (const std::uint64_t size : sizes) shape += message(1, number(1, size));
  return message(11, message(1, name) + message(2, message(1, number(1, 1) + message(2, shape))));
}

const std::string kTiny = "examples/notations/onnx/tiny.onnx";

Result<Document> read_tiny(std::map<std::string, std::string> settings) {
  ReadOptions options;
  options.settings = std::move(settings);
  return read_onnx({{"tiny.onnx", text_of(kTiny)}}, options);
}

TEST(Onnx, IsRecognisedByItsEndingAndByItsBytes) {
  EXPECT_TRUE(is_onnx({"model.onnx", ""}));
  EXPECT_TRUE(is_onnx({"<stdin>", text_of(kTiny)}));
  EXPECT_FALSE(is_onnx({"spec.yaml", "problem: {matmul: {m: 1, n: 1, k: 1}}\n"}));
  EXPECT_FALSE(is_onnx({"<stdin>", ""}));
  EXPECT_FALSE(is_onnx({"<stdin>", "mk,kn->mn"}));
  const auto form = recognised_form({{"model.onnx", text_of(kTiny)}});
  ASSERT_TRUE(form);
  EXPECT_EQ((*form)->name, "onnx");
}

TEST(Onnx, OpenSizesAreSetByName) {
  const auto document = read_tiny({{"batch", "3"}});
  ASSERT_TRUE(document);
  EXPECT_EQ(to_text(document->layers[0].cascade.einsums[0]), "O[n,k,p,q] += I[n,c,2*p+r-1,2*q+s-1] * F[k,c,r,s]");
  EXPECT_EQ(document->layers[0].cascade.einsums[0].ranks[0], (Rank{"n", 3}));
  EXPECT_EQ(document->conventions[0], "--set batch=3");
}

std::string message_of(const Result<Document>& document) {
  return document ? "read" : document.error()[0].message + " | " + document.error()[0].hint;
}

TEST(Onnx, SettingsThatNameNoOpenSizeAreRefused) {
  EXPECT_EQ(message_of(read_tiny({})), "the model leaves a size open: batch | state it, for example: --set batch=8");
  EXPECT_EQ(message_of(read_tiny({{"batch", "8"}, {"bach", "8"}})),
            "--set bach=8: the model has no open size of that name | did you mean 'batch'?");
  EXPECT_EQ(message_of(read_tiny({{"batch", "many"}})),
            "--set batch=many: found 'many', expected a size from 0 to 1099511627776 | ");
  ReadOptions ranks;
  ranks.ranks["batch"] = "8";
  EXPECT_FALSE(read_onnx({{"tiny.onnx", text_of(kTiny)}}, ranks));
}

TEST(Onnx, AModelWithAnEmptyBatchComputesNothing) {
  const auto document = read_tiny({{"batch", "0"}});
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->layers.empty());
}

/// pads of an axis of 5 under a kernel of 2, by the formulas of the Conv operator's specification.
TEST(Onnx, SamePaddingPutsTheOddElementAtTheEndOrTheBeginning) {
  OnnxNode conv;
  conv.operation = "Conv";
  for (const auto& [mode, begin, end] :
       {std::tuple("SAME_UPPER", 0, 1), std::tuple("SAME_LOWER", 1, 0), std::tuple("VALID", 0, 0)}) {
    conv.attributes["auto_pad"].text = mode;
    const auto windows = windows_of(conv, {1, 1, 5}, {2});
    ASSERT_TRUE(windows) << mode;
    EXPECT_EQ((*windows)[0].begin, begin) << mode;
    EXPECT_EQ((*windows)[0].end, end) << mode;
  }
}

/// 5 elements and padding 1 and 1 under a window of 2 by 3: the third window would start behind the last element.
/// onnx 1.12 counts it, PyTorch does not.
TEST(Onnx, TheDeclaredShapeDecidesWhetherCeilModeHasAWindowInThePadding) {
  const auto attribute = [](const std::string& name, const std::vector<std::uint64_t>& values) {
    std::string bytes = message(1, name) + number(20, 7);
    for (const std::uint64_t value : values) bytes += number(8, value);
    return message(5, bytes);
  };
  const std::string pool =
      message(1, message(1, "x") + message(2, "y") + message(4, "MaxPool") + attribute("kernel_shape", {2}) +
                     attribute("strides", {3}) + attribute("pads", {1, 1}) +
                     message(5, message(1, "ceil_mode") + number(3, 1) + number(20, 2)));
  const auto declared = [](std::uint64_t size) {
    std::string output = input("y", {1, 1, size});
    output[0] = message(12, "")[0];
    return output;
  };
  for (const std::uint64_t size : {2, 3}) {
    const auto document = read_onnx({{"m.onnx", model_of(pool + input("x", {1, 1, 5}) + declared(size))}}, {});
    ASSERT_TRUE(document) << render(document.error(), {"m.onnx", {}});
    EXPECT_EQ(document->layers[0].cascade.einsums[0].operations(), Count(2 * static_cast<std::int64_t>(size)));
  }
  EXPECT_FALSE(read_onnx({{"m.onnx", model_of(pool + input("x", {1, 1, 5}) + declared(1))}}, {}));
}

TEST(Onnx, TypesAreThoseOfTensorProto) {
  EXPECT_EQ(onnx_element_type(1)->name, "fp32");
  EXPECT_EQ(onnx_element_type(3)->name, "int8");
  EXPECT_EQ(onnx_element_type(10)->name, "fp16");
  EXPECT_EQ(onnx_element_type(16)->name, "bf16");
  EXPECT_EQ(onnx_element_type(22)->bits, 4);
  EXPECT_FALSE(onnx_element_type(8)) << "texts";
  EXPECT_FALSE(onnx_element_type(0));
  EXPECT_FALSE(onnx_element_type(1000));
}

TEST(Onnx, NodesWithoutANameAreNamedByOperatorAndPosition) {
  const std::string graph = node("Relu", {"x"}, "a") + node("Relu", {"a"}, "b") + input("x", {2, 3});
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_TRUE(document);
  ASSERT_EQ(document->layers.size(), 2U);
  EXPECT_EQ(document->layers[0].name, "Relu_0");
  EXPECT_EQ(document->layers[1].name, "Relu_1");
}

TEST(Onnx, ValuesOfWeightsAreNotLookedAt) {
  // An initialiser of 4 MiB: its elements go before anything is parsed.
  const std::string weight = message(
      5, number(1, 1024) + number(1, 1024) + number(2, 1) + message(8, "w") + message(9, std::string(4 << 20, 'w')));
  const std::string graph = node("MatMul", {"x", "w"}, "y") + weight + input("x", {2, 1024});
  const auto essential = essential_model(model_of(graph));
  ASSERT_TRUE(essential);
  EXPECT_LT(essential->bytes.size(), 200U);
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_TRUE(document);
  EXPECT_EQ(document->layers[0].parameters, Count(1024 * 1024));
}

TEST(Onnx, SharedWeightsAreCountedAtTheFirstLayerAndNamed) {
  const std::string weight = message(5, number(1, 4) + number(1, 4) + number(2, 1) + number(14, 1) + message(8, "w"));
  const std::string graph = node("Identity", {"w"}, "same") + node("MatMul", {"x", "w"}, "y") +
                            node("MatMul", {"y", "same"}, "z") + weight + input("x", {2, 4});
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_TRUE(document);
  ASSERT_EQ(document->layers.size(), 2U);
  EXPECT_EQ(document->layers[0].parameters, Count(16));
  EXPECT_EQ(document->layers[1].parameters, Count(0));
  EXPECT_EQ(document->conventions.back(), "weights of several layers, counted at the first: w");
}

TEST(Onnx, WeightsThatAreFedFromOutsideAreNoParametersAndNotZero) {
  const std::string graph = node("MatMul", {"x", "w"}, "y") + input("x", {2, 4}) + input("w", {4, 3});
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_TRUE(document);
  EXPECT_FALSE(document->layers[0].parameters);
  EXPECT_TRUE(document->figures.empty());
}

TEST(Onnx, TenMegabytesOfNodesAreRead) {
  std::string graph = input("v0", {1, 64});
  const std::string padding(40, '_');
  int nodes = 0;
  for (; graph.size() < 10'000'000; ++nodes) {
    graph += node(nodes % 2 == 0 ? "Relu" : "Add",
                  nodes % 2 == 0 ? std::vector{fmt::format("v{}{}", nodes, nodes == 0 ? "" : padding)}
                                 : std::vector(2, fmt::format("v{}{}", nodes, padding)),
                  fmt::format("v{}{}", nodes + 1, padding));
  }
  const auto document = read_onnx({{"large.onnx", model_of(graph)}}, {});
  ASSERT_TRUE(document) << render(document.error(), {"large.onnx", {}});
  EXPECT_EQ(document->layers.size(), static_cast<std::size_t>(nodes));
}

TEST(Onnx, ChainsThatDoubleShapesDoNotExhaustMemory) {
  // 60 Concats of a shape with itself would make 2^60 axes.
  std::string graph = input("x", {2, 3}) + node("Shape", {"x"}, "s0");
  for (int i = 0; i < 60; ++i) {
    const std::string axis = message(5, message(1, "axis") + number(3, 0) + number(20, 2));
    graph += message(1, message(1, fmt::format("s{}", i)) + message(1, fmt::format("s{}", i)) +
                            message(2, fmt::format("s{}", i + 1)) + message(4, "Concat") + axis);
  }
  graph += node("Reshape", {"x", "s60"}, "y");
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_FALSE(document);
  EXPECT_NE(document.error()[0].message.find("'Concat_40'"), std::string::npos) << document.error()[0].message;
}

TEST(Onnx, EmptyPartsDoNotExhaustMemory) {
  // Two bytes each, some hundred as objects.
  std::string graph;
  for (int i = 0; i < 3'000'000; ++i) graph += std::string("\x0a\x00", 2);
  const auto document = read_onnx({{"m.onnx", model_of(graph)}}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error()[0].message, "the model has more than 2000000 nodes, attributes, names and other parts");
}

TEST(Onnx, DamagedModelsAreReadOrRefused) {
  std::mt19937 random(1);
  int refused = 0, read = 0;
  for (const char* name : {"convolutions", "transposed", "products", "quantised", "newer", "uncounted"}) {
    const std::string whole = text_of(fmt::format("tests/reference/onnx/{}.onnx", name));
    ASSERT_FALSE(whole.empty());
    for (int i = 0; i < 2000; ++i) {
      std::string bytes = whole;
      for (int changes = 1 + static_cast<int>(random() % 3); changes > 0; --changes) {
        const std::size_t at = random() % bytes.size();
        if (random() % 4 == 0)
          bytes.erase(at, 1 + random() % 8);
        else
          bytes[at] = static_cast<char>(random() % 4 == 0 ? random() : bytes[at] + (random() % 2 == 0 ? 1 : -1));
        if (bytes.empty()) bytes = "x";
      }
      const auto document = read_onnx({{"m.onnx", bytes}}, {});
      EXPECT_TRUE(document || !document.error().empty());
      document ? ++read : ++refused;
    }
  }
  EXPECT_GT(read, 500);
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace einflow
