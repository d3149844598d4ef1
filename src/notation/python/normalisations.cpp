// LayerNorm, RMSNorm, BatchNorm, step by step.
#include <fmt/format.h>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

/// A chain of elementwise steps and reductions over the last axes of one tensor.
class Steps {
 public:
  Steps(Call& call, std::size_t axes) : call_(call), axes_(axes) {}

  std::vector<std::size_t> last_axes(const TensorValue& tensor) const {
    std::vector<std::size_t> axes;
    for (std::size_t axis = tensor.shape.size() - axes_; axis < tensor.shape.size(); ++axis) axes.push_back(axis);
    return axes;
  }

  std::optional<TensorValue> mean(TensorValue& tensor, const char* name) {
    auto sum = reduce_axes(tensor, last_axes(tensor), true, {"sum", "*", "+", {}}, std::string(name) + "_sum",
                           call_.place, call_.lowering);
    if (!sum) return std::nullopt;
    return apply("scale", *sum, name);
  }
  std::optional<TensorValue> apply(const char* function, TensorValue& tensor, const char* name) {
    return elementwise({function, function, "", {}}, {&tensor}, name, call_.place, call_.lowering);
  }
  std::optional<TensorValue> combine(const char* word, const char* map, TensorValue& left, TensorValue& right,
                                     const char* name) {
    return elementwise({word, map, "", {}}, {&left, &right}, name, call_.place, call_.lowering);
  }

 private:
  Call& call_;
  std::size_t axes_;
};

/// normalized_shape: a number or several; the input ends with them.
std::optional<std::vector<std::int64_t>> normalized_shape(Call& call, const TensorValue& input) {
  const Value value = call.argument("normalized_shape");
  std::vector<std::int64_t> shape;
  if (value.kind == Value::Kind::integer) {
    shape.push_back(value.integer);
  } else if (const auto several = shape_of(value); several && !several->empty()) {
    shape = *several;
  } else {
    return call.error_at("normalized_shape",
                         fmt::format("'normalized_shape' is {}, expected a size or several", describe(value)));
  }
  const bool ends =
      input.shape.size() >= shape.size() && std::equal(shape.rbegin(), shape.rend(), input.shape.rbegin());
  if (!ends) {
    return call.error_at("normalized_shape",
                         fmt::format("the input of shape {} does not end with the normalized shape {}",
                                     shape_text(input.shape), shape_text(shape)));
  }
  return shape;
}

/// The weight or bias of a module or function; nothing where there is none.
bool affine(Call& call, const char* name, bool wanted, const std::vector<std::int64_t>& shape, const TensorValue& like,
            std::optional<TensorValue>& tensor) {
  if (!call.operation.forward.empty()) {
    if (wanted) tensor = weight_of(shape, like, name, call.lowering);
    return true;
  }
  tensor = call.optional_tensor(name);
  if (!tensor) return !call.lowering.failed();
  if (tensor->shape != shape) {
    call.error_at(name,
                  fmt::format("a {} of shape {}, expected {}", name, shape_text(tensor->shape), shape_text(shape)));
    return false;
  }
  count_weight(*tensor, name, call.lowering);
  return true;
}

/// Of a module: whether it has weights, from a flag.
std::optional<bool> wanted(Call& call, const char* flag) {
  if (call.operation.forward.empty()) return false;
  return call.flag(flag);
}

