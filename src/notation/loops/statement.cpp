#include "notation/loops/statement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::loops {

namespace {

constexpr std::size_t kMaximumTensors = 64;

std::optional<WrittenTensor> read_tensor(const Reading& reading, const std::string& what) {
  const Token name = reading.scanner.peek();
  if (name.kind != Token::Kind::name) {
    reading.error(name.span, fmt::format("{}, expected {}", found(name), what),
                  name.kind == Token::Kind::number ? "every operand is a tensor; a factor is a scalar tensor: A" : "");
    return std::nullopt;
  }
  reading.scanner.next();
  WrittenTensor result{std::string(name.text), name.span, {}, {}};
  while (reading.take("[")) {
    if (reading.take("]")) continue;
    do {
      const Token first = reading.scanner.peek();
      const auto index = reading.expressions.affine();
      if (!index) return std::nullopt;
      result.axes.push_back(*index);
      Span span = first.span;
      if (reading.scanner.last().span.line == span.line) {
        span.length = reading.scanner.last().span.column + reading.scanner.last().span.length - span.column;
      }
      result.axis_spans.push_back(span);
      if (result.axes.size() > kMaximumTensors) {
        reading.error(first.span, fmt::format("more than {} axes", kMaximumTensors));
        return std::nullopt;
      }
    } while (reading.take(","));
    if (!reading.expect("]")) return std::nullopt;
  }
  return result;
}

bool same_tensor(const WrittenTensor& a, const WrittenTensor& b) {
  return a.name == b.name && std::equal(a.axes.begin(), a.axes.end(), b.axes.begin(), b.axes.end(),
                                        [](const Affine& x, const Affine& y) { return same(x, y); });
}

/// The operator at hand, in einflow's spelling; empty where there is none.
std::string infix(const Reading& reading) {
  const Token& token = reading.scanner.peek();
  if (one_of(token, {"\xC3\x97", "\xC2\xB7"})) return "*";  // the signs of multiplication
  return one_of(token, {"*", "+", "-", "/"}) ? std::string(token.text) : "";
}

bool read_function(const Reading& reading, WrittenStatement& statement, const Token& name) {
  reading.scanner.next();
  reading.scanner.next();
  statement.map = name.text;
  do {
    auto operand = read_tensor(reading, "a tensor");
    if (!operand) return false;
    statement.inputs.push_back(std::move(*operand));
    if (statement.inputs.size() >= kMaximumTensors) return reading.error(name.span, "more than 64 tensors");
  } while (reading.take(","));
  if (!reading.expect(")")) return false;
  const bool extremum = name.is("max") || name.is("min");
  if (extremum && statement.inputs.size() == 2 && statement.reduce.empty() &&
      same_tensor(statement.inputs[0], statement.output)) {  // Y[m] = max(Y[m], X[m,k])
    statement.reduce = statement.map;
    statement.map = "*";
    statement.inputs.erase(statement.inputs.begin());
    return true;
  }
  if (extremum && statement.inputs.size() < 2) {
    return reading.error(
        name.span, fmt::format("{} of one tensor", in_quotes(name.text)),
        fmt::format("Y[m] {}= X[m,k] reduces; {}(X[m], Y[m]) has two or more operands", name.text, name.text));
  }
  if (!extremum && statement.inputs.size() > 1) {
    return reading.error(name.span, fmt::format("the function {} has {} operands, expected one", in_quotes(name.text),
                                                statement.inputs.size()));
  }
  return true;
}

}  // namespace

bool read_output(const Reading& reading, WrittenStatement& statement) {
  auto output = read_tensor(reading, "a tensor");
  if (!output) return false;
  statement.output = std::move(*output);
  const Token sign = reading.scanner.next();
  statement.assignment = sign.span;
  if (one_of(sign, {"max", "min"}) && reading.take("=")) {
    statement.reduce = sign.text;
  } else if (sign.is("+=") || sign.is("*=")) {
    statement.reduce = sign.text.substr(0, 1);
  } else if (!sign.is("=")) {
    return reading.error(sign.span, fmt::format("{}, expected an assignment", found(sign)),
                         "one of =, +=, max=, min=, *=");
  }
  return true;
}

bool take_initial_value(const Reading& reading) {
  Scanner ahead = reading.scanner;
  if (ahead.peek().is("-")) ahead.next();
  const Token value = ahead.next();
  const bool infinite = one_of(value, {"inf", "INF", "INFINITY", "infinity", "INT_MIN", "INT_MAX", "\xE2\x88\x9E"});
  if (value.kind != Token::Kind::number && !infinite) return false;
  if (ahead.peek().is(".")) {
    ahead.next();
    if (ahead.peek().kind == Token::Kind::number) ahead.next();
  }
  if (one_of(ahead.peek(), {"*", "+", "-", "/", "[", "("})) return false;
  reading.scanner = ahead;
  return true;
}

bool read_operands(const Reading& reading, WrittenStatement& statement) {
  Scanner ahead = reading.scanner;
  const Token first = ahead.next();
  if (first.kind == Token::Kind::name && ahead.peek().is("(")) return read_function(reading, statement, first);
  auto operand = read_tensor(reading, "a tensor or a function");
  if (!operand) return false;
  std::string sign = infix(reading);
  // Y[m] = Y[m] + X[m,k]
  const bool accumulates = statement.reduce.empty() && (sign == "+" || sign == "*");
  if (accumulates && same_tensor(*operand, statement.output)) {
    statement.reduce = sign;
    reading.scanner.next();
    return read_operands(reading, statement);
  }
  statement.inputs.push_back(std::move(*operand));
  if (!sign.empty()) statement.map = sign;
  while (!sign.empty()) {
    const Token token = reading.scanner.next();
    if (sign != statement.map) {
      return reading.error(token.span,
                           fmt::format("found {} behind {}: one operator joins all operands", in_quotes(token.text),
                                       in_quotes(statement.map)),
                           "several operators are several einsums");
    }
    operand = read_tensor(reading, "a tensor");
    if (!operand) return false;
    statement.inputs.push_back(std::move(*operand));
    if (statement.inputs.size() >= kMaximumTensors) return reading.error(token.span, "more than 64 tensors");
    sign = infix(reading);
  }
  return true;
}

}  // namespace einflow::loops
