// An ONNX graph as values: what the library's objects say, in einflow's words.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/count.hpp"
#include "problem/einsum.hpp"

namespace einflow {

using OnnxSizes = std::vector<std::int64_t>;

/// Largest size of an axis, and most axes of a tensor, that are taken.
constexpr std::int64_t kOnnxLargestSize = std::int64_t{1} << 40;
constexpr std::size_t kOnnxMostAxes = 32;
/// Newest opset of the default domain that the library (onnx 1.12) knows.
constexpr std::int64_t kOnnxLibraryOpset = 17;

struct OnnxType {
  bool tensor = true;   ///< else a sequence, map, optional or sparse tensor
  int element = 0;      ///< TensorProto.DataType; 0 = not known
  bool ranked = false;  ///< whether `sizes` says how many axes there are
  std::vector<std::optional<std::int64_t>> sizes;
  std::vector<std::string> symbols;  ///< dim_param of each axis or ""; only of declared types
};

enum class OnnxOrigin { nowhere, input, initialiser, node };

struct OnnxValue {
  std::string name;
  OnnxOrigin origin = OnnxOrigin::nowhere;
  int producer = -1;                                  ///< node, where it has one
  OnnxType type;                                      ///< what is known of it
  std::optional<OnnxType> declared;                   ///< value_info or output of the graph
  std::optional<std::vector<std::int64_t>> integers;  ///< its elements, where they are few, whole and known
  std::optional<std::vector<float>> numbers;          ///< likewise of floats
  bool fixed = false;  ///< known before any data arrive: an initialiser, a constant, or made of such
  int blank = -1;      ///< node at which its sizes were lost

  /// All sizes, where all are known.
  std::optional<OnnxSizes> sizes() const;
};

struct OnnxAttribute {
  enum class Kind { integer, number, text, integers, numbers, texts, tensor, graph, other };
  Kind kind = Kind::other;
  std::int64_t integer = 0;
  float number = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  int element = 0;  ///< type of a tensor
};

struct OnnxNode {
  std::string name;   ///< unique; "Conv_12" where the model gives none
  bool named = true;  ///< whether the model gives the name
  std::string operation;
  std::string domain;        ///< "" is ONNX's own
  std::int64_t opset = 0;    ///< version of its domain
  std::vector<int> inputs;   ///< values; -1 where left out
  std::vector<int> outputs;  ///< likewise
  std::map<std::string, OnnxAttribute> attributes;
  std::int64_t inner_nodes = 0;  ///< of the graphs in its attributes

  bool is_onnx_own() const { return domain.empty(); }
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  /// nullptr where it is not given.
  const std::vector<std::int64_t>* integers(std::string_view attribute) const;
};

struct OnnxGraph {
  std::string name;
  std::vector<OnnxNode> nodes;
  std::vector<OnnxValue> values;
  std::unordered_map<std::string, int> ids;  ///< of values by name
  std::vector<int> inputs;                   ///< without the initialisers among them
  std::vector<int> outputs;
  std::vector<int> initialisers;
  std::vector<std::string> functions;   ///< "domain:name" that the model defines itself
  std::int64_t inner_initialisers = 0;  ///< of the graphs in attributes
  std::int64_t opset = 0;               ///< of the default domain
  std::int64_t renamed = 0;             ///< nodes whose name another node has too
  std::vector<std::string> left_out;

  /// The value of a node's input; nullptr where it is left out.
  const OnnxValue* input(const OnnxNode& node, std::size_t index) const;
  const OnnxValue* output(const OnnxNode& node, std::size_t index) const;
};

/// "2x3x224"; "scalar"; '?' for an unknown size.
std::string shape_text(const OnnxType& type);
std::string shape_text(const OnnxSizes& sizes);
/// "'conv1' (Conv)"
std::string node_text(const OnnxNode& node);
/// "; inputs: 'x' 1x3x8x8, 'w' 4x3x3x3", for messages.
std::string inputs_text(const OnnxGraph& graph, const OnnxNode& node);

/// Number of elements; overflows where it leaves 128 bits.
Count elements(const OnnxSizes& sizes);

/// einflow's type for a TensorProto.DataType; nothing for texts and what is not known.
std::optional<ElementType> onnx_element_type(int element);
/// Whether it is one of the floating-point types.
bool is_onnx_float(int element);

}  // namespace einflow
