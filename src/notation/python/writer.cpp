#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/message.hpp"
#include "notation/python/operations.hpp"
#include "notation/python/python.hpp"
#include "notation/python/values.hpp"

namespace einflow {

namespace {

using namespace python;  // this file is its other door

const Rank& rank_at(const Einsum& einsum, int index) { return einsum.ranks[static_cast<std::size_t>(index)]; }

bool is_single(const Axis& axis) {
  return axis.terms.size() == 1 && axis.terms[0].coefficient == 1 && axis.constant == 0;
}

/// The einsum as other forms see it: without its name, ranks in order of first use (the output's first, as einflow
/// reads them), no stored size where that is the rank's extent.
Einsum canonical(const Einsum& einsum) {
  Einsum made = einsum;
  made.name.clear();
  made.ranks.clear();
  std::map<int, int> moved;
  const auto use = [&](Tensor& tensor) {
    for (Axis& axis : tensor.axes) {
      for (Term& term : axis.terms) {
        const auto [at, fresh] = moved.emplace(term.rank, static_cast<int>(made.ranks.size()));
        if (fresh) made.ranks.push_back(rank_at(einsum, term.rank));
        term.rank = at->second;
      }
      if (is_single(axis) && axis.stored_size == made.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent) {
        axis.stored_size = std::nullopt;
      }
    }
  };
  use(made.tensors.back());
  for (std::size_t t = 0; t + 1 < made.tensors.size(); ++t) use(made.tensors[t]);
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {  // a rank that no tensor has
    if (moved.count(static_cast<int>(r)) == 0) made.ranks.push_back(einsum.ranks[r]);
  }
  return made;
}

/// One statement, or why there is none.
class EinsumWriter {
 public:
  explicit EinsumWriter(const Einsum& einsum) : einsum_(einsum) {}

  /// Shapes of the inputs, in their order, once the expression is known.
  const std::vector<std::vector<std::int64_t>>& shapes() const { return shapes_; }

  Result<std::string> expression() {
    if (!(einsum_.executed.share == Ratio(Count(1)))) {
      return refuse(fmt::format("only {}/{} of its operations are executed ({}), which an expression cannot say",
                                einsum_.executed.share.numerator().str(), einsum_.executed.share.denominator().str(),
                                einsum_.executed.because));
    }
    if (auto call = convolution_call()) return *call;
    for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
      if (const std::string why = whole_axes(einsum_.tensors[t]); !why.empty()) return refuse(why);
    }
    for (std::size_t t = 0; t + 1 < einsum_.tensors.size(); ++t) shapes_.push_back(shape_of(einsum_.tensors[t]));
    const std::size_t inputs = einsum_.tensors.size() - 1;
    if (einsum_.map == "*" && (einsum_.reduce == "+" || (einsum_.reduce.empty() && inputs > 1))) return einsum_call();
    if (einsum_.map == "*" && inputs == 1 && !einsum_.reduce.empty()) return reduce_call();
    if (einsum_.reduce.empty() && inputs <= 2) {
      if (auto call = elementwise_call()) return *call;
    }
    if (einsum_.map == "*" && inputs == 1) {
      return refuse("it copies: numpy and PyTorch do that by a view, which computes nothing");
    }
    return refuse(fmt::format("no one call of numpy, PyTorch or einops maps by {} and reduces by {}",
                              in_quotes(einsum_.map), einsum_.reduce.empty() ? "nothing" : in_quotes(einsum_.reduce)));
  }

 private:
  tl::unexpected<Diagnostics> refuse(const std::string& why) const {
    return fail(fmt::format("{} cannot be written: {}", in_quotes(to_text(einsum_)), why));
  }

  /// Whether each axis is a rank and stored whole; else why not.
  std::string whole_axes(const Tensor& tensor) const {
    for (const Axis& axis : tensor.axes) {
      const std::string text = to_text(axis, einsum_);
      if (!is_single(axis)) {
        return fmt::format("the axis {} of {} is no single rank, and not the window of a convolution", in_quotes(text),
                           tensor.name);
      }
      const std::int64_t extent = rank_at(einsum_, axis.terms[0].rank).extent;
      if (axis.stored_size && *axis.stored_size != extent) {
        return fmt::format("the axis {} of {} is stored with size {}, its rank has {}", in_quotes(text), tensor.name,
                           *axis.stored_size, extent);
      }
    }
    return {};
  }

