// The map operators of einsums on real numbers, with the derivatives of the functions.
//
// simulate/arithmetic.hpp computes with exact integers and a stand-in for functions and quotients; a gradient needs
// the functions themselves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow::cluster::devices {

using Function = double (*)(double);

/// "exp", "log", "sqrt", "rsqrt", "square", "reciprocal", "abs", "negate", "identity", "relu", "sigmoid", "tanh",
/// "silu", "gelu" (x times the normal distribution function), and with "'" behind the name its derivative.
/// The derivatives of relu and abs at 0 are 0.
std::optional<Function> function_named(const std::string& name);
std::vector<std::string> function_names();

/// An einsum's map operator over its operands, from left to right. Of a single operand "*", "+", "-", "/", "max" and
/// "min" are that operand.
class MapOperator {
 public:
  /// Errors: a name that is neither an operator nor a function, a function of several inputs.
  static Result<MapOperator> of(const Einsum& einsum);

  double operator()(const std::vector<double>& operands) const;

 private:
  enum class Kind { multiply, add, subtract, divide, maximum, minimum, function };
  Kind kind_ = Kind::multiply;
  Function function_ = nullptr;
};

}  // namespace einflow::cluster::devices
