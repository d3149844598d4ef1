// Matrix products: einsum, matmul and its kin, linear layers.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/operations.hpp"
#include "notation/python/subscripts.hpp"

namespace einflow::python {

namespace {

std::optional<Value> made(const Call& call, std::optional<TensorValue> tensor) {
  if (!tensor) return std::nullopt;
  return call.result(std::move(*tensor));
}

/// Operands that follow an equation; a keyword names the tensor.
std::optional<TensorValue> operand_of(const Value& value, Lowering& lowering) {
  TensorValue tensor;
  if (value.kind == Value::Kind::tensor) {
    tensor = value.tensor;
  } else {
    const auto shape = shape_of(value);
    if (!shape) {
      return lowering.error(value.place, fmt::format("found {}, expected a tensor", describe(value)),
                            "a tensor is written by its type and shape, bf16[4, 5], or by its shape, (4, 5)");
    }
    for (const std::int64_t size : *shape) {
      if (size >= 1 && size <= kLargestSize) continue;
      return lowering.error(value.place, fmt::format("a size of {}; sizes are from 1 to {}", size, kLargestSize));
    }
    tensor = tensor_of(*shape, std::nullopt);
  }
  if (!value.keyword.empty()) {
    if (!tensor.name.empty() || lowering.tensor_name(value.keyword) != value.keyword) {
      return lowering.error(value.keyword_place,
                            fmt::format("the tensor cannot be named {}: it has a name, or another one has this name",
                                        in_quotes(value.keyword)));
    }
    tensor.name = value.keyword;
  }
  return tensor;
}

std::optional<Value> lower(Call& call, const Subscripts& subscripts, std::size_t count) {
  std::vector<TensorValue> operands;
  std::vector<Place> places;
  for (std::size_t i = 0; i < count; ++i) {
    auto tensor = operand_of(call.rest[i], call.lowering);
    if (!tensor) return std::nullopt;
    operands.push_back(std::move(*tensor));
    places.push_back(call.rest[i].place);
  }
  return made(call, lower_einsum(subscripts, operands, places, call.place, call.operation.dialect, call.lowering));
}

std::optional<Value> einsum(Call& call) {
  const auto equation = call.text("equation");
  if (!equation) return std::nullopt;
  const Place quoted = call.argument("equation").place;
  const auto subscripts = parse_subscripts(*equation, {quoted.begin + 1, quoted.end - 1}, call.lowering);
  if (!subscripts) return std::nullopt;
  return lower(call, *subscripts, call.rest.size());
}

/// einops.einsum(x, w, "b h w c, c d -> b h w d")
std::optional<Value> einops_einsum(Call& call) {
  const auto pattern = std::find_if(call.rest.begin(), call.rest.end(),
                                    [](const Value& value) { return value.kind == Value::Kind::text; });
  if (pattern == call.rest.end() || pattern + 1 != call.rest.end()) {
    return call.error("einops.einsum takes tensors and, last, a pattern", "einops.einsum(X, W, \"b c, c d -> b d\")");
  }
  const auto subscripts =
      parse_named_subscripts(pattern->text, {pattern->place.begin + 1, pattern->place.end - 1}, call.lowering);
  if (!subscripts) return std::nullopt;
  return lower(call, *subscripts, call.rest.size() - 1);
}

/// Whether a tensor has so many axes; else an error.
bool has_axes(Call& call, const char* argument, const TensorValue& tensor, std::size_t axes) {
  if (tensor.shape.size() == axes) return true;
  call.error_at(argument,
                fmt::format("{} takes {} of {} axes; '{}' has {}: {}", call.operation.name,
                            axes == 1   ? "a vector"
                            : axes == 2 ? "a matrix"
                                        : "a batch of matrices",
                            axes, argument, tensor.shape.size(), shape_text(tensor.shape)),
                "torch.matmul takes any number of axes");
  return false;
}

template <std::size_t LeftAxes, std::size_t RightAxes>
std::optional<Value> fixed_product(Call& call) {
  const bool vectors = LeftAxes == 1;
  const char* const first = "input";
  const char* const second = call.operation.name == "torch.mv" ? "vec" : vectors ? "tensor" : "mat2";
  auto left = call.tensor(first), right = call.tensor(second);
  if (!left || !right || !has_axes(call, first, *left, LeftAxes) || !has_axes(call, second, *right, RightAxes)) {
    return std::nullopt;
  }
  if (LeftAxes == 3 && left->shape[0] != right->shape[0]) {
    return call.error_at(
        second, fmt::format("batches of {} and {}: torch.bmm does not broadcast", left->shape[0], right->shape[0]),
        "torch.matmul broadcasts");
  }
  return made(call, matmul(*left, *right, call.place, call.lowering));
}

std::optional<Value> any_matmul(Call& call) {
  auto left = call.tensor("input"), right = call.tensor("other");
  if (!left || !right) return std::nullopt;
  return made(call, matmul(*left, *right, call.place, call.lowering));
}

std::optional<Value> outer(Call& call) {
  auto left = call.tensor("input"), right = call.tensor("vec2");
  if (!left || !right || !has_axes(call, "input", *left, 1) || !has_axes(call, "vec2", *right, 1)) return std::nullopt;
  std::set<std::string> taken;
  const std::string m = call.lowering.rank_of(*left, 0, "m", taken), n = call.lowering.rank_of(*right, 0, "n", taken);
  return made(
      call, call.lowering.add(call.place, {"outer", "*", "", {}},
                              {Lowering::operand(*left, "X", {m}), Lowering::operand(*right, "W", {n})}, {m, n}, "Y"));
}

/// numpy.dot: like matmul up to two axes; beyond, all leading axes of both are axes of the result.
std::optional<Value> dot(Call& call) {
  auto left = call.tensor("input"), right = call.tensor("other");
  if (!left || !right) return std::nullopt;
  Lowering& lowering = call.lowering;
  if (left->shape.empty() || right->shape.empty()) {
    return made(call, elementwise({"dot", "*", "", {}}, {&*left, &*right}, "Y", call.place, lowering));
  }
  if (left->shape.size() <= 2 && right->shape.size() <= 2) {
    return made(call, matmul(*left, *right, call.place, lowering));
  }
  const std::size_t left_last = left->shape.size() - 1;
  const std::size_t right_sum = right->shape.size() < 2 ? 0 : right->shape.size() - 2;
  if (left->shape[left_last] != right->shape[right_sum]) {
    return call.error(fmt::format("shapes {} and {} do not fit: {} (axis {}) and {} (axis {}) differ",
                                  shape_text(left->shape), shape_text(right->shape), left->shape[left_last], left_last,
                                  right->shape[right_sum], right_sum));
  }
  std::set<std::string> taken;
  const std::string k = lowering.rank_of(*left, left_last, "k", taken);
  std::vector<std::string> left_ranks, right_ranks, output;
  for (std::size_t axis = 0; axis < left_last; ++axis) {
    left_ranks.push_back(lowering.rank_of(*left, axis, axis + 1 == left_last ? "m" : "b", taken));
    output.push_back(left_ranks.back());
  }
  left_ranks.push_back(k);
  for (std::size_t axis = 0; axis < right->shape.size(); ++axis) {
    right_ranks.push_back(
        axis == right_sum ? k : lowering.rank_of(*right, axis, axis + 1 == right->shape.size() ? "n" : "c", taken));
    if (axis != right_sum) output.push_back(right_ranks.back());
  }
  return made(call,
              lowering.add(call.place, {"dot", "*", "", {}},
                           {Lowering::operand(*left, "X", left_ranks), Lowering::operand(*right, "W", right_ranks)},
                           output, "Y"));
}

/// addmm, baddbmm, addmv: input + product.
template <std::size_t LeftAxes, std::size_t RightAxes>
std::optional<Value> added_product(Call& call) {
  const bool batched = LeftAxes == 3, vector = RightAxes == 1;
  const char* const first = batched ? "batch1" : vector ? "mat" : "mat1";
  const char* const second = batched ? "batch2" : vector ? "vec" : "mat2";
  auto input = call.tensor("input"), left = call.tensor(first), right = call.tensor(second);
  if (!input || !left || !right || !has_axes(call, first, *left, LeftAxes) ||
      !has_axes(call, second, *right, RightAxes) ||
      !call.only_default("alpha", "write the product of the scale as an operation of its own") ||
      !call.only_default("beta", "write the product of the scale as an operation of its own")) {
    return std::nullopt;
  }
  if (batched && left->shape[0] != right->shape[0]) {
    return call.error_at(second, fmt::format("batches of {} and {} differ", left->shape[0], right->shape[0]));
  }
  auto product = matmul(*left, *right, call.place, call.lowering);
  if (!product) return std::nullopt;
  const auto shape = broadcast_shape({&*input, &*product}, call.place, call.lowering);
  if (!shape) return std::nullopt;
  if (*shape != product->shape) {
    return call.error_at("input", fmt::format("a shape of {} does not broadcast to that of the product, {}",
                                              shape_text(input->shape), shape_text(product->shape)));
  }
  return made(call, elementwise({"add", "+", "", {}}, {&*product, &*input}, "Z", call.place, call.lowering));
}

/// Y[..., o] += X[..., i] * W[o, i], then the bias.
std::optional<TensorValue> linear(TensorValue& input, TensorValue& weight, std::optional<TensorValue>& bias,
                                  bool weight_is_in_out, Call& call) {
  Lowering& lowering = call.lowering;
  std::set<std::string> taken;
  std::vector<std::string> input_ranks;
  const std::size_t leading = input.shape.size() - 1;
  for (std::size_t axis = 0; axis < leading; ++axis) {
    const char* const base = axis + 1 == leading ? "m" : "b";
    input_ranks.push_back(lowering.rank_of(input, axis, base, taken));
  }
  std::vector<std::string> output = input_ranks;
  const std::string in = lowering.rank_of(input, leading, "i", taken);
  input_ranks.push_back(in);
  std::vector<std::string> weight_ranks;
  if (weight.shape.size() == 1) {
    weight_ranks = {in};  // torch.nn.functional.linear with a vector
  } else {
    const std::string out = lowering.rank("o", weight.shape[weight_is_in_out ? 1 : 0], taken);
    weight_ranks = weight_is_in_out ? std::vector{in, out} : std::vector{out, in};
    output.push_back(out);
  }
  auto product =
      lowering.add(call.place, {"linear", "*", "", {}},
                   {Lowering::operand(input, "X", input_ranks), Lowering::operand(weight, "W", weight_ranks)}, output,
                   bias ? "T" : "Y");
  if (!product || !bias) return product;
  return add_bias(*product, *bias, product->shape.empty() ? 0 : product->shape.size() - 1, "Y", call.place, lowering);
}

std::optional<Value> linear_function(Call& call) {
  auto input = call.tensor("input"), weight = call.tensor("weight");
  if (!input || !weight) return std::nullopt;
  auto bias = call.optional_tensor("bias");
  if (call.lowering.failed()) return std::nullopt;
  if (input->shape.empty() || weight->shape.empty() || weight->shape.size() > 2) {
    return call.error_at("weight", fmt::format("an input of shape {} and a weight of shape {}: the weight is [out, in]",
                                               shape_text(input->shape), shape_text(weight->shape)));
  }
  if (input->shape.back() != weight->shape.back()) {
    return call.error_at(
        "weight",
        fmt::format("the input has {} features (shape {}), the weight takes {} (shape {})", input->shape.back(),
                    shape_text(input->shape), weight->shape.back(), shape_text(weight->shape)),
        "PyTorch stores the weight as [out, in]");
  }
  const std::int64_t out = weight->shape.size() == 2 ? weight->shape.front() : 1;
  if (bias && (bias->shape.size() > 1 || (weight->shape.size() == 1 && !bias->shape.empty()) ||
               (bias->shape.size() == 1 && bias->shape.front() != out && bias->shape.front() != 1))) {
    return call.error_at("bias", fmt::format("a bias of shape {}, expected [{}]", shape_text(bias->shape), out));
  }
  count_weight(*weight, "weight", call.lowering);
  if (bias) count_weight(*bias, "bias", call.lowering);
  return made(call, linear(*input, *weight, bias, false, call));
}

std::optional<Value> linear_module(Call& call) {
  const bool keras = call.operation.dialect == Dialect::tensorflow;
  const char* const features = keras ? "units" : "out_features";
  auto input = call.tensor("input");
  const auto out = call.integer(features, 1);
  const auto has_bias = call.flag(keras ? "use_bias" : "bias");
  if (!input || !out || !has_bias) return std::nullopt;
  if (input->shape.empty()) return call.error_at("input", "the input has no axes");
  std::int64_t in = input->shape.back();
  if (!keras) {
    const auto stated = call.integer("in_features", 1);
    if (!stated) return std::nullopt;
    if (*stated != in) {
      return call.error_at("input", fmt::format("the last axis of the input is {} (shape {}), but in_features is {}",
                                                in, shape_text(input->shape), *stated));
    }
  }
  TensorValue weight =
      weight_of(keras ? std::vector{in, *out} : std::vector{*out, in}, *input, "weight", call.lowering);
  std::optional<TensorValue> bias;
  if (*has_bias) bias = weight_of({*out}, *input, "bias", call.lowering);
  auto output = linear(*input, weight, bias, keras, call);
  if (output && keras) output = activated(call, std::move(*output));
  return made(call, std::move(output));
}

/// Y[..., o] += A[..., i] * W[o, i, j] * B[..., j]
std::optional<Value> bilinear(Call& call) {
  const bool module = !call.operation.forward.empty();
  auto left = call.tensor("input1"), right = call.tensor("input2");
  if (!left || !right) return std::nullopt;
  if (left->shape.empty() || right->shape.empty() || left->shape.size() != right->shape.size() ||
      !std::equal(left->shape.begin(), left->shape.end() - 1, right->shape.begin())) {
    return call.error_at("input2", fmt::format("shapes {} and {} differ before their last axes",
                                               shape_text(left->shape), shape_text(right->shape)));
  }
  TensorValue weight;
  std::optional<TensorValue> bias;
  if (module) {
    const auto in1 = call.integer("in1_features", 1), in2 = call.integer("in2_features", 1);
    const auto out = call.integer("out_features", 1);
    const auto has_bias = call.flag("bias");
    if (!in1 || !in2 || !out || !has_bias) return std::nullopt;
    weight = weight_of({*out, *in1, *in2}, *left, "weight", call.lowering);
    if (*has_bias) bias = weight_of({*out}, *left, "bias", call.lowering);
  } else {
    const auto given = call.tensor("weight");
    if (!given) return std::nullopt;
    weight = *given;
    bias = call.optional_tensor("bias");
    if (weight.shape.size() != 3) return call.error_at("weight", "expected a weight of shape [out, in1, in2]");
    if (bias && bias->shape != std::vector{weight.shape[0]}) {
      return call.error_at("bias",
                           fmt::format("a bias of shape {}, expected [{}]", shape_text(bias->shape), weight.shape[0]));
    }
    count_weight(weight, "weight", call.lowering);
    if (bias) count_weight(*bias, "bias", call.lowering);
  }
  if (left->shape.back() != weight.shape[1] || right->shape.back() != weight.shape[2]) {
    return call.error(fmt::format("inputs of {} and {} features; the weight takes {} and {}", left->shape.back(),
                                  right->shape.back(), weight.shape[1], weight.shape[2]));
  }
  std::set<std::string> taken;
  std::vector<std::string> ranks, left_ranks, right_ranks;
  for (std::size_t axis = 0; axis + 1 < left->shape.size(); ++axis) {
    ranks.push_back(call.lowering.rank_of(*left, axis, axis + 2 == left->shape.size() ? "m" : "b", taken));
  }
  left_ranks = right_ranks = ranks;
  const std::string i = call.lowering.rank("i", weight.shape[1], taken);
  const std::string j = call.lowering.rank("j", weight.shape[2], taken);
  const std::string o = call.lowering.rank("o", weight.shape[0], taken);
  left_ranks.push_back(i);
  right_ranks.push_back(j);
  ranks.push_back(o);
  auto output = call.lowering.add(call.place, {"bilinear", "*", "", {}},
                                  {Lowering::operand(*left, "A", left_ranks), Lowering::operand(weight, "W", {o, i, j}),
                                   Lowering::operand(*right, "B", right_ranks)},
                                  ranks, bias ? "T" : "Y");
  if (output && bias) output = add_bias(*output, *bias, output->shape.size() - 1, "Y", call.place, call.lowering);
  return made(call, std::move(output));
}

/// tf.matmul with transposed operands.
std::optional<Value> tf_matmul(Call& call) {
  auto left = call.tensor("a"), right = call.tensor("b");
  const auto transpose_left = call.flag("transpose_a"), transpose_right = call.flag("transpose_b");
  if (!left || !right || !transpose_left || !transpose_right) return std::nullopt;
  for (const auto& [tensor, name] : {std::pair(&*left, "a"), std::pair(&*right, "b")}) {
    if (tensor->shape.size() < 2) {
      return call.error_at(name,
                           fmt::format("tf.matmul takes at least 2 axes; '{}' has {}", name, tensor->shape.size()));
    }
  }
  const auto transpose = [](TensorValue& tensor) {
    std::vector<int> order;
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) order.push_back(static_cast<int>(axis));
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    tensor = permuted(tensor, order);
  };
  if (*transpose_left) transpose(*left);
  if (*transpose_right) transpose(*right);
  return made(call, matmul(*left, *right, call.place, call.lowering));
}

}  // namespace

