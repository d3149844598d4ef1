// Shape rules that einflow does not leave to the library; each is that of the operator's specification (onnx.ai).
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/onnx/axes.hpp"
#include "notation/onnx/inference.hpp"
#include "notation/onnx/windows.hpp"

namespace einflow {

namespace {

using Types = Result<std::vector<OnnxType>>;

constexpr int kInt32 = 6;

OnnxType typed(int element, const OnnxSizes& sizes) {
  OnnxType type;
  type.element = element;
  type.ranked = true;
  type.sizes.assign(sizes.begin(), sizes.end());
  return type;
}

OnnxType blank(int element) {
  OnnxType type;
  type.element = element;
  return type;
}

OnnxSizes spatial(const OnnxSizes& sizes) {
  return sizes.size() < 2 ? OnnxSizes{} : OnnxSizes(sizes.begin() + 2, sizes.end());
}

/// One node whose inputs are looked at.
class Rule {
 public:
  Rule(const OnnxGraph& graph, const OnnxNode& node) : graph_(graph), node_(node) {}

  std::optional<Types> types() const {
    static const std::set<std::string> kSame{"Gelu",      "Mish", "Swish", "GroupNormalization", "RMSNormalization",
                                             "BitwiseNot"};
    static const std::set<std::string> kBroadcast{"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    const std::string& name = node_.operation;
    if (!node_.is_onnx_own()) return std::nullopt;
    if (name == "Conv" || name == "ConvInteger" || name == "QLinearConv") return convolution();
    if (name == "ConvTranspose") return transposed_convolution();
    if (name == "MaxPool" || name == "AveragePool" || name == "LpPool") return pool();
    if (name.rfind("Reduce", 0) == 0) return reduction();
    if (name == "Reshape") return reshape();
    if (name == "Einsum") return einsum();
    if (name == "Gemm") return gemm();
    if (name == "Expand") return expansion();
    if (name == "ConstantOfShape") return filled();
    if (name == "LayerNormalization") return layer_normalisation();
    if (name == "Split") return split();
    if (name == "Concat") return concatenation();
    if (name == "LSTM" || name == "GRU" || name == "RNN") return recurrence();
    if (name == "DepthToSpace" || name == "SpaceToDepth") return blocks();
    if (name == "GatherND") return gather_nd();
    if (kSame.count(name) > 0) return same();
    if (kBroadcast.count(name) > 0) return broadcasted();
    const bool new_pad = name == "Pad" && node_.opset >= 18 && graph_.input(node_, 3) != nullptr;
    const bool new_resize =
        name == "Resize" && node_.opset >= 18 &&
        (node_.attributes.count("axes") > 0 || node_.attributes.count("keep_aspect_ratio_policy") > 0);
    if (new_pad || new_resize) return outputs(blank(element(0)));
    return std::nullopt;
  }

 private:
  std::optional<OnnxSizes> sizes(std::size_t input) const {
    const OnnxValue* value = graph_.input(node_, input);
    return value == nullptr ? std::nullopt : value->sizes();
  }
  int element(std::size_t input) const {
    const OnnxValue* value = graph_.input(node_, input);
    return value == nullptr ? 0 : value->type.element;
  }
  const std::vector<std::int64_t>* integers(std::size_t input) const {
    const OnnxValue* value = graph_.input(node_, input);
    return value == nullptr || !value->integers ? nullptr : &*value->integers;
  }
  /// The same type for all outputs.
  Types outputs(const OnnxType& type) const { return std::vector<OnnxType>(node_.outputs.size(), type); }

  Types convolution() const {
    const bool quantised = node_.operation == "QLinearConv";
    const int result = quantised ? element(7) : node_.operation == "ConvInteger" ? kInt32 : element(0);
    const auto input = sizes(0), filter = sizes(quantised ? 3 : 1);
    if (!input || !filter) return outputs(blank(result));
    if (input->size() < 3 || input->size() != filter->size()) {
      return fail(
          fmt::format("its input has {} axes and its filter {}; both have batch or filters, channels and at least "
                      "one spatial axis",
                      input->size(), filter->size()));
    }
    const std::int64_t groups = node_.integer("group", 1);
    if (groups < 1 || (*filter)[0] % groups != 0) {
      return fail(fmt::format("group = {} does not divide its {} filters", groups, (*filter)[0]));
    }
    if (Count((*filter)[1]) * Count(groups) != Count((*input)[1])) {
      return fail(fmt::format("its input has {} channels, its filter takes {}{}", (*input)[1],
                              (Count((*filter)[1]) * Count(groups)).str(),
                              groups == 1 ? "" : fmt::format(" ({} in each of {} groups)", (*filter)[1], groups)));
    }
    const auto windows = windows_of(node_, *input, spatial(*filter));
    if (!windows) return tl::unexpected(windows.error());
    OnnxSizes output{(*input)[0], (*filter)[0]};
    for (const OnnxWindow& window : *windows) output.push_back(window.output);
    if (const auto bias = sizes(quantised ? 8 : 2); bias && node_.operation != "ConvInteger") {
      if (*bias != OnnxSizes{(*filter)[0]}) {
        return fail(fmt::format("its bias is {}, expected {}", shape_text(*bias), (*filter)[0]));
      }
    }
    return outputs(typed(result, output));
  }

  Types transposed_convolution() const {
    const auto input = sizes(0), filter = sizes(1);
    if (!input || !filter) return outputs(blank(element(0)));
    if (input->size() < 3 || input->size() != filter->size()) {
      return fail(fmt::format("its input has {} axes and its filter {}", input->size(), filter->size()));
    }
    const std::int64_t groups = node_.integer("group", 1);
    if (groups < 1 || (*input)[1] % groups != 0) {
      return fail(fmt::format("group = {} does not divide its {} channels", groups, (*input)[1]));
    }
    if ((*filter)[0] != (*input)[1]) {
      return fail(fmt::format("its input has {} channels, its filter takes {}", (*input)[1], (*filter)[0]));
    }
    const auto axes = transposed_axes_of(node_, *input, spatial(*filter));
    if (!axes) return tl::unexpected(axes.error());
    const Count channels = Count((*filter)[1]) * Count(groups);
    if (channels > Count(kOnnxLargestSize)) return fail(fmt::format("its output has {} channels", channels.str()));
    OnnxSizes output{(*input)[0], *channels.to_int64()};
    for (const OnnxTransposedAxis& axis : *axes) output.push_back(axis.window.output);
    return outputs(typed(element(0), output));
  }

  Types gemm() const {
    const auto a = sizes(0), b = sizes(1), c = sizes(2);
    if (!a || !b) return outputs(blank(element(0)));
    if (a->size() != 2 || b->size() != 2) {
      return fail(fmt::format("its inputs have {} and {} axes, expected matrices", a->size(), b->size()));
    }
    const bool left = node_.integer("transA", 0) != 0, right = node_.integer("transB", 0) != 0;
    const OnnxSizes output{(*a)[left ? 1 : 0], (*b)[right ? 0 : 1]};
    if ((*a)[left ? 0 : 1] != (*b)[right ? 1 : 0]) {
      return fail(fmt::format("it sums over {} of its first input{} and {} of its second{}", (*a)[left ? 0 : 1],
                              left ? " (transA)" : "", (*b)[right ? 1 : 0], right ? " (transB)" : ""));
    }
    const auto all = c ? broadcast({output, *c}) : Result<OnnxSizes>(output);
    if (!all || *all != output) {
      return fail(
          fmt::format("its third input is {}, which does not broadcast to {}", shape_text(*c), shape_text(output)));
    }
    return outputs(typed(element(0), output));
  }

  Types pool() const {
    const auto input = sizes(0);
    std::vector<OnnxType> types{blank(element(0)), blank(7)};
    types.resize(node_.outputs.size());
    const std::vector<std::int64_t>* kernel = node_.integers("kernel_shape");
    if (!input || kernel == nullptr) return types;
    const auto windows = windows_of(node_, *input, *kernel);
    if (!windows) return tl::unexpected(windows.error());
    OnnxSizes output{(*input)[0], (*input)[1]};
    for (const OnnxWindow& window : *windows) output.push_back(window.output);
    for (OnnxType& type : types) type = typed(type.element, output);
    return types;
  }

  Types reduction() const {
    const auto input = sizes(0);
    if (!input) return outputs(blank(element(0)));
    const auto reduced = reduced_axes(graph_, node_, input->size());
    if (!reduced) return tl::unexpected(reduced.error());
    if (!*reduced) return outputs(blank(element(0)));
    OnnxSizes output;
    for (std::size_t i = 0; i < input->size(); ++i) {
      if (!(**reduced)[i])
        output.push_back((*input)[i]);
      else if (node_.integer("keepdims", 1) != 0)
        output.push_back(1);
    }
    return outputs(typed(element(0), output));
  }

  Types reshape() const {
    const auto input = sizes(0);
    const std::vector<std::int64_t>* wanted = node_.opset < 5 ? node_.integers("shape") : integers(1);
    if (wanted == nullptr) return outputs(blank(element(0)));
    if (wanted->size() > kOnnxMostAxes) {
      return fail(fmt::format("its output has {} axes; at most {} are read", wanted->size(), kOnnxMostAxes));
    }
    const bool zero_is_size = node_.integer("allowzero", 0) != 0;
    OnnxSizes output;
    std::optional<std::size_t> open;
    for (std::size_t i = 0; i < wanted->size(); ++i) {
      std::int64_t size = (*wanted)[i];
      if (size < -1 || (size == -1 && open) || size > kOnnxLargestSize) {
        return fail(fmt::format("it asks for the shape [{}], which has {}", fmt::join(*wanted, ", "),
                                size == -1 ? "two open sizes" : fmt::format("size {}", size)));
      }
      if (size == -1) open = i;
      if (size == 0 && !zero_is_size) {
        if (!input) return outputs(blank(element(0)));
        if (i >= input->size()) {
          return fail(
              fmt::format("it asks for the shape [{}], whose 0 on axis {} copies an axis that its input does not have",
                          fmt::join(*wanted, ", "), i));
        }
        size = (*input)[i];
      }
      output.push_back(size == -1 ? 1 : size);
    }
    if (!input) {
      OnnxType type = typed(element(0), output);
      if (open) type.sizes[*open].reset();
      return outputs(type);
    }
    const Count all = elements(*input), others = elements(output);
    if (open && others > Count(0) && !all.overflowed() && all.value() % others.value() == 0) {
      const Count rest(all.value() / others.value());
      if (rest <= Count(kOnnxLargestSize)) output[*open] = *rest.to_int64();
    }
    if (elements(output) != all || all.overflowed()) {
      return fail(fmt::format("its input has {} elements; they do not fit the shape [{}]", all.str(),
                              fmt::join(*wanted, ", ")));
    }
    return outputs(typed(element(0), output));
  }

  /// Where the shape is not known, neither is the number of axes: onnx 1.12 would add one for each of its elements.
  Types expansion() const {
    const auto input = sizes(0);
    const std::vector<std::int64_t>* wanted = integers(1);
    if (!input || wanted == nullptr) return outputs(blank(element(0)));
    const auto output = broadcast({*input, *wanted});
    if (!output) return tl::unexpected(output.error());
    return outputs(typed(element(0), *output));
  }

  Types filled() const {
    const int result = node_.attributes.count("value") > 0 ? node_.attributes.at("value").element : 1;
    const std::vector<std::int64_t>* wanted = integers(0);
    return outputs(wanted == nullptr ? blank(result) : typed(result, *wanted));
  }

  Types einsum() const {
    std::vector<OnnxSizes> operands;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const auto operand = sizes(i);
      if (!operand) return outputs(blank(element(0)));
      operands.push_back(*operand);
    }
    const auto equation = parse_equation(node_.text("equation", ""), operands);
    if (!equation) return tl::unexpected(equation.error());
    OnnxSizes output;
    for (const std::string& index : equation->output) output.push_back(equation->extents.at(index));
    return outputs(typed(element(0), output));
  }

