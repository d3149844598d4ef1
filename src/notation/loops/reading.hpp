// What the parts of the text's parser share: the words at hand, and how their errors are told.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "notation/loops/expression.hpp"
#include "notation/loops/scanner.hpp"

namespace einflow::loops {

constexpr std::size_t kMaximumErrors = 100;

/// Whether the word is one of these.
bool one_of(const Token& token, std::initializer_list<std::string_view> words);
/// "found 'x'", "the text ends".
std::string found(const Token& token);

struct Reading {
  Scanner& scanner;
  ExpressionParser& expressions;
  Diagnostics& errors;

  /// Adds an error and is false: reading cannot go on behind it.
  bool error(const Span& span, std::string message, std::string hint = {}) const;
  /// Takes the word if it is the next.
  bool take(std::string_view word) const;
  /// Likewise a word of a loop's line; at the start of a line it is a name of the next.
  bool take_word(std::string_view word) const;
  /// Takes the word, or adds an error.
  bool expect(std::string_view word, const std::string& hint = {}) const;
};

}  // namespace einflow::loops
