#include "notation/timeloop/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "problem/einsum_check.hpp"

namespace einflow::timeloop {

namespace {

constexpr std::size_t kMaximumParts = 64;  // dimensions, data spaces, axes, terms

/// Timeloop's own shapes, by the names of its files (problem-shapes/, commit 4cf6d4c).
const std::map<std::string, std::string>& own_shapes() {
  static const std::map<std::string, std::string> shapes{
      {"cnn_layer", R"({name: CNN_Layer, dimensions: [R, S, P, Q, C, K, N],
        coefficients: [{name: Wstride, default: 1}, {name: Hstride, default: 1}, {name: Wdilation, default: 1},
                       {name: Hdilation, default: 1}],
        data_spaces: [{name: Weights, projection: [[[C]], [[K]], [[R]], [[S]]]},
                      {name: Inputs, projection: [[[N]], [[C]], [[R, Wdilation], [P, Wstride]],
                                                  [[S, Hdilation], [Q, Hstride]]]},
                      {name: Outputs, projection: [[[N]], [[K]], [[Q]], [[P]]], read_write: true}]})"},
      {"gemm_ABZ", R"({name: gemm_ABZ, dimensions: [M, N, K],
        data_spaces: [{name: A, projection: [[[M]], [[K]]]}, {name: B, projection: [[[N]], [[K]]]},
                      {name: Z, projection: [[[M]], [[N]]], read_write: true}]})"}};
  return shapes;
}

bool is_letters(const std::string& text) {
  return !text.empty() && text.size() <= 100 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

bool is_identifier(const std::string& text) {
  const auto inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && text.size() <= 200 && !(text[0] >= '0' && text[0] <= '9') &&
         std::all_of(text.begin(), text.end(), inner);
}

struct Coefficient {
  std::string name;
  std::optional<std::int64_t> value;
};

class ProblemReader {
 public:
  ProblemReader(const Part& part, const std::map<std::string, std::string>& sizes, Findings& findings)
      : part_(part),
        sizes_(sizes),
        findings_(findings),
        errors_(findings.errors),
        errors_before_(findings.errors.size()) {}

  std::optional<Einsum> read() {
    const YamlNode& problem = *part_.node;
    if (!problem.is_map()) {
      add_error(errors_, problem.span, fmt::format("found {}, expected the problem as a map", describe(problem)),
                "keys: shape, instance");
      return std::nullopt;
    }
    const YamlNode* shape = problem.find("shape");
    if (shape == nullptr) {
      assume(findings_, "problem: no shape is given, so it is Timeloop's cnn_layer");
      shape = own_shape("cnn_layer", problem.span);
    } else if (shape->is_scalar()) {
      std::string name = shape->text;
      std::replace(name.begin(), name.end(), '-', '_');
      shape = own_shape(name, shape->span);
    }
    if (shape == nullptr || !read_shape(*shape)) return std::nullopt;
    const YamlNode* instance = problem.find("instance");
    if (instance != nullptr && !instance->is_map()) {
      add_error(errors_, instance->span,
                fmt::format("found {}, expected the instance as a map of bounds", describe(*instance)),
                "instance: {M: 64, N: 64, K: 64}");
      return std::nullopt;
    }
    check_top_keys(problem, instance == nullptr);
    read_bounds(instance != nullptr ? *instance : problem, instance == nullptr);
    read_data_spaces(*shape);
    if (failed()) return std::nullopt;
    check();
    return failed() ? std::nullopt : std::optional<Einsum>(std::move(einsum_));
  }

 private:
  bool failed() const { return errors_.size() > errors_before_; }

  const YamlNode* own_shape(const std::string& name, const Span& span) {
    const auto found = own_shapes().find(name);
    if (found == own_shapes().end()) {
      std::vector<std::string> names;
      for (const auto& [known, text] : own_shapes()) names.push_back(known);
      add_error(errors_, span, fmt::format("there is no shape {}", in_quotes(name)),
                name_hint(name, names, "Timeloop's own shapes"));
      return nullptr;
    }
    own_shape_ = *parse_yaml(found->second);
    return &own_shape_;
  }

  /// Beside the shape: bounds without `instance` stand here, too.
  void check_top_keys(const YamlNode& problem, bool bounds_here) {
    const std::vector<std::string> keys{"version", "shape", "instance", "name"};
    for (const auto& [key, value] : problem.entries) {
      if (std::find(keys.begin(), keys.end(), key.text) != keys.end() || bounds_here) continue;
      add_error(errors_, key.span, fmt::format("unknown key {} in the problem", in_quotes(key.text)),
                name_hint(key.text, keys, "keys"));
    }
  }

  bool read_shape(const YamlNode& shape) {
    const Fields fields(shape, "the shape", {"name", "dimensions", "coefficients", "data_spaces", "flatten"}, errors_);
    if (!shape.is_map()) return false;
    einsum_.name = fields.text("name").value_or("");
    if (const YamlNode* flatten = fields.find("flatten")) {
      add_error(errors_, flatten->span, "flattened dimensions have no place in an einsum",
                "write the problem with the dimensions themselves");
    }
    const YamlNode* dimensions = fields.require("dimensions", "dimensions: [M, N, K]");
    if (dimensions == nullptr) return false;
    if (!list_of_at_most(*dimensions, "the dimensions")) return false;
    for (const YamlNode& item : dimensions->items) {
      const auto name = read_text(item, "a dimension", errors_);
      if (!name) continue;
      if (!is_letters(*name)) {
        add_error(errors_, item.span, fmt::format("{} is no name of a dimension; they are letters", in_quotes(*name)));
      } else if (einsum_.rank_named(*name) >= 0) {
        add_error(errors_, item.span, fmt::format("the dimension {} is given twice", in_quotes(*name)));
      } else {
        einsum_.ranks.push_back({*name, 0});
      }
    }
    if (const YamlNode* coefficients = fields.find("coefficients")) read_coefficients(*coefficients);
    return true;
  }

  bool list_of_at_most(const YamlNode& node, std::string_view what) {
    if (!node.is_list() || node.items.empty()) {
      add_error(errors_, node.span,
                fmt::format("found {}, expected a list of {}", node.is_list() ? "an empty list" : describe(node),
                            what.substr(4)));
      return false;
    }
    if (node.items.size() <= kMaximumParts) return true;
    add_error(errors_, node.span,
              fmt::format("{} are {}; at most {} are read", what, node.items.size(), kMaximumParts));
    return false;
  }

  void read_coefficients(const YamlNode& node) {
    if (!node.is_list() || node.items.size() > kMaximumParts) {
      add_error(errors_, node.span,
                fmt::format("found {}, expected a list of at most {} coefficients", describe(node), kMaximumParts),
                "coefficients: [{name: Wstride, default: 1}]");
      return;
    }
    for (const YamlNode& item : node.items) {
      const Fields fields(item, "a coefficient", {"name", "default"}, errors_);
      const auto name = fields.text("name");
      if (!name) {
        fields.require("name");
        continue;
      }
      Coefficient coefficient{*name, std::nullopt};
      if (const YamlNode* value = fields.find("default")) {
        coefficient.value = read_whole(*value, in_quotes(*name), 1, errors_);
      }
      if (find(*name) != nullptr) {
        add_error(errors_, item.span, fmt::format("the coefficient {} is given twice", in_quotes(*name)));
      }
      coefficients_.push_back(std::move(coefficient));
    }
  }

  Coefficient* find(const std::string& name) {
    const auto same = [&](const Coefficient& c) { return c.name == name; };
    const auto found = std::find_if(coefficients_.begin(), coefficients_.end(), same);
    return found == coefficients_.end() ? nullptr : &*found;
  }

  void read_bounds(const YamlNode& node, bool beside_the_shape) {
    std::vector<std::string> others;
    for (const auto& [key, value] : node.entries) {
      const int rank = einsum_.rank_named(key.text);
      Coefficient* coefficient = find(key.text);
      if (rank >= 0) {
        const auto extent = read_whole(value, in_quotes(key.text), 1, errors_);
        einsum_.ranks[static_cast<std::size_t>(rank)].extent = extent.value_or(-1);
      } else if (coefficient != nullptr) {
        coefficient->value = read_whole(value, in_quotes(key.text), 1, errors_).value_or(1);
      } else if (key.text == "densities" || key.text == "commonDensity") {
        check_densities(value, key.text == "densities" ? "" : "all data spaces");
      } else if (!beside_the_shape || (key.text != "shape" && key.text != "version" && key.text != "name")) {
        others.push_back(key.text);
      }
    }
    if (!others.empty()) {
      leave_out(findings_, "sizes that are neither dimensions nor coefficients: " + comma_list(others));
    }
    take_sizes();
    for (const Rank& rank : einsum_.ranks) {
      if (rank.extent != 0) continue;
      add_error(errors_, node.span, fmt::format("the dimension {} has no bound", in_quotes(rank.name)),
                fmt::format("instance: {{{}: 64}}, or -r {}=64", rank.name, rank.name));
    }
    for (const Coefficient& coefficient : coefficients_) {
      if (coefficient.value) continue;
      add_error(errors_, node.span,
                fmt::format("the coefficient {} has neither a default nor a value", in_quotes(coefficient.name)));
    }
  }

  /// Bounds from the command line, for dimensions that the text leaves open.
  void take_sizes() {
    for (const auto& [name, text] : sizes_) {
      const int rank = einsum_.rank_named(name);
      const auto count = parse_count(text);
      const auto extent = count ? count->to_int64() : std::nullopt;
      if (rank < 0) {
        std::vector<std::string> names;
        for (const Rank& known : einsum_.ranks) names.push_back(known.name);
        add_error(errors_, {}, fmt::format("-r {}={}: there is no dimension {}", name, text, in_quotes(name)),
                  name_hint(name, names, "dimensions"));
      } else if (!extent || *extent < 1) {
        add_error(errors_, {}, fmt::format("-r {}={}: expected a whole number of at least 1", name, text));
      } else if (Rank& found = einsum_.ranks[static_cast<std::size_t>(rank)]; found.extent == 0) {
        found.extent = *extent;
      } else if (found.extent != *extent) {
        add_error(errors_, {}, fmt::format("-r {}={}: the text says {}", name, text, found.extent));
      }
    }
  }

  /// `whose`: the data space; empty where the map's keys are data spaces.
  void check_densities(const YamlNode& node, const std::string& whose) {
    if (node.is_map()) {
      for (const auto& [key, value] : node.entries) {
        if (whose.empty() || key.text == "density") check_densities(value, whose.empty() ? key.text : whose);
      }
      return;
    }
    const auto density = parse_decimal(node.text);
    if (density && *density == Ratio(Count(1))) return;
    add_error(errors_, node.span,
              fmt::format("the density {} of {}: sparsity is not counted; einflow counts dense tensors",
                          in_quotes(node.text), in_quotes(whose)),
              "take the densities out to count the dense problem");
  }

  void read_data_spaces(const YamlNode& shape) {
    const YamlNode* spaces = shape.find("data_spaces");
    if (spaces == nullptr) {
      add_error(errors_, shape.span, "'data_spaces' is missing in the shape");
      return;
    }
    if (!list_of_at_most(*spaces, "the data spaces")) return;
    std::optional<Tensor> output;
    Span output_span, output_place;
    for (const YamlNode& item : spaces->items) {
      const Fields fields(item, "a data space", {"name", "projection", "read_write", "ranks"}, errors_);
      const YamlNode* name_node = fields.require("name");
      const auto name = name_node == nullptr ? std::nullopt : read_text(*name_node, "'name'", errors_);
      if (!name) continue;
      if (!is_identifier(*name)) {
        add_error(
            errors_, name_node->span,
            fmt::format("{} is no name of a tensor: letters, digits and '_', not a digit first", in_quotes(*name)));
        continue;
      }
      if (fields.find("ranks") != nullptr) leave_out(findings_, "'ranks', which only layouts need", *name);
      Tensor tensor{*name, {}, {}};
      const YamlNode* projection = fields.require("projection");
      const Span span = projection != nullptr ? projection->span : item.span;
      if (projection != nullptr) read_projection(*projection, tensor);
      const YamlNode* read_write = fields.find("read_write");
      if (read_write == nullptr || !read_yes(*read_write, "'read_write'", errors_).value_or(false)) {
        einsum_.tensors.push_back(std::move(tensor));
        spans_.push_back(span);
      } else if (output) {
        add_error(
            errors_, read_write->span,
            fmt::format("{} is the second data space with read_write (after {}, line {}); an einsum has one output",
                        in_quotes(*name), in_quotes(output->name), output_span.line));
      } else {
        output = std::move(tensor);
        output_span = read_write->span;
        output_place = span;
      }
    }
    if (!output) {
      add_error(errors_, spaces->span, "no data space is the output", "the one that is written has read_write: true");
    } else if (einsum_.tensors.empty()) {
      add_error(errors_, spaces->span, "there is no data space but the output");
    } else {
      einsum_.tensors.push_back(std::move(*output));
      spans_.push_back(output_place);
    }
  }

  /// A list with one entry for each axis: a list of terms [DIMENSION] or [DIMENSION, COEFFICIENT]; or of dimensions.
  void read_projection(const YamlNode& node, Tensor& tensor) {
    if (!list_of_at_most(node, "the axes")) return;
    const bool plain =
        std::all_of(node.items.begin(), node.items.end(), [](const YamlNode& i) { return i.is_scalar(); });
    for (const YamlNode& item : node.items) {
      Axis axis;
      if (plain) {
        read_term(item, nullptr, axis);
      } else if (!item.is_list() || item.items.empty() || item.items.size() > kMaximumParts) {
        add_error(errors_, item.span, fmt::format("found {}, expected the terms of an axis", describe(item)), kTerms);
      } else {
        for (const YamlNode& term : item.items) {
          if (!term.is_list() || term.items.empty() || term.items.size() > 2) {
            add_error(errors_, term.span, fmt::format("found {}, expected a term of an axis", describe(term)), kTerms);
          } else {
            read_term(term.items[0], term.items.size() == 2 ? &term.items[1] : nullptr, axis);
          }
        }
      }
      tensor.axes.push_back(std::move(axis));
    }
  }

  void read_term(const YamlNode& dimension, const YamlNode* factor, Axis& axis) {
    const auto name = read_text(dimension, "a dimension", errors_);
    if (!name) return;
    Term term{einsum_.rank_named(*name), 1};
    if (term.rank < 0) {
      std::vector<std::string> names;
      for (const Rank& rank : einsum_.ranks) names.push_back(rank.name);
      add_error(errors_, dimension.span, fmt::format("unknown dimension {}", in_quotes(*name)),
                name_hint(*name, names, "dimensions"));
    }
    if (factor != nullptr) {
      const auto text = read_text(*factor, "a coefficient", errors_);
      const Coefficient* coefficient = text ? find(*text) : nullptr;
      if (text && coefficient == nullptr) {
        std::vector<std::string> names;
        for (const Coefficient& known : coefficients_) names.push_back(known.name);
        add_error(errors_, factor->span, fmt::format("unknown coefficient {}", in_quotes(*text)),
                  name_hint(*text, names, "coefficients"));
      }
      if (coefficient != nullptr) term.coefficient = coefficient->value.value_or(1);
    }
    axis.terms.push_back(term);
  }

  void check() {
    for (const auto& faults : {check_form(einsum_), check_sizes(einsum_)}) {
      for (const EinsumFault& fault : faults) {
        const auto tensor = static_cast<std::size_t>(fault.tensor);
        const bool here = fault.tensor >= 0 && !own_shape_.is_map();
        add_error(errors_, here ? spans_[tensor] : part_.key, fault.message, fault.hint);
      }
      if (!faults.empty()) return;
    }
  }

  static constexpr const char* kTerms = "an axis is a list of terms: [[C]], or [[R, Wdilation], [P, Wstride]]";

  const Part& part_;
  const std::map<std::string, std::string>& sizes_;
  Findings& findings_;
  Diagnostics& errors_;
  const std::size_t errors_before_;
  YamlNode own_shape_;
  Einsum einsum_;
  std::vector<Span> spans_;  // of the tensors' projections
  std::vector<Coefficient> coefficients_;
};

}  // namespace

std::optional<Einsum> read_problem(const Part& part, const std::map<std::string, std::string>& sizes,
                                   Findings& findings) {
  const std::size_t first = findings.errors.size();
  auto einsum = ProblemReader(part, sizes, findings).read();
  stamp(findings.errors, first, part.source);
  return einsum;
}

}  // namespace einflow::timeloop
