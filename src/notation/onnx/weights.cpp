#include "notation/onnx/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace einflow {

namespace {

/// Inputs that hold quantised weights, and those that hold scales.
struct QuantisedInputs {
  std::set<std::size_t> weights;
  std::set<std::size_t> scales;
};

const std::map<std::string, QuantisedInputs>& quantised_inputs() {
  static const std::map<std::string, QuantisedInputs> known{
      {"QLinearConv", {{3, 8}, {1, 4, 6}}}, {"QLinearMatMul", {{0, 3}, {1, 4, 6}}}, {"ConvInteger", {{1}, {}}},
      {"MatMulInteger", {{0, 1}, {}}},      {"DequantizeLinear", {{0}, {1}}},       {"QuantizeLinear", {{}, {1}}}};
  return known;
}

}  // namespace

OnnxWeights::OnnxWeights(const OnnxGraph& graph)
    : graph_(graph),
      roles_(graph.values.size(), OnnxRole::other),
      carries_(graph.values.size(), false),
      taken_by_(graph.values.size(), 0) {
  for (const int id : graph.initialisers) {
    const auto at = static_cast<std::size_t>(id);
    if (is_onnx_float(graph.values[at].type.element)) roles_[at] = OnnxRole::weight;
  }
  const auto set = [this](int id, OnnxRole role) {
    if (id >= 0 && graph_.values[static_cast<std::size_t>(id)].origin == OnnxOrigin::initialiser) {
      roles_[static_cast<std::size_t>(id)] = role;
    }
  };
  for (const OnnxNode& node : graph.nodes) {
    if (!node.is_onnx_own()) continue;
    if (node.operation == "BatchNormalization") {
      for (std::size_t i = 3; i < node.inputs.size(); ++i) set(node.inputs[i], OnnxRole::statistics);
    }
    const auto quantised = quantised_inputs().find(node.operation);
    if (quantised == quantised_inputs().end()) continue;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (quantised->second.weights.count(i) > 0) set(node.inputs[i], OnnxRole::weight);
      if (quantised->second.scales.count(i) > 0) set(node.inputs[i], OnnxRole::other);
    }
  }
  for (const int id : graph.initialisers) {
    carries_[static_cast<std::size_t>(id)] = roles_[static_cast<std::size_t>(id)] == OnnxRole::weight;
  }
  for (const OnnxNode& node : graph.nodes) {
    const bool any = std::any_of(node.inputs.begin(), node.inputs.end(),
                                 [this](int id) { return id >= 0 && carries_[static_cast<std::size_t>(id)]; });
    for (const int output : node.outputs) {
      if (output >= 0)
        carries_[static_cast<std::size_t>(output)] = any && graph.values[static_cast<std::size_t>(output)].fixed;
    }
  }
}

Count OnnxWeights::take(const OnnxNode& node) {
  Count sum = 0;
  ++taker_;
  std::vector<int> open(node.inputs.begin(), node.inputs.end());
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    if (id < 0 || !carries_[static_cast<std::size_t>(id)]) continue;
    const auto at = static_cast<std::size_t>(id);
    const OnnxValue& value = graph_.values[at];
    if (taken_by_[at] != 0) {
      if (taken_by_[at] != taker_) shared_.insert(value.name);
      continue;
    }
    taken_by_[at] = taker_;
    if (value.origin == OnnxOrigin::initialiser) {
      sum += elements(value.sizes().value_or(OnnxSizes{}));
    } else {
      const OnnxNode& producer = graph_.nodes[static_cast<std::size_t>(value.producer)];
      open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
    }
  }
  return sum;
}

Count OnnxWeights::total(OnnxRole role) const {
  Count sum = 0;
  for (const int id : graph_.initialisers) {
    if (roles_[static_cast<std::size_t>(id)] != role) continue;
    sum += elements(graph_.values[static_cast<std::size_t>(id)].sizes().value_or(OnnxSizes{}));
  }
  return sum;
}

std::int64_t OnnxWeights::initialisers(OnnxRole role) const {
  std::int64_t count = 0;
  for (const int id : graph_.initialisers) count += roles_[static_cast<std::size_t>(id)] == role ? 1 : 0;
  return count;
}

bool OnnxWeights::quantised() const {
  return std::any_of(graph_.initialisers.begin(), graph_.initialisers.end(), [this](int id) {
    const auto at = static_cast<std::size_t>(id);
    return roles_[at] == OnnxRole::weight && !is_onnx_float(graph_.values[at].type.element);
  });
}

std::optional<OnnxWeights::Bytes> OnnxWeights::bytes() const {
  std::map<int, Count> by_type;
  for (const int id : graph_.initialisers) {
    const OnnxValue& value = graph_.values[static_cast<std::size_t>(id)];
    if (roles_[static_cast<std::size_t>(id)] != OnnxRole::weight) continue;
    by_type.try_emplace(value.type.element, 0).first->second += elements(value.sizes().value_or(OnnxSizes{}));
  }
  Bytes bytes;
  for (const auto& [element, count] : by_type) {
    const auto type = onnx_element_type(element);
    if (!type) return std::nullopt;
    bytes.total += ceil_div(count * Count(type->bits), 8);
    const std::string width =
        type->bits % 8 == 0 ? fmt::format("{} B", type->bits / 8) : fmt::format("{} bit", type->bits);
    bytes.derivation +=
        fmt::format("{}{} x {} ({})", bytes.derivation.empty() ? "" : " + ", count.str(), width, type->name);
  }
  return by_type.empty() ? std::nullopt : std::optional(std::move(bytes));
}

}  // namespace einflow
