// What the convolutions of all libraries share: their sizes, and the einsum that these make.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "notation/python/arguments.hpp"

namespace einflow::python {

/// Sizes as the call states them, one for each spatial axis.
struct Sizes {
  std::size_t axes = 0;
  bool batched = true;
  bool channels_last = false;
  std::int64_t batch = 1, in = 1, out = 1, groups = 1;
  std::vector<std::int64_t> size, kernel, stride, dilation, before, after, output_padding;
};

struct Weights {
  TensorValue filter;
  std::optional<TensorValue> bias;
};

/// Where the batch, the channels and the spatial axes stand. Another number of axes is an error.
bool read_input_shape(Call& call, const TensorValue& input, Sizes& sizes, bool unbatched_allowed);

/// "padding": a number for each axis, or 'same' or 'valid'. Kernels, strides and dilations must be known.
bool read_padding(Call& call, Sizes& sizes);

/// Strides and dilations, by the library's names.
bool read_windows(Call& call, Sizes& sizes);

/// Whether groups divide the channels, and the filter (named in words) takes the input's.
bool check_channels(Call& call, const Sizes& sizes, std::int64_t filter_in, const char* filter);

/// Whether there is an output at all.
bool check_output(Call& call, const Sizes& sizes, const Convolution& shape, bool transposed);

/// The constructor's parameters.
Convolution convolution_of(const Sizes& sizes);

/// The shape of the result with these spatial sizes.
std::vector<std::int64_t> output_shape(const Sizes& sizes, const std::vector<std::int64_t>& spatial);

/// Takes out a rank of extent 1 that the text has not: the batch.
void drop_rank(Einsum& einsum, const std::string& name);

/// The convolution, and its bias as an einsum of its own.
std::optional<TensorValue> convolve(Call& call, TensorValue input, Weights weights, const Sizes& sizes);

}  // namespace einflow::python
