// A document as a network, in text and JSON.
#include "report/network_view.hpp"

#include <gtest/gtest.h>

#include "problem/constructors.hpp"

namespace einflow {
namespace {

/// Two matrix products and an addition; the text does not say how many weights the addition has.
Document small() {
  Document document;
  document.name = "small";
  DocumentLayer product;
  product.name = "product";
  product.repeat = 3;
  product.cascade.einsums = {matmul(2, 3, 4)};
  product.parameters = Count(12);
  DocumentLayer sum;
  sum.name = "sum";
  sum.cascade.einsums = {elementwise(2, 3)};
  document.layers = {product, sum};
  document.uncounted = {{"/model/Gather_1", "Gather", 2, "rows are copied"}, {"", "TopK", 1, "a choice"}};
  document.figures = {{"KV cache", 2048, "B", "2 x 1024"}, {"parameters", 36, "", "3 x 12"}};
  document.left_out = {"'extra' (line 3)"};
  document.conventions = {"batch 1"};
  return document;
}

TEST(NetworkView, TextHasLayersTotalsFiguresAndWhatIsNotCounted) {
  EXPECT_EQ(network_text(small(), "onnx", {}),
            R"(small
  read as: onnx

Layers, each figure of one occurrence
  layer    repeat  MACs  other op  parameters
  product       3    24                    12
  sum           1               6

In all
  MACs               72
  FLOPs (2 x MACs)  144
  other operations    6
  parameters: not every layer says how many it has

Figures
  KV cache: 2,048 B = 2 KiB
    = 2 x 1024
  parameters: 36
    = 3 x 12

Not counted
  - 2 x Gather (/model/Gather_1): rows are copied
  - TopK: a choice

Left out
  - 'extra' (line 3)

Conventions
  - batch 1

Einsums
  product
    Y[m,n] += X[m,k] * W[k,n]; m: 2, n: 3, k: 4
  sum
    Z[m,n] = X[m,n] + Y[m,n]; m: 2, n: 3
)");
}

TEST(NetworkView, JsonLeavesOutWhatIsNotSaid) {
  const std::string text = network_json(small(), "onnx").str();
  EXPECT_NE(text.find(R"("format": "einflow-network-1")"), std::string::npos);
  EXPECT_NE(text.find(R"("macs": 72)"), std::string::npos);
  EXPECT_EQ(text.find("layer_parameters"), std::string::npos);
  Document document = small();
  document.layers[1].parameters = Count(0);
  EXPECT_NE(network_json(document, "onnx").str().find(R"("layer_parameters": 36)"), std::string::npos);
}

TEST(NetworkView, ANetworkWithoutEinsumsSaysSo) {
  Document document;
  document.uncounted = {{"a", "Loop", 1, "its trips depend on values"}};
  const std::string text = network_text(document, "onnx", {});
  EXPECT_NE(text.find("no operation of it has an einsum"), std::string::npos);
  EXPECT_NE(text.find("- Loop (a): its trips depend on values"), std::string::npos);
}

}  // namespace
}  // namespace einflow
