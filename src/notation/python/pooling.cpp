// Pooling: a reduction over a sliding window.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

struct Window {
  std::int64_t size = 1, kernel = 1, stride = 1, padding = 0, dilation = 1, output = 1;
};

/// floor or ceil of (size + 2 padding - dilation (kernel - 1) - 1) / stride, + 1. With ceil a last window that begins
/// behind the input and its padding in front is dropped (PyTorch's pooling_output_shape).
std::optional<std::int64_t> pooled(const Window& window, bool ceil) {
  const Count::Int span =
      Count::Int{window.size} + Count::Int{2} * window.padding - Count::Int{window.dilation} * (window.kernel - 1) - 1;
  if (span < 0 && !(ceil && span > -Count::Int{window.stride})) return std::nullopt;
  Count::Int output = (span + (ceil ? window.stride - 1 : 0)) / window.stride + 1;
  if (ceil && (output - 1) * window.stride >= Count::Int{window.size} + window.padding) --output;
  if (output < 1) return std::nullopt;
  return static_cast<std::int64_t>(output);
}

/// O[n,c,p,q] max= I[n,c,2*p+r-1,2*q+s-1]; an input without a batch or channels lacks these ranks.
std::optional<TensorValue> pool(Call& call, TensorValue& input, const std::vector<Window>& windows, const Body& body,
                                const std::string& output_name) {
  static constexpr std::array<const char*, 3> kOutput{"z", "p", "q"}, kKernel{"t", "r", "s"};
  const std::size_t axes = windows.size(), leading = input.shape.size() - axes;
  for (std::size_t axis = 0; axis < input.stored_at.size(); ++axis) {
    if (input.stored_at[axis] != static_cast<int>(axis)) {
      return call.error_at("input", "the input is transposed; give the shape that is stored");
    }
  }
  std::set<std::string> taken;
  std::vector<std::string> output;
  Operand operand{&input, "I", {}};
  for (std::size_t axis = 0; axis < leading; ++axis) {
    output.push_back(call.lowering.rank_of(input, axis, axis + 1 == leading ? "c" : "n", taken));
    operand.axes.push_back({{{output.back(), 1}}, 0, std::nullopt});
  }
  std::vector<std::string> kernel;
  const std::size_t first = axes == 3 ? 0 : 1;  // one axis uses p and r, as convolutions do
  for (std::size_t axis = 0; axis < axes; ++axis) {
    output.push_back(call.lowering.rank(kOutput[first + axis], windows[axis].output, taken));
  }
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Window& window = windows[axis];
    const std::string tap = call.lowering.rank(kKernel[first + axis], window.kernel, taken);
    NamedAxis made{{{output[leading + axis], window.stride}, {tap, window.dilation}}, -window.padding, std::nullopt};
    const Count last = Count(window.output - 1) * Count(window.stride) +
                       Count(window.kernel - 1) * Count(window.dilation) - Count(window.padding);
    if (window.padding > 0 || last >= Count(window.size)) made.stored_size = window.size;
    operand.axes.push_back(std::move(made));
  }
  return call.lowering.add(call.place, body, {std::move(operand)}, output, output_name);
}

template <std::size_t Axes>
bool fits(Call& call, const TensorValue& input) {
  const std::size_t axes = input.shape.size();
  if (axes == Axes + 2 || axes == Axes + 1) return true;
  call.error_at("input", fmt::format("expected {} axes (or {} without a batch), found a shape of {}", Axes + 2,
                                     Axes + 1, shape_text(input.shape)));
  return false;
}

template <std::size_t Axes>
std::optional<std::vector<Window>> windows_of(Call& call, const TensorValue& input, bool dilated) {
  const auto kernel = call.numbers("kernel_size", Axes, 1);
  const bool stride_given = call.argument("stride").kind != Value::Kind::none;
  const auto stride = stride_given ? call.numbers("stride", Axes, 1) : kernel;
  const auto padding = call.numbers("padding", Axes, 0);
  const auto dilation = dilated ? call.numbers("dilation", Axes, 1) : std::optional(std::vector<std::int64_t>(Axes, 1));
  const auto ceil = call.flag("ceil_mode");
  if (!kernel || !stride || !padding || !dilation || !ceil) return std::nullopt;
  std::vector<Window> windows(Axes);
  for (std::size_t axis = 0; axis < Axes; ++axis) {
    Window& window = windows[axis];
    window = {input.shape[input.shape.size() - Axes + axis],
              (*kernel)[axis],
              (*stride)[axis],
              (*padding)[axis],
              (*dilation)[axis],
              1};
    const Count covered = Count(window.dilation) * Count(window.kernel - 1) + 1;
    if (Count(2) * Count(window.padding) > covered) {
      return call.error_at("padding",
                           fmt::format("the padding {} is more than half of the {} positions that the kernel "
                                       "covers",
                                       window.padding, covered.str()));
    }
    const auto output = pooled(window, *ceil);
    if (!output) {
      return call.error(
          fmt::format("the kernel covers {} positions of spatial axis {}, more than the padded input has: "
                      "{}",
                      covered.str(), axis, (Count(window.size) + Count(2) * Count(window.padding)).str()));
    }
    window.output = *output;
  }
  return windows;
}