std::optional<TensorValue> matmul(TensorValue& left, TensorValue& right, const Place& place, Lowering& lowering) {
  const std::size_t left_axes = left.shape.size(), right_axes = right.shape.size();
  if (left_axes == 0 || right_axes == 0) {
    return lowering.error(place, fmt::format("shapes {} and {}: both operands of a matrix product need an axis",
                                             shape_text(left.shape), shape_text(right.shape)));
  }
  const std::size_t left_sum = left_axes - 1, right_sum = right_axes == 1 ? 0 : right_axes - 2;
  if (left.shape[left_sum] != right.shape[right_sum]) {
    return lowering.error(place,
                          fmt::format("shapes {} and {} cannot be multiplied: {} and {} differ", shape_text(left.shape),
                                      shape_text(right.shape), left.shape[left_sum], right.shape[right_sum]),
                          "the last axis of the first is summed with the last but one of the second");
  }
  const std::size_t left_batch = left_axes < 2 ? 0 : left_axes - 2, right_batch = right_axes < 2 ? 0 : right_axes - 2;
  const std::size_t batch = std::max(left_batch, right_batch);
  std::set<std::string> taken;
  std::vector<std::string> left_ranks, right_ranks, output;
  for (std::size_t axis = 0; axis < batch; ++axis) {
    const std::size_t from_right = batch - axis;
    const std::int64_t l = from_right <= left_batch ? left.shape[left_batch - from_right] : 1;
    const std::int64_t r = from_right <= right_batch ? right.shape[right_batch - from_right] : 1;
    if (l != r && l != 1 && r != 1) {
      return lowering.error(place, fmt::format("shapes {} and {}: batches of {} and {} do not broadcast",
                                               shape_text(left.shape), shape_text(right.shape), l, r));
    }
    const bool from_left = from_right <= left_batch && (l != 1 || r == 1);
    const std::string rank = from_left ? lowering.rank_of(left, left_batch - from_right, "b", taken)
                                       : lowering.rank_of(right, right_batch - from_right, "b", taken);
    if (from_right <= left_batch) left_ranks.push_back(l == std::max(l, r) ? rank : "");
    if (from_right <= right_batch) right_ranks.push_back(r == std::max(l, r) ? rank : "");
    output.push_back(rank);
  }
  std::string m, n;
  if (left_axes >= 2) m = lowering.rank_of(left, left_axes - 2, "m", taken);
  const std::string k = lowering.rank_of(left, left_sum, "k", taken);
  if (right_axes >= 2) n = lowering.rank_of(right, right_axes - 1, "n", taken);
  if (!m.empty()) left_ranks.push_back(m);
  left_ranks.push_back(k);
  right_ranks.push_back(k);
  if (!n.empty()) right_ranks.push_back(n);
  if (!m.empty()) output.push_back(m);
  if (!n.empty()) output.push_back(n);
  return lowering.add(place, {"matmul", "*", "", {}},
                      {Lowering::operand(left, "X", left_ranks), Lowering::operand(right, "W", right_ranks)}, output,
                      "Y");
}

