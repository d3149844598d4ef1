// Operations element by element, and reductions.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

constexpr std::array<const char*, 33> kFunctions{
    "exp",      "exp2",   "expm1", "log",  "log2",      "log10",       "log1p",   "sqrt", "rsqrt", "abs",  "neg",
    "negative", "square", "sin",   "cos",  "tan",       "tanh",        "sigmoid", "erf",  "relu",  "gelu", "silu",
    "softplus", "elu",    "selu",  "mish", "hardswish", "hardsigmoid", "relu6",   "sign", "floor", "ceil", "round"};

/// Modules of torch.nn, the function that they apply, and their arguments.
struct ActivationModule {
  const char* name;
  const char* function;
  const char* signature;
};
constexpr std::array<ActivationModule, 13> kActivations{{
    {"ReLU", "relu", "inplace=False"},
    {"ReLU6", "relu6", "inplace=False"},
    {"GELU", "gelu", "approximate='none'"},
    {"SiLU", "silu", "inplace=False"},
    {"Sigmoid", "sigmoid", ""},
    {"Tanh", "tanh", ""},
    {"Softplus", "softplus", "beta=1, threshold=20"},
    {"ELU", "elu", "alpha=1.0, inplace=False"},
    {"SELU", "selu", "inplace=False"},
    {"LeakyReLU", "leaky_relu", "negative_slope=0.01, inplace=False"},
    {"Mish", "mish", "inplace=False"},
    {"Hardswish", "hardswish", "inplace=False"},
    {"Hardsigmoid", "hardsigmoid", "inplace=False"},
}};

struct Operator {
  const char* name;
  const char* map;
};
constexpr std::array<Operator, 12> kOperators{{{"add", "+"},
                                               {"sub", "-"},
                                               {"subtract", "-"},
                                               {"mul", "*"},
                                               {"multiply", "*"},
                                               {"div", "/"},
                                               {"divide", "/"},
                                               {"true_divide", "/"},
                                               {"maximum", "max"},
                                               {"minimum", "min"},
                                               {"fmax", "max"},
                                               {"fmin", "min"}}};

struct Reduction {
  const char* name;
  const char* reduce;  ///< "mean": a sum that is scaled
};
constexpr std::array<Reduction, 8> kReductions{{{"sum", "+"},
                                                {"mean", "mean"},
                                                {"amax", "max"},
                                                {"amin", "min"},
                                                {"max", "max"},
                                                {"min", "min"},
                                                {"prod", "*"},
                                                {"nansum", "+"}}};

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

std::string function_of(const Operation& operation) {
  const std::string word = last_word(operation.name);
  for (const ActivationModule& module : kActivations) {
    if (word == module.name) return module.function;
  }
  return word == "negative" ? "neg" : word == "absolute" ? "abs" : word;
}

