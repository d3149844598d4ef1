// The numbers that the executor computes with: exact integers in place of the tensors' element types.
//
// Inputs are odd integers between -999 and 999, fixed by tensor and element. All arithmetic is modulo 2^64, where
// + and * are exact, associative and commutative in any order of summation, and where a product of odd numbers never
// collapses to zero: a wrong, missing or doubled operand changes the result. Two operators have no such exact form and
// are computed by a stand-in that tells their operands apart: a / b is 3*a - 5*b, a named function of x is
// x*x + 3*x + 1. Whatever the operators are, the mapped and the plain evaluation do the same to each operand.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem/einsum.hpp"
#include "simulate/elements.hpp"

namespace einflow::execution {

using Value = std::int64_t;

/// The einsum's operators on Values.
class Arithmetic {
 public:
  explicit Arithmetic(const Einsum& einsum);

  /// What input tensor `tensor` holds in an element.
  static Value input(int tensor, Element element);

  /// The map operator over the operands, from left to right; of a single operand, a function or the operand itself.
  Value map(const std::vector<Value>& operands) const;
  Value reduce(Value a, Value b) const;
  /// reduce(identity(), x) == x.
  Value identity() const;

 private:
  enum class Map { multiply, add, subtract, divide, maximum, minimum, function };
  enum class Reduce { add, multiply, maximum, minimum };
  Map map_ = Map::multiply;
  Reduce reduce_ = Reduce::add;
};

/// The einsum by plain nested loops over all ranks: the values of the output's elements.
std::vector<Value> evaluate_plainly(const Einsum& einsum, const Arithmetic& arithmetic,
                                    const std::vector<Elements>& elements);

}  // namespace einflow::execution