  Types split() const {
    const auto input = sizes(0);
    if (!input) return outputs(blank(element(0)));
    const auto axis = axis_at(node_.integer("axis", 0), input->size());
    if (!axis) return tl::unexpected(axis.error());
    const auto parts = static_cast<std::int64_t>(node_.outputs.size());
    const std::vector<std::int64_t>* given = node_.opset < 13 ? node_.integers("split") : integers(1);
    if (given == nullptr && node_.opset >= 13 && graph_.input(node_, 1) != nullptr) return outputs(blank(element(0)));
    const std::int64_t whole = (*input)[*axis];
    OnnxSizes split;
    if (given != nullptr) {
      split = *given;
    } else {
      const std::int64_t chunk = (whole + parts - 1) / std::max<std::int64_t>(parts, 1);
      for (std::int64_t i = 0; i < parts; ++i) split.push_back(std::clamp<std::int64_t>(whole - i * chunk, 0, chunk));
      if (node_.opset < 18 && chunk * parts != whole) {
        return fail(fmt::format("it splits an axis of size {} into {} equal parts", whole, parts));
      }
    }
    Count sum = 0;
    bool negative = false;
    for (const std::int64_t size : split) {
      sum += Count(size);
      negative = negative || size < 0;
    }
    if (split.size() != node_.outputs.size() || sum != Count(whole) || negative) {
      return fail(
          fmt::format("it splits an axis of size {} into {} outputs of sizes {}", whole, parts, shape_text(split)));
    }
    std::vector<OnnxType> types;
    for (const std::int64_t size : split) {
      OnnxSizes output = *input;
      output[*axis] = size;
      types.push_back(typed(element(0), output));
    }
    return types;
  }