template <std::size_t Axes>
std::optional<Value> max_pool(Call& call) {
  auto input = call.tensor("input");
  if (!input || !fits<Axes>(call, *input) || !call.only_default("return_indices", "the indices have no einsum")) {
    return std::nullopt;
  }
  const auto windows = windows_of<Axes>(call, *input, true);
  if (!windows) return std::nullopt;
  if (std::any_of(windows->begin(), windows->end(), [](const Window& w) { return w.padding > 0; })) {
    call.lowering.convention(
        "padding of a maximum is minus infinity in PyTorch; it is not stored and not moved, as zeros "
        "are not");
  }
  auto output = pool(call, *input, *windows, {fmt::format("max_pool{}d", Axes), "*", "max", {}}, "O");
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

std::optional<Value> averaged(Call& call, std::optional<TensorValue> sum) {
  if (!sum) return std::nullopt;
  call.lowering.convention("an average is a sum and a scale; where the window is cut the scale differs, not the count");
  auto output = elementwise({"scale", "scale", "", {}}, {&*sum}, "O", call.place, call.lowering);
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

template <std::size_t Axes>
std::optional<Value> average_pool(Call& call) {
  auto input = call.tensor("input");
  if (!input || !fits<Axes>(call, *input)) return std::nullopt;
  const auto windows = windows_of<Axes>(call, *input, false);
  if (!windows) return std::nullopt;
  return averaged(call, pool(call, *input, *windows, {fmt::format("avg_pool{}d", Axes), "*", "+", {}}, "T"));
}

/// Windows that tile the input: the output size divides the input's.
template <std::size_t Axes, bool Maximum>
std::optional<Value> adaptive_pool(Call& call) {
  auto input = call.tensor("input");
  if (!input || !fits<Axes>(call, *input)) return std::nullopt;
  Value wanted = call.argument("output_size");
  const std::size_t first = input->shape.size() - Axes;
  // None keeps the size of its axis.
  if (wanted.kind == Value::Kind::sequence && wanted.items.size() == Axes) {
    for (std::size_t axis = 0; axis < Axes; ++axis) {
      if (wanted.items[axis].kind != Value::Kind::none) continue;
      wanted.items[axis].kind = Value::Kind::integer;
      wanted.items[axis].integer = input->shape[first + axis];
    }
  }
  std::optional<std::vector<std::int64_t>> sizes = shape_of(wanted);
  if (wanted.kind == Value::Kind::integer) sizes = std::vector<std::int64_t>(Axes, wanted.integer);
  if (!sizes || sizes->size() != Axes || std::any_of(sizes->begin(), sizes->end(), [](auto s) { return s < 1; })) {
    return call.error_at("output_size",
                         fmt::format("'output_size' is {}, expected a size of at least 1{}", describe(wanted),
                                     Axes == 1 ? "" : fmt::format(" or {} of them", Axes)));
  }
  std::vector<Window> windows;
  for (std::size_t axis = 0; axis < Axes; ++axis) {
    const std::int64_t size = input->shape[first + axis], output = (*sizes)[axis];
    if (size % output != 0) {
      return call.error_at("output_size",
                           fmt::format("{} outputs of {} inputs: the windows differ in size, which one einsum "
                                       "cannot say",
                                       output, size));
    }
    windows.push_back({size, size / output, size / output, 0, 1, output});
  }
  const std::string name = fmt::format("adaptive_{}_pool{}d", Maximum ? "max" : "avg", Axes);
  if (!Maximum) return averaged(call, pool(call, *input, windows, {name, "*", "+", {}}, "T"));
  auto output = pool(call, *input, windows, {name, "*", "max", {}}, "O");
  if (!output) return std::nullopt;
  return call.result(std::move(*output));
}

template <std::size_t Axes>
void list(std::vector<Operation>& operations) {
  const std::string functions = "torch.nn.functional.", modules = "torch.nn.", d = fmt::format("{}d", Axes);
  const std::string maximum = "kernel_size, stride=None, padding=0, dilation=1, ";
  operations.push_back({functions + "max_pool" + d, "input, " + maximum + "ceil_mode=False, return_indices=False", "",
                        max_pool<Axes>, Dialect::torch});
  operations.push_back({modules + "MaxPool" + d, maximum + "return_indices=False, ceil_mode=False", "input",
                        max_pool<Axes>, Dialect::torch});
  const std::string average =
      std::string("kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True") +
      (Axes == 1 ? "" : ", divisor_override=None");
  operations.push_back({functions + "avg_pool" + d, "input, " + average, "", average_pool<Axes>, Dialect::torch});
  operations.push_back({modules + "AvgPool" + d, average, "input", average_pool<Axes>, Dialect::torch});
  operations.push_back(
      {functions + "adaptive_avg_pool" + d, "input, output_size", "", adaptive_pool<Axes, false>, Dialect::torch});
  operations.push_back(
      {modules + "AdaptiveAvgPool" + d, "output_size", "input", adaptive_pool<Axes, false>, Dialect::torch});
  operations.push_back(
      {functions + "adaptive_max_pool" + d, "input, output_size", "", adaptive_pool<Axes, true>, Dialect::torch});
  operations.push_back(
      {modules + "AdaptiveMaxPool" + d, "output_size", "input", adaptive_pool<Axes, true>, Dialect::torch});
}

}  // namespace

void list_pooling(std::vector<Operation>& operations) {
  list<1>(operations);
  list<2>(operations);
  list<3>(operations);
}

}  // namespace einflow::python
