#include "cluster/devices/operators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "base/message.hpp"

namespace einflow::cluster::devices {

namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
/// The distribution function and the density of the standard normal distribution.
double normal(double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; }
double density(double x) { return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2; }

struct Named {
  const char* name;
  Function function;
  Function derivative;
};

const std::vector<Named>& named() {
  static const std::vector<Named> kFunctions{
      {"identity", [](double x) { return x; }, [](double) { return 1.0; }},
      {"negate", [](double x) { return -x; }, [](double) { return -1.0; }},
      {"abs", [](double x) { return std::abs(x); }, [](double x) { return x > 0   ? 1.0
                                                                          : x < 0 ? -1.0
                                                                                  : 0.0; }},
      {"square", [](double x) { return x * x; }, [](double x) { return 2 * x; }},
      {"sqrt", [](double x) { return std::sqrt(x); }, [](double x) { return 1 / (2 * std::sqrt(x)); }},
      {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, [](double x) { return -1 / (2 * x * std::sqrt(x)); }},
      {"reciprocal", [](double x) { return 1 / x; }, [](double x) { return -1 / (x * x); }},
      {"exp", [](double x) { return std::exp(x); }, [](double x) { return std::exp(x); }},
      {"log", [](double x) { return std::log(x); }, [](double x) { return 1 / x; }},
      {"relu", [](double x) { return std::max(x, 0.0); }, [](double x) { return x > 0 ? 1.0 : 0.0; }},
      {"sigmoid", sigmoid, [](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
      {"tanh", [](double x) { return std::tanh(x); }, [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
      {"silu", [](double x) { return x * sigmoid(x); },
       [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
      {"gelu", [](double x) { return x * normal(x); }, [](double x) { return normal(x) + x * density(x); }}};
  return kFunctions;
}

}  // namespace

std::optional<Function> function_named(const std::string& name) {
  const bool derivative = !name.empty() && name.back() == '\'';
  const std::string base = derivative ? name.substr(0, name.size() - 1) : name;
  for (const Named& entry : named()) {
    if (base == entry.name) return derivative ? entry.derivative : entry.function;
  }
  return std::nullopt;
}

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const Named& entry : named()) names.emplace_back(entry.name);
  return names;
}

Result<MapOperator> MapOperator::of(const Einsum& einsum) {
  static const std::map<std::string, Kind> kOperators{{"*", Kind::multiply},  {"+", Kind::add},
                                                      {"-", Kind::subtract},  {"/", Kind::divide},
                                                      {"max", Kind::maximum}, {"min", Kind::minimum}};
  MapOperator result;
  if (const auto found = kOperators.find(einsum.map); found != kOperators.end()) {
    result.kind_ = found->second;
    return result;
  }
  const std::optional<Function> function = function_named(einsum.map);
  if (!function) {
    return fail(fmt::format("no function {} is known to the executor", in_quotes(einsum.map)),
                name_hint(einsum.map, function_names(), "functions"));
  }
  if (einsum.tensors.size() != 2) {
    return fail(fmt::format("{}: a function has one input, found {}", to_text(einsum), einsum.tensors.size() - 1));
  }
  result.kind_ = Kind::function;
  result.function_ = *function;
  return result;
}

double MapOperator::operator()(const std::vector<double>& operands) const {
  double result = operands.front();
  if (kind_ == Kind::function) return function_(result);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const double next = operands[i];
    switch (kind_) {
      case Kind::multiply:
        result *= next;
        break;
      case Kind::add:
        result += next;
        break;
      case Kind::subtract:
        result -= next;
        break;
      case Kind::divide:
        result /= next;
        break;
      case Kind::maximum:
        result = std::max(result, next);
        break;
      case Kind::minimum:
        result = std::min(result, next);
        break;
      case Kind::function:
        break;
    }
  }
  return result;
}

}  // namespace einflow::cluster::devices
