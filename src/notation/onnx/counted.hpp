// From an operator with known shapes to einsums, or to the reason why it has none.
#pragma once

#include <functional>

#include "notation/onnx/graph.hpp"

namespace einflow {

struct Counted {
  std::vector<Einsum> einsums;  ///< empty where nothing of the operator is counted
  std::string because;          ///< why it is not counted, or what of it is not; empty where all of it is
  bool moves_only = false;      ///< it has no arithmetic: only names and places of data change
};

/// All of an operator is this one einsum.
inline Counted counted_as(Einsum einsum) {
  Counted counted;
  counted.einsums.push_back(std::move(einsum));
  return counted;
}

/// A node and its graph; sizes of all inputs and outputs that a rule asks for are known.
struct NodeInGraph {
  const OnnxGraph& graph;
  const OnnxNode& node;

  bool has(std::size_t input) const { return graph.input(node, input) != nullptr; }
  OnnxSizes sizes(std::size_t input) const;
  OnnxSizes output_sizes(std::size_t output = 0) const;
  ElementType type(std::size_t input) const;
  ElementType output_type(std::size_t output = 0) const;
  /// The one element of a scalar constant.
  std::optional<double> scalar(std::size_t input) const;
};

/// Writes einsums over ranks whose extents it knows.
class EinsumWriter {
 public:
  void extent(const std::string& rank, std::int64_t size) { extents_[rank] = size; }
  std::int64_t extent(const std::string& rank) const { return extents_.at(rank); }

  struct Operand {
    std::string name;
    std::vector<std::string> ranks;
    ElementType type;
  };
  /// OUTPUT reduce= INPUT map INPUT ...; `reduce` is "" for "=".
  Einsum einsum(const std::string& name, const Operand& output, const std::string& reduce, const std::string& map,
                const std::vector<Operand>& inputs) const;

 private:
  std::map<std::string, std::int64_t> extents_;
};

/// Ranks "d0", "d1", ... of a tensor under broadcast to `output` sizes: those along which it does not repeat. Its last
/// axis lies at the output's last, or its first at axis `from`. Nothing where it does not fit.
std::optional<std::vector<std::string>> broadcast_ranks(const OnnxSizes& sizes, const OnnxSizes& output,
                                                        std::optional<std::int64_t> from = std::nullopt);
/// "d0", "d1", ... up to the number of axes.
std::vector<std::string> numbered_ranks(std::size_t axes);

/// Everything about one node. Requires known sizes of its inputs and outputs (but for those that may be unknown
/// because they carry no data: axes, shapes).
Counted count_operator(const NodeInGraph& at);

// The rules, by kind of operator; each is only asked about its own.
Counted count_convolution(const NodeInGraph& at);             // Conv, ConvInteger, QLinearConv
Counted count_transposed_convolution(const NodeInGraph& at);  // ConvTranspose
Counted count_matrix_product(const NodeInGraph& at);          // MatMul, MatMulInteger, QLinearMatMul
Counted count_gemm(const NodeInGraph& at);
Counted count_equation(const NodeInGraph& at);  // Einsum
Counted count_unary(const NodeInGraph& at, const std::string& function);
Counted count_binary(const NodeInGraph& at, const std::string& map);
Counted count_variadic(const NodeInGraph& at, const std::string& map);  // Sum, Max, Min, Mean
Counted count_reduction(const NodeInGraph& at);                         // Reduce...
Counted count_pool(const NodeInGraph& at);                              // windows
Counted count_global_pool(const NodeInGraph& at);
Counted count_softmax(const NodeInGraph& at);        // Softmax, LogSoftmax
Counted count_normalisation(const NodeInGraph& at);  // Layer, RMS, Instance, Group
Counted count_batch_normalisation(const NodeInGraph& at);
Counted count_local_response(const NodeInGraph& at);  // LRN

}  // namespace einflow
