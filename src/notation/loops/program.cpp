#include "notation/loops/program.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::loops {

std::string NameGiver::give(const std::string& wanted) {
  std::string name = wanted;
  while (!taken_.insert(name).second) name += "_";
  return name;
}

Result<NamedFunction> function_named(const std::string& name) {
  static const std::vector<NamedFunction> kFunctions{
      {"exp", "exp(x)", "np.exp(x)"},
      {"exp2", "exp2(x)", "np.exp2(x)"},
      {"expm1", "expm1(x)", "np.expm1(x)"},
      {"log", "log(x)", "np.log(x)"},
      {"log2", "log2(x)", "np.log2(x)"},
      {"log1p", "log1p(x)", "np.log1p(x)"},
      {"sqrt", "sqrt(x)", "np.sqrt(x)"},
      {"rsqrt", "1 / sqrt(x)", "1 / np.sqrt(x)"},
      {"sin", "sin(x)", "np.sin(x)"},
      {"cos", "cos(x)", "np.cos(x)"},
      {"tanh", "tanh(x)", "np.tanh(x)"},
      {"erf", "erf(x)", "np.vectorize(math.erf, otypes=[float])(x)"},
      {"abs", "fabs(x)", "np.abs(x)"},
      {"neg", "-x", "-x"},
      {"square", "x * x", "x * x"},
      {"reciprocal", "1 / x", "1 / x"},
      {"identity", "x", "x"},
      {"relu", "x > 0 ? x : 0", "np.maximum(x, 0)"},
      {"sigmoid", "1 / (1 + exp(-x))", "1 / (1 + np.exp(-x))"},
      {"silu", "x / (1 + exp(-x))", "x / (1 + np.exp(-x))"},
      {"swish", "x / (1 + exp(-x))", "x / (1 + np.exp(-x))"},
      {"softplus", "log1p(exp(x))", "np.log1p(np.exp(x))"},
      {"gelu", "0.5 * x * (1 + erf(x / sqrt(2.0)))",
       "0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2.0)))"},
  };
  std::vector<std::string> names;
  for (const NamedFunction& function : kFunctions) {
    if (function.name == name) return function;
    names.push_back(function.name);
  }
  return fail(fmt::format("no program text is known for the function {}", in_quotes(name)),
              name_hint(name, names, "functions"));
}

bool maps_by_function(const Einsum& einsum) {
  static const std::set<std::string> kOperators{"*", "+", "-", "/", "max", "min"};
  return !kOperators.contains(einsum.map);
}

bool is_exact(const Einsum& einsum) { return einsum.map != "/" && !maps_by_function(einsum); }

bool stays_small(const Einsum& einsum) {
  if (einsum.reduce == "*") return false;
  Count largest = einsum.operations();
  for (int input = 0; input < einsum.output(); ++input) largest *= 8;
  return !largest.overflowed() && largest < Count(Count::Int{1} << 62);
}

bool StoredTensor::is_padded() const {
  const auto some = [](std::int64_t zeros) { return zeros > 0; };
  return std::any_of(zeros_before.begin(), zeros_before.end(), some) ||
         std::any_of(zeros_behind.begin(), zeros_behind.end(), some);
}

Result<StoredTensor> stored_tensor(const Einsum& einsum, int tensor) {
  StoredTensor stored;
  const Tensor& shape = einsum.tensors[static_cast<std::size_t>(tensor)];
  for (const Axis& axis : shape.axes) {
    // check_sizes() keeps every position below 2^62.
    std::int64_t end = axis.constant + 1;
    for (const Term& term : axis.terms) {
      end += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
    }
    const std::int64_t size = axis.stored_size.value_or(end);
    stored.sizes.push_back(size);
    stored.zeros_before.push_back(std::max<std::int64_t>(0, -axis.constant));
    stored.zeros_behind.push_back(std::max<std::int64_t>(0, end - size));
    stored.elements *= Count(size) + Count(stored.zeros_before.back()) + Count(stored.zeros_behind.back());
  }
  if (stored.elements.overflowed() || stored.elements >= Count(Count::Int{1} << 60)) {
    return fail(fmt::format("{} has 2^60 elements or more; no program can address them", in_quotes(shape.name)));
  }
  return stored;
}

Writing program_writing(std::string text, const Document& document, const Einsum& einsum) {
  Writing writing{std::move(text), beside_the_spec(document), {}};
  writing.left_out.emplace_back("the machine's figures and networks");
  writing.left_out.push_back(
      fmt::format("element types: the program computes with {}", is_exact(einsum) ? "whole numbers" : "double"));
  if (!(einsum.executed == ExecutedShare{})) {
    writing.left_out.emplace_back("the executed share: the program performs every operation");
  }
  return writing;
}

}  // namespace einflow::loops
