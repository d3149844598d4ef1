#include "notation/onnx/graph.hpp"

#include <fmt/format.h>

#include <array>

#include "base/message.hpp"

namespace einflow {

std::optional<OnnxSizes> OnnxValue::sizes() const {
  if (!type.tensor || !type.ranked) return std::nullopt;
  OnnxSizes all;
  for (const auto& size : type.sizes) {
    if (!size) return std::nullopt;
    all.push_back(*size);
  }
  return all;
}

std::int64_t OnnxNode::integer(std::string_view attribute, std::int64_t otherwise) const {
  const auto found = attributes.find(std::string(attribute));
  return found == attributes.end() ? otherwise : found->second.integer;
}

std::string OnnxNode::text(std::string_view attribute, std::string_view otherwise) const {
  const auto found = attributes.find(std::string(attribute));
  return found == attributes.end() ? std::string(otherwise) : found->second.text;
}

const std::vector<std::int64_t>* OnnxNode::integers(std::string_view attribute) const {
  const auto found = attributes.find(std::string(attribute));
  return found == attributes.end() ? nullptr : &found->second.integers;
}

const OnnxValue* OnnxGraph::input(const OnnxNode& node, std::size_t index) const {
  if (index >= node.inputs.size() || node.inputs[index] < 0) return nullptr;
  return &values[static_cast<std::size_t>(node.inputs[index])];
}

const OnnxValue* OnnxGraph::output(const OnnxNode& node, std::size_t index) const {
  if (index >= node.outputs.size() || node.outputs[index] < 0) return nullptr;
  return &values[static_cast<std::size_t>(node.outputs[index])];
}

std::string shape_text(const OnnxType& type) {
  if (!type.tensor) return "(no tensor)";
  if (!type.ranked) return "of unknown shape";
  if (type.sizes.empty()) return "scalar";
  std::string text;
  for (std::size_t i = 0; i < type.sizes.size(); ++i) {
    const bool named = i < type.symbols.size() && !type.symbols[i].empty();
    text += (i > 0 ? "x" : "") + (type.sizes[i] ? fmt::format("{}", *type.sizes[i])
                                  : named       ? type.symbols[i]
                                                : std::string("?"));
  }
  return text;
}

std::string shape_text(const OnnxSizes& sizes) {
  return sizes.empty() ? "scalar" : fmt::format("{}", fmt::join(sizes, "x"));
}

std::string node_text(const OnnxNode& node) { return fmt::format("{} ({})", in_quotes(node.name), node.operation); }

std::string inputs_text(const OnnxGraph& graph, const OnnxNode& node) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t i = 0; i < node.inputs.size() && i < kShown; ++i) {
    const OnnxValue* value = graph.input(node, i);
    if (value == nullptr) continue;
    text += fmt::format("{}{} {}", text.empty() ? "; inputs: " : ", ", in_quotes(value->name), shape_text(value->type));
  }
  if (node.inputs.size() > kShown) text += ", ...";
  return text;
}

Count elements(const OnnxSizes& sizes) {
  Count product = 1;
  for (const std::int64_t size : sizes) product *= Count(size);
  return product;
}

namespace {

struct KnownType {
  const char* name;
  bool floating;
};

/// By TensorProto.DataType (onnx.proto of onnx 1.19). FNUZ variants differ in what encodings mean, not in width.
constexpr std::array<KnownType, 27> kTypes{
    {{"", false},       {"fp32", true},    {"uint8", false}, {"int8", false},   {"uint16", false}, {"int16", false},
     {"int32", false},  {"int64", false},  {"", false},      {"bool", false},   {"fp16", true},    {"fp64", true},
     {"uint32", false}, {"uint64", false}, {"64-bit", true}, {"128-bit", true}, {"bf16", true},    {"e4m3", true},
     {"e4m3", true},    {"e5m2", true},    {"e5m2", true},   {"uint4", false},  {"int4", false},   {"fp4", true},
     {"fp8", true},     {"2-bit", false},  {"int2", false}}};

}  // namespace

std::optional<ElementType> onnx_element_type(int element) {
  if (element < 1 || element >= static_cast<int>(kTypes.size())) return std::nullopt;
  return find_element_type(kTypes[static_cast<std::size_t>(element)].name);
}

bool is_onnx_float(int element) {
  return element >= 1 && element < static_cast<int>(kTypes.size()) &&
         kTypes[static_cast<std::size_t>(element)].floating;
}

}  // namespace einflow