  std::vector<std::int64_t> shape_of(const Tensor& tensor) const {
    std::vector<std::int64_t> shape;
    for (const Axis& axis : tensor.axes) shape.push_back(rank_at(einsum_, axis.terms[0].rank).extent);
    return shape;
  }

  std::string inputs_text() const {
    std::string text;
    for (std::size_t t = 0; t + 1 < einsum_.tensors.size(); ++t) text += (t == 0 ? "" : ", ") + einsum_.tensors[t].name;
    return text;
  }

  std::string labels(const Tensor& tensor, const char* between) const {
    std::string text;
    for (const Axis& axis : tensor.axes) {
      text += (text.empty() ? "" : between) + rank_at(einsum_, axis.terms[0].rank).name;
    }
    return text;
  }

  bool letters() const {
    return std::all_of(einsum_.ranks.begin(), einsum_.ranks.end(), [](const Rank& rank) {
      return rank.name.size() == 1 && rank.name != "_" && !(rank.name[0] >= '0' && rank.name[0] <= '9');
    });
  }

  /// einops' names neither begin nor end with '_'; what is wrong, or nothing.
  std::string names() const {
    for (const Rank& rank : einsum_.ranks) {
      if (rank.name.front() == '_' || rank.name.back() == '_') {
        return fmt::format("einops' names of axes do not begin or end with '_', as rank {} does", in_quotes(rank.name));
      }
    }
    return {};
  }

  Result<std::string> einsum_call() const {
    if (einsum_.reduce == "+" && reduction_free()) {
      return refuse("'+=' reduces nothing here; an einsum string without summed letters is read as '='");
    }
    const bool short_names = letters();
    if (!short_names && !names().empty()) return refuse(names());
    const char* const between = short_names ? "" : " ";
    std::string pattern;
    for (std::size_t t = 0; t + 1 < einsum_.tensors.size(); ++t) {
      pattern += fmt::format("{}{}", t == 0 ? "" : short_names ? "," : ", ", labels(einsum_.tensors[t], between));
    }
    pattern += (short_names ? "->" : " -> ") + labels(einsum_.tensors.back(), between);
    return short_names ? fmt::format("torch.einsum(\"{}\", {})", pattern, inputs_text())
                       : fmt::format("einops.einsum({}, \"{}\")", inputs_text(), pattern);
  }

  bool reduction_free() const {
    for (std::size_t r = 0; r < einsum_.ranks.size(); ++r) {
      if (!einsum_.has_rank(einsum_.output(), static_cast<int>(r))) return false;
    }
    return true;
  }

  Result<std::string> reduce_call() const {
    if (reduction_free()) return refuse("it reduces nothing");
    if (!names().empty()) return refuse(names());
    return fmt::format("einops.reduce({}, \"{} -> {}\", \"{}\")", einsum_.tensors[0].name,
                       labels(einsum_.tensors[0], " "), labels(einsum_.tensors.back(), " "),
                       einsum_.reduce == "*" ? "prod" : einsum_.reduce);
  }

  /// X + Y, torch.maximum(X, Y), torch.exp(X): whether the names of ranks come back is seen by reading.
  std::optional<std::string> elementwise_call() const {
    const std::string& map = einsum_.map;
    const std::string left = einsum_.tensors.front().name;
    if (einsum_.tensors.size() == 2) {
      if (map == "*" || !is_elementwise(map)) return std::nullopt;
      return fmt::format("torch.{}({})", map, left);
    }
    const std::string right = einsum_.tensors[1].name;
    if (map == "max" || map == "min") return fmt::format("torch.{}imum({}, {})", map, left, right);
    if (map == "+" || map == "-" || map == "/") return fmt::format("{} {} {}", left, map, right);
    return std::nullopt;
  }

  std::optional<std::int64_t> extent(const char* name) const {
    const int rank = einsum_.rank_named(name);
    if (rank < 0) return std::nullopt;
    return rank_at(einsum_, rank).extent;
  }

