#include "notation/python/convolution_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

/// Channels first becomes channels last: [n, channels, spatial] -> [n, spatial, channels], filters [spatial, in, out].
void put_channels_last(Einsum& einsum, std::size_t spatial, bool depthwise) {
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    std::vector<Axis>& axes = einsum.tensors[t].axes;
    const std::size_t channels_end = axes.size() - spatial;
    if (t == 1) {
      // g, k, c become c, g, k: input channels, then output channels. A depthwise filter has c, k already.
      std::rotate(axes.begin(), axes.begin() + static_cast<long>(channels_end), axes.end());
      if (!depthwise) std::rotate(axes.begin() + static_cast<long>(spatial), axes.end() - 1, axes.end());
    } else {
      const bool batched =
          channels_end > 0 && einsum.ranks[static_cast<std::size_t>(axes[0].terms[0].rank)].name == "n";
      std::rotate(axes.begin() + (batched ? 1 : 0), axes.begin() + static_cast<long>(channels_end), axes.end());
    }
  }
}

}  // namespace

bool read_input_shape(Call& call, const TensorValue& input, Sizes& sizes, bool unbatched_allowed) {
  const std::size_t axes = input.shape.size();
  sizes.batched = axes == sizes.axes + 2;
  if (!sizes.batched && !(unbatched_allowed && axes == sizes.axes + 1)) {
    const char* const order = sizes.channels_last ? "[batch, ..., channels]" : "[batch, channels, ...]";
    call.error_at("input",
                  fmt::format("expected {} axes{}, found a shape of {}", sizes.axes + 2,
                              unbatched_allowed ? fmt::format(" (or {} without a batch)", sizes.axes + 1) : "",
                              shape_text(input.shape)),
                  fmt::format("the input is {}", order));
    return false;
  }
  const std::size_t first = sizes.batched ? 1 : 0;
  if (sizes.batched) sizes.batch = input.shape[0];
  sizes.in = sizes.channels_last ? input.shape.back() : input.shape[first];
  const auto spatial = input.shape.begin() + static_cast<long>(first + (sizes.channels_last ? 0 : 1));
  sizes.size.assign(spatial, spatial + static_cast<long>(sizes.axes));
  return true;
}

bool read_padding(Call& call, Sizes& sizes) {
  const Value padding = call.argument("padding");
  sizes.before.assign(sizes.axes, 0);
  sizes.after.assign(sizes.axes, 0);
  if (padding.kind != Value::Kind::text) {
    const auto numbers = call.numbers("padding", sizes.axes, 0);
    if (!numbers) return false;
    sizes.before = sizes.after = *numbers;
    return true;
  }
  std::string word = padding.text;
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (word == "valid") return true;
  if (word != "same") {
    call.error_at("padding", fmt::format("'padding' is {}, expected a number, 'same' or 'valid'", describe(padding)));
    return false;
  }
  const bool tensorflow = call.operation.dialect == Dialect::tensorflow;
  for (std::size_t axis = 0; axis < sizes.axes; ++axis) {
    const std::int64_t stride = sizes.stride[axis];
    if (!tensorflow && stride != 1) {
      call.error_at("padding", "padding='same' needs stride 1 in PyTorch", "give the padding as a number");
      return false;
    }
    // tf.nn: output ceil(size / stride), what is odd stands behind; PyTorch the same with stride 1.
    const Count covered = Count(sizes.dilation[axis]) * Count(sizes.kernel[axis] - 1) + 1;
    const std::int64_t outputs = (sizes.size[axis] + stride - 1) / stride;
    const Count total = Count(outputs - 1) * Count(stride) + covered - Count(sizes.size[axis]);
    if (total.overflowed() || total > Count(kLargestSize)) {
      call.error_at("padding", "a padding beyond 2^40");
      return false;
    }
    if (total <= Count(0)) continue;
    sizes.before[axis] = static_cast<std::int64_t>(total.value() / 2);
    sizes.after[axis] = static_cast<std::int64_t>(total.value()) - sizes.before[axis];
  }
  call.lowering.convention(fmt::format("padding='same' is {} before and {} behind the axes, as in {}",
                                       shape_text(sizes.before), shape_text(sizes.after),
                                       name_of(call.operation.dialect)));
  return true;
}