std::optional<TensorValue> add_bias(TensorValue& tensor, TensorValue& bias, std::size_t axis, const std::string& output,
                                    const Place& place, Lowering& lowering) {
  // A scalar or a bias of size 1 serves all elements.
  const bool broadcasts = bias.shape.empty() || bias.shape.front() != tensor.shape[axis];
  std::vector<std::string> bias_ranks;
  if (!bias.shape.empty()) bias_ranks.push_back(broadcasts ? "" : tensor.ranks[axis]);
  return lowering.add(place, {"bias", "+", "", {}},
                      {Lowering::operand(tensor, "X", tensor.ranks), Lowering::operand(bias, "B", bias_ranks)},
                      tensor.ranks, output);
}

std::string product_text(const std::vector<std::int64_t>& shape) {
  return shape.empty() ? "1" : fmt::format("{}", fmt::join(shape, " x "));
}

Count elements_of(const std::vector<std::int64_t>& shape) {
  Count elements = 1;
  for (const std::int64_t size : shape) elements *= Count(size);
  return elements;
}

TensorValue weight_of(std::vector<std::int64_t> shape, const TensorValue& like, const std::string& what,
                      Lowering& lowering) {
  TensorValue weight = tensor_of(std::move(shape), like.type);
  count_weight(weight, what, lowering);
  return weight;
}