  /// "3", or "(3, 5)" where the axes differ.
  static std::string numbers(const std::vector<std::int64_t>& values) {
    const bool same = std::all_of(values.begin(), values.end(), [&](auto value) { return value == values.front(); });
    return same ? fmt::format("{}", values.front()) : fmt::format("({})", fmt::join(values, ", "));
  }

  /// torch.nn.functional.convNd, where the ranks have the names and roles of a convolution's.
  std::optional<std::string> convolution_call() {
    if (einsum_.tensors.size() != 3 || einsum_.map != "*" || einsum_.reduce != "+") return std::nullopt;
    const Tensor &input = einsum_.tensors[0], &filter = einsum_.tensors[1], &output = einsum_.tensors[2];
    std::size_t axes = 0;
    for (const char* name : {"z", "p", "q"})
      axes += extent(name) && einsum_.has_rank(2, einsum_.rank_named(name)) ? 1 : 0;
    if (axes == 0 || !extent("c") || input.axes.size() < axes || filter.axes.size() < axes ||
        output.axes.size() < axes) {
      return std::nullopt;
    }
    std::vector<std::int64_t> sizes, kernels, strides, paddings, dilations;
    for (std::size_t a = 0; a < axes; ++a) {
      const Axis& window = input.axes[input.axes.size() - axes + a];
      if (window.terms.size() != 2) return std::nullopt;
      const Term &out = window.terms[0], &tap = window.terms[1];
      const Count reach = Count(out.coefficient) * Count(rank_at(einsum_, out.rank).extent - 1) +
                          Count(tap.coefficient) * Count(rank_at(einsum_, tap.rank).extent - 1) + 1 + window.constant;
      const auto size = window.stored_size ? window.stored_size : reach.to_int64();
      if (!size || window.constant > 0) return std::nullopt;
      sizes.push_back(*size);
      kernels.push_back(rank_at(einsum_, tap.rank).extent);
      strides.push_back(out.coefficient);
      dilations.push_back(tap.coefficient);
      paddings.push_back(-window.constant);
    }
    const std::int64_t k = extent("k").value_or(1), c = extent("c").value_or(1);
    const int channel = einsum_.rank_named("c");
    const bool depthwise = channel >= 0 && einsum_.has_rank(2, channel);
    const std::int64_t groups = depthwise ? c : extent("g").value_or(1);
    const auto in = depthwise ? std::optional(c) : (Count(groups) * Count(c)).to_int64();
    const auto out = (Count(groups) * Count(k)).to_int64();
    if (!in || !out) return std::nullopt;
    std::vector<std::int64_t> input_shape, filter_shape{*out, depthwise ? 1 : c};
    if (const auto batch = extent("n")) input_shape.push_back(*batch);
    input_shape.push_back(*in);
    input_shape.insert(input_shape.end(), sizes.begin(), sizes.end());
    filter_shape.insert(filter_shape.end(), kernels.begin(), kernels.end());
    shapes_ = {input_shape, filter_shape};
    std::string options;
    const auto add = [&](const char* name, const std::vector<std::int64_t>& values, std::int64_t otherwise) {
      const bool usual = std::all_of(values.begin(), values.end(), [&](auto value) { return value == otherwise; });
      if (!usual) options += fmt::format(", {}={}", name, numbers(values));
    };
    add("stride", strides, 1);
    add("padding", paddings, 0);
    add("dilation", dilations, 1);
    add("groups", {groups}, 1);
    return fmt::format("torch.nn.functional.conv{}d({}, {}{})", axes, input.name, filter.name, options);
  }

