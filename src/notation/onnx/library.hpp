// The ONNX library (Debian's libonnx 1.12) behind values: parsing, operator schemas, shape inference of one node.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "notation/onnx/graph.hpp"

namespace einflow {

/// The library's objects of a model.
class OnnxLibrary {
 public:
  /// Parses what essential_model left. Errors: no model, no graph.
  static Result<OnnxLibrary> parse(const std::string& bytes);
  OnnxLibrary(OnnxLibrary&&) noexcept;
  OnnxLibrary& operator=(OnnxLibrary&&) noexcept;
  ~OnnxLibrary();

  /// The graph as values; shapes as the model declares them. Errors: names defined twice, initialisers whose data are
  /// not as large as their shape, sizes out of range, operators of domains without an opset.
  Result<OnnxGraph> graph() const;

  /// What the operator's schema says against a node of ONNX's own domain: an unknown operator, missing inputs, unknown
  /// or missing attributes; nothing for opsets that the library does not know.
  Diagnostics schema_faults(const OnnxNode& node) const;

  /// Whether the schema of the node's operator infers shapes, and does so safely for any attributes and sizes.
  bool infers(const OnnxNode& node) const;

  /// Types of the node's outputs from those of its inputs and their known elements. Errors: what the library finds
  /// wrong, in its words.
  Result<std::vector<OnnxType>> infer(const OnnxGraph& graph, int node);

 private:
  struct Model;
  explicit OnnxLibrary(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

}  // namespace einflow
