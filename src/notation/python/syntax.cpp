#include "notation/python/syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/message.hpp"
#include "base/utf8.hpp"

namespace einflow::python {

namespace {

constexpr std::size_t kLargestText = std::size_t{1} << 20;
constexpr std::size_t kMostValues = 10'000;
constexpr int kDeepest = 100;

struct Token {
  enum class Kind { name, number, text, sign, line_end, end, broken };
  Kind kind = Kind::end;
  Place place;
  std::string_view text;  ///< of a string literal without its quotes

  bool is(std::string_view sign) const { return kind == Kind::sign && text == sign; }
};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Digits, a fraction and an exponent, as Python writes numbers.
std::size_t number_end(std::string_view text, std::size_t at) {
  const auto digits = [&] {
    while (at < text.size() && (is_digit(text[at]) || text[at] == '_')) ++at;
  };
  digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits();
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    std::size_t sign = at + 1;
    if (sign < text.size() && (text[sign] == '+' || text[sign] == '-')) ++sign;
    if (sign < text.size() && is_digit(text[sign])) {
      at = sign;
      digits();
    }
  }
  return at;
}

/// The token at byte `at` or after blanks and comments behind it; inside brackets line ends are blanks.
Token token_at(std::string_view text, std::size_t at, bool in_brackets) {
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#') {
      while (at + 1 < text.size() && text[at + 1] != '\n') ++at;
    } else if (c == '\\' && at + 1 < text.size() && text[at + 1] == '\n') {
      ++at;
    } else if (c != ' ' && c != '\t' && c != '\r' && !(c == '\n' && in_brackets)) {
      break;
    }
  }
  const auto token = [&](Token::Kind kind, std::size_t end) {
    return Token{kind, {at, end}, text.substr(at, end - at)};
  };
  if (at >= text.size()) return {Token::Kind::end, {text.size(), text.size()}, {}};
  const char c = text[at];
  if (c == '\n' || c == ';') return token(Token::Kind::line_end, at + 1);
  if (is_letter(c)) {
    std::size_t end = at + 1;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    return token(Token::Kind::name, end);
  }
  if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
    return token(Token::Kind::number, number_end(text, at));
  }
  if (c == '"' || c == '\'') {
    std::size_t end = at + 1;
    while (end < text.size() && text[end] != c && text[end] != '\n' && text[end] != '\\') ++end;
    if (end >= text.size() || text[end] != c) return token(Token::Kind::broken, end);
    Token literal = token(Token::Kind::text, end + 1);
    literal.text = text.substr(at + 1, end - at - 1);
    return literal;
  }
  if (text.substr(at, 2) == "->" || text.substr(at, 2) == "**" || text.substr(at, 2) == "//") {
    return token(Token::Kind::sign, at + 2);
  }
  return token(Token::Kind::sign, at + static_cast<std::size_t>(decode_utf8(text, at).bytes));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text), token_(token_at(text, 0, false)) {}

  Result<std::vector<Statement>> parse() {
    std::vector<Statement> statements;
    while (errors_.empty() && token_.kind != Token::Kind::end) {
      if (token_.kind == Token::Kind::line_end) {
        advance();
      } else if (token_.kind == Token::Kind::name && (token_.text == "import" || token_.text == "from")) {
        skip_import();
      } else {
        parse_statement(statements);
      }
    }
    if (errors_.empty() && statements.empty()) error({0, 0}, "the text is empty", kExample);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return statements;
  }

 private:
  /// The usual short names stand for the usual modules; an import that says otherwise would mean other things.
  void skip_import() {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kUsual{
        {{"np", "numpy"}, {"jnp", "jax"}, {"torch", "torch"}, {"tf", "tensorflow"}}};
    std::string module;
    bool renamed = false;
    while (token_.kind != Token::Kind::line_end && token_.kind != Token::Kind::end) {
      if (renamed) {
        for (const auto& [name, usual] : kUsual) {
          const bool jax_numpy = name == "np" && module.find("jax") != std::string::npos;
          if (token_.text != name || (module.find(usual) != std::string::npos && !jax_numpy)) continue;
          error(token_.place, fmt::format("'{}' stands for {} here", name, usual),
                "import it under its usual name: jax.numpy as jnp");
        }
      }
      renamed = token_.text == "as";
      module += std::string(token_.text) + " ";
      advance();
    }
  }

  static constexpr const char* kExample = "for example: torch.einsum(\"mk,kn->mn\", bf16[4, 5], bf16[5, 6])";

  void advance() { token_ = token_at(text_, token_.place.end, brackets_ > 0); }

  void error(const Place& place, std::string message, std::string hint = {}) {
    if (errors_.empty()) errors_.push_back({span_of(text_, place), std::move(message), std::move(hint), {}});
  }

  void unexpected(std::string_view expected, std::string hint = {}) {
    if (token_.kind == Token::Kind::broken) {
      return error(token_.place, "a text that begins here does not end on its line",
                   "a text stands in quotes, without \\ in it: \"mk,kn->mn\"");
    }
    const std::string found = token_.kind == Token::Kind::end ? "the end"
                              : token_.kind == Token::Kind::line_end
                                  ? "the end of the line"
                                  : in_quotes(text_.substr(token_.place.begin, token_.place.end - token_.place.begin));
    error(token_.place, fmt::format("found {}, expected {}", found, expected), std::move(hint));
  }

  bool take(std::string_view sign) {
    if (!token_.is(sign)) return false;
    advance();
    return true;
  }

  /// Takes what opens a bracket; line ends are blanks until it is closed.
  void open() {
    ++brackets_;
    advance();
  }
  bool close(std::string_view sign, const Place& opened) {
    if (!token_.is(sign)) {
      if (token_.kind == Token::Kind::end) {
        error(opened, "this bracket is not closed", fmt::format("'{}' is missing", sign));
        return false;
      }
      const int line = span_of(text_, opened).line;
      const bool elsewhere = span_of(text_, token_.place).line != line;
      unexpected(fmt::format("',' or '{}'", sign), elsewhere ? fmt::format("a bracket of line {} is open", line) : "");
      return false;
    }
    --brackets_;
    advance();
    return true;
  }

  void parse_statement(std::vector<Statement>& statements) {
    static constexpr std::array<std::string_view, 12> kOtherStatements{
        "for", "while", "if", "def", "class", "with", "return", "assert", "del", "lambda", "try", "async"};
    if (token_.kind == Token::Kind::name &&
        std::find(kOtherStatements.begin(), kOtherStatements.end(), token_.text) != kOtherStatements.end()) {
      return error(token_.place,
                   fmt::format("{} is not read: a text is assignments and expressions", in_quotes(token_.text)),
                   kExample);
    }
    Statement statement;
    statement.place.begin = token_.place.begin;
    auto first = parse_expression();
    if (!first) return;
    const bool is_target = token_.is("=") || token_.is(":");
    if (is_target && first->kind != Expression::Kind::name) {
      return unexpected("the end of the line", "only names are assigned to: Y = torch.matmul(X, W)");
    }
    if (is_target) {
      statement.target = first->text;
      statement.target_place = first->place;
      if (take(":")) {
        auto annotation = parse_expression();
        if (!annotation) return;
        statement.annotation.push_back(std::move(*annotation));
      }
      if (take("=")) {
        first = parse_expression();
        if (!first) return;
        statement.value.push_back(std::move(*first));
      }
    } else {
      statement.value.push_back(std::move(*first));
    }
    if (token_.is(",")) return unexpected("the end of the line", "one expression a line");
    if (token_.kind != Token::Kind::line_end && token_.kind != Token::Kind::end) {
      return unexpected("an operator or the end of the line");
    }
    statement.place.end = token_.place.begin;
    statements.push_back(std::move(statement));
  }

  /// The node, where it is not too deep and not one too many.
  std::optional<Expression> made(Expression node) {
    for (const Expression& part : node.parts) node.depth = std::max(node.depth, part.depth + 1);
    if (node.depth > kDeepest) {
      error(node.place, fmt::format("more than {} levels of nesting", kDeepest));
      return std::nullopt;
    }
    if (++values_ > kMostValues) {
      error(node.place, fmt::format("more than {} values", kMostValues));
      return std::nullopt;
    }
    return node;
  }

  static Expression node_of(Expression::Kind kind, Place place, std::string text = {}) {
    Expression node;
    node.kind = kind;
    node.place = place;
    node.text = std::move(text);
    return node;
  }

  std::optional<Expression> parse_expression() { return parse_binary({"+", "-"}, true); }

  std::optional<Expression> parse_binary(std::initializer_list<std::string_view> operators, bool sums) {
    auto left = sums ? parse_binary({"*", "/", "@", "//"}, false) : parse_unary();
    while (left) {
      const auto sign = std::find_if(operators.begin(), operators.end(), [&](auto s) { return token_.is(s); });
      if (sign == operators.end()) return left;
      advance();
      auto right = sums ? parse_binary({"*", "/", "@", "//"}, false) : parse_unary();
      if (!right) return std::nullopt;
      Expression node = node_of(Expression::Kind::binary, {left->place.begin, right->place.end}, std::string(*sign));
      node.parts.push_back(std::move(*left));
      node.parts.push_back(std::move(*right));
      left = made(std::move(node));
    }
    return left;
  }

  std::optional<Expression> parse_unary() {
    const std::size_t begin = token_.place.begin;
    bool negative = false;
    while (token_.is("-")) {
      negative = !negative;
      advance();
    }
    auto operand = parse_postfix();
    if (!operand || !negative) return operand;
    Expression node = node_of(Expression::Kind::negative, {begin, operand->place.end});
    node.parts.push_back(std::move(*operand));
    return made(std::move(node));
  }

  std::optional<Expression> parse_postfix() {
    auto node = parse_primary();
    while (node) {
      if (token_.is(".")) {
        advance();
        if (token_.kind != Token::Kind::name) {
          unexpected("a name after '.'");
          return std::nullopt;
        }
        Expression attribute =
            node_of(Expression::Kind::attribute, {node->place.begin, token_.place.end}, std::string(token_.text));
        attribute.parts.push_back(std::move(*node));
        advance();
        node = made(std::move(attribute));
      } else if (token_.is("(") || token_.is("[")) {
        const bool call = token_.is("(");
        Expression outer = node_of(call ? Expression::Kind::call : Expression::Kind::subscript, node->place);
        outer.parts.push_back(std::move(*node));
        if (!parse_items(outer, call ? ")" : "]", call)) return std::nullopt;
        outer.place.end = closed_;
        node = made(std::move(outer));
      } else {
        return node;
      }
    }
    return node;
  }

  /// What stands in brackets, added to the parts; `keywords`: whether name=value may stand there.
  bool parse_items(Expression& outer, std::string_view closing, bool keywords) {
    if (++nesting_ > kDeepest) {
      error(token_.place, fmt::format("more than {} levels of nesting", kDeepest));
      return false;
    }
    const Place opened = token_.place;
    open();
    bool comma = true;
    while (!token_.is(closing)) {
      if (!comma) break;
      if (token_.is("*") || token_.is("**")) {
        unexpected("a value", "arguments are written out: no *arguments");
        return false;
      }
      auto item = parse_expression();
      if (!item) return false;
      if (keywords && token_.is("=")) {
        if (item->kind != Expression::Kind::name) {
          unexpected("',' or ')'", "an argument is named by a name: stride=2");
          return false;
        }
        advance();
        auto value = parse_expression();
        if (!value) return false;
        value->keyword = item->text;
        value->keyword_place = item->place;
        item = std::move(value);
      }
      outer.parts.push_back(std::move(*item));
      comma = take(",");
      trailing_comma_ = comma;
    }
    closed_ = token_.place.end;
    --nesting_;
    return close(closing, opened);
  }

  std::optional<Expression> parse_primary() {
    const Token first = token_;
    if (first.kind == Token::Kind::name || first.kind == Token::Kind::number || first.kind == Token::Kind::text) {
      advance();
      const auto kind = first.kind == Token::Kind::name     ? Expression::Kind::name
                        : first.kind == Token::Kind::number ? Expression::Kind::number
                                                            : Expression::Kind::text;
      return made(node_of(kind, first.place, std::string(first.text)));
    }
    if (!first.is("(") && !first.is("[")) {
      unexpected("a value, a shape or a call", errors_.empty() ? kExample : "");
      return std::nullopt;
    }
    Expression sequence = node_of(Expression::Kind::sequence, first.place);
    trailing_comma_ = false;
    if (!parse_items(sequence, first.is("(") ? ")" : "]", false)) return std::nullopt;
    sequence.place.end = closed_;
    // (x) is x itself; (x,) is a tuple.
    if (first.is("(") && sequence.parts.size() == 1 && !trailing_comma_) {
      Expression inner = std::move(sequence.parts.front());
      return inner;
    }
    return made(std::move(sequence));
  }

  std::string_view text_;
  Token token_;
  int brackets_ = 0;
  int nesting_ = 0;
  bool trailing_comma_ = false;  ///< of the innermost brackets just read
  std::size_t closed_ = 0;       ///< one past the last bracket that was closed
  std::size_t values_ = 0;
  Diagnostics errors_;
};

}  // namespace

Result<std::vector<Statement>> parse_statements(const std::string& text) {
  if (text.size() > kLargestText) {
    return fail(fmt::format("the text has {} bytes; at most {} are read", text.size(), kLargestText));
  }
  return Parser(text).parse();
}

Span span_of(std::string_view text, const Place& place) {
  const std::size_t begin = std::min(place.begin, text.size());
  const std::string_view before = text.substr(0, begin);
  const int line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  std::string_view shown = text.substr(begin, std::max(place.end, begin) - begin);
  shown = shown.substr(0, shown.find('\n'));
  return {line, code_points(before.substr(line_start)) + 1, std::max(1, code_points(shown))};
}

std::vector<std::string> first_words(std::string_view text, std::size_t count) {
  std::vector<std::string> words;
  std::size_t at = 0;
  bool import = false;
  while (words.size() < count) {
    const Token token = token_at(text, at, false);
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::broken) break;
    at = token.place.end;
    if (token.kind == Token::Kind::line_end) {
      import = false;
      if (!words.empty()) break;
      continue;
    }
    import = import || (words.empty() && (token.text == "import" || token.text == "from"));
    if (!import) words.emplace_back(token.text);
  }
  return words;
}

}  // namespace einflow::python
