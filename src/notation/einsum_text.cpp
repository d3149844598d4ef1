#include "notation/einsum_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/spec_reader.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumNames = 64;
constexpr std::size_t kMaximumBytes = std::size_t{1} << 16;

struct Token {
  enum class Kind { name, number, symbol, end };
  Kind kind = Kind::end;
  std::string_view text;
  std::size_t at = 0;

  bool is(std::string_view symbol) const { return kind == Kind::symbol && text == symbol; }
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// What stands at byte `at` or after blanks behind it.
Token token_at(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  if (at >= text.size()) return {Token::Kind::end, {}, text.size()};
  std::size_t end = at + 1;
  if (is_letter(text[at])) {
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    return {Token::Kind::name, text.substr(at, end - at), at};
  }
  if (is_digit(text[at])) {
    while (end < text.size() && is_digit(text[end])) ++end;
    return {Token::Kind::number, text.substr(at, end - at), at};
  }
  const bool assigns = (text[at] == '+' || text[at] == '*') && end < text.size() && text[end] == '=';
  const auto bytes = assigns ? std::size_t{2} : static_cast<std::size_t>(decode_utf8(text, at).bytes);
  return {Token::Kind::symbol, text.substr(at, bytes), at};
}

class EinsumParser {
 public:
  explicit EinsumParser(std::string_view text) : text_(text), token_(token_at(text, 0)) {}

  Result<ParsedEinsum> parse() {
    parse_tensor("the output tensor");
    Tensor output;
    if (errors_.empty()) output = std::move(parsed_.einsum.tensors.back());
    if (errors_.empty()) parse_assignment();
    if (errors_.empty()) {
      parsed_.einsum.tensors.clear();
      parse_factors();
    }
    if (errors_.empty() && token_.kind != Token::Kind::end) unexpected("an operator or the end");
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    // The inputs come first, the output last.
    parsed_.einsum.tensors.push_back(std::move(output));
    std::rotate(parsed_.tensors.begin(), parsed_.tensors.begin() + 1, parsed_.tensors.end());
    std::rotate(parsed_.axes.begin(), parsed_.axes.begin() + 1, parsed_.axes.end());
    report_faults();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(parsed_);
  }

 private:
  void advance() { token_ = token_at(text_, token_.at + token_.text.size()); }

  Span span(std::size_t from, std::size_t to) const {
    const std::string_view before = text_.substr(0, from);
    const int line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return {line, code_points(before.substr(line_start)) + 1, std::max(1, code_points(text_.substr(from, to - from)))};
  }
  Span span(const Token& token) const { return span(token.at, token.at + token.text.size()); }

  void error(const Span& where, std::string message, std::string hint = {}) {
    errors_.push_back({where, std::move(message), std::move(hint), {}});
  }
  void unexpected(std::string_view expected, std::string hint = {}) {
    const std::string found = token_.kind == Token::Kind::end ? "the end" : in_quotes(token_.text);
    error(span(token_), fmt::format("found {}, expected {}", found, expected), std::move(hint));
  }

  /// Takes the symbol if it comes next.
  bool take(std::string_view symbol) {
    if (!token_.is(symbol)) return false;
    advance();
    return true;
  }

  void parse_assignment() {
    const Token first = token_;
    if (token_.kind == Token::Kind::name && (token_.text == "max" || token_.text == "min")) {
      parsed_.einsum.reduce = std::string(token_.text);
      advance();
      if (!token_.is("=")) return unexpected("'='");
    } else if (token_.is("=") || token_.is("+=") || token_.is("*=")) {
      parsed_.einsum.reduce = std::string(token_.text.substr(0, token_.text.size() - 1));
    } else {
      return unexpected("'=', '+=', 'max=', 'min=' or '*='", "an einsum is written Y[m,n] += X[m,k] * W[k,n]");
    }
    parsed_.assignment = span(first.at, token_.at + token_.text.size());
    advance();
  }

  void parse_factors() {
    Einsum& einsum = parsed_.einsum;
    if (token_.kind == Token::Kind::name && token_at(text_, token_.at + token_.text.size()).is("(")) {
      return parse_call();
    }
    if (!parse_tensor("an input tensor")) return;
    constexpr std::string_view kOperators = "*+-/";
    while (token_.kind == Token::Kind::symbol && kOperators.find(token_.text) != std::string_view::npos) {
      const std::string found(token_.text);
      if (einsum.tensors.size() > 1 && found != einsum.map) {
        return error(span(token_),
                     fmt::format("found {} after {}; one einsum has one operator between its factors", in_quotes(found),
                                 in_quotes(einsum.map)),
                     "write a cascade: one einsum for each operator");
      }
      einsum.map = found;
      advance();
      if (!parse_tensor("an input tensor")) return;
    }
  }

  /// exp(X[m]), max(X[m], Y[m]).
  void parse_call() {
    const Token function = token_;
    parsed_.einsum.map = std::string(function.text);
    advance();
    advance();  // the parenthesis
    do {
      if (!parse_tensor("an input tensor")) return;
    } while (take(","));
    if (!take(")")) return unexpected("',' or ')'");
    const bool many = function.text == "max" || function.text == "min";
    const std::size_t arguments = parsed_.einsum.tensors.size();
    if (many ? arguments < 2 : arguments > 1) {
      error(span(function),
            fmt::format("the function {} takes {}, found {} argument{}", in_quotes(function.text),
                        many ? "two or more arguments" : "one argument", arguments, arguments == 1 ? "" : "s"));
    }
  }