void count_weight(const TensorValue& weight, const std::string& what, Lowering& lowering) {
  lowering.parameters(elements_of(weight.shape), what + " " + product_text(weight.shape));
}

void list_products(std::vector<Operation>& operations) {
  for (const auto& [name, dialect] : {std::pair("torch.einsum", Dialect::torch), std::pair("np.einsum", Dialect::numpy),
                                      std::pair("tf.einsum", Dialect::tensorflow)}) {
    operations.push_back({name, "equation, *operands", "", einsum, dialect});
  }
  operations.push_back({"einops.einsum", "*operands", "", einops_einsum, Dialect::einops});
  operations.push_back({"torch.matmul", "input, other", "", any_matmul, Dialect::torch});
  operations.push_back({"np.matmul", "input, other", "", any_matmul, Dialect::numpy});
  operations.push_back({"np.dot", "input, other", "", dot, Dialect::numpy});
  operations.push_back({"torch.mm", "input, mat2", "", fixed_product<2, 2>, Dialect::torch});
  operations.push_back({"torch.bmm", "input, mat2", "", fixed_product<3, 3>, Dialect::torch});
  operations.push_back({"torch.mv", "input, vec", "", fixed_product<2, 1>, Dialect::torch});
  operations.push_back({"torch.dot", "input, tensor", "", fixed_product<1, 1>, Dialect::torch});
  operations.push_back({"torch.outer", "input, vec2", "", outer, Dialect::torch});
  operations.push_back({"np.outer", "input, vec2", "", outer, Dialect::numpy});
  operations.push_back({"torch.addmm", "input, mat1, mat2, beta=1, alpha=1", "", added_product<2, 2>, Dialect::torch});
  operations.push_back({"torch.addmv", "input, mat, vec, beta=1, alpha=1", "", added_product<2, 1>, Dialect::torch});
  operations.push_back(
      {"torch.baddbmm", "input, batch1, batch2, beta=1, alpha=1", "", added_product<3, 3>, Dialect::torch});
  operations.push_back({"torch.nn.functional.linear", "input, weight, bias=None", "", linear_function, Dialect::torch});
  operations.push_back(
      {"torch.nn.Linear", "in_features, out_features, bias=True", "input", linear_module, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.bilinear", "input1, input2, weight, bias=None", "", bilinear, Dialect::torch});
  operations.push_back({"torch.nn.Bilinear", "in1_features, in2_features, out_features, bias=True", "input1, input2",
                        bilinear, Dialect::torch});
  operations.push_back({"tf.matmul", "a, b, transpose_a=False, transpose_b=False", "", tf_matmul, Dialect::tensorflow});
  operations.push_back(
      {"keras.layers.Dense", "units, activation=None, use_bias=True", "input", linear_module, Dialect::tensorflow});
}

}  // namespace einflow::python
