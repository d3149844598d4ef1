// Sliding windows of convolutions and pools along one axis, as ONNX's attributes describe them.
#pragma once

#include "base/diagnostic.hpp"
#include "notation/onnx/graph.hpp"

namespace einflow {

/// One spatial axis: output o meets input positions stride * o + dilation * k - begin for k < kernel.
struct OnnxWindow {
  std::int64_t size = 1;  ///< of the input
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t begin = 0;  ///< padding before the first element
  std::int64_t end = 0;    ///< padding behind the last
  std::int64_t output = 1;
};

/// Windows of a Conv or pool over the spatial axes of `input` (N, C and these), with `kernel` sizes. auto_pad and
/// ceil_mode are taken as the operators' specifications say. Errors: attributes of another length or out of range, a
/// window larger than the padded input.
Result<std::vector<OnnxWindow>> windows_of(const OnnxNode& node, const OnnxSizes& input, const OnnxSizes& kernel);

/// Axes of a ConvTranspose: begin and end are what is cut off the output; output_padding is added at its end.
struct OnnxTransposedAxis {
  OnnxWindow window;
  std::int64_t output_padding = 0;
};
Result<std::vector<OnnxTransposedAxis>> transposed_axes_of(const OnnxNode& node, const OnnxSizes& input,
                                                           const OnnxSizes& kernel);

}  // namespace einflow
