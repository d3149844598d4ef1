#include "notation/onnx/windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow {

namespace {

constexpr std::int64_t kLargestAttribute = std::int64_t{1} << 31;

/// The values of an attribute with `count` entries, each between `least` and 2^31; all `otherwise` where it is absent.
Result<OnnxSizes> values_of(const OnnxNode& node, const char* attribute, std::size_t count, std::int64_t least,
                            std::int64_t otherwise) {
  const std::vector<std::int64_t>* given = node.integers(attribute);
  if (given == nullptr || given->empty()) return OnnxSizes(count, otherwise);
  if (given->size() != count) {
    return fail(fmt::format("its attribute '{}' has {} value{}, expected {}", attribute, given->size(),
                            given->size() == 1 ? "" : "s", count));
  }
  for (const std::int64_t value : *given) {
    if (value < least || value > kLargestAttribute) {
      return fail(fmt::format("its attribute '{}' has the value {}, expected {} to {}", attribute, value, least,
                              kLargestAttribute));
    }
  }
  return *given;
}

/// What convolutions, pools and transposed convolutions share.
struct Attributes {
  OnnxSizes strides, dilations, pads;
  std::string auto_pad;
};

Result<Attributes> attributes_of(const OnnxNode& node, std::size_t axes, const OnnxSizes& kernel) {
  Attributes attributes;
  const auto shape = values_of(node, "kernel_shape", axes, 1, 1);
  if (!shape) return tl::unexpected(shape.error());
  if (node.integers("kernel_shape") != nullptr && *shape != kernel) {
    return fail(fmt::format("its attribute 'kernel_shape' is {}, but its filter's is {}", shape_text(*shape),
                            shape_text(kernel)));
  }
  for (const std::int64_t size : kernel) {
    if (size < 1) return fail("its window is empty");
  }
  auto strides = values_of(node, "strides", axes, 1, 1);
  auto dilations = values_of(node, "dilations", axes, 1, 1);
  auto pads = values_of(node, "pads", 2 * axes, 0, 0);
  if (!strides) return tl::unexpected(strides.error());
  if (!dilations) return tl::unexpected(dilations.error());
  if (!pads) return tl::unexpected(pads.error());
  attributes = {std::move(*strides), std::move(*dilations), std::move(*pads), node.text("auto_pad", "NOTSET")};
  static const std::vector<std::string> kModes{"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
  if (std::find(kModes.begin(), kModes.end(), attributes.auto_pad) == kModes.end()) {
    return fail(fmt::format("its attribute 'auto_pad' is {}", in_quotes(attributes.auto_pad)),
                name_hint(attributes.auto_pad, kModes, "values"));
  }
  for (std::size_t i = 0; i < axes; ++i) {
    if (Count(attributes.dilations[i]) * Count(kernel[i]) <= Count(kOnnxLargestSize)) continue;
    return fail(fmt::format("on spatial axis {} its window of {} with dilation {} spans more than {}", i, kernel[i],
                            attributes.dilations[i], kOnnxLargestSize));
  }
  const bool padded = std::any_of(attributes.pads.begin(), attributes.pads.end(), [](auto pad) { return pad != 0; });
  if (padded && attributes.auto_pad != "NOTSET") {
    return fail(fmt::format("it has both 'pads' and auto_pad = {}", attributes.auto_pad), "one of them may be given");
  }
  return attributes;
}

/// Positions that a window spans.
Count span_of(const OnnxWindow& window) { return Count(window.dilation) * Count(window.kernel - 1) + 1; }

/// Floor or ceiling of (size + padding - span) / stride, plus one; nothing where the window does not fit.
std::optional<std::int64_t> output_size(const OnnxWindow& window, bool ceiling) {
  const Count room = Count(window.size) + Count(window.begin) + Count(window.end) - span_of(window);
  if (room.overflowed() || room < Count(0)) return std::nullopt;
  const Count steps = ceiling ? ceil_div(room, window.stride) : Count(room.value() / window.stride);
  return (steps + 1).to_int64();
}

}  // namespace

Result<std::vector<OnnxWindow>> windows_of(const OnnxNode& node, const OnnxSizes& input, const OnnxSizes& kernel) {
  const std::size_t axes = kernel.size();
  if (input.size() != axes + 2) {
    return fail(fmt::format("its input has {} axes; with a window of {} it has {}", input.size(), shape_text(kernel),
                            axes + 2));
  }
  const auto attributes = attributes_of(node, axes, kernel);
  if (!attributes) return tl::unexpected(attributes.error());
  std::vector<OnnxWindow> windows;
  for (std::size_t i = 0; i < axes; ++i) {
    OnnxWindow window{input[i + 2],
                      kernel[i],
                      attributes->strides[i],
                      attributes->dilations[i],
                      attributes->pads[i],
                      attributes->pads[axes + i],
                      1};
    if (attributes->auto_pad == "SAME_UPPER" || attributes->auto_pad == "SAME_LOWER") {
      window.output = (window.size + window.stride - 1) / window.stride;
      const Count total = Count(window.output - 1) * Count(window.stride) + span_of(window) - Count(window.size);
      const std::int64_t padding = static_cast<std::int64_t>(std::max(total, Count(0)).value());
      window.begin = attributes->auto_pad == "SAME_UPPER" ? padding / 2 : padding - padding / 2;
      window.end = padding - window.begin;
    } else {
      const auto output = output_size(window, node.integer("ceil_mode", 0) != 0);
      if (!output) {
        return fail(
            fmt::format("on spatial axis {} its window spans {}, more than the input's {} with padding {} and {}", i,
                        span_of(window).str(), window.size, window.begin, window.end));
      }
      window.output = *output;
    }
    windows.push_back(window);
  }
  return windows;
}

Result<std::vector<OnnxTransposedAxis>> transposed_axes_of(const OnnxNode& node, const OnnxSizes& input,
                                                           const OnnxSizes& kernel) {
  const std::size_t axes = kernel.size();
  if (input.size() != axes + 2) {
    return fail(fmt::format("its input has {} axes; with a filter of {} it has {}", input.size(), shape_text(kernel),
                            axes + 2));
  }
  const auto attributes = attributes_of(node, axes, kernel);
  if (!attributes) return tl::unexpected(attributes.error());
  const auto added = values_of(node, "output_padding", axes, 0, 0);
  if (!added) return tl::unexpected(added.error());
  const bool stated = node.integers("output_shape") != nullptr && !node.integers("output_shape")->empty();
  const bool same = attributes->auto_pad == "SAME_UPPER" || attributes->auto_pad == "SAME_LOWER";
  auto outputs = values_of(node, "output_shape", axes, 1, 1);
  if (!outputs) return tl::unexpected(outputs.error());
  std::vector<OnnxTransposedAxis> made;
  for (std::size_t i = 0; i < axes; ++i) {
    OnnxTransposedAxis axis{{input[i + 2], kernel[i], attributes->strides[i], attributes->dilations[i],
                             attributes->pads[i], attributes->pads[axes + i], 1},
                            (*added)[i]};
    OnnxWindow& window = axis.window;
    const Count whole = Count(window.size - 1) * Count(window.stride) + span_of(window) + Count(axis.output_padding);
    if (stated || same) {
      const Count output = stated ? Count((*outputs)[i]) : Count(window.size) * Count(window.stride);
      const Count cut = whole - output;
      if (cut.overflowed() || cut < Count(0) || !cut.to_int64()) {
        return fail(
            fmt::format("on spatial axis {} an output of {} is asked for, more than the {} that its inputs reach", i,
                        output.str(), whole.str()));
      }
      // ConvTranspose-1 and -11: the odd element is cut at the end with SAME_UPPER, else at the beginning.
      const std::int64_t total = *cut.to_int64();
      window.begin = attributes->auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.end = total - window.begin;
    }
    const Count output = whole - Count(window.begin) - Count(window.end);
    if (output.overflowed() || output < Count(1) || output > Count(kOnnxLargestSize)) {
      return fail(fmt::format("on spatial axis {} its output has size {}", i, output.str()));
    }
    window.output = *output.to_int64();
    made.push_back(axis);
  }
  return made;
}

}  // namespace einflow
