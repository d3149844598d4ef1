#include "notation/loops/expression.hpp"

#include <fmt/format.h>

#include "base/message.hpp"

namespace einflow::loops {

namespace {

constexpr int kMaximumDepth = 64;
constexpr std::size_t kMaximumWork = 50'000'000;  ///< terms added in one text
const Count kLargestNumber = Count(Count::Int{1} << 62);

Bound constant(Count value) { return {{Affine{value, {}}, 1}}; }

bool is_constant(const Bound& bound) {
  return bound.size() == 1 && bound[0].dividend.is_constant() && bound[0].divisor == Count(1);
}

std::size_t size_of(const Bound& bound) {
  std::size_t size = 0;
  for (const Quotient& quotient : bound) size += 1 + quotient.dividend.terms.size();
  return size;
}

/// ceil(a / d) + b is ceil((a + d b) / d) for a whole b: a least of several and a sum.
std::optional<Bound> added(const Bound& a, const Bound& b) {
  const Bound& several = a.size() > 1 || a[0].divisor != Count(1) ? a : b;
  const Bound& single = &several == &a ? b : a;
  if (single.size() > 1 || single[0].divisor != Count(1)) return std::nullopt;
  Bound result = several;
  for (Quotient& quotient : result) {
    const Affine addend = scaled(single[0].dividend, quotient.divisor);
    quotient.dividend = &several == &a ? sum(quotient.dividend, addend) : sum(addend, quotient.dividend);
  }
  return result;
}

/// Quotients whose value is a number or has no divisor left, in that form.
Bound rounded_up(const Bound& bound) {
  Bound result;
  for (const Quotient& quotient : bound) result.push_back(canonical(quotient));
  return result;
}

}  // namespace

std::nullopt_t ExpressionParser::fail(const Span& span, std::string message, std::string hint) {
  errors_.push_back({span, std::move(message), std::move(hint), {}});
  return std::nullopt;
}

bool ExpressionParser::affordable(const Bound& a, const Bound& b) {
  work_ += (1 + size_of(a)) * (1 + size_of(b));
  if (work_ <= kMaximumWork) return true;
  fail(scanner_.last().span, "the text's index arithmetic is too long");
  return false;
}

std::optional<Bound> ExpressionParser::bound(bool whole_division) {
  whole_division_ = whole_division;
  const Span first = scanner_.peek().span;
  auto result = sum_of_terms(0, false);
  if (!result) return std::nullopt;
  for (const Quotient& quotient : *result) {
    if (quotient.dividend.overflowed() || quotient.divisor.overflowed()) {
      return fail(first, "a number here is too large");
    }
  }
  return result;
}

std::optional<Affine> ExpressionParser::affine(bool whole_division) {
  const Span first = scanner_.peek().span;
  const auto result = bound(whole_division);
  if (!result) return std::nullopt;
  if (result->size() != 1 || (*result)[0].divisor != Count(1)) {
    return fail(first, "found a minimum or a division, expected a sum of loop variables");
  }
  return (*result)[0].dividend;
}

std::optional<Count> ExpressionParser::number() {
  const Span first = scanner_.peek().span;
  const auto result = bound();
  if (!result) return std::nullopt;
  if (!is_constant(*result)) return fail(first, "found loop variables, expected a number");
  return (*result)[0].dividend.constant;
}

std::optional<Bound> ExpressionParser::sum_of_terms(int depth, bool in_rounding) {
  if (depth > kMaximumDepth) {
    return fail(scanner_.peek().span, fmt::format("brackets nested more than {} deep", kMaximumDepth));
  }
  const bool negated = scanner_.peek().is("-");
  if (negated || scanner_.peek().is("+")) scanner_.next();
  auto result = product(depth, in_rounding);
  if (result && negated) {
    if (result->size() > 1 || (*result)[0].divisor != Count(1)) return fail(scanner_.last().span, "a negated minimum");
    (*result)[0].dividend = scaled((*result)[0].dividend, -1);
  }
  while (result && (scanner_.peek().is("+") || scanner_.peek().is("-"))) {
    const Token sign = scanner_.next();
    auto next = product(depth, in_rounding);
    if (!next) return std::nullopt;
    if (sign.is("-")) {
      if (next->size() > 1 || (*next)[0].divisor != Count(1)) {
        return fail(sign.span, "a minimum or quotient is subtracted; it may only be added to");
      }
      (*next)[0].dividend = scaled((*next)[0].dividend, -1);
    }
    if (!affordable(*result, *next)) return std::nullopt;
    result = added(*result, *next);
    if (!result) return fail(sign.span, "two minima or quotients are added", "write the range as min(A, B) of sums");
  }
  return result;
}

std::optional<Bound> ExpressionParser::product(int depth, bool in_rounding) {
  auto result = factor(depth, in_rounding);
  while (result && (scanner_.peek().is("*") || scanner_.peek().is("/") || scanner_.peek().is("//"))) {
    const Token sign = scanner_.next();
    const auto next = factor(depth, in_rounding);
    if (!next || !affordable(*result, *next)) return std::nullopt;
    if (!sign.is("*")) {
      result = divided(*result, *next, sign, in_rounding);
      continue;
    }
    const Bound& number = is_constant(*next) ? *next : *result;
    const Bound& other = is_constant(*next) ? *result : *next;
    if (!is_constant(number) || other.size() > 1 || other[0].divisor != Count(1)) {
      return fail(sign.span, "a product of loop variables; a variable may be multiplied by a number only");
    }
    result = Bound{{scaled(other[0].dividend, number[0].dividend.constant), 1}};
  }
  return result;
}

std::optional<Bound> ExpressionParser::divided(const Bound& dividend, const Bound& divisor, const Token& slash,
                                               bool in_rounding) {
  if (!is_constant(divisor) || divisor[0].dividend.constant < Count(1)) {
    return fail(slash.span, "the divisor is not a number of at least 1");
  }
  const Count number = divisor[0].dividend.constant;
  Bound result = dividend;
  for (Quotient& quotient : result) {
    if (quotient.divisor != Count(1) && !in_rounding) return fail(slash.span, "what was rounded is divided again");
    quotient.divisor *= number;
    const Quotient exact = canonical(quotient);
    const bool divides =
        exact.divisor == Count(1) && exact.dividend.constant * quotient.divisor == quotient.dividend.constant;
    if (divides || in_rounding) {
      if (divides) quotient = exact;
      continue;
    }
    if (!slash.is("//") && !whole_division_) {
      return fail(slash.span, "the division leaves a remainder, and the text does not say how it is rounded",
                  "write ceil(A / B), or A // B to round down");
    }
    quotient.dividend.constant -= quotient.divisor - 1;  // floor(a / d) = ceil((a - d + 1) / d)
  }
  return in_rounding ? result : rounded_up(result);
}

bool ExpressionParser::expect(std::string_view symbol) {
  if (scanner_.peek().is(symbol)) {
    scanner_.next();
    return true;
  }
  const Token found = scanner_.peek();
  fail(found.span, found.kind == Token::Kind::end
                       ? fmt::format("the text ends, expected '{}'", symbol)
                       : fmt::format("found {}, expected '{}'", in_quotes(found.text), symbol));
  return false;
}

std::optional<Bound> ExpressionParser::call(const Token& name, int depth, bool in_rounding) {
  if (!expect("(")) return std::nullopt;
  const bool rounds = name.is("ceil") || name.is("floor");
  auto result = sum_of_terms(depth + 1, rounds);
  if (!result) return std::nullopt;
  if (rounds) {
    for (Quotient& quotient : *result) {
      if (name.is("floor") && quotient.divisor != Count(1)) quotient.dividend.constant -= quotient.divisor - 1;
    }
    if (!expect(")")) return std::nullopt;
    result = rounded_up(*result);
    for (const Quotient& quotient : *result) {
      if (in_rounding && quotient.divisor != Count(1)) return fail(name.span, "rounding inside of rounding");
    }
    return result;
  }
  while (scanner_.peek().is(",")) {
    scanner_.next();
    const auto next = sum_of_terms(depth + 1, false);
    if (!next || !affordable(*result, *next)) return std::nullopt;
    if (name.is("min")) {
      result->insert(result->end(), next->begin(), next->end());
    } else if (is_constant(*result) && is_constant(*next)) {
      result = constant(std::max((*result)[0].dividend.constant, (*next)[0].dividend.constant));
    } else {
      return fail(name.span, "a maximum of loop variables; a loop's range is a number or a minimum");
    }
  }
  if (!expect(")")) return std::nullopt;
  // Numbers among the terms of a minimum are one number.
  std::optional<Count> least;
  Bound terms;
  for (const Quotient& quotient : *result) {
    if (!quotient.dividend.is_constant() || quotient.divisor != Count(1)) {
      terms.push_back(quotient);
    } else {
      least = least ? std::min(*least, quotient.dividend.constant) : quotient.dividend.constant;
    }
  }
  if (least) terms.insert(terms.begin(), {Affine{*least, {}}, 1});
  return terms;
}

std::optional<Bound> ExpressionParser::factor(int depth, bool in_rounding) {
  const Token token = scanner_.peek();
  if (token.kind == Token::Kind::number) {
    scanner_.next();
    const auto value = parse_count(token.text);
    if (!value || *value > kLargestNumber) return fail(token.span, "the number is larger than 2^62");
    return constant(*value);
  }
  if (token.is("(")) {
    scanner_.next();
    auto inner = sum_of_terms(depth + 1, in_rounding);
    if (!inner || !expect(")")) return std::nullopt;
    return inner;
  }
  if (token.kind == Token::Kind::name) {
    scanner_.next();
    const bool function = token.is("min") || token.is("max") || token.is("ceil") || token.is("floor");
    if (function && scanner_.peek().is("(")) return call(token, depth, in_rounding);
    if (scanner_.peek().is("[") || scanner_.peek().is("(")) {
      return fail(token.span, fmt::format("{} is used as a table or function inside an index", in_quotes(token.text)),
                  "an index is a sum of loop variables: 16*m1 + m0");
    }
    const auto value = meaning_(token);
    if (!value) return std::nullopt;
    return Bound{{*value, 1}};
  }
  return fail(token.span, token.kind == Token::Kind::end
                              ? "the text ends, expected a number or a name"
                              : fmt::format("found {}, expected a number or a name", in_quotes(token.text)));
}

}  // namespace einflow::loops
