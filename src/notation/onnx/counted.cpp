#include "notation/onnx/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace einflow {

OnnxSizes NodeInGraph::sizes(std::size_t input) const {
  const OnnxValue* value = graph.input(node, input);
  return value == nullptr ? OnnxSizes{} : value->sizes().value_or(OnnxSizes{});
}

OnnxSizes NodeInGraph::output_sizes(std::size_t output) const {
  const OnnxValue* value = graph.output(node, output);
  return value == nullptr ? OnnxSizes{} : value->sizes().value_or(OnnxSizes{});
}

ElementType NodeInGraph::type(std::size_t input) const {
  const OnnxValue* value = graph.input(node, input);
  return value == nullptr ? ElementType{} : onnx_element_type(value->type.element).value_or(ElementType{});
}

ElementType NodeInGraph::output_type(std::size_t output) const {
  const OnnxValue* value = graph.output(node, output);
  return value == nullptr ? ElementType{} : onnx_element_type(value->type.element).value_or(ElementType{});
}

std::optional<double> NodeInGraph::scalar(std::size_t input) const {
  const OnnxValue* value = graph.input(node, input);
  if (value == nullptr) return std::nullopt;
  if (value->numbers && value->numbers->size() == 1) return value->numbers->front();
  if (value->integers && value->integers->size() == 1) return static_cast<double>(value->integers->front());
  return std::nullopt;
}

Einsum EinsumWriter::einsum(const std::string& name, const Operand& output, const std::string& reduce,
                            const std::string& map, const std::vector<Operand>& inputs) const {
  Einsum einsum;
  einsum.name = name;
  einsum.map = map;
  const auto tensor = [&](const Operand& operand) {
    Tensor made;
    made.name = operand.name;
    made.type = operand.type;
    for (const std::string& rank : operand.ranks) {
      int index = einsum.rank_named(rank);
      if (index < 0) {
        index = static_cast<int>(einsum.ranks.size());
        einsum.ranks.push_back({rank, extents_.at(rank)});
      }
      Axis axis;
      axis.terms.push_back({index, 1});
      made.axes.push_back(std::move(axis));
    }
    return made;
  };
  Tensor last = tensor(output);
  for (const Operand& input : inputs) einsum.tensors.push_back(tensor(input));
  einsum.tensors.push_back(std::move(last));
  einsum.reduce = reduce;
  return einsum;
}

std::optional<std::vector<std::string>> broadcast_ranks(const OnnxSizes& sizes, const OnnxSizes& output,
                                                        std::optional<std::int64_t> from) {
  const auto all = static_cast<std::int64_t>(output.size()), own = static_cast<std::int64_t>(sizes.size());
  std::int64_t first = from.value_or(all - own);
  if (from && first < 0) first += all;
  if (own > all || first < 0 || first > all - own) return std::nullopt;
  std::vector<std::string> ranks;
  for (std::int64_t i = 0; i < own; ++i) {
    const std::int64_t size = sizes[static_cast<std::size_t>(i)];
    const std::int64_t target = output[static_cast<std::size_t>(first + i)];
    if (size == target)
      ranks.push_back(fmt::format("d{}", first + i));
    else if (size != 1)
      return std::nullopt;
  }
  return ranks;
}

std::vector<std::string> numbered_ranks(std::size_t axes) {
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < axes; ++i) ranks.push_back(fmt::format("d{}", i));
  return ranks;
}