std::optional<Value> layer_norm(Call& call) {
  auto input = call.tensor("input");
  if (!input) return std::nullopt;
  const auto shape = normalized_shape(call, *input);
  const auto has_weight = wanted(call, "elementwise_affine");
  const bool module = !call.operation.forward.empty();
  const auto has_bias = module ? call.flag("bias") : std::optional(false);
  if (!shape || !has_weight || !has_bias) return std::nullopt;
  std::optional<TensorValue> weight, bias;
  if (!affine(call, "weight", *has_weight, *shape, *input, weight)) return std::nullopt;
  if (!affine(call, "bias", *has_weight && *has_bias, *shape, *input, bias)) return std::nullopt;
  call.lowering.convention(
      "layer_norm is taken step by step: mean, difference, square, mean, rsqrt, product; eps is a "
      "part of rsqrt");
  Steps steps(call, shape->size());
  auto mean = steps.mean(*input, "M");
  if (!mean) return std::nullopt;
  auto centred = steps.combine("difference", "-", *input, *mean, "C");
  if (!centred) return std::nullopt;
  auto squares = steps.apply("square", *centred, "Q");
  if (!squares) return std::nullopt;
  auto variance = steps.mean(*squares, "V");
  if (!variance) return std::nullopt;
  auto factor = steps.apply("rsqrt", *variance, "R");
  if (!factor) return std::nullopt;
  auto output = steps.combine("normalised", "*", *centred, *factor, "N");
  if (output && weight) output = steps.combine("weight", "*", *output, *weight, "G");
  if (output && bias) output = steps.combine("bias", "+", *output, *bias, "Y");
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

std::optional<Value> rms_norm(Call& call) {
  auto input = call.tensor("input");
  if (!input) return std::nullopt;
  const auto shape = normalized_shape(call, *input);
  const auto has_weight = wanted(call, "elementwise_affine");
  if (!shape || !has_weight) return std::nullopt;
  std::optional<TensorValue> weight;
  if (!affine(call, "weight", *has_weight, *shape, *input, weight)) return std::nullopt;
  call.lowering.convention("rms_norm is taken step by step: square, mean, rsqrt, product; eps is a part of rsqrt");
  Steps steps(call, shape->size());
  auto squares = steps.apply("square", *input, "Q");
  if (!squares) return std::nullopt;
  auto mean = steps.mean(*squares, "V");
  if (!mean) return std::nullopt;
  auto factor = steps.apply("rsqrt", *mean, "R");
  if (!factor) return std::nullopt;
  auto output = steps.combine("normalised", "*", *input, *factor, "N");
  if (output && weight) output = steps.combine("weight", "*", *output, *weight, "Y");
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

/// As in eval mode: a scale and a shift for each channel, which the running statistics are folded into.
template <std::size_t SpatialAxes>
std::optional<Value> batch_norm(Call& call) {
  auto input = call.tensor("input");
  const auto channels = call.integer("num_features", 1);
  const auto has_weight = call.flag("affine");
  const auto tracks = call.flag("track_running_stats");
  if (!input || !channels || !has_weight || !tracks) return std::nullopt;
  if (!*tracks) {
    return call.error_at("track_running_stats",
                         "without running statistics the batch's own are computed each time; that is not read");
  }
  const std::size_t axes = input->shape.size();
  const bool fits = axes == SpatialAxes + 2 || (SpatialAxes == 1 && axes == 2);
  if (!fits) {
    return call.error_at("input", fmt::format("{} takes {} axes, found {}", call.operation.name, SpatialAxes + 2,
                                              shape_text(input->shape)));
  }
  if (input->shape[1] != *channels) {
    return call.error_at("input", fmt::format("the input has {} channels (shape {}), num_features is {}",
                                              input->shape[1], shape_text(input->shape), *channels));
  }
  call.lowering.convention(
      "batch_norm as in eval mode: a scale and a shift of each channel, with the running "
      "statistics folded in");
  std::vector<std::int64_t> along(axes, 1);
  along[1] = *channels;
  along.erase(along.begin());
  TensorValue scale = tensor_of(along, input->type), shift = scale;
  if (*has_weight) {
    call.lowering.parameters(Count(*channels), fmt::format("weight {}", *channels));
    call.lowering.parameters(Count(*channels), fmt::format("bias {}", *channels));
  }
  auto scaled = elementwise({"scale", "*", "", {}}, {&*input, &scale}, "T", call.place, call.lowering);
  if (!scaled) return std::nullopt;
  auto output = elementwise({"shift", "+", "", {}}, {&*scaled, &shift}, "Y", call.place, call.lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

}  // namespace

void list_normalisations(std::vector<Operation>& operations) {
  operations.push_back({"torch.nn.functional.layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05",
                        "", layer_norm, Dialect::torch});
  operations.push_back({"torch.nn.LayerNorm", "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True",
                        "input", layer_norm, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.rms_norm", "input, normalized_shape, weight=None, eps=None", "", rms_norm, Dialect::torch});
  operations.push_back(
      {"torch.nn.RMSNorm", "normalized_shape, eps=None, elementwise_affine=True", "input", rms_norm, Dialect::torch});
  const char* const signature = "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True";
  operations.push_back({"torch.nn.BatchNorm1d", signature, "input", batch_norm<1>, Dialect::torch});
  operations.push_back({"torch.nn.BatchNorm2d", signature, "input", batch_norm<2>, Dialect::torch});
  operations.push_back({"torch.nn.BatchNorm3d", signature, "input", batch_norm<3>, Dialect::torch});
}

}  // namespace einflow::python
