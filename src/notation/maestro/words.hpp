// The words of a mapping or hardware file.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/diagnostic.hpp"

namespace einflow::maestro {

/// A word, and how it is written where MAESTRO takes that otherwise than it looks.
struct Word {
  std::string_view text;  ///< empty at the end of the text
  Span span;
  bool negative = false;       ///< '-' stands right before a digit: MAESTRO drops the sign
  bool glued_brace = false;    ///< a brace without white space on both sides: MAESTRO refuses it
  bool glued_comment = false;  ///< a comment follows without white space: MAESTRO refuses it
  bool at_end() const { return text.empty(); }
};

/// Reads words one after the other. Separators are white space and , - > ( ) : ; comments begin with // and end with
/// the line.
class Words {
 public:
  explicit Words(std::string_view text);
  const Word& peek() const { return word_; }
  Word next();
  bool has_carriage_returns() const { return carriage_returns_; }

 private:
  void read();

  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  bool carriage_returns_ = false;
  Word word_;
};

}  // namespace einflow::maestro
