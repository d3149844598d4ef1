// Convolutions, and transposed convolutions as phases of ordinary ones.
#include <fmt/core.h>
#include <algorithm>
#include <array>
#include <numeric>

#include "problem/constructors.hpp"
#include "problem/constructors_build.hpp"

namespace einflow {
namespace {

// Output and kernel rank names by number of axes, outermost first: NZPQ and KTRS as cuDNN and CUTLASS name them.
constexpr std::array<const char*, 3> kOutputRanks = {"z", "p", "q"};
constexpr std::array<const char*, 3> kKernelRanks = {"t", "r", "s"};
constexpr std::array<const char*, 3> kAxisNames = {"depth", "height", "width"};
constexpr std::int64_t kMostPhases = 4096;

/// Where the names of an axis start: one axis uses p and r, two p,q, three z,p,q.
std::size_t rank_name(const Convolution& shape, std::size_t axis) { return axis + (shape.axes.size() == 3 ? 0 : 1); }
const char* axis_name(const Convolution& shape, std::size_t axis) { return kAxisNames[axis + 3 - shape.axes.size()]; }

/// What is wrong with the channels and axes, whichever way the convolution goes.
Diagnostics check(const Convolution& shape, bool transposed) {
  Diagnostics errors;
  const auto error = [&errors](std::string message, std::string hint = {}) {
    errors.push_back({{}, std::move(message), std::move(hint), {}});
  };
  if (shape.in_channels % shape.groups != 0)
    error(fmt::format("groups {} does not divide in_channels {}", shape.groups, shape.in_channels));
  if (shape.out_channels % shape.groups != 0)
    error(fmt::format("groups {} does not divide out_channels {}", shape.groups, shape.out_channels));
  for (std::size_t i = 0; i < shape.axes.size(); ++i) {
    const ConvolutionAxis& axis = shape.axes[i];
    const auto output = transposed ? transposed_output(axis) : convolution_output(axis);
    if (!output) {
      error(fmt::format(
                "the output has no {}, or one beyond 64 bits: input {}, kernel {}, stride {}, padding {}, dilation {}",
                axis_name(shape, i), axis.size, axis.kernel, axis.stride, axis.padding, axis.dilation),
            transposed ? "output = (input - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1"
                       : "output = floor((input + 2 padding - dilation (kernel - 1) - 1) / stride) + 1");
    }
    if (transposed && axis.output_padding >= std::max(axis.stride, axis.dilation)) {
      error(fmt::format("output_padding {} of the {} must be smaller than stride {} or dilation {}",
                        axis.output_padding, axis_name(shape, i), axis.stride, axis.dilation));
    }
  }
  return errors;
}

std::optional<std::int64_t> positive_int64(Count count) {
  const auto value = count.overflowed() ? std::nullopt : count.to_int64();
  if (!value || *value < 1) return std::nullopt;
  return value;
}

/// position = stride * output + dilation * kernel + constant
Axis window(const Einsum& einsum, const char* output, std::int64_t stride, const char* kernel, std::int64_t dilation,
            std::int64_t constant) {
  Axis axis;
  axis.terms = {{einsum.rank_named(output), stride}, {einsum.rank_named(kernel), dilation}};
  axis.constant = constant;
  return axis;
}

/// An ordinary convolution; `channels` are its ranks g (groups), k (out) and c (in), those that it has.
Einsum build_convolution(const Convolution& shape, const std::vector<Rank>& channels) {
  Einsum einsum;
  einsum.ranks.push_back({"n", shape.batch});
  for (const Rank& rank : channels) einsum.ranks.push_back(rank);
  for (std::size_t i = 0; i < shape.axes.size(); ++i)
    einsum.ranks.push_back({kOutputRanks[rank_name(shape, i)], *convolution_output(shape.axes[i])});
  for (std::size_t i = 0; i < shape.axes.size(); ++i)
    einsum.ranks.push_back({kKernelRanks[rank_name(shape, i)], shape.axes[i].kernel});

  Tensor input = indexed_by(einsum, "I", {"n", "g", "c"});
  Tensor filter = indexed_by(einsum, "F", {"g", "k", "c"});
  Tensor output = indexed_by(einsum, "O", {"n", "g", "k"});
  for (std::size_t i = 0; i < shape.axes.size(); ++i) {
    const ConvolutionAxis& axis = shape.axes[i];
    const char* out = kOutputRanks[rank_name(shape, i)];
    const char* kernel = kKernelRanks[rank_name(shape, i)];
    input.axes.push_back(window(einsum, out, axis.stride, kernel, axis.dilation, -axis.padding));
    if (axis.padding > 0) input.axes.back().stored_size = axis.size;
    filter.axes.push_back(axis_of(einsum, kernel));
    output.axes.push_back(axis_of(einsum, out));
  }
  einsum.tensors = {std::move(input), std::move(filter), std::move(output)};
  return einsum;
}

/// The taps of one axis that reach the outputs at positions `phase` (mod stride).
struct Phase {
  std::int64_t phase = 0;
  std::int64_t outputs = 0;
  std::int64_t taps = 0;
  std::int64_t first_tap = 0;  ///< smallest tap
  std::int64_t tap_step = 1;
  std::int64_t input_step = 1;   ///< input positions between successive taps
  std::int64_t input_start = 0;  ///< input position that output 0 meets with the last tap
};

/// Whether some output and tap of the phase meet an input position in [0, size).
bool meets_stored_input(const Phase& phase, std::int64_t size) {
  // Tap t = 0.. meets inputs low .. low + outputs - 1 with low = input_start + input_step * t: some t must have
  // -outputs < low < size. Starting below 0, the first t that comes near enough decides.
  std::int64_t t = 0;
  const Count::Int below = -Count::Int{phase.outputs} - phase.input_start;
  if (below >= 0) t = static_cast<std::int64_t>(below / phase.input_step + 1);
  return t < phase.taps && Count::Int{phase.input_start} + Count::Int{phase.input_step} * t < size;
}

/// From position = stride * input + dilation * tap - padding, solved for the input; phases without outputs, taps or
/// stored inputs are left out: their outputs are zero.
std::vector<Phase> phases_of(const ConvolutionAxis& axis) {
  const std::int64_t output = *transposed_output(axis);
  const std::int64_t common = std::gcd(axis.stride, axis.dilation);
  std::vector<Phase> phases;
  for (std::int64_t phase = 0; phase < std::min(axis.stride, output); ++phase) {
    Phase made;
    made.phase = phase;
    made.outputs = (output - phase - 1) / axis.stride + 1;
    made.tap_step = axis.stride / common;
    made.input_step = axis.dilation / common;
    const Count reach = Count(phase) + Count(axis.padding);
    std::int64_t tap = 0;
    const auto lands = [&](std::int64_t t) {
      return (reach.value() - Count::Int{axis.dilation} * t) % axis.stride == 0;
    };
    while (tap < std::min(made.tap_step, axis.kernel) && !lands(tap)) ++tap;
    if (tap >= std::min(made.tap_step, axis.kernel)) continue;
    made.first_tap = tap;
    made.taps = (axis.kernel - 1 - tap) / made.tap_step + 1;
    const Count::Int start =
        (reach.value() - Count::Int{axis.dilation} * tap) / axis.stride - Count::Int{made.input_step} * (made.taps - 1);
    made.input_start = static_cast<std::int64_t>(start);  // between -dilation * kernel and stride + padding
    if (meets_stored_input(made, axis.size)) phases.push_back(made);
  }
  return phases;
}

Einsum build_phase(const Convolution& shape, const std::vector<Phase>& phases) {
  Einsum einsum;
  std::string suffix;
  for (const Phase& phase : phases) suffix += fmt::format("_{}", phase.phase);
  einsum.name = "phase" + suffix;
  einsum.ranks.push_back({"n", shape.batch});
  if (shape.groups > 1) einsum.ranks.push_back({"g", shape.groups});
  einsum.ranks.push_back({"k", shape.out_channels / shape.groups});
  einsum.ranks.push_back({"c", shape.in_channels / shape.groups});
  for (std::size_t i = 0; i < phases.size(); ++i)
    einsum.ranks.push_back({kOutputRanks[rank_name(shape, i)], phases[i].outputs});
  for (std::size_t i = 0; i < phases.size(); ++i)
    einsum.ranks.push_back({kKernelRanks[rank_name(shape, i)], phases[i].taps});

  Tensor input = indexed_by(einsum, "I", {"n", "g", "c"});
  Tensor filter = indexed_by(einsum, "F", {"g", "c", "k"});  // torch.nn.ConvTransposeNd: [in, out / groups, ...]
  Tensor output = indexed_by(einsum, "O" + suffix, {"n", "g", "k"});
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const Phase& phase = phases[i];
    const char* out = kOutputRanks[rank_name(shape, i)];
    const char* kernel = kKernelRanks[rank_name(shape, i)];
    input.axes.push_back(window(einsum, out, 1, kernel, phase.input_step, phase.input_start));
    input.axes.back().stored_size = shape.axes[i].size;
    Axis taps = axis_of(einsum, kernel);
    taps.terms[0].coefficient = phase.tap_step;
    taps.constant = shape.axes[i].kernel - 1 - (phase.first_tap + phase.tap_step * (phase.taps - 1));
    filter.axes.push_back(taps);
    output.axes.push_back(axis_of(einsum, out));
  }
  einsum.tensors = {std::move(input), std::move(filter), std::move(output)};
  return einsum;
}

}  // namespace