  Types concatenation() const {
    std::optional<OnnxSizes> output;
    std::size_t along = 0;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const auto part = sizes(i);
      if (!part) return outputs(blank(element(0)));
      // Before opset 4 the axis had a default, 1.
      const auto axis = axis_at(node_.integer("axis", 1), part->size());
      if (!axis) return tl::unexpected(axis.error());
      if (!output) {
        output = part;
        along = *axis;
        continue;
      }
      OnnxSizes other = *part;
      const bool fits = other.size() == output->size();
      const Count sum = fits ? Count((*output)[along]) + Count(other[along]) : Count(0);
      if (fits) other[along] = (*output)[along];
      if (!fits || other != *output) {
        return fail(fmt::format("its inputs differ in more than axis {}: {} and {}", along, shape_text(*output),
                                shape_text(*part)));
      }
      if (sum > Count(kOnnxLargestSize))
        return fail(fmt::format("its output has size {} on axis {}", sum.str(), along));
      (*output)[along] = *sum.to_int64();
    }
    if (!output) return outputs(blank(0));
    return outputs(typed(element(0), *output));
  }

  /// Y [steps, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden]; batch first with layout = 1.
  Types recurrence() const {
    const auto input = sizes(0);
    if (!input) return outputs(blank(element(0)));
    if (input->size() != 3)
      return fail(fmt::format("its input has {} axes, expected 3: steps, batch, features", input->size()));
    const std::int64_t hidden = node_.integer("hidden_size", 0);
    if (hidden < 1 || hidden > kOnnxLargestSize) return outputs(blank(element(0)));
    const std::int64_t directions = node_.text("direction", "forward") == "bidirectional" ? 2 : 1;
    const bool batch_first = node_.integer("layout", 0) != 0;
    const OnnxSizes all = batch_first ? OnnxSizes{(*input)[0], (*input)[1], directions, hidden}
                                      : OnnxSizes{(*input)[0], directions, (*input)[1], hidden};
    const OnnxSizes last =
        batch_first ? OnnxSizes{(*input)[0], directions, hidden} : OnnxSizes{directions, (*input)[1], hidden};
    std::vector<OnnxType> types(node_.outputs.size(), typed(element(0), last));
    if (!types.empty()) types[0] = typed(element(0), all);
    return types;
  }

