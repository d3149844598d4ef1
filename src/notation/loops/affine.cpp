#include "notation/loops/affine.hpp"

#include <algorithm>
#include <numeric>

namespace einflow::loops {

namespace {

/// Quotient rounded down. Requires divisor > 0.
Count floor_div(Count dividend, Count divisor) {
  if (dividend.overflowed() || divisor.overflowed()) return Count::overflow();
  Count::Int quotient = dividend.value() / divisor.value();
  if (quotient * divisor.value() > dividend.value()) --quotient;
  return Count(quotient);
}

Count ceil_of(Count dividend, Count divisor) { return Count(0) - floor_div(Count(0) - dividend, divisor); }

Count greatest_common_divisor(Count a, Count b) {
  Count::Int x = a.value() < 0 ? -a.value() : a.value();
  Count::Int y = b.value() < 0 ? -b.value() : b.value();
  while (y != 0) x = std::exchange(y, x % y);
  return Count(x);
}

}  // namespace

Count Affine::coefficient(int loop) const {
  for (const auto& [index, factor] : terms) {
    if (index == loop) return factor;
  }
  return 0;
}

bool Affine::overflowed() const {
  return constant.overflowed() ||
         std::any_of(terms.begin(), terms.end(), [](const auto& term) { return term.second.overflowed(); });
}

Affine sum(const Affine& a, const Affine& b) {
  Affine result = a;
  result.constant += b.constant;
  for (const auto& [index, factor] : b.terms) {
    const int wanted = index;
    const auto found = std::find_if(result.terms.begin(), result.terms.end(),
                                    [wanted](const auto& term) { return term.first == wanted; });
    if (found == result.terms.end()) {
      result.terms.emplace_back(index, factor);
    } else {
      found->second += factor;
    }
  }
  std::erase_if(result.terms, [](const auto& term) { return term.second == Count(0); });
  return result;
}

Affine scaled(const Affine& a, Count factor) {
  if (factor == Count(0)) return {};
  Affine result = a;
  result.constant *= factor;
  for (auto& term : result.terms) term.second *= factor;
  return result;
}

bool same(const Affine& a, const Affine& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  return std::all_of(a.terms.begin(), a.terms.end(),
                     [&](const auto& term) { return b.coefficient(term.first) == term.second; });
}

Quotient canonical(const Quotient& quotient) {
  if (quotient.dividend.overflowed() || quotient.divisor.overflowed()) return quotient;
  Count common = quotient.divisor;
  for (const auto& term : quotient.dividend.terms) common = greatest_common_divisor(common, term.second);
  // ceil((c + g A) / (g d)) = ceil((ceil(c / g) + A) / d) for whole A.
  Quotient result = quotient;
  result.dividend.constant = ceil_of(quotient.dividend.constant, common);
  for (auto& term : result.dividend.terms) term.second = Count(term.second.value() / common.value());
  result.divisor = Count(quotient.divisor.value() / common.value());
  return result;
}

bool same(const Quotient& a, const Quotient& b) { return a.divisor == b.divisor && same(a.dividend, b.dividend); }

}  // namespace einflow::loops