namespace {

/// Keeps every position of an axis, padded or not, well inside 64 bits.
bool in_range(const ConvolutionAxis& axis) {
  const Count limit = Count(INT64_MAX / 4);
  return Count(axis.size) <= limit && Count(axis.padding) <= limit && Count(axis.stride) <= limit &&
         Count(axis.output_padding) <= limit && Count(axis.dilation) * Count(axis.kernel) <= limit;
}

}  // namespace

std::optional<std::int64_t> convolution_output(const ConvolutionAxis& axis) {
  if (!in_range(axis)) return std::nullopt;
  const Count span = Count(axis.size) + Count(2) * Count(axis.padding) - Count(axis.dilation) * Count(axis.kernel - 1);
  if (span.overflowed() || span < Count(1)) return std::nullopt;
  return positive_int64(Count((span.value() - 1) / axis.stride + 1));
}

std::optional<std::int64_t> transposed_output(const ConvolutionAxis& axis) {
  if (!in_range(axis)) return std::nullopt;
  return positive_int64(Count(axis.size - 1) * Count(axis.stride) - Count(2) * Count(axis.padding) +
                        Count(axis.dilation) * Count(axis.kernel - 1) + Count(axis.output_padding) + 1);
}

Result<Einsum> convolution(const Convolution& shape) {
  Diagnostics errors = check(shape, false);
  if (!errors.empty()) return tl::unexpected(errors);
  std::vector<Rank> channels;
  if (shape.groups > 1) channels.push_back({"g", shape.groups});
  channels.push_back({"k", shape.out_channels / shape.groups});
  channels.push_back({"c", shape.in_channels / shape.groups});
  Einsum einsum = build_convolution(shape, channels);
  einsum.name = fmt::format("conv{}d", shape.axes.size());
  return einsum;
}

