#include "cluster/gradient.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace einflow::cluster {

namespace {

/// An einsum over ranks of `of`, from tensors whose axes are in terms of its ranks.
Einsum einsum_of(const Einsum& of, std::vector<Tensor> tensors, std::string map) {
  Einsum result;
  result.ranks = of.ranks;
  result.tensors = std::move(tensors);
  result.map = std::move(map);
  result.executed = of.executed;
  // Ranks that no tensor has any more are dropped.
  for (int rank = static_cast<int>(result.ranks.size()); rank-- > 0;) {
    bool used = false;
    for (std::size_t tensor = 0; tensor < result.tensors.size(); ++tensor) {
      used = used || result.has_rank(static_cast<int>(tensor), rank);
    }
    if (used) continue;
    result.ranks.erase(result.ranks.begin() + rank);
    for (Tensor& tensor : result.tensors) {
      for (Axis& axis : tensor.axes) {
        for (Term& term : axis.terms) term.rank -= term.rank > rank ? 1 : 0;
      }
    }
  }
  bool reduces = false;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    reduces = reduces || !result.has_rank(result.output(), static_cast<int>(rank));
  }
  if (!reduces) result.reduce.clear();  // "+" by default
  return result;
}

Tensor renamed(Tensor tensor, std::string name) {
  tensor.name = std::move(name);
  return tensor;
}

bool is_function(const Einsum& einsum) {
  static const std::vector<std::string> operators{"*", "+", "-", "/", "max", "min"};
  return std::find(operators.begin(), operators.end(), einsum.map) == operators.end();
}

/// Whether a rank is summed that only other inputs have: each of its values would count once more.
bool lacks_reduced_rank(const Einsum& einsum, int input) {
  for (int rank = 0; rank < static_cast<int>(einsum.ranks.size()); ++rank) {
    if (!einsum.has_rank(einsum.output(), rank) && !einsum.has_rank(input, rank)) return true;
  }
  return false;
}

}  // namespace

std::string gradient_name(const std::string& tensor) { return fmt::format("d{}", tensor); }

Result<std::vector<Einsum>> gradient_of(const Einsum& einsum, int input) {
  const Tensor& x = einsum.tensors[static_cast<std::size_t>(input)];
  const Tensor& y = einsum.tensors[static_cast<std::size_t>(einsum.output())];
  const Tensor dx = renamed(x, gradient_name(x.name));
  const Tensor dy = renamed(y, gradient_name(y.name));
  const auto temporary = [&](const Tensor& like, const char* what) {
    return renamed(like, fmt::format("{}.{}.{}", dx.name, y.name, what));
  };
  if (is_function(einsum) && einsum.tensors.size() > 2) {
    // Known only by what it reads: every input, and the output's gradient.
    std::vector<Tensor> tensors{dy};
    tensors.insert(tensors.end(), einsum.tensors.begin(), einsum.tensors.end() - 1);
    tensors.push_back(dx);
    return std::vector<Einsum>{einsum_of(einsum, std::move(tensors), fmt::format("{}'", einsum.map))};
  }
  if (einsum.reduce == "max" || einsum.reduce == "min") return std::vector<Einsum>{};
  if (einsum.reduce != "+" && !einsum.reduce.empty()) {
    return fail(fmt::format("no gradient is known of the reduction {}", einsum.reduce));
  }
  if (is_function(einsum)) {
    const Tensor slope = temporary(x, "slope");
    return std::vector<Einsum>{einsum_of(einsum, {x, slope}, fmt::format("{}'", einsum.map)),
                               einsum_of(einsum, {dy, slope, dx}, "*")};
  }
  if ((einsum.map == "+" || einsum.map == "-") && lacks_reduced_rank(einsum, input)) {
    return fail(
        fmt::format("no gradient is known of {}: the sum is over a rank that {} lacks", to_text(einsum), x.name));
  }
  if (einsum.tensors.size() == 2 || einsum.map == "+" || (einsum.map == "-" && input == 0)) {
    return std::vector<Einsum>{einsum_of(einsum, {dy, dx}, "*")};
  }
  if (einsum.map == "-") return std::vector<Einsum>{einsum_of(einsum, {dy, dx}, "negate")};
  if (einsum.map == "*") {
    std::vector<Tensor> tensors{dy};
    for (int other = 0; other < einsum.output(); ++other) {
      if (other != input) tensors.push_back(einsum.tensors[static_cast<std::size_t>(other)]);
    }
    tensors.push_back(dx);
    return std::vector<Einsum>{einsum_of(einsum, std::move(tensors), "*")};
  }
  if (einsum.map == "/" && einsum.tensors.size() == 3) {
    const Tensor& divisor = einsum.tensors[1];
    if (input == 0) return std::vector<Einsum>{einsum_of(einsum, {dy, divisor, dx}, "/")};
    // d(a/b)/db = -(a/b)/b. A reduction would need the quotient of each operation, not their sum.
    if (einsum.reduce == "+") return fail("no gradient is known of a reduced quotient's divisor");
    const Tensor product = temporary(y, "product");
    const Tensor quotient = temporary(y, "quotient");
    return std::vector<Einsum>{einsum_of(einsum, {dy, y, product}, "*"),
                               einsum_of(einsum, {product, divisor, quotient}, "/"),
                               einsum_of(einsum, {quotient, dx}, "negate")};
  }
  return fail(fmt::format("no gradient is known of the map {}", einsum.map));
}

}  // namespace einflow::cluster