  Types blocks() const {
    const auto input = sizes(0);
    if (!input) return outputs(blank(element(0)));
    const std::int64_t block = node_.integer("blocksize", 0);
    if (input->size() != 4 || block < 1 || block > (1 << 20)) {
      return fail(fmt::format("it has blocksize {} and an input of {} axes, expected a positive one and 4 axes", block,
                              input->size()));
    }
    OnnxSizes output = *input;
    const bool deeper = node_.operation == "SpaceToDepth";
    const bool fits = deeper ? output[2] % block == 0 && output[3] % block == 0 : output[1] % (block * block) == 0;
    if (!fits) return fail(fmt::format("blocksize {} does not divide its input {}", block, shape_text(*input)));
    const Count grown =
        deeper ? Count(output[1]) * Count(block * block) : Count(std::max(output[2], output[3])) * Count(block);
    if (grown > Count(kOnnxLargestSize)) return fail("its output is too large");
    output[1] = deeper ? output[1] * block * block : output[1] / (block * block);
    output[2] = deeper ? output[2] / block : output[2] * block;
    output[3] = deeper ? output[3] / block : output[3] * block;
    return outputs(typed(element(0), output));
  }

  Types gather_nd() const {
    const auto data = sizes(0), indices = sizes(1);
    if (!data || !indices) return outputs(blank(element(0)));
    const std::int64_t batch = node_.integer("batch_dims", 0);
    const auto axes = static_cast<std::int64_t>(data->size()), index_axes = static_cast<std::int64_t>(indices->size());
    if (batch < 0 || index_axes < 1 || batch >= std::min(axes, index_axes) || indices->back() + batch > axes) {
      return fail(fmt::format("its indices {} with batch_dims = {} do not fit data of {}", shape_text(*indices), batch,
                              shape_text(*data)));
    }
    OnnxSizes output(indices->begin(), indices->end() - 1);
    output.insert(output.end(), data->begin() + batch + indices->back(), data->end());
    return outputs(typed(element(0), output));
  }