namespace {

constexpr const char* kMoves = "moves, names or describes data: no arithmetic";
constexpr const char* kInference = "does nothing at inference";

/// Functions of one tensor, by einflow's name for them.
const std::map<std::string, std::string>& unary_functions() {
  static const std::map<std::string, std::string> functions{{"Abs", "abs"},
                                                            {"Acos", "acos"},
                                                            {"Acosh", "acosh"},
                                                            {"Asin", "asin"},
                                                            {"Asinh", "asinh"},
                                                            {"Atan", "atan"},
                                                            {"Atanh", "atanh"},
                                                            {"BitwiseNot", "bitwise_not"},
                                                            {"Ceil", "ceil"},
                                                            {"Celu", "celu"},
                                                            {"Clip", "clip"},
                                                            {"Cos", "cos"},
                                                            {"Cosh", "cosh"},
                                                            {"Elu", "elu"},
                                                            {"Erf", "erf"},
                                                            {"Exp", "exp"},
                                                            {"Floor", "floor"},
                                                            {"Gelu", "gelu"},
                                                            {"HardSigmoid", "hard_sigmoid"},
                                                            {"HardSwish", "hard_swish"},
                                                            {"IsInf", "is_inf"},
                                                            {"IsNaN", "is_nan"},
                                                            {"LeakyRelu", "leaky_relu"},
                                                            {"Log", "log"},
                                                            {"Mish", "mish"},
                                                            {"Neg", "neg"},
                                                            {"Not", "not"},
                                                            {"Reciprocal", "reciprocal"},
                                                            {"Relu", "relu"},
                                                            {"Round", "round"},
                                                            {"Selu", "selu"},
                                                            {"Shrink", "shrink"},
                                                            {"Sigmoid", "sigmoid"},
                                                            {"Sign", "sign"},
                                                            {"Sin", "sin"},
                                                            {"Sinh", "sinh"},
                                                            {"Softplus", "softplus"},
                                                            {"Softsign", "softsign"},
                                                            {"Sqrt", "sqrt"},
                                                            {"Swish", "swish"},
                                                            {"Tan", "tan"},
                                                            {"Tanh", "tanh"},
                                                            {"ThresholdedRelu", "thresholded_relu"}};
  return functions;
}

const std::map<std::string, std::string>& reasons() {
  static const std::map<std::string, std::string> known = [] {
    std::map<std::string, std::string> all;
    const auto add = [&all](const char* because, std::initializer_list<const char*> operators) {
      for (const char* name : operators) all[name] = because;
    };
    add("a recurrence: its steps depend on each other, and einsums have no order of time", {"LSTM", "GRU", "RNN"});
    add("its output depends on the values of its input, not on sizes alone",
        {"NonMaxSuppression", "NonZero", "Unique", "Compress", "RoiAlign", "MaxRoiPool", "GridSample", "DeformConv"});
    add("it sorts or compares for positions: no einsum gives them",
        {"TopK", "ArgMax", "ArgMin", "Hardmax", "Multinomial"});
    add("it interpolates: the positions it reads are no affine function of its output's",
        {"Resize", "Upsample", "AffineGrid"});
    add("a comparison, choice, remainder or power of two tensors: einsums have + - * / max and min",
        {"And", "Or", "Xor", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Where", "Mod", "Pow",
         "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "PRelu"});
    add("scaling and rounding between number formats; not counted",
        {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"});
    add("random numbers; not counted",
        {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli"});
    add("a running sum: each element depends on the one before", {"CumSum"});
    add("it adds or writes at positions that data give", {"ScatterElements", "ScatterND", "Scatter", "TensorScatter"});
    add("a transform with an algorithm of its own (FFT, ...)",
        {"DFT", "STFT", "MelWeightMatrix", "HannWindow", "HammingWindow", "BlackmanWindow", "Det"});
    return all;
  }();
  return known;
}

bool moves_data(const std::string& operation) {
  static const std::set<std::string> names{
      "Cast",     "CastLike",        "BitCast",      "CenterCropPad",   "Col2Im",    "Concat",
      "Constant", "ConstantOfShape", "DepthToSpace", "Expand",          "EyeLike",   "Flatten",
      "Gather",   "GatherElements",  "GatherND",     "Identity",        "MaxUnpool", "OneHot",
      "Pad",      "Range",           "Reshape",      "ReverseSequence", "Shape",     "Size",
      "Slice",    "SpaceToDepth",    "Split",        "Squeeze",         "Tile",      "Transpose",
      "Trilu",    "Unsqueeze"};
  return names.count(operation) > 0;
}

/// Whether there is a rule for an operator, or a reason why there is none.
bool is_known(const std::string& operation) {
  static const std::set<std::string> names{"Add",
                                           "AveragePool",
                                           "BatchNormalization",
                                           "Conv",
                                           "ConvInteger",
                                           "ConvTranspose",
                                           "Div",
                                           "Dropout",
                                           "Einsum",
                                           "Gemm",
                                           "GlobalAveragePool",
                                           "GlobalMaxPool",
                                           "GroupNormalization",
                                           "InstanceNormalization",
                                           "LRN",
                                           "LayerNormalization",
                                           "LogSoftmax",
                                           "MatMul",
                                           "MatMulInteger",
                                           "Max",
                                           "MaxPool",
                                           "Mean",
                                           "Min",
                                           "Mul",
                                           "QLinearConv",
                                           "QLinearMatMul",
                                           "RMSNormalization",
                                           "Softmax",
                                           "Sub",
                                           "Sum"};
  return names.count(operation) > 0 || operation.rfind("Reduce", 0) == 0 || moves_data(operation) ||
         unary_functions().count(operation) > 0 || reasons().count(operation) > 0;
}

constexpr const char* kNoEinsum = "einflow has no einsum for this operator";

Counted moving(const char* because) { return {{}, because, true}; }

Counted count_own(const NodeInGraph& at) {
  const std::string& name = at.node.operation;
  if (moves_data(name)) return moving(kMoves);
  if (name == "Dropout") return moving(kInference);
  if (name == "Conv" || name == "ConvInteger" || name == "QLinearConv") return count_convolution(at);
  if (name == "ConvTranspose") return count_transposed_convolution(at);
  if (name == "MatMul" || name == "MatMulInteger" || name == "QLinearMatMul") return count_matrix_product(at);
  if (name == "Gemm") return count_gemm(at);
  if (name == "Einsum") return count_equation(at);
  if (name == "Add") return count_binary(at, "+");
  if (name == "Sub") return count_binary(at, "-");
  if (name == "Mul") return count_binary(at, "*");
  if (name == "Div") return count_binary(at, "/");
  if (name == "Sum" || name == "Mean") return count_variadic(at, "+");
  if (name == "Max" || name == "Min") return count_variadic(at, name == "Max" ? "max" : "min");
  if (name == "Pow" && at.scalar(1)) return count_unary(at, *at.scalar(1) == 2 ? "square" : "power");
  if (name == "PRelu" && elements(at.sizes(1)) == Count(1)) return count_unary(at, "prelu");
  if (name.rfind("Reduce", 0) == 0) return count_reduction(at);
  if (name == "MaxPool" || name == "AveragePool") return count_pool(at);
  if (name == "GlobalMaxPool" || name == "GlobalAveragePool") return count_global_pool(at);
  if (name == "Softmax" || name == "LogSoftmax") return count_softmax(at);
  if (name == "LayerNormalization" || name == "RMSNormalization" || name == "InstanceNormalization" ||
      name == "GroupNormalization") {
    return count_normalisation(at);
  }
  if (name == "BatchNormalization") return count_batch_normalisation(at);
  if (name == "LRN") return count_local_response(at);
  const auto unary = unary_functions().find(name);
  if (unary != unary_functions().end()) return count_unary(at, unary->second);
  const auto reason = reasons().find(name);
  if (reason != reasons().end()) return {{}, reason->second, false};
  return {{}, kNoEinsum, false};
}

/// The data an operator works on, as opposed to axes, shapes and scales that it is told.
std::string unknown_sizes(const NodeInGraph& at) {
  const auto why = [&](const OnnxValue& value) {
    const auto place = static_cast<std::size_t>(value.blank);
    const std::string origin = value.blank >= 0 && place < at.graph.nodes.size()
                                   ? fmt::format("not known after {}", node_text(at.graph.nodes[place]))
                                   : std::string("not known");
    if (place < at.graph.nodes.size() && &at.graph.nodes[place] == &at.node)
      return std::string("its sizes depend on data");
    return "sizes are " + origin;
  };
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) {
    const OnnxValue* value = at.graph.input(at.node, i);
    if (value != nullptr && !value->sizes()) return why(*value);
  }
  for (std::size_t i = 0; i < at.node.outputs.size(); ++i) {
    const OnnxValue* value = at.graph.output(at.node, i);
    if (value != nullptr && !value->sizes()) return why(*value);
  }
  return {};
}

/// Tensors without elements and types that einflow does not have.
std::string unfit(const NodeInGraph& at) {
  const auto check = [](const OnnxValue* value) -> std::string {
    if (value == nullptr) return {};
    const auto sizes = value->sizes();
    if (sizes && elements(*sizes) == Count(0)) return "an empty tensor: nothing is computed";
    if (!onnx_element_type(value->type.element))
      return "its elements have no width (texts, or a type that is not known)";
    return {};
  };
  std::string wrong = check(at.graph.output(at.node, 0));
  for (std::size_t i = 0; i < at.node.inputs.size() && wrong.empty(); ++i) wrong = check(at.graph.input(at.node, i));
  return wrong;
}

std::string reason_for_foreign(const NodeInGraph& at) {
  const std::string id = at.node.domain + ":" + at.node.operation;
  const auto& functions = at.graph.functions;
  if (std::find(functions.begin(), functions.end(), id) != functions.end()) {
    return "a function that the model defines; its body is not read";
  }
  return fmt::format("an operator of the domain {}: einflow knows ONNX's own", at.node.domain);
}

}  // namespace

Counted count_operator(const NodeInGraph& at) {
  if (at.node.inner_nodes > 0) {
    return {{},
            fmt::format("runs another graph ({} operator{} in it), how often and which depends on data",
                        at.node.inner_nodes, at.node.inner_nodes == 1 ? "" : "s"),
            false};
  }
  if (!at.node.is_onnx_own()) return {{}, reason_for_foreign(at), false};
  if (moves_data(at.node.operation)) return moving(kMoves);
  const OnnxValue* output = at.graph.output(at.node, 0);
  if (output != nullptr && output->fixed) {
    return {{}, "fixed by sizes and constants before any data arrive", true};
  }
  const bool never =
      reasons().count(at.node.operation) > 0 && at.node.operation != "Pow" && at.node.operation != "PRelu";
  if (never || at.node.operation == "Dropout") return count_own(at);
  if (!is_known(at.node.operation)) return {{}, kNoEinsum, false};
  const std::string unknown = unknown_sizes(at);
  if (!unknown.empty()) return {{}, unknown, false};
  const std::string wrong = unfit(at);
  if (!wrong.empty()) return {{}, wrong, false};
  return count_own(at);
}

}  // namespace einflow
