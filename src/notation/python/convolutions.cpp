// Convolutions and transposed convolutions of PyTorch: channels first.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/convolution_sizes.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

constexpr std::int64_t kLargestKernel = 1'000'000;  ///< of a transposed convolution, whose taps are gone through
const char* const kPaddingModes = "only zeros outside the input are counted";

/// What Conv and ConvTranspose modules are made of, and the tensor that they are applied to.
struct ModuleParts {
  Sizes sizes;
  TensorValue input;
  std::int64_t in = 1;
  bool has_bias = false;
};

template <std::size_t Axes>
std::optional<ModuleParts> read_module(Call& call) {
  Sizes sizes;
  sizes.axes = Axes;
  auto input = call.tensor("input");
  const auto in = call.integer("in_channels", 1), out = call.integer("out_channels", 1);
  const auto kernel = call.numbers("kernel_size", Axes, 1);
  const auto groups = call.integer("groups", 1);
  const auto has_bias = call.flag("bias");
  if (!input || !in || !out || !kernel || !groups || !has_bias || !read_windows(call, sizes) ||
      !call.only_default("padding_mode", kPaddingModes) || !read_input_shape(call, *input, sizes, true)) {
    return std::nullopt;
  }
  sizes.out = *out;
  sizes.groups = *groups;
  sizes.kernel = *kernel;
  if (*in % *groups != 0 || *out % *groups != 0) {
    return call.error_at("groups",
                         fmt::format("groups={} does not divide {} input and {} output channels", *groups, *in, *out));
  }
  if (sizes.in != *in) {
    return call.error_at("input", fmt::format("expected the input {} to have {} channels, but it has {}",
                                              shape_text(input->shape), *in, sizes.in));
  }
  return ModuleParts{std::move(sizes), std::move(*input), *in, *has_bias};
}