  bool parse_tensor(std::string_view expected) {
    if (token_.kind != Token::Kind::name) return unexpected(expected), false;
    if (parsed_.tensors.size() == kMaximumNames) {
      return error(span(token_), fmt::format("more than {} tensors", kMaximumNames)), false;
    }
    Tensor tensor;
    tensor.name = std::string(token_.text);
    parsed_.tensors.push_back(span(token_));
    parsed_.axes.emplace_back();
    advance();
    if (take("[") && !take("]")) {
      do {
        if (!parse_axis(tensor)) return false;
      } while (take(","));
      if (!take("]")) return unexpected("'+', ',' or ']'"), false;
    }
    parsed_.einsum.tensors.push_back(std::move(tensor));
    return true;
  }

  bool parse_axis(Tensor& tensor) {
    Axis axis;
    const std::size_t from = token_.at;
    std::size_t to = from;
    bool minus = take("-");
    for (;;) {
      if (!parse_term(axis, minus, to)) return false;
      if (take("+")) {
        minus = false;
      } else if (take("-")) {
        minus = true;
      } else {
        break;
      }
    }
    if (tensor.axes.size() == kMaximumNames) {
      return error(span(from, to), fmt::format("more than {} axes", kMaximumNames)), false;
    }
    tensor.axes.push_back(std::move(axis));
    parsed_.axes.back().push_back(span(from, to));
    return true;
  }

  /// 2*p, p*2, p or 3; `to` becomes where it ends.
  bool parse_term(Axis& axis, bool minus, std::size_t& to) {
    const Token first = token_;
    if (first.kind == Token::Kind::symbol || first.kind == Token::Kind::end) {
      return unexpected("a rank, a number or a product like 2*p"), false;
    }
    to = first.at + first.text.size();
    advance();
    if (first.kind == Token::Kind::number && token_.kind == Token::Kind::name) {
      return unexpected("'*'", fmt::format("write {}*{}", first.text, token_.text)), false;
    }
    if (!token_.is("*"))
      return first.kind == Token::Kind::number ? add_constant(axis, first, minus) : add_rank(axis, first, {}, minus);
    advance();
    const Token second = token_;
    const bool product = (first.kind == Token::Kind::number && second.kind == Token::Kind::name) ||
                         (first.kind == Token::Kind::name && second.kind == Token::Kind::number);
    if (!product) return unexpected(first.kind == Token::Kind::name ? "a number" : "a rank"), false;
    to = second.at + second.text.size();
    advance();
    return first.kind == Token::Kind::name ? add_rank(axis, first, second, minus)
                                           : add_rank(axis, second, first, minus);
  }

  bool number(const Token& token, std::int64_t& value) {
    const auto count = parse_count(token.text);
    const auto small = count ? count->to_int64() : std::nullopt;
    if (!small) return error(span(token), fmt::format("{} does not fit in 64 bits", in_quotes(token.text))), false;
    value = *small;
    return true;
  }

  bool add_constant(Axis& axis, const Token& token, bool minus) {
    std::int64_t value = 0;
    if (!number(token, value)) return false;
    if (minus) value = -value;
    if (__builtin_add_overflow(axis.constant, value, &axis.constant)) {
      return error(span(token), "the constants of this axis do not fit in 64 bits"), false;
    }
    return true;
  }

  bool add_rank(Axis& axis, const Token& name, const Token& coefficient, bool minus) {
    Term term;
    if (coefficient.kind == Token::Kind::number && !number(coefficient, term.coefficient)) return false;
    if (minus) term.coefficient = -term.coefficient;
    term.rank = parsed_.einsum.rank_named(name.text);
    if (term.rank < 0) {
      if (parsed_.einsum.ranks.size() == kMaximumNames) {
        return error(span(name), fmt::format("more than {} ranks", kMaximumNames)), false;
      }
      term.rank = static_cast<int>(parsed_.einsum.ranks.size());
      parsed_.einsum.ranks.push_back({std::string(name.text), 1});
      parsed_.ranks.push_back(span(name));
    }
    if (axis.terms.size() == kMaximumNames) {
      return error(span(name), fmt::format("more than {} terms in an axis", kMaximumNames)), false;
    }
    axis.terms.push_back(term);
    return true;
  }

  void report_faults() {
    for (EinsumFault& fault : check_form(parsed_.einsum)) {
      Span where = parsed_.assignment;
      if (fault.tensor >= 0) {
        const auto t = static_cast<std::size_t>(fault.tensor);
        where = fault.axis < 0 ? parsed_.tensors[t] : parsed_.axes[t][static_cast<std::size_t>(fault.axis)];
      }
      error(where, std::move(fault.message), std::move(fault.hint));
    }
  }

  std::string_view text_;
  Token token_;
  ParsedEinsum parsed_;
  Diagnostics errors_;
};

}  // namespace

Result<ParsedEinsum> parse_einsum_text(const std::string& text) {
  if (text.size() > kMaximumBytes) {
    return fail(fmt::format("the einsum has {} bytes; at most {} are read", text.size(), kMaximumBytes), {}, {1, 1, 1});
  }
  return EinsumParser(text).parse();
}

Result<Einsum> parse_einsum(const std::string& text) {
  auto parsed = parse_einsum_text(text);
  if (!parsed) return tl::unexpected(std::move(parsed.error()));
  return std::move(parsed->einsum);
}

}  // namespace einflow
