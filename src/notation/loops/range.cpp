#include "notation/loops/range.hpp"

#include <fmt/format.h>

#include "base/message.hpp"

namespace einflow::loops {

namespace {

Bound plus_one(Bound bound) {
  for (Quotient& quotient : bound) quotient.dividend.constant += quotient.divisor;
  return bound;
}

std::optional<Affine> as_affine(const Reading& reading, const Bound& bound, const Span& span) {
  if (bound.size() == 1 && bound[0].divisor == Count(1)) return bound[0].dividend;
  reading.error(span, "a loop starts at a minimum or a quotient, expected a sum of loop variables");
  return std::nullopt;
}

bool same_variable(const Reading& reading, const WrittenLoop& loop) {
  const Token token = reading.scanner.next();
  if (token.is(loop.variable)) return true;
  return reading.error(token.span,
                       fmt::format("{}, expected the loop's variable {}", found(token), in_quotes(loop.variable)));
}

/// `m++`, `++m`, `m += 16`, `m = m + 16`.
std::optional<Count> increment(const Reading& reading, const WrittenLoop& loop) {
  if (reading.take("++")) return same_variable(reading, loop) ? std::optional<Count>(1) : std::nullopt;
  if (!same_variable(reading, loop)) return std::nullopt;
  if (reading.take("++")) return 1;
  if (reading.take("+=")) return reading.expressions.number();
  if (reading.take("=")) {
    if (!same_variable(reading, loop) || !reading.expect("+")) return std::nullopt;
    return reading.expressions.number();
  }
  reading.error(reading.scanner.peek().span, fmt::format("{}, expected '++' or '+='", found(reading.scanner.peek())),
                "loops count upwards: m++ or m += 16");
  return std::nullopt;
}

bool up_to(const Reading& reading, WrittenLoop& loop, const Affine& start) {
  const auto end = reading.expressions.bound();
  if (!end) return false;
  std::optional<Count> step = 1;
  if (reading.take_word("step") || reading.take_word("by")) step = reading.expressions.number();
  return step && set_range(reading, loop, start, plus_one(*end), *step);
}

}  // namespace

bool set_range(const Reading& reading, WrittenLoop& loop, const Affine& start, const Bound& end, Count step) {
  if (step < Count(1)) return reading.error(loop.variable_span, "the step is not at least 1");
  loop.start = start;
  loop.step = step;
  for (const Quotient& quotient : end) {
    const Quotient length{sum(quotient.dividend, scaled(start, Count(0) - quotient.divisor)), quotient.divisor * step};
    loop.trips.push_back(canonical(length));
    if (loop.trips.back().dividend.overflowed() || loop.trips.back().divisor.overflowed()) {
      return reading.error(loop.variable_span, "a number here is too large");
    }
    const Quotient& trips = loop.trips.back();
    if (trips.dividend.is_constant() && trips.dividend.constant < Count(1)) {
      return reading.error(loop.variable_span, fmt::format("the range of {} is empty", in_quotes(loop.variable)));
    }
  }
  if (end.size() == 1 && end[0].dividend.is_constant() && end[0].divisor == Count(1) && start.is_constant()) {
    loop.last_value = end[0].dividend.constant - start.constant;
  }
  return true;
}

bool read_range_in(const Reading& reading, WrittenLoop& loop) {
  const bool function = reading.take("range");
  const Token open = reading.scanner.peek();
  if (function) {
    if (!reading.expect("(")) return false;
    auto first = reading.expressions.bound();
    if (!first) return false;
    if (!reading.take(",")) return reading.expect(")") && set_range(reading, loop, {}, *first, 1);
    const auto start = as_affine(reading, *first, open.span);
    const auto end = start ? reading.expressions.bound() : std::nullopt;
    if (!end) return false;
    std::optional<Count> step = 1;
    if (reading.take(",")) step = reading.expressions.number();
    return step && reading.expect(")") && set_range(reading, loop, *start, *end, *step);
  }
  if (reading.take("[")) {
    const auto start = reading.expressions.affine();
    if (!start) return false;
    if (!reading.take(",") && !reading.expect(":", "[0, 8) is the range 0 to 7")) return false;
    auto end = reading.expressions.bound();
    if (!end) return false;
    if (reading.take("]")) return set_range(reading, loop, *start, plus_one(*end), 1);
    return reading.expect(")", "[0, 8) is the range 0 to 7") && set_range(reading, loop, *start, *end, 1);
  }
  if (open.is("(")) {
    return reading.error(open.span, "found '(', expected '[': a range includes its start",
                         "[0, 8) is the range 0 to 7");
  }
  const auto first = reading.expressions.bound();
  if (!first) return false;
  if (reading.take_word("to")) {
    const auto start = as_affine(reading, *first, open.span);
    return start && up_to(reading, loop, *start);
  }
  return set_range(reading, loop, {}, *first, 1);
}

bool read_range_from(const Reading& reading, WrittenLoop& loop, bool brackets) {
  const auto start = reading.expressions.affine();
  if (!start) return false;
  if (reading.take_word("to")) return up_to(reading, loop, *start);
  if (!brackets) {
    return reading.error(reading.scanner.peek().span, fmt::format("{}, expected 'to'", found(reading.scanner.peek())),
                         "for m = 0 to 7 | for m in [0, 8) | for (m = 0; m < 8; m++)");
  }
  if (!reading.expect(";") || !same_variable(reading, loop)) return false;
  const Token comparison = reading.scanner.next();
  if (!one_of(comparison, {"<", "<=", "!="})) {
    return reading.error(comparison.span, fmt::format("{}, expected '<' or '<='", found(comparison)),
                         "loops count upwards: for (m = 0; m < 8; m++)");
  }
  const auto end = reading.expressions.bound(true);
  if (!end || !reading.expect(";")) return false;
  const auto step = increment(reading, loop);
  if (!step) return false;
  return set_range(reading, loop, *start, comparison.is("<=") ? plus_one(*end) : *end, *step);
}

}  // namespace einflow::loops
