// Shapes of a graph's values: by the ONNX library where it can, by einflow's own rules where not.
#pragma once

#include "notation/onnx/library.hpp"

namespace einflow {

/// Fills in the types, sizes and known elements of all values, node by node. Errors: what a node's inputs and
/// attributes contradict, shapes that the model declares and its nodes do not give. What cannot be known stays blank.
Diagnostics infer_shapes(OnnxLibrary& library, OnnxGraph& graph);

/// The rules of einflow's own: operators that onnx 1.12 infers by rank only or unsafely, and those of newer
/// opsets. Nothing where there is no rule; outputs that depend on data are blank.
std::optional<Result<std::vector<OnnxType>>> own_types(const OnnxGraph& graph, const OnnxNode& node);

/// The elements of a node's first output, where those of its inputs are few, whole and known: Shape, Gather, Concat,
/// Mul, ... as exporters write them to compute shapes.
std::optional<std::vector<std::int64_t>> constant_elements(const OnnxGraph& graph, const OnnxNode& node);

}  // namespace einflow