Convolution convolution_of(const Sizes& sizes) {
  Convolution shape;
  shape.batch = sizes.batch;
  shape.in_channels = sizes.in;
  shape.out_channels = sizes.out;
  shape.groups = sizes.groups;
  for (std::size_t axis = 0; axis < sizes.axes; ++axis) {
    ConvolutionAxis made;
    // The constructor pads both sides alike; an input that is longer behind gives the same windows.
    made.size = sizes.size[axis] + (sizes.after[axis] - sizes.before[axis]);
    made.kernel = sizes.kernel[axis];
    made.stride = sizes.stride[axis];
    made.padding = sizes.before[axis];
    made.dilation = sizes.dilation[axis];
    made.output_padding = sizes.output_padding.empty() ? 0 : sizes.output_padding[axis];
    shape.axes.push_back(made);
  }
  return shape;
}

void drop_rank(Einsum& einsum, const std::string& name) {
  const int dropped = einsum.rank_named(name);
  einsum.ranks.erase(einsum.ranks.begin() + dropped);
  for (Tensor& tensor : einsum.tensors) {
    std::erase_if(tensor.axes,
                  [&](const Axis& axis) { return axis.terms.size() == 1 && axis.terms[0].rank == dropped; });
    for (Axis& axis : tensor.axes) {
      for (Term& term : axis.terms) term.rank -= term.rank > dropped ? 1 : 0;
    }
  }
}

std::vector<std::int64_t> output_shape(const Sizes& sizes, const std::vector<std::int64_t>& spatial) {
  std::vector<std::int64_t> shape;
  if (sizes.batched) shape.push_back(sizes.batch);
  if (!sizes.channels_last) shape.push_back(sizes.out);
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  if (sizes.channels_last) shape.push_back(sizes.out);
  return shape;
}

bool check_channels(Call& call, const Sizes& sizes, std::int64_t filter_in, const char* filter) {
  bool good = true;
  if (sizes.in % sizes.groups != 0 || sizes.out % sizes.groups != 0) {
    call.error_at("groups", fmt::format("groups={} does not divide {} input and {} output channels", sizes.groups,
                                        sizes.in, sizes.out));
    good = false;
  } else if (filter_in * sizes.groups != sizes.in) {
    call.error_at("input", fmt::format("the input has {} channels; {} with groups={} takes {}", sizes.in, filter,
                                       sizes.groups, (Count(filter_in) * Count(sizes.groups)).str()));
    good = false;
  }
  return good;
}

bool check_output(Call& call, const Sizes& sizes, const Convolution& shape, bool transposed) {
  for (std::size_t axis = 0; axis < sizes.axes; ++axis) {
    const ConvolutionAxis& one = shape.axes[axis];
    if (transposed ? transposed_output(one).has_value() : convolution_output(one).has_value()) continue;
    if (transposed) {
      call.error(fmt::format("spatial axis {} of the output would be empty: input {}, kernel {}, stride {}, padding {}",
                             axis, sizes.size[axis], one.kernel, one.stride, one.padding));
      return false;
    }
    const Count padded = Count(sizes.size[axis]) + Count(sizes.before[axis]) + Count(sizes.after[axis]);
    const Count covered = Count(one.dilation) * Count(one.kernel - 1) + 1;
    call.error(fmt::format("the kernel covers {} positions of spatial axis {}, more than the padded input has: {}",
                           covered.str(), axis, padded.str()));
    return false;
  }
  return true;
}