  /// The input's shape; mean and inverse deviation have 1 in place of the normalised axes.
  Types layer_normalisation() const {
    const auto input = sizes(0);
    if (!input) return outputs(blank(element(0)));
    const auto axis = axis_at(node_.integer("axis", -1), input->size());
    if (!axis) return tl::unexpected(axis.error());
    OnnxSizes statistics = *input;
    std::fill(statistics.begin() + static_cast<std::ptrdiff_t>(*axis), statistics.end(), 1);
    std::vector<OnnxType> types(node_.outputs.size(), typed(element(0), statistics));
    if (!types.empty()) types[0] = typed(element(0), *input);
    return types;
  }

  Types same() const {
    const OnnxValue* input = graph_.input(node_, 0);
    if (input == nullptr || !input->type.tensor) return outputs(blank(0));
    OnnxType type = input->type;
    type.symbols.clear();
    return outputs(type);
  }

  Types broadcasted() const {
    const auto left = sizes(0), right = sizes(1);
    if (!left || !right) return outputs(blank(element(0)));
    const auto output = broadcast({*left, *right});
    if (!output) return tl::unexpected(output.error());
    return outputs(typed(element(0), *output));
  }

  const OnnxGraph& graph_;
  const OnnxNode& node_;
};

}  // namespace

std::optional<Result<std::vector<OnnxType>>> own_types(const OnnxGraph& graph, const OnnxNode& node) {
  return Rule(graph, node).types();
}

}  // namespace einflow