std::optional<Value> function(Call& call) {
  auto input = call.tensor("input");
  if (!input) return std::nullopt;
  const std::string name = function_of(call.operation);
  auto output = elementwise({name, name, "", {}}, {&*input}, "Y", call.place, call.lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

bool is_number(const Value& value) { return value.kind == Value::Kind::integer || value.kind == Value::Kind::real; }

std::optional<Value> binary(Call& call) {
  const std::string word = last_word(call.operation.name);
  std::string map;
  for (const Operator& known : kOperators) {
    if (word == known.name) map = known.map;
  }
  if (!call.only_default("alpha", "write the product of the scale as an operation of its own")) return std::nullopt;
  const Value left = call.argument("input"), right = call.argument("other");
  if (is_number(left) || is_number(right)) {
    if (is_number(left) && is_number(right)) return call.error("two numbers: one of the operands is a tensor");
    auto tensor = call.tensor(is_number(left) ? "other" : "input");
    if (!tensor) return std::nullopt;
    const bool scales = map == "*" || (map == "/" && is_number(right));
    const std::string name = scales                     ? "scale"
                             : map == "+" || map == "-" ? "shift"
                             : map == "/"               ? "reciprocal"
                             : map == "max"             ? "clamp_min"
                                                        : "clamp_max";
    auto output = elementwise({name, name, "", {}}, {&*tensor}, "Y", call.place, call.lowering);
    if (!output) return std::nullopt;
    call.lowering.convention("a number is no tensor: an operation with one is a function of the other operand");
    return call.result(std::move(*output));
  }
  auto first = call.tensor("input"), second = call.tensor("other");
  if (!first || !second) return std::nullopt;
  auto output = elementwise({word, map, "", {}}, {&*first, &*second}, "Z", call.place, call.lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

std::optional<TensorValue> scaled(TensorValue& tensor, const Count& count, const Place& place, Lowering& lowering) {
  lowering.convention(fmt::format("a mean is a sum and a scale by 1/{}", count.str()));
  return elementwise({"scale", "scale", "", {}}, {&tensor}, "Y", place, lowering);
}

std::optional<Value> reduction(Call& call) {
  std::string word = last_word(call.operation.name);
  if (word.compare(0, 7, "reduce_") == 0) word = word.substr(7);
  std::string reduce;
  for (const Reduction& known : kReductions) {
    if (word == known.name) reduce = known.reduce;
  }
  auto input = call.tensor("input");
  const auto keep = call.flag("keepdim");
  if (!input || !keep || !call.only_default("dtype", "every result has its operands' type") ||
      !call.only_default("out", "every result is a tensor of its own")) {
    return std::nullopt;
  }
  const auto axes = call.axes("dim", input->shape.size());
  if (!axes) return std::nullopt;
  if (axes->empty()) return call.error_at("input", "the input has no axes to reduce");
  const bool mean = reduce == "mean";
  auto output = reduce_axes(*input, *axes, *keep, {word, "*", mean ? "+" : reduce, {}}, mean ? "T" : "Y", call.place,
                            call.lowering);
  if (!output) return std::nullopt;
  if (mean) {
    Count count = 1;
    for (const std::size_t axis : *axes) count *= Count(input->shape[axis]);
    output = scaled(*output, count, call.place, call.lowering);
    if (!output) return std::nullopt;
  }
  return call.result(std::move(*output));
}

std::optional<Value> softmax_call(Call& call) {
  auto input = call.tensor("input");
  if (!input) return std::nullopt;
  if (call.argument("dim").kind == Value::Kind::none && call.operation.dialect == Dialect::torch) {
    return call.error("softmax needs the axis: dim=-1");
  }
  const auto axis = call.axis("dim", input->shape.size());
  if (!axis) return std::nullopt;
  auto output = softmax(*input, *axis, {}, call.place, call.lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

/// max, difference, exp, sum, log, difference.
std::optional<Value> log_softmax(Call& call) {
  auto input = call.tensor("input");
  if (!input) return std::nullopt;
  const auto axis = call.axis("dim", input->shape.size());
  if (!axis) return std::nullopt;
  Lowering& lowering = call.lowering;
  auto largest = reduce_axes(*input, {*axis}, true, {"maximum", "*", "max", {}}, "M", call.place, lowering);
  if (!largest) return std::nullopt;
  auto shifted = elementwise({"difference", "-", "", {}}, {&*input, &*largest}, "D", call.place, lowering);
  if (!shifted) return std::nullopt;
  auto powers = elementwise({"exp", "exp", "", {}}, {&*shifted}, "E", call.place, lowering);
  if (!powers) return std::nullopt;
  auto sum = reduce_axes(*powers, {*axis}, true, {"sum", "*", "+", {}}, "L", call.place, lowering);
  if (!sum) return std::nullopt;
  auto logarithm = elementwise({"log", "log", "", {}}, {&*sum}, "G", call.place, lowering);
  if (!logarithm) return std::nullopt;
  auto output = elementwise({"log_softmax", "-", "", {}}, {&*shifted, &*logarithm}, "P", call.place, lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

}  // namespace

std::string default_rank(std::size_t axis, std::size_t axes) {
  if (axes == 1) return "m";
  const std::size_t from_right = axes - 1 - axis;
  static constexpr std::array<const char*, 4> kNames{"n", "m", "b", "a"};
  return from_right < kNames.size() ? kNames[from_right] : fmt::format("d{}_", axis);
}

std::optional<std::vector<std::int64_t>> broadcast_shape(const std::vector<const TensorValue*>& tensors,
                                                         const Place& place, Lowering& lowering) {
  std::vector<std::int64_t> shape;
  for (const TensorValue* tensor : tensors) {
    if (tensor->shape.size() > shape.size()) {
      shape.insert(shape.begin(), tensor->shape.size() - shape.size(), std::int64_t{1});
    }
    for (std::size_t from_right = 1; from_right <= tensor->shape.size(); ++from_right) {
      std::int64_t& size = shape[shape.size() - from_right];
      const std::int64_t other = tensor->shape[tensor->shape.size() - from_right];
      if (size != other && size != 1 && other != 1) {
        std::string shapes;
        for (const TensorValue* each : tensors) shapes += (shapes.empty() ? "" : " and ") + shape_text(each->shape);
        return lowering.error(place, fmt::format("shapes {} do not broadcast: {} and {} differ", shapes, size, other),
                              "axes are matched from the last one; a size of 1 or a missing axis fits any");
      }
      size = std::max(size, other);
    }
  }
  return shape;
}

std::optional<TensorValue> elementwise(const Body& body, std::vector<TensorValue*> operands, const std::string& output,
                                       const Place& place, Lowering& lowering) {
  const auto shape =
      broadcast_shape(std::vector<const TensorValue*>(operands.begin(), operands.end()), place, lowering);
  if (!shape) return std::nullopt;
  std::set<std::string> taken;
  std::vector<std::string> ranks(shape->size());
  const auto axis_in = [&](const TensorValue& tensor, std::size_t axis) -> std::optional<std::size_t> {
    const std::size_t missing = shape->size() - tensor.shape.size();
    if (axis < missing || tensor.shape[axis - missing] != (*shape)[axis]) return std::nullopt;
    return axis - missing;
  };
  // Ranks that an einsum has named come first, then the others get names.
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    for (const TensorValue* operand : operands) {
      const auto at = axis_in(*operand, axis);
      if (!at || operand->ranks[*at].empty() || taken.count(operand->ranks[*at]) != 0 || !ranks[axis].empty()) continue;
      ranks[axis] = lowering.rank(operand->ranks[*at], (*shape)[axis], taken);
    }
  }
  for (std::size_t axis = 0; axis < shape->size(); ++axis) {
    if (ranks[axis].empty()) ranks[axis] = lowering.rank(default_rank(axis, shape->size()), (*shape)[axis], taken);
  }
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t missing = shape->size() - operands[i]->shape.size();
    std::vector<std::string> own;
    for (std::size_t axis = missing; axis < shape->size(); ++axis) {
      own.push_back(axis_in(*operands[i], axis) ? ranks[axis] : "");
    }
    inputs.push_back(Lowering::operand(*operands[i], i == 0 ? "X" : "W", own));
  }
  return lowering.add(place, body, std::move(inputs), ranks, output);
}

std::optional<TensorValue> reduce_axes(TensorValue& tensor, const std::vector<std::size_t>& axes, bool keep,
                                       const Body& body, const std::string& output, const Place& place,
                                       Lowering& lowering) {
  std::set<std::string> taken;
  std::vector<std::string> ranks, kept;
  const std::size_t count = tensor.shape.size();
  for (std::size_t axis = 0; axis < count; ++axis) {
    ranks.push_back(lowering.rank_of(tensor, axis, default_rank(axis, count), taken));
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) kept.push_back(ranks.back());
  }
  auto made = lowering.add(place, body, {Lowering::operand(tensor, "X", ranks)}, kept, output);
  if (!made || !keep) return made;
  TensorValue wide = tensor_of(tensor.shape, made->type);
  wide.name = made->name;
  wide.ranks = ranks;
  for (const std::size_t axis : axes) {
    wide.shape[axis] = 1;
    wide.ranks[axis].clear();
  }
  return wide;
}

std::optional<TensorValue> softmax(TensorValue& tensor, std::size_t axis, const ExecutedShare& executed,
                                   const Place& place, Lowering& lowering) {
  lowering.convention("softmax is five einsums: maximum, difference, exp, sum, quotient");
  auto largest = reduce_axes(tensor, {axis}, true, {"maximum", "*", "max", executed}, "M", place, lowering);
  if (!largest) return std::nullopt;
  auto shifted = elementwise({"difference", "-", "", executed}, {&tensor, &*largest}, "D", place, lowering);
  if (!shifted) return std::nullopt;
  auto powers = elementwise({"exp", "exp", "", executed}, {&*shifted}, "E", place, lowering);
  if (!powers) return std::nullopt;
  auto sum = reduce_axes(*powers, {axis}, true, {"sum", "*", "+", executed}, "L", place, lowering);
  if (!sum) return std::nullopt;
  return elementwise({"quotient", "/", "", executed}, {&*powers, &*sum}, "P", place, lowering);
}

bool is_elementwise(const std::string& name) {
  return std::find(kFunctions.begin(), kFunctions.end(), name) != kFunctions.end() ||
         std::any_of(kOperators.begin(), kOperators.end(), [&](const Operator& o) { return name == o.name; });
}

std::optional<TensorValue> activated(Call& call, TensorValue tensor) {
  const Value activation = call.argument("activation");
  if (activation.kind == Value::Kind::none) return tensor;
  if (activation.kind != Value::Kind::text ||
      (!is_elementwise(activation.text) && activation.text != "linear" && activation.text != "softmax")) {
    return call.error_at(
        "activation", fmt::format("'activation' is {}, expected None or the name of a function", describe(activation)),
        "for example 'relu'");
  }
  if (activation.text == "linear") return tensor;
  if (activation.text == "softmax") {
    return softmax(tensor, tensor.shape.size() - 1, {}, call.place, call.lowering);
  }
  return elementwise({activation.text, activation.text, "", {}}, {&tensor}, "A", call.place, call.lowering);
}

void list_elementwise(std::vector<Operation>& operations) {
  for (const char* name : kFunctions) {
    operations.push_back({std::string("torch.") + name, "input", "", function, Dialect::torch});
    operations.push_back({std::string("np.") + name, "input", "", function, Dialect::numpy});
    const std::string word = name;
    const bool functional = word == "relu" || word == "gelu" || word == "silu" || word == "sigmoid" || word == "tanh" ||
                            word == "softplus" || word == "elu" || word == "selu" || word == "mish" ||
                            word == "hardswish" || word == "hardsigmoid" || word == "relu6";
    if (!functional) continue;
    const char* const signature = word == "gelu"                        ? "input, approximate='none'"
                                  : word == "elu"                       ? "input, alpha=1.0, inplace=False"
                                  : word == "softplus"                  ? "input, beta=1, threshold=20"
                                  : word == "sigmoid" || word == "tanh" ? "input"
                                                                        : "input, inplace=False";
    operations.push_back({"torch.nn.functional." + word, signature, "", function, Dialect::torch});
  }
  operations.push_back(
      {"torch.nn.functional.leaky_relu", "input, negative_slope=0.01, inplace=False", "", function, Dialect::torch});
  operations.push_back({"np.absolute", "input", "", function, Dialect::numpy});
  for (const ActivationModule& module : kActivations) {
    operations.push_back({std::string("torch.nn.") + module.name, module.signature, "input", function, Dialect::torch});
  }
  for (const Operator& known : kOperators) {
    const std::string word = known.name;
    const bool scales = word == "add" || word == "sub" || word == "subtract";
    operations.push_back(
        {"torch." + word, scales ? "input, other, alpha=1" : "input, other", "", binary, Dialect::torch});
    operations.push_back({"np." + word, "input, other", "", binary, Dialect::numpy});
  }
}

void list_reductions(std::vector<Operation>& operations) {
  for (const Reduction& known : kReductions) {
    const std::string word = known.name;
    if (word != "max" && word != "min") {
      operations.push_back({"torch." + word, "input, dim=None, keepdim=False", "", reduction, Dialect::torch});
    } else {
      operations.push_back({"torch." + word, "input, dim=None, keepdim=False", "", reduction, Dialect::torch});
    }
    operations.push_back(
        {"np." + word, "input, dim=None, dtype=None, out=None, keepdim=False", "", reduction, Dialect::numpy});
    if (word.size() == 3 || word == "mean" || word == "prod") {
      operations.push_back({"tf.reduce_" + word, "input, dim=None, keepdim=False", "", reduction, Dialect::tensorflow});
    }
  }
  operations.push_back({"torch.softmax", "input, dim=None", "", softmax_call, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.softmax", "input, dim=None, _stacklevel=3", "", softmax_call, Dialect::torch});
  operations.push_back({"tf.nn.softmax", "input, dim=-1", "", softmax_call, Dialect::tensorflow});
  operations.push_back({"jax.nn.softmax", "input, dim=-1", "", softmax_call, Dialect::numpy});
  operations.push_back({"torch.nn.Softmax", "dim=None", "input", softmax_call, Dialect::torch});
  operations.push_back({"torch.log_softmax", "input, dim", "", log_softmax, Dialect::torch});
  operations.push_back({"torch.nn.functional.log_softmax", "input, dim", "", log_softmax, Dialect::torch});
  operations.push_back({"torch.nn.LogSoftmax", "dim", "input", log_softmax, Dialect::torch});
}

}  // namespace einflow::python
