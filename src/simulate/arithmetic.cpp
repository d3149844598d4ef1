#include "simulate/arithmetic.hpp"

#include <algorithm>
#include <limits>

namespace einflow::execution {

namespace {

using Word = std::uint64_t;

Value add(Value a, Value b) { return static_cast<Value>(static_cast<Word>(a) + static_cast<Word>(b)); }
Value subtract(Value a, Value b) { return static_cast<Value>(static_cast<Word>(a) - static_cast<Word>(b)); }
Value multiply(Value a, Value b) { return static_cast<Value>(static_cast<Word>(a) * static_cast<Word>(b)); }

/// The finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
Word scatter(Word x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

Arithmetic::Arithmetic(const Einsum& einsum) {
  if (einsum.map == "*")
    map_ = Map::multiply;
  else if (einsum.map == "+")
    map_ = Map::add;
  else if (einsum.map == "-")
    map_ = Map::subtract;
  else if (einsum.map == "/")
    map_ = Map::divide;
  else if (einsum.map == "max")
    map_ = Map::maximum;
  else if (einsum.map == "min")
    map_ = Map::minimum;
  else
    map_ = Map::function;

  if (einsum.reduce == "*")
    reduce_ = Reduce::multiply;
  else if (einsum.reduce == "max")
    reduce_ = Reduce::maximum;
  else if (einsum.reduce == "min")
    reduce_ = Reduce::minimum;
  else
    reduce_ = Reduce::add;  // also where there is nothing to reduce: 0 + x
}

Value Arithmetic::input(int tensor, Element element) {
  const Word word = scatter(scatter(static_cast<Word>(tensor)) ^ static_cast<Word>(element));
  return 2 * static_cast<Value>(word % 1000) - 999;
}

Value Arithmetic::map(const std::vector<Value>& operands) const {
  Value result = operands.front();
  if (map_ == Map::function) result = add(multiply(result, add(result, 3)), 1);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const Value next = operands[i];
    switch (map_) {
      case Map::multiply:
        result = multiply(result, next);
        break;
      case Map::add:
        result = add(result, next);
        break;
      case Map::subtract:
        result = subtract(result, next);
        break;
      case Map::divide:
        result = subtract(multiply(3, result), multiply(5, next));
        break;
      case Map::maximum:
        result = std::max(result, next);
        break;
      case Map::minimum:
        result = std::min(result, next);
        break;
      case Map::function:
        result = add(multiply(7, result), next);
        break;
    }
  }
  return result;
}

Value Arithmetic::reduce(Value a, Value b) const {
  switch (reduce_) {
    case Reduce::add:
      return add(a, b);
    case Reduce::multiply:
      return multiply(a, b);
    case Reduce::maximum:
      return std::max(a, b);
    case Reduce::minimum:
      return std::min(a, b);
  }
  return a;
}

Value Arithmetic::identity() const {
  switch (reduce_) {
    case Reduce::add:
      return 0;
    case Reduce::multiply:
      return 1;
    case Reduce::maximum:
      return std::numeric_limits<Value>::min();
    case Reduce::minimum:
      return std::numeric_limits<Value>::max();
  }
  return 0;
}

std::vector<Value> evaluate_plainly(const Einsum& einsum, const Arithmetic& arithmetic,
                                    const std::vector<Elements>& elements) {
  const auto output = static_cast<std::size_t>(einsum.output());
  std::vector<Value> result(static_cast<std::size_t>(elements[output].count()), arithmetic.identity());
  std::vector<std::int64_t> point(einsum.ranks.size(), 0);
  std::vector<Value> operands(output);
  while (true) {
    for (std::size_t t = 0; t < output; ++t) {
      const Element element = elements[t].at(point.data());
      operands[t] = element < 0 ? 0 : Arithmetic::input(static_cast<int>(t), element);
    }
    const Element element = elements[output].at(point.data());
    if (element >= 0) {
      Value& sum = result[static_cast<std::size_t>(element)];
      sum = arithmetic.reduce(sum, arithmetic.map(operands));
    }
    std::size_t rank = point.size();
    while (rank > 0 && ++point[rank - 1] == einsum.ranks[rank - 1].extent) point[--rank] = 0;
    if (rank == 0) return result;
  }
}

}  // namespace einflow::execution
