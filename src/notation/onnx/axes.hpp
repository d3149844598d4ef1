// Which axes an operator works on.
#pragma once

#include "base/diagnostic.hpp"
#include "notation/onnx/graph.hpp"

namespace einflow {

/// An axis attribute that may count from the end; an error outside -axes to axes-1.
Result<std::size_t> axis_at(std::int64_t axis, std::size_t axes);

/// For each axis of the input whether a Reduce operator reduces it; nothing where its input `axes` is computed while
/// the network runs.
Result<std::optional<std::vector<bool>>> reduced_axes(const OnnxGraph& graph, const OnnxNode& node, std::size_t axes);

/// An Einsum equation with its sizes: indices of each operand and of the output, by name; ellipsis axes are
/// "e0", "e1", ... An operand's axis of size 1 under an index of another size is broadcast and has the name "".
struct OnnxEquation {
  std::vector<std::vector<std::string>> operands;
  std::vector<std::string> output;
  std::map<std::string, std::int64_t> extents;
};
Result<OnnxEquation> parse_equation(const std::string& text, const std::vector<OnnxSizes>& operands);

/// numpy's broadcast of several shapes; an error where sizes differ and none is 1.
Result<OnnxSizes> broadcast(const std::vector<OnnxSizes>& shapes);

}  // namespace einflow