Result<Einsum> depthwise_convolution(const Convolution& shape) {
  Convolution grouped = shape;
  grouped.groups = shape.in_channels;
  Diagnostics errors = check(grouped, false);
  if (!errors.empty()) return tl::unexpected(errors);
  // The group is the channel: built with the one rank named g, then called c as everybody calls it.
  std::vector<Rank> channels = {{"g", shape.in_channels}};
  if (shape.out_channels > shape.in_channels) channels.push_back({"k", shape.out_channels / shape.in_channels});
  Einsum einsum = build_convolution(grouped, channels);
  einsum.ranks[1].name = "c";
  einsum.name = fmt::format("depthwise_conv{}d", shape.axes.size());
  return einsum;
}

Result<Cascade> transposed_convolution(const Convolution& shape) {
  Diagnostics errors = check(shape, true);
  if (!errors.empty()) return tl::unexpected(errors);
  Count phase_count = 1;
  for (const ConvolutionAxis& axis : shape.axes) phase_count *= Count(axis.stride);
  if (phase_count.overflowed() || phase_count > Count(kMostPhases)) {
    return fail(fmt::format("a transposed convolution with {} phases (the product of its strides)", phase_count.str()),
                fmt::format("at most {} phases are constructed", kMostPhases));
  }
  Cascade cascade;
  cascade.name = fmt::format("transposed_conv{}d", shape.axes.size());
  std::vector<std::vector<Phase>> chosen = {{}};
  for (const ConvolutionAxis& axis : shape.axes) {
    std::vector<std::vector<Phase>> extended;
    for (const auto& prefix : chosen)
      for (const Phase& phase : phases_of(axis)) {
        extended.push_back(prefix);
        extended.back().push_back(phase);
      }
    chosen = std::move(extended);
  }
  for (const auto& phases : chosen) cascade.einsums.push_back(build_phase(shape, phases));
  if (cascade.einsums.empty()) return fail("no input reaches any output through a tap: every output is zero");
  return cascade;
}

TransposedMacs transposed_macs(const Convolution& shape) {
  const Count channels = Count(shape.batch) * Count(shape.in_channels) * Count(shape.out_channels / shape.groups);
  TransposedMacs macs{channels, channels, channels};
  for (const ConvolutionAxis& axis : shape.axes) {
    macs.nominal *= Count(axis.size) * Count(axis.kernel);
    Count gathered = 0;
    Count landing = 0;
    for (const Phase& phase : phases_of(axis)) {
      gathered += Count(phase.outputs) * Count(phase.taps);
      // Taps t = 0.. of the phase meet inputs input_start + input_step t + output: those inside [0, size).
      for (std::int64_t t = 0; t < phase.taps; ++t) {
        const std::int64_t start = phase.input_start + phase.input_step * t;
        const std::int64_t low = std::max<std::int64_t>(0, -start);
        const std::int64_t high = std::min(phase.outputs, axis.size - start);
        if (high > low) landing += Count(high - low);
      }
    }
    macs.phases *= gathered;
    macs.landing *= landing;
  }
  return macs;
}

}  // namespace einflow