template <std::size_t Axes>
std::optional<Value> conv_module(Call& call) {
  auto parts = read_module<Axes>(call);
  if (!parts) return std::nullopt;
  Sizes& sizes = parts->sizes;
  if (!read_padding(call, sizes)) return std::nullopt;
  std::vector<std::int64_t> filter{sizes.out, parts->in / sizes.groups};
  filter.insert(filter.end(), sizes.kernel.begin(), sizes.kernel.end());
  Weights weights{weight_of(filter, parts->input, "weight", call.lowering), std::nullopt};
  if (parts->has_bias) weights.bias = weight_of({sizes.out}, parts->input, "bias", call.lowering);
  auto output = convolve(call, parts->input, std::move(weights), sizes);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

/// The filter's and the bias' shapes of a function.
template <std::size_t Axes>
std::optional<Weights> given_weights(Call& call, Sizes& sizes, std::size_t out_axis) {
  auto filter = call.tensor("weight");
  if (!filter) return std::nullopt;
  auto bias = call.optional_tensor("bias");
  const auto groups = call.integer("groups", 1);
  if (call.lowering.failed() || !groups) return std::nullopt;
  sizes.groups = *groups;
  if (filter->shape.size() != Axes + 2) {
    return call.error_at(
        "weight", fmt::format("expected a weight of {} axes, found {}", Axes + 2, shape_text(filter->shape)),
        out_axis == 0 ? "the weight is [out, in / groups, ...]" : "the weight is [in, out / groups, ...]");
  }
  sizes.kernel.assign(filter->shape.begin() + 2, filter->shape.end());
  const Count out = Count(filter->shape[out_axis]) * Count(out_axis == 0 ? 1 : *groups);
  if (out.overflowed() || out > Count(kLargestSize)) return call.error_at("weight", "more than 2^40 output channels");
  sizes.out = *out.to_int64();
  if (bias && bias->shape != std::vector{sizes.out}) {
    return call.error_at("bias", fmt::format("a bias of shape {}, expected [{}]", shape_text(bias->shape), sizes.out));
  }
  return Weights{std::move(*filter), std::move(bias)};
}

template <std::size_t Axes>
std::optional<Value> conv_function(Call& call) {
  Sizes sizes;
  sizes.axes = Axes;
  auto input = call.tensor("input");
  if (!input || !read_windows(call, sizes) || !read_input_shape(call, *input, sizes, true)) return std::nullopt;
  auto weights = given_weights<Axes>(call, sizes, 0);
  if (!weights ||
      !check_channels(call, sizes, weights->filter.shape[1],
                      ("a weight of " + shape_text(weights->filter.shape)).c_str()) ||
      !read_padding(call, sizes)) {
    return std::nullopt;
  }
  count_weight(weights->filter, "weight", call.lowering);
  if (weights->bias) count_weight(*weights->bias, "bias", call.lowering);
  auto output = convolve(call, *input, std::move(*weights), sizes);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

/// The phases of a transposed convolution, and the bias of each.
std::optional<TensorValue> transpose_convolve(Call& call, TensorValue input, Weights weights, Sizes& sizes) {
  const auto padding = call.numbers("padding", sizes.axes, 0);
  const auto output_padding = call.numbers("output_padding", sizes.axes, 0);
  if (!padding || !output_padding) return std::nullopt;
  sizes.before = sizes.after = *padding;
  sizes.output_padding = *output_padding;
  for (std::size_t axis = 0; axis < sizes.axes; ++axis) {
    if ((*output_padding)[axis] < std::max(sizes.stride[axis], sizes.dilation[axis])) continue;
    return call.error_at("output_padding",
                         fmt::format("output_padding {} must be smaller than stride {} or dilation {}",
                                     (*output_padding)[axis], sizes.stride[axis], sizes.dilation[axis]));
  }
  if (std::any_of(sizes.kernel.begin(), sizes.kernel.end(), [](std::int64_t k) { return k > kLargestKernel; })) {
    return call.error(fmt::format("a kernel of a transposed convolution beyond {}", kLargestKernel));
  }
  const Convolution shape = convolution_of(sizes);
  if (!check_output(call, sizes, shape, true)) return std::nullopt;
  auto phases = transposed_convolution(shape);
  if (!phases) {
    for (Diagnostic& fault : phases.error()) call.error(std::move(fault.message), std::move(fault.hint));
    return std::nullopt;
  }
  for (Einsum& einsum : phases->einsums) {
    if (!sizes.batched) drop_rank(einsum, "n");
    if (weights.bias) einsum.tensors.back().name.replace(0, 1, "T");
  }
  const std::size_t first = call.lowering.einsums().size();
  const std::size_t count = phases->einsums.size();
  if (!call.lowering.adopt(call.place, std::move(phases->einsums), {{"I", &input}, {"F", &weights.filter}})) {
    return std::nullopt;
  }
  const TransposedMacs macs = transposed_macs(shape);
  call.lowering.convention(
      fmt::format("a transposed convolution is one convolution for each phase of its stride: {} "
                  "MACs, of which {} are products of an input and a tap that land in the output",
                  macs.phases.str(), macs.landing.str()));
  call.lowering.convention("the filter's taps are stored in reverse order");
  std::vector<std::int64_t> spatial;
  Count outputs = Count(sizes.batch) * Count(sizes.out), made = 0;
  for (const ConvolutionAxis& axis : shape.axes) {
    spatial.push_back(*transposed_output(axis));
    outputs *= Count(spatial.back());
  }
  for (std::size_t i = first; i < first + count; ++i) {
    const Einsum phase = call.lowering.einsums()[i];
    Count elements = 1;
    std::vector<std::string> ranks;
    for (const Axis& axis : phase.tensors.back().axes) {
      const Rank& rank = phase.ranks[static_cast<std::size_t>(axis.terms[0].rank)];
      ranks.push_back(rank.name);
      elements *= Count(rank.extent);
    }
    made += elements;
    if (!weights.bias) continue;
    TensorValue output = tensor_of(std::vector<std::int64_t>(ranks.size(), 1), phase.tensors.back().type);
    output.name = phase.tensors.back().name;
    std::vector<NamedAxis> axes, channels;
    for (const std::string& rank : ranks) axes.push_back({{{rank, 1}}, 0, std::nullopt});
    const std::size_t at = sizes.batched ? 1 : 0;
    for (std::size_t c = at; c + sizes.axes < ranks.size(); ++c) channels.push_back(axes[c]);
    const std::string name = "O" + output.name.substr(1);
    if (!call.lowering.add(call.place, {"bias", "+", "", {}}, {{&output, "X", axes}, {&*weights.bias, "B", channels}},
                           ranks, name)) {
      return std::nullopt;
    }
  }
  if (!(made == outputs)) {
    call.lowering.convention(
        fmt::format("{} of the {} outputs are reached by no tap and input: they are {} and have no "
                    "einsum",
                    (outputs - made).str(), outputs.str(), weights.bias ? "the bias" : "zero"));
  }
  TensorValue output = tensor_of(output_shape(sizes, spatial), call.lowering.einsums().back().tensors.back().type);
  output.name = call.lowering.tensor_name("O");
  return output;
}

template <std::size_t Axes>
std::optional<Value> transposed_module(Call& call) {
  auto parts = read_module<Axes>(call);
  if (!parts) return std::nullopt;
  Sizes& sizes = parts->sizes;
  std::vector<std::int64_t> filter{parts->in, sizes.out / sizes.groups};
  filter.insert(filter.end(), sizes.kernel.begin(), sizes.kernel.end());
  Weights weights{weight_of(filter, parts->input, "weight", call.lowering), std::nullopt};
  if (parts->has_bias) weights.bias = weight_of({sizes.out}, parts->input, "bias", call.lowering);
  auto output = transpose_convolve(call, parts->input, std::move(weights), sizes);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

template <std::size_t Axes>
std::optional<Value> transposed_function(Call& call) {
  Sizes sizes;
  sizes.axes = Axes;
  auto input = call.tensor("input");
  if (!input || !read_windows(call, sizes) || !read_input_shape(call, *input, sizes, true)) return std::nullopt;
  auto weights = given_weights<Axes>(call, sizes, 1);
  if (!weights) return std::nullopt;
  if (weights->filter.shape[0] != sizes.in) {
    return call.error_at("input",
                         fmt::format("the input has {} channels; a weight of {} takes {}", sizes.in,
                                     shape_text(weights->filter.shape), weights->filter.shape[0]),
                         "the weight of a transposed convolution is [in, out / groups, ...]");
  }
  if (sizes.in % sizes.groups != 0) {
    return call.error_at("groups", fmt::format("groups={} does not divide {} input channels", sizes.groups, sizes.in));
  }
  count_weight(weights->filter, "weight", call.lowering);
  if (weights->bias) count_weight(*weights->bias, "bias", call.lowering);
  auto output = transpose_convolve(call, *input, std::move(*weights), sizes);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

}  // namespace

void list_convolutions(std::vector<Operation>& operations) {
  const char* const function = "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1";
  operations.push_back({"torch.nn.functional.conv1d", function, "", conv_function<1>, Dialect::torch});
  operations.push_back({"torch.nn.functional.conv2d", function, "", conv_function<2>, Dialect::torch});
  operations.push_back({"torch.nn.functional.conv3d", function, "", conv_function<3>, Dialect::torch});
  const char* const transposed =
      "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1";
  operations.push_back(
      {"torch.nn.functional.conv_transpose1d", transposed, "", transposed_function<1>, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.conv_transpose2d", transposed, "", transposed_function<2>, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.conv_transpose3d", transposed, "", transposed_function<3>, Dialect::torch});
  const char* const module =
      "in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, "
      "padding_mode='zeros'";
  operations.push_back({"torch.nn.Conv1d", module, "input", conv_module<1>, Dialect::torch});
  operations.push_back({"torch.nn.Conv2d", module, "input", conv_module<2>, Dialect::torch});
  operations.push_back({"torch.nn.Conv3d", module, "input", conv_module<3>, Dialect::torch});
  const char* const transposed_class =
      "in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, "
      "padding_mode='zeros'";
  operations.push_back({"torch.nn.ConvTranspose1d", transposed_class, "input", transposed_module<1>, Dialect::torch});
  operations.push_back({"torch.nn.ConvTranspose2d", transposed_class, "input", transposed_module<2>, Dialect::torch});
  operations.push_back({"torch.nn.ConvTranspose3d", transposed_class, "input", transposed_module<3>, Dialect::torch});
}

}  // namespace einflow::python
