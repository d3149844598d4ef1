#include "problem/einsum.hpp"

#include <fmt/format.h>

namespace einflow {

int Einsum::rank_named(std::string_view wanted) const {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

int Einsum::tensor_named(std::string_view wanted) const {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].name == wanted) return static_cast<int>(i);
  }
  return -1;
}

bool Einsum::has_rank(int tensor, int rank) const {
  for (const Axis& axis : tensors[static_cast<std::size_t>(tensor)].axes) {
    for (const Term& term : axis.terms) {
      if (term.rank == rank) return true;
    }
  }
  return false;
}

Count Einsum::operations() const {
  Count product = 1;
  for (const Rank& rank : ranks) product *= Count(rank.extent);
  return product;
}

Count Einsum::executed_operations() const { return (Ratio(operations()) * executed.share).ceil(); }

bool Einsum::is_mac() const { return map == "*" && reduce == "+" && tensors.size() == 3; }

std::string to_text(const Axis& axis, const Einsum& einsum) {
  std::string text;
  for (const Term& term : axis.terms) {
    if (!text.empty()) text += "+";
    if (term.coefficient != 1) text += fmt::format("{}*", term.coefficient);
    text += einsum.ranks[static_cast<std::size_t>(term.rank)].name;
  }
  if (text.empty()) return fmt::format("{}", axis.constant);
  if (axis.constant != 0) text += fmt::format("{:+}", axis.constant);
  return text;
}

std::string to_text(const Tensor& tensor, const Einsum& einsum) {
  std::string text = tensor.name + "[";
  for (std::size_t i = 0; i < tensor.axes.size(); ++i) {
    if (i > 0) text += ",";
    text += to_text(tensor.axes[i], einsum);
  }
  return text + "]";
}

namespace {

std::string assignment(const std::string& reduce) { return reduce + "="; }

bool is_infix(const std::string& map) { return map == "*" || map == "+" || map == "-" || map == "/"; }

}  // namespace

std::string to_text(const Einsum& einsum) {
  const bool infix = is_infix(einsum.map);
  std::string factors;
  for (std::size_t i = 0; i + 1 < einsum.tensors.size(); ++i) {
    if (i > 0) factors += infix ? fmt::format(" {} ", einsum.map) : ", ";
    factors += to_text(einsum.tensors[i], einsum);
  }
  if (!infix) factors = fmt::format("{}({})", einsum.map, factors);
  return fmt::format("{} {} {}", to_text(einsum.tensors.back(), einsum), assignment(einsum.reduce), factors);
}

}  // namespace einflow
