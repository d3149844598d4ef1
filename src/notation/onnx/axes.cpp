#include "notation/onnx/axes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/message.hpp"

namespace einflow {

Result<std::size_t> axis_at(std::int64_t axis, std::size_t axes) {
  const auto count = static_cast<std::int64_t>(axes);
  if (axis < -count || axis >= count) {
    return fail(fmt::format("axis {} is none of an input with {} axes", axis, axes));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Result<std::optional<std::vector<bool>>> reduced_axes(const OnnxGraph& graph, const OnnxNode& node, std::size_t axes) {
  const bool as_input = node.opset >= 18 || (node.operation == "ReduceSum" && node.opset >= 13);
  const std::vector<std::int64_t>* given = nullptr;
  if (as_input) {
    const OnnxValue* value = graph.input(node, 1);
    if (value != nullptr) {
      if (!value->integers) return std::optional<std::vector<bool>>();
      given = &*value->integers;
    }
  } else {
    given = node.integers("axes");
  }
  if (given == nullptr || given->empty()) {
    return std::optional(std::vector<bool>(axes, !(as_input && node.integer("noop_with_empty_axes", 0) != 0)));
  }
  std::vector<bool> reduced(axes, false);
  for (const std::int64_t axis : *given) {
    const auto at = axis_at(axis, axes);
    if (!at) return tl::unexpected(at.error());
    reduced[*at] = true;
  }
  return std::optional(std::move(reduced));
}

namespace {

constexpr const char* kEllipsis = ".";

/// "bij", "...ij" as indices; the ellipsis is ".".
Result<std::vector<std::string>> indices_of(std::string_view term) {
  std::vector<std::string> indices;
  for (std::size_t i = 0; i < term.size(); ++i) {
    const auto c = static_cast<unsigned char>(term[i]);
    if (std::isalpha(c) != 0) {
      indices.emplace_back(1, term[i]);
    } else if (term.substr(i, 3) == "...") {
      indices.emplace_back(kEllipsis);
      i += 2;
    } else {
      return fail(
          fmt::format("its equation has {} where a letter, '...', ',' or '->' belongs", in_quotes(term.substr(i, 1))));
    }
  }
  if (std::count(indices.begin(), indices.end(), kEllipsis) > 1)
    return fail("an operand of its equation has '...' twice");
  return indices;
}

struct Terms {
  std::vector<std::vector<std::string>> operands;
  std::optional<std::vector<std::string>> output;
};

Result<Terms> terms_of(const std::string& equation) {
  std::string text;
  for (const char c : equation) {
    if (c != ' ') text += c;
  }
  Terms terms;
  const std::size_t arrow = text.find("->");
  std::string_view left = std::string_view(text).substr(0, arrow);
  for (;;) {
    const std::size_t comma = left.find(',');
    auto indices = indices_of(left.substr(0, comma));
    if (!indices) return tl::unexpected(indices.error());
    terms.operands.push_back(std::move(*indices));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (arrow == std::string::npos) return terms;
  auto output = indices_of(std::string_view(text).substr(arrow + 2));
  if (!output) return tl::unexpected(output.error());
  terms.output = std::move(*output);
  return terms;
}

/// Indices with the ellipsis replaced by e0, e1, ..., of which an operand with fewer axes has the last ones.
std::vector<std::string> expanded(const std::vector<std::string>& indices, std::size_t own, std::size_t all) {
  std::vector<std::string> names;
  for (const std::string& index : indices) {
    if (index != kEllipsis) {
      names.push_back(index);
      continue;
    }
    for (std::size_t i = all - own; i < all; ++i) names.push_back(fmt::format("e{}", i));
  }
  return names;
}

}  // namespace

Result<OnnxEquation> parse_equation(const std::string& text, const std::vector<OnnxSizes>& operands) {
  if (text.size() > 1000) return fail("its equation has more than 1000 characters");
  auto terms = terms_of(text);
  if (!terms) return tl::unexpected(terms.error());
  if (terms->operands.size() != operands.size()) {
    return fail(fmt::format("its equation {} has {} operand{}, the node {}", in_quotes(text), terms->operands.size(),
                            terms->operands.size() == 1 ? "" : "s", operands.size()));
  }
  std::vector<std::size_t> hidden(operands.size(), 0);
  std::size_t most_hidden = 0;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    const auto& indices = terms->operands[o];
    const bool ellipsis = std::find(indices.begin(), indices.end(), kEllipsis) != indices.end();
    const std::size_t letters = indices.size() - (ellipsis ? 1 : 0);
    if (operands[o].size() < letters || (!ellipsis && operands[o].size() > letters)) {
      return fail(fmt::format("operand {} of its equation {} has {} indices, its tensor {} axes", o, in_quotes(text),
                              letters, operands[o].size()));
    }
    hidden[o] = operands[o].size() - letters;
    most_hidden = std::max(most_hidden, hidden[o]);
  }
  OnnxEquation equation;
  std::map<std::string, int> occurrences;
  for (std::size_t o = 0; o < operands.size(); ++o) {
    equation.operands.push_back(expanded(terms->operands[o], hidden[o], most_hidden));
    for (std::size_t a = 0; a < operands[o].size(); ++a) {
      const std::string& index = equation.operands[o][a];
      ++occurrences[index];
      std::int64_t& extent = equation.extents.emplace(index, 1).first->second;
      if (extent == 1) extent = operands[o][a];
      if (operands[o][a] != extent && operands[o][a] != 1) {
        return fail(fmt::format("index {} of its equation {} has size {} in one place and {} in another",
                                in_quotes(index), in_quotes(text), extent, operands[o][a]));
      }
    }
  }
  if (terms->output) {
    const bool ellipsis = std::find(terms->output->begin(), terms->output->end(), kEllipsis) != terms->output->end();
    equation.output = expanded(*terms->output, ellipsis ? most_hidden : 0, most_hidden);
    std::set<std::string> seen;
    for (const std::string& index : equation.output) {
      if (!seen.insert(index).second) {
        return fail(fmt::format("the output of its equation {} has {} twice", in_quotes(text), in_quotes(index)));
      }
      if (equation.extents.count(index) == 0) {
        return fail(fmt::format("the output of its equation {} has {}, which no operand has", in_quotes(text),
                                in_quotes(index)));
      }
    }
  } else {
    for (std::size_t i = 0; i < most_hidden; ++i) equation.output.push_back(fmt::format("e{}", i));
    for (const auto& [index, count] : occurrences) {
      if (count == 1 && index.size() == 1) equation.output.push_back(index);
    }
  }
  for (std::size_t o = 0; o < operands.size(); ++o) {
    for (std::size_t a = 0; a < operands[o].size(); ++a) {
      std::string& index = equation.operands[o][a];
      if (operands[o][a] == 1 && equation.extents[index] != 1) index.clear();
    }
  }
  return equation;
}

Result<OnnxSizes> broadcast(const std::vector<OnnxSizes>& shapes) {
  std::size_t axes = 0;
  for (const OnnxSizes& shape : shapes) axes = std::max(axes, shape.size());
  OnnxSizes all(axes, 1);
  for (const OnnxSizes& shape : shapes) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = all[axes - shape.size() + i];
      if (size == 1) size = shape[i];
      if (shape[i] != size && shape[i] != 1) {
        return fail(fmt::format("sizes {} and {} cannot be broadcast to each other", size, shape[i]));
      }
    }
  }
  return all;
}

}  // namespace einflow