  const Einsum& einsum_;
  std::vector<std::vector<std::int64_t>> shapes_;
};

std::string aval(const ElementType& type, const std::vector<std::int64_t>& shape) {
  return shape.empty() ? type_text(type) + "[()]" : type_text(type) + shape_text(shape);
}

/// What differs between an einsum and what its text reads as.
std::string difference(const Einsum& written, const Einsum& read) {
  if (to_text(written) != to_text(read)) return fmt::format("the text reads as {}", in_quotes(to_text(read)));
  if (written.ranks != read.ranks) return "the text reads with other extents";
  return "the text reads with other types or stored sizes";
}

void leave_out(const DocumentLayer& layer, const Document& document, Writing& writing) {
  if (layer.machine) writing.left_out.push_back("the machine " + in_quotes(layer.machine->name));
  if (layer.mapping) writing.left_out.push_back("the mapping");
  if (layer.repeat != 1) writing.left_out.push_back(fmt::format("that the layer occurs {} times", layer.repeat));
  for (const DocumentFigure& figure : document.figures) writing.left_out.push_back("the figure " + figure.name);
  for (const Uncounted& operation : document.uncounted) {
    writing.left_out.push_back(fmt::format("{} x {}: {}", operation.repeat, operation.operation, operation.because));
  }
}

}  // namespace

Result<Writing> write_python(const Document& document) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  Writing writing;
  std::map<std::string, std::string> declared;  // tensor -> type with shape
  std::string inputs, statements;
  for (const Einsum& einsum : (*layer)->cascade.einsums) {
    EinsumWriter writer(einsum);
    const auto expression = writer.expression();
    if (!expression) return tl::unexpected(expression.error());
    std::set<std::string> types;
    for (std::size_t t = 0; t + 1 < einsum.tensors.size(); ++t) {
      const Tensor& tensor = einsum.tensors[t];
      types.insert(tensor.type.name);
      const std::string text = aval(tensor.type, writer.shapes()[t]);
      const auto [known, fresh] = declared.emplace(tensor.name, text);
      if (fresh) inputs += fmt::format("{} = {}\n", tensor.name, text);
    }
    const Tensor& output = einsum.tensors.back();
    std::vector<std::int64_t> shape;
    for (const Axis& axis : output.axes) shape.push_back(rank_at(einsum, axis.terms[0].rank).extent);
    const bool usual = types.size() == 1 && *types.begin() == output.type.name;
    // Groups and multipliers make two ranks of an axis that PyTorch has once: then the type alone is stated.
    const bool convolution = expression->find(".conv") != std::string::npos;
    statements += usual ? fmt::format("{} = {}\n", output.name, *expression)
                        : fmt::format("{}: {} = {}\n", output.name,
                                      convolution ? type_text(output.type) : aval(output.type, shape), *expression);
    declared[output.name] = aval(output.type, shape);
  }
  writing.text = inputs + statements;

  // What is written is what is read, or an error: the names of ranks, for one, may get lost.
  const auto read = read_python({{"", writing.text}}, {});
  const std::vector<Einsum>& einsums = (*layer)->cascade.einsums;
  for (std::size_t i = 0; i < einsums.size(); ++i) {
    const auto refuse = [&](const std::string& why) {
      return fail(fmt::format("{} cannot be written: {}", in_quotes(to_text(einsums[i])), why));
    };
    if (!read) return refuse("no text of Python's form says it: " + read.error().front().message);
    if (read->layers.empty() || read->layers.front().cascade.einsums.size() != einsums.size()) {
      return refuse("no text of Python's form says it");
    }
    const Einsum& back = read->layers.front().cascade.einsums[i];
    const Einsum wanted = canonical(einsums[i]), got = canonical(back);
    if (!(wanted == got)) return refuse(difference(wanted, got));
    if (!einsums[i].name.empty() && einsums[i].name != back.name) {
      writing.left_out.push_back(fmt::format("the name {} of {}", in_quotes(einsums[i].name), to_text(einsums[i])));
    }
    if (einsums[i].ranks != back.ranks) {
      std::vector<std::string> names;
      for (const Rank& rank : einsums[i].ranks) names.push_back(rank.name);
      writing.left_out.push_back("the order of the ranks: " + comma_list(names));
    }
    for (std::size_t t = 0; t < einsums[i].tensors.size(); ++t) {
      if (einsums[i].tensors[t] == back.tensors[t] || einsums[i].ranks != back.ranks) continue;
      writing.left_out.push_back(
          fmt::format("the stored sizes of {}: they are those of its ranks", einsums[i].tensors[t].name));
    }
  }
  leave_out(**layer, document, writing);
  writing.conventions.push_back("bf16[4, 5] stands for a tensor of that type and shape");
  return writing;
}

}  // namespace einflow
