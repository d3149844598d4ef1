// What must hold of a graph before its shapes are looked at.
#pragma once

#include "base/diagnostic.hpp"
#include "notation/onnx/graph.hpp"

namespace einflow {

/// Values that nothing makes, cycles, and nodes listed before those that they need.
Diagnostics order_faults(const OnnxGraph& graph);

/// Puts the sizes of --set into the symbolic dimensions of the graph's inputs and of the declared shapes. Errors: every
/// input size that is still open, settings that name no dimension, values that are no size.
Diagnostics set_symbols(const std::map<std::string, std::string>& settings, OnnxGraph& graph);

}  // namespace einflow
