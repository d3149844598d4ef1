// Convolutions of TensorFlow and Keras: channels last.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/convolution_sizes.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

bool channels_last(Call& call) {
  const Value format = call.argument("data_format");
  const bool last = format.kind == Value::Kind::none || (format.kind == Value::Kind::text && format.text.size() > 2 &&
                                                         (format.text.back() == 'C' || format.text == "channels_last"));
  if (!last) {
    call.error_at("data_format",
                  fmt::format("'data_format' is {}; channels last is read, as in NHWC", describe(format)));
  }
  return last;
}

/// keras.layers.Conv2D and DepthwiseConv2D: the input is [batch, ..., channels].
template <std::size_t Axes>
std::optional<Value> keras_conv(Call& call) {
  Sizes sizes;
  sizes.axes = Axes;
  sizes.channels_last = true;
  const bool depthwise = call.operation.name.find("Depthwise") != std::string::npos;
  auto input = call.tensor("input");
  const auto kernel = call.numbers("kernel_size", Axes, 1);
  const auto has_bias = call.flag("use_bias");
  const auto filters = call.integer(depthwise ? "depth_multiplier" : "filters", 1);
  if (!input || !kernel || !has_bias || !filters || !channels_last(call) || !read_windows(call, sizes) ||
      !read_input_shape(call, *input, sizes, false)) {
    return std::nullopt;
  }
  sizes.kernel = *kernel;
  if (depthwise) {
    const Count out = Count(*filters) * Count(sizes.in);
    if (out.overflowed() || out > Count(kLargestSize))
      return call.error_at("depth_multiplier", "more than 2^40 channels");
    sizes.groups = sizes.in;
    sizes.out = *out.to_int64();
  } else {
    const auto groups = call.integer("groups", 1);
    if (!groups) return std::nullopt;
    sizes.groups = *groups;
    sizes.out = *filters;
  }
  if (!check_channels(call, sizes, sizes.in / sizes.groups, "the filter") || !read_padding(call, sizes)) {
    return std::nullopt;
  }
  std::vector<std::int64_t> filter = *kernel;
  filter.push_back(depthwise ? sizes.in : sizes.in / sizes.groups);
  filter.push_back(depthwise ? *filters : sizes.out);
  Weights weights{weight_of(filter, *input, "kernel", call.lowering), std::nullopt};
  if (*has_bias) weights.bias = weight_of({sizes.out}, *input, "bias", call.lowering);
  auto output = convolve(call, *input, std::move(weights), sizes);
  if (output) output = activated(call, std::move(*output));
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

/// tf.nn.conv2d(input, filters, strides, padding): filters are [height, width, in / groups, out].
template <std::size_t Axes>
std::optional<Value> tf_conv(Call& call) {
  Sizes sizes;
  sizes.axes = Axes;
  sizes.channels_last = true;
  auto input = call.tensor("input"), filter = call.tensor("filters");
  if (!input || !filter || !channels_last(call) || !read_input_shape(call, *input, sizes, false)) return std::nullopt;
  if (filter->shape.size() != Axes + 2) {
    return call.error_at("filters",
                         fmt::format("expected filters of {} axes, found {}", Axes + 2, shape_text(filter->shape)),
                         "the filters are [..., in / groups, out]");
  }
  // Strides are one number, one for each spatial axis, or for all four axes with 1 at the batch and channels.
  const auto spatial_numbers = [&](const char* name) -> std::optional<std::vector<std::int64_t>> {
    const Value value = call.argument(name);
    if (value.kind == Value::Kind::none) return std::vector<std::int64_t>(Axes, 1);
    const auto all = shape_of(value);
    if (!all || all->size() != Axes + 2) return call.numbers(name, Axes, 1);
    if (all->front() != 1 || all->back() != 1) {
      return call.error_at(name, fmt::format("'{}' is {}: batch and channels have 1", name, describe(value)));
    }
    auto four = call.numbers(name, Axes + 2, 1);
    if (!four) return std::nullopt;
    return std::vector<std::int64_t>(four->begin() + 1, four->end() - 1);
  };
  const auto stride = spatial_numbers("strides"), dilation = spatial_numbers("dilations");
  if (!stride || !dilation) return std::nullopt;
  sizes.stride = *stride;
  sizes.dilation = *dilation;
  sizes.kernel.assign(filter->shape.begin(), filter->shape.begin() + static_cast<long>(Axes));
  sizes.out = filter->shape.back();
  const std::int64_t filter_in = filter->shape[Axes];
  if (sizes.in % filter_in != 0 || sizes.out % (sizes.in / filter_in) != 0) {
    return call.error_at("filters", fmt::format("filters of {} do not fit an input of {} channels",
                                                shape_text(filter->shape), sizes.in));
  }
  sizes.groups = sizes.in / filter_in;
  if (!read_padding(call, sizes)) return std::nullopt;
  count_weight(*filter, "filters", call.lowering);
  auto output = convolve(call, *input, {*filter, std::nullopt}, sizes);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

}  // namespace

void list_tensorflow_convolutions(std::vector<Operation>& operations) {
  const char* const tensorflow = "input, filters, strides, padding, data_format=None, dilations=None";
  operations.push_back({"tf.nn.conv1d", tensorflow, "", tf_conv<1>, Dialect::tensorflow});
  operations.push_back({"tf.nn.conv2d", tensorflow, "", tf_conv<2>, Dialect::tensorflow});
  operations.push_back({"tf.nn.conv3d", tensorflow, "", tf_conv<3>, Dialect::tensorflow});
  const char* const keras =
      "filters, kernel_size, strides=1, padding='valid', data_format=None, dilation_rate=1, groups=1, activation=None, "
      "use_bias=True";
  operations.push_back({"keras.layers.Conv1D", keras, "input", keras_conv<1>, Dialect::tensorflow});
  operations.push_back({"keras.layers.Conv2D", keras, "input", keras_conv<2>, Dialect::tensorflow});
  operations.push_back({"keras.layers.Conv3D", keras, "input", keras_conv<3>, Dialect::tensorflow});
  const char* const depthwise =
      "kernel_size, strides=1, padding='valid', depth_multiplier=1, data_format=None, dilation_rate=1, "
      "activation=None, "
      "use_bias=True";
  operations.push_back({"keras.layers.DepthwiseConv1D", depthwise, "input", keras_conv<1>, Dialect::tensorflow});
  operations.push_back({"keras.layers.DepthwiseConv2D", depthwise, "input", keras_conv<2>, Dialect::tensorflow});
}

}  // namespace einflow::python
