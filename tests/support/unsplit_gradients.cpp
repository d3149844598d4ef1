#include "support/unsplit_gradients.hpp"

#include <stdexcept>

namespace einflow::testing {

namespace {

using cluster::devices::Tensors;
using cluster::devices::Values;

std::size_t element_at(const Einsum& einsum, std::size_t tensor, const std::vector<std::int64_t>& point) {
  std::int64_t element = 0;
  for (const Axis& axis : einsum.tensors[tensor].axes) {
    const auto rank = static_cast<std::size_t>(axis.terms.front().rank);
    element = element * einsum.ranks[rank].extent + point[rank];
  }
  return static_cast<std::size_t>(element);
}

double product_but(const std::vector<double>& x, std::size_t left_out) {
  double product = 1;
  for (std::size_t i = 0; i < x.size(); ++i) product *= i == left_out ? 1 : x[i];
  return product;
}

/// The map's derivative by its operand of that number.
double slope(const Einsum& einsum, const std::vector<double>& x, std::size_t number) {
  const std::string& map = einsum.map;
  if (map == "*") return product_but(x, number);
  if (map == "+") return 1;
  if (map == "-") return number == 0 ? 1 : -1;
  if (map == "/" && x.size() == 1) return 1;
  if (map == "/" && x.size() == 2) return number == 0 ? 1 / x[1] : -x[0] / (x[1] * x[1]);
  const auto derivative = cluster::devices::function_named(map + "'");
  if (!derivative || x.size() != 1) throw std::runtime_error("no derivative of " + map);
  return (*derivative)(x[0]);
}

double mapped(const Einsum& einsum, const std::vector<double>& x) {
  return cluster::devices::MapOperator::of(einsum).value()(x);
}

bool next(const Einsum& einsum, std::vector<std::int64_t>& point) {
  std::size_t rank = point.size();
  while (rank > 0 && ++point[rank - 1] == einsum.ranks[rank - 1].extent) point[--rank] = 0;
  return rank > 0;
}

void pass_back(const Einsum& einsum, const Tensors& values, Tensors& gradients) {
  const auto output = static_cast<std::size_t>(einsum.output());
  const std::string& result = einsum.tensors[output].name;
  const auto given = gradients.find(result);
  if (given == gradients.end()) return;
  const Values from = given->second;
  const bool chooses = einsum.reduce == "max" || einsum.reduce == "min";
  std::vector<std::int64_t> point(einsum.ranks.size(), 0);
  std::vector<double> operands(output);
  do {
    for (std::size_t i = 0; i < output; ++i) {
      operands[i] = values.at(einsum.tensors[i].name)[element_at(einsum, i, point)];
    }
    const std::size_t element = element_at(einsum, output, point);
    if (chooses && mapped(einsum, operands) != values.at(result)[element]) continue;
    for (std::size_t i = 0; i < output; ++i) {
      const std::string& name = einsum.tensors[i].name;
      Values& gradient = gradients.try_emplace(name, values.at(name).size(), 0.0).first->second;
      gradient[element_at(einsum, i, point)] += from[element] * slope(einsum, operands, i);
    }
  } while (next(einsum, point));
}

}  // namespace

Tensors unsplit_gradients(const std::vector<Einsum>& einsums, const Tensors& values, Tensors gradients,
                          const std::set<std::string>& constant) {
  for (auto einsum = einsums.rbegin(); einsum != einsums.rend(); ++einsum) {
    if (constant.count(einsum->tensors.back().name) == 0) pass_back(*einsum, values, gradients);
  }
  return gradients;
}

}  // namespace einflow::testing
