#include "notation/onnx/inference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostErrors = 40;

/// What two sources say of one type, or nothing where they contradict.
std::optional<OnnxType> merged(const OnnxType& one, const OnnxType& other) {
  if (one.tensor != other.tensor) return one.element == 0 && !one.ranked ? std::optional(other) : std::nullopt;
  OnnxType both = one;
  if (both.element == 0) both.element = other.element;
  if (other.element != 0 && other.element != both.element) return std::nullopt;
  if (!other.ranked) return both;
  if (!both.ranked) {
    both.ranked = true;
    both.sizes = other.sizes;
    both.symbols = other.symbols;
    return both;
  }
  if (both.sizes.size() != other.sizes.size()) return std::nullopt;
  for (std::size_t i = 0; i < both.sizes.size(); ++i) {
    if (!both.sizes[i]) both.sizes[i] = other.sizes[i];
    if (other.sizes[i] && *other.sizes[i] != *both.sizes[i]) return std::nullopt;
  }
  return both;
}

std::string type_text(const OnnxType& type) {
  const auto element = onnx_element_type(type.element);
  return shape_text(type) + (element ? " of " + element->name : "");
}

bool in_range(const OnnxType& type) {
  if (type.sizes.size() > kOnnxMostAxes) return false;
  return std::all_of(type.sizes.begin(), type.sizes.end(),
                     [](const auto& size) { return !size || (*size >= 0 && *size <= kOnnxLargestSize); });
}

class Inference {
 public:
  Inference(OnnxLibrary& library, OnnxGraph& graph) : library_(library), graph_(graph) {}

  Diagnostics run() {
    for (std::size_t n = 0; n < graph_.nodes.size() && errors_.size() < kMostErrors; ++n) infer(static_cast<int>(n));
    return std::move(errors_);
  }

 private:
  void error(const OnnxNode& node, const std::string& message, std::string hint = {}) {
    errors_.push_back(
        {{}, fmt::format("node {}: {}{}", node_text(node), message, inputs_text(graph_, node)), std::move(hint), {}});
  }

  void infer(int index) {
    const OnnxNode& node = graph_.nodes[static_cast<std::size_t>(index)];
    Diagnostics faults = library_.schema_faults(node);
    if (!faults.empty()) {
      errors_.insert(errors_.end(), std::make_move_iterator(faults.begin()), std::make_move_iterator(faults.end()));
      return lose(node, index);
    }
    Result<std::vector<OnnxType>> types = std::vector<OnnxType>(node.outputs.size());
    if (node.operation == "Constant" && node.is_onnx_own() && graph_.output(node, 0) != nullptr &&
        graph_.output(node, 0)->type.ranked) {
      types = std::vector<OnnxType>{graph_.output(node, 0)->type};  // read with the model
    } else if (auto own = own_types(graph_, node)) {
      types = std::move(*own);
    } else if (library_.infers(node)) {
      types = library_.infer(graph_, index);
    }
    if (!types) {
      for (const Diagnostic& problem : types.error()) error(node, problem.message, problem.hint);
      return lose(node, index);
    }
    const auto known = constant_elements(graph_, node);
    const bool fixed = is_fixed(node);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] < 0) continue;
      OnnxValue& value = graph_.values[static_cast<std::size_t>(node.outputs[i])];
      settle(node, i < types->size() ? (*types)[i] : OnnxType{}, value);
      if (i == 0 && known && agrees(value, *known)) value.integers = *known;
      value.fixed = value.fixed || fixed || value.integers.has_value();
      if (!value.sizes()) value.blank = origin_of_blank(node, index);
    }
  }

  /// Elements are only kept where the shape says the same count and the type is one of whole numbers.
  static bool agrees(const OnnxValue& value, const std::vector<std::int64_t>& known) {
    const auto sizes = value.sizes();
    return sizes && sizes->size() <= 1 && !is_onnx_float(value.type.element) &&
           elements(*sizes) == Count(static_cast<std::int64_t>(known.size()));
  }

  bool is_fixed(const OnnxNode& node) const {
    if (node.inner_nodes > 0 || node.inputs.empty() || node.operation.rfind("Random", 0) == 0) return false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const OnnxValue* value = graph_.input(node, i);
      if (value != nullptr && !value->fixed) return false;
    }
    return true;
  }

  /// The output's type: what was inferred and what the model declares.
  void settle(const OnnxNode& node, OnnxType type, OnnxValue& value) {
    if (value.declared) {
      auto both = merged(type, *value.declared);
      if (!both) both = pooled_less(node, type, *value.declared);
      if (!both) {
        error(node, fmt::format("its output {} is declared as {}, but its inputs make it {}", in_quotes(value.name),
                                type_text(*value.declared), type_text(type)));
        return;
      }
      type = std::move(*both);
    }
    if (!in_range(type)) {
      error(node, fmt::format("its output {} has the shape {}; sizes from 0 to {} and at most {} axes are read",
                              in_quotes(value.name), shape_text(type), kOnnxLargestSize, kOnnxMostAxes));
      return;
    }
    value.type = std::move(type);
  }

  /// With ceil_mode a last window may start in the padding behind the input. onnx 1.12 counts it; PyTorch and
  /// ONNX from opset 22 on do not: what the model declares decides.
  static std::optional<OnnxType> pooled_less(const OnnxNode& node, const OnnxType& type, const OnnxType& declared) {
    if (node.integer("ceil_mode", 0) == 0 || type.sizes.size() != declared.sizes.size()) return std::nullopt;
    OnnxType less = type;
    for (std::size_t i = 2; i < type.sizes.size(); ++i) {
      if (type.sizes[i] && declared.sizes[i] && *declared.sizes[i] == *type.sizes[i] - 1)
        less.sizes[i] = declared.sizes[i];
    }
    return merged(less, declared);
  }

  int origin_of_blank(const OnnxNode& node, int index) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const OnnxValue* value = graph_.input(node, i);
      if (value != nullptr && !value->sizes() && value->blank >= 0) return value->blank;
    }
    return index;
  }

  void lose(const OnnxNode& node, int index) {
    for (const int output : node.outputs) {
      if (output >= 0) graph_.values[static_cast<std::size_t>(output)].blank = index;
    }
  }

  OnnxLibrary& library_;
  OnnxGraph& graph_;
  Diagnostics errors_;
};

}  // namespace

Diagnostics infer_shapes(OnnxLibrary& library, OnnxGraph& graph) { return Inference(library, graph).run(); }

}  // namespace einflow