std::optional<TensorValue> convolve(Call& call, TensorValue input, Weights weights, const Sizes& sizes) {
  for (std::size_t axis = 0; axis < input.stored_at.size(); ++axis) {
    if (input.stored_at[axis] != static_cast<int>(axis)) {
      return call.error_at("input", "the input is transposed; give the shape that is stored");
    }
  }
  const Convolution shape = convolution_of(sizes);
  if (!check_output(call, sizes, shape, false)) return std::nullopt;
  const bool depthwise = sizes.groups > 1 && sizes.groups == sizes.in;
  auto einsum = depthwise ? depthwise_convolution(shape) : convolution(shape);
  if (!einsum) {
    for (Diagnostic& fault : einsum.error()) call.error(std::move(fault.message), std::move(fault.hint));
    return std::nullopt;
  }
  Tensor& in = einsum->tensors.front();
  for (std::size_t axis = 0; axis < sizes.axes; ++axis) {
    Axis& window = in.axes[in.axes.size() - sizes.axes + axis];
    window.stored_size = std::nullopt;
    if (sizes.before[axis] > 0 || sizes.after[axis] > 0) window.stored_size = sizes.size[axis];
  }
  if (!sizes.batched) drop_rank(*einsum, "n");
  if (sizes.channels_last) put_channels_last(*einsum, sizes.axes, depthwise);
  std::vector<std::int64_t> spatial;
  for (const ConvolutionAxis& axis : shape.axes) spatial.push_back(*convolution_output(axis));
  if (weights.bias) einsum->tensors.back().name = "T";
  const std::string made_name = einsum->tensors.back().name;
  if (!call.lowering.adopt(call.place, {*einsum}, {{"I", &input}, {"F", &weights.filter}})) return std::nullopt;
  const Einsum added = call.lowering.einsums().back();
  const Tensor& out = added.tensors.back();
  TensorValue output = tensor_of(output_shape(sizes, spatial), out.type);
  output.name = out.name;
  // Where the channels are one rank each axis has a rank; groups split the channels into two.
  std::vector<std::string> ranks;
  for (const Axis& axis : out.axes) ranks.push_back(added.ranks[static_cast<std::size_t>(axis.terms[0].rank)].name);
  const bool split = ranks.size() != output.shape.size();
  if (!split) output.ranks = ranks;
  if (!weights.bias) return output;
  if (!split) {
    const std::size_t channels = sizes.channels_last ? output.shape.size() - 1 : sizes.batched ? 1 : 0;
    return add_bias(output, *weights.bias, channels, "O", call.place, call.lowering);
  }
  // O[n, g, k, ...] = T[n, g, k, ...] + B[g, k]
  const std::size_t channels = sizes.channels_last ? ranks.size() - 2 : sizes.batched ? 1 : 0;
  const auto axes_of = [](const std::vector<std::string>& names) {
    std::vector<NamedAxis> axes;
    for (const std::string& name : names) axes.push_back({{{name, 1}}, 0, std::nullopt});
    return axes;
  };
  auto biased = call.lowering.add(
      call.place, {"bias", "+", "", {}},
      {{&output, "X", axes_of(ranks)},
       {&*weights.bias, "B",
        weights.bias->shape.front() == 1 && sizes.out > 1 ? std::vector<NamedAxis>{}
                                                          : axes_of({ranks[channels], ranks[channels + 1]})}},
      ranks, "O");
  if (!biased) return std::nullopt;
  TensorValue wide = tensor_of(output.shape, biased->type);
  wide.name = biased->name;
  return wide;
}

bool read_windows(Call& call, Sizes& sizes) {
  const auto stride = call.numbers(call.operation.dialect == Dialect::tensorflow ? "strides" : "stride", sizes.axes, 1);
  const auto dilation =
      call.numbers(call.operation.dialect == Dialect::tensorflow ? "dilation_rate" : "dilation", sizes.axes, 1);
  if (!stride || !dilation) return false;
  sizes.stride = *stride;
  sizes.dilation = *dilation;
  return true;
}

}  // namespace einflow::python
