#include "notation/loops/reading.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::loops {

bool one_of(const Token& token, std::initializer_list<std::string_view> words) {
  return token.kind != Token::Kind::end && std::find(words.begin(), words.end(), token.text) != words.end();
}

std::string found(const Token& token) {
  return token.kind == Token::Kind::end ? "the text ends" : "found " + in_quotes(token.text);
}

bool Reading::error(const Span& span, std::string message, std::string hint) const {
  if (errors.size() < kMaximumErrors) errors.push_back({span, std::move(message), std::move(hint), {}});
  return false;
}

bool Reading::take(std::string_view word) const {
  if (!scanner.peek().is(word)) return false;
  scanner.next();
  return true;
}

bool Reading::take_word(std::string_view word) const { return !scanner.peek().first_on_line && take(word); }

bool Reading::expect(std::string_view word, const std::string& hint) const {
  if (take(word)) return true;
  return error(scanner.peek().span, fmt::format("{}, expected '{}'", found(scanner.peek()), word), hint);
}

}  // namespace einflow::loops
