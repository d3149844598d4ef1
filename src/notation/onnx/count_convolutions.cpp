// Convolutions, through the constructors of problem/.
#include <fmt/format.h>

#include <algorithm>

#include "notation/onnx/counted.hpp"
#include "notation/onnx/windows.hpp"
#include "problem/constructors.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostParts = 255;  // a cascade has at most 256 einsums

OnnxSizes spatial(const OnnxSizes& sizes) { return {sizes.begin() + 2, sizes.end()}; }

/// The rank of each axis of a tensor whose axes are single ranks.
std::vector<std::string> rank_names(const Einsum& einsum, const Tensor& tensor) {
  std::vector<std::string> names;
  for (const Axis& axis : tensor.axes) names.push_back(einsum.ranks[static_cast<std::size_t>(axis.terms[0].rank)].name);
  return names;
}

/// Y = O + B over the output's ranks; B has the ranks of filters.
Einsum bias_of(const Einsum& convolution, const ElementType& bias, const ElementType& type) {
  EinsumWriter writer;
  for (const Rank& rank : convolution.ranks) writer.extent(rank.name, rank.extent);
  const std::vector<std::string> ranks = rank_names(convolution, convolution.tensors.back());
  std::vector<std::string> filters;
  for (const std::string& rank : ranks) {
    if (rank == "g" || rank == "k" || rank == "c") filters.push_back(rank);
  }
  return writer.einsum("bias", {"Y", ranks, type}, "", "+", {{"O", ranks, type}, {"B", filters, bias}});
}

}  // namespace

Counted count_convolution(const NodeInGraph& at) {
  const bool quantised = at.node.operation == "QLinearConv";
  const std::size_t filter_input = quantised ? 3 : 1, bias_input = quantised ? 8 : 2;
  const OnnxSizes input = at.sizes(0), filter = at.sizes(filter_input);
  if (filter.size() > 5)
    return {{}, fmt::format("a convolution over {} spatial axes; einflow has 1 to 3", filter.size() - 2), false};
  const auto windows = windows_of(at.node, input, spatial(filter));
  if (!windows) return {{}, windows.error().front().message, false};
  Convolution shape;
  shape.batch = input[0];
  shape.in_channels = input[1];
  shape.out_channels = filter[0];
  shape.groups = at.node.integer("group", 1);
  const OnnxSizes output = at.output_sizes();
  for (std::size_t i = 0; i < windows->size(); ++i) {
    const OnnxWindow& window = (*windows)[i];
    // The size that gives exactly this output without padding; what is stored, and where it begins, is set below.
    const std::int64_t reach = (output[i + 2] - 1) * window.stride + (window.kernel - 1) * window.dilation + 1;
    shape.axes.push_back({reach, window.kernel, window.stride, 0, window.dilation, 0});
  }
  const bool depthwise = shape.groups > 1 && shape.groups == shape.in_channels;
  auto made = depthwise ? depthwise_convolution(shape) : convolution(shape);
  if (!made) return {{}, made.error().front().message, false};
  Einsum& einsum = *made;
  einsum.name = "conv";
  for (std::size_t i = 0; i < windows->size(); ++i) {
    const OnnxWindow& window = (*windows)[i];
    Tensor& data = einsum.tensors[0];
    Axis& axis = data.axes[data.axes.size() - windows->size() + i];
    axis.constant = -window.begin;
    if (window.begin > 0 || window.end > 0) axis.stored_size = window.size;
  }
  einsum.tensors[0].type = at.type(0);
  einsum.tensors[1].type = at.type(filter_input);
  einsum.tensors[2].type = at.output_type();
  Counted counted;
  const bool biased = at.has(bias_input) && at.node.operation != "ConvInteger";
  if (!biased) einsum.tensors[2].name = "Y";
  counted.einsums.push_back(std::move(einsum));
  if (biased) counted.einsums.push_back(bias_of(counted.einsums[0], at.type(bias_input), at.output_type()));
  if (at.node.operation != "Conv") {
    counted.because = "zero points and rescaling of a quantised convolution; its MACs are counted";
  }
  return counted;
}

Counted count_transposed_convolution(const NodeInGraph& at) {
  const OnnxSizes input = at.sizes(0), filter = at.sizes(1);
  if (filter.size() > 5)
    return {{}, fmt::format("a convolution over {} spatial axes; einflow has 1 to 3", filter.size() - 2), false};
  const auto axes = transposed_axes_of(at.node, input, spatial(filter));
  if (!axes) return {{}, axes.error().front().message, false};
  Convolution shape;
  shape.batch = input[0];
  shape.in_channels = input[1];
  shape.groups = at.node.integer("group", 1);
  shape.out_channels = filter[1] * shape.groups;
  for (const OnnxTransposedAxis& axis : *axes) {
    const OnnxWindow& window = axis.window;
    // Cutting less at the end than at the beginning is output padding, cutting more is a negative one.
    const std::int64_t added = axis.output_padding + window.begin - window.end;
    if (added >= std::max(window.stride, window.dilation)) {
      return {{},
              fmt::format("its output goes on for {} positions that no tap reaches (pads {} and {}, output_padding {})",
                          added, window.begin, window.end, axis.output_padding),
              false};
    }
    shape.axes.push_back({window.size, window.kernel, window.stride, window.begin, window.dilation, added});
  }
  Count phases = 1;
  for (const ConvolutionAxis& axis : shape.axes) phases *= Count(std::min(axis.stride, std::int64_t{1} << 20));
  if (phases > Count(static_cast<std::int64_t>(kMostParts))) {
    return {{},
            fmt::format("it has {} phases (the product of its strides); at most {} are written out", phases.str(),
                        kMostParts),
            false};
  }
  auto cascade = transposed_convolution(shape);
  if (!cascade) return {{}, cascade.error().front().message, false};
  Counted counted;
  for (Einsum& einsum : cascade->einsums) {
    einsum.tensors[0].type = at.type(0);
    einsum.tensors[1].type = at.type(1);
    einsum.tensors[2].type = at.output_type();
    counted.einsums.push_back(std::move(einsum));
  }
  if (!at.has(2)) return counted;
  Einsum whole = counted.einsums.front();
  const OnnxSizes output = at.output_sizes();
  Tensor& result = whole.tensors.back();
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const Axis& axis = result.axes[result.axes.size() - axes->size() + i];
    whole.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent = output[i + 2];
  }
  counted.einsums.push_back(bias_of(whole, at.type(2), at.output_type()));
  return counted;
}

}  // namespace einflow
