// Words of a nest's text, one after the other, and its comments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow::loops {

struct Token {
  enum class Kind { name, number, symbol, end };
  Kind kind = Kind::end;
  std::string_view text;
  Span span;
  std::size_t offset = 0;      ///< of its first byte
  bool first_on_line = false;  ///< nothing but blanks and comments before it
  int indentation = 0;         ///< column of the first word on its line

  bool is(std::string_view wanted) const { return kind != Kind::end && text == wanted; }
};

/// What stands behind `//` or `#`, or between `/*` and `*/`, without blanks around it.
struct Comment {
  std::string_view text;
  Span span;
  std::size_t offset = 0;
  bool alone = false;      ///< nothing but blanks before it on its line
  bool directive = false;  ///< `#pragma` or `#define`: a comment here, in C a word to the compiler
};

/// Reads words from left to right in one pass. `//` between brackets is a division, anywhere else it starts a comment.
/// Numbers are digits; a name may have digits behind its first letter. A copy reads on from the same place.
class Scanner {
 public:
  /// Comments that may say something to einflow are added to `comments`: those behind a word, and those with ':'.
  /// The text must outlive the scanner.
  Scanner(std::string_view text, std::vector<Comment>& comments);

  const Token& peek() const { return token_; }
  Token next();
  /// Where the last word that was taken ends.
  const Token& last() const { return last_; }
  /// The rest of the line behind the last word taken, up to a comment, with its place; reading goes on behind it.
  std::string_view rest_of_line(Span& span);

 private:
  void advance();
  void skip_blanks_and_comments();
  void take_comment(std::size_t content, std::size_t end, std::size_t after);
  void to_new_line();
  /// One byte further.
  void step();

  std::string_view text_;
  std::vector<Comment>* comments_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  int depth_ = 0;        ///< of brackets opened on this line
  int indentation_ = 0;  ///< 0 = no word on this line yet
  Token token_;
  Token last_;
};

}  // namespace einflow::loops
