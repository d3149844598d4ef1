#include "notation/maestro/words.hpp"

#include "base/utf8.hpp"

namespace einflow::maestro {

namespace {

constexpr std::string_view kSeparators = " \t\r\n,->():;";

bool is_separator(char c) { return kSeparators.find(c) != std::string_view::npos; }
bool is_brace(char c) { return c == '{' || c == '}'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

Words::Words(std::string_view text) : text_(text) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") text_.remove_prefix(3);  // byte order mark
  read();
}

Word Words::next() {
  Word word = word_;
  read();
  return word;
}

void Words::read() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (text_.substr(at_, 2) == "//") {
      at_ = std::min(text_.size(), text_.find('\n', at_));
    } else if (is_separator(c)) {
      carriage_returns_ = carriage_returns_ || c == '\r';
      ++at_;
      ++column_;
      if (c == '\n') {
        ++line_;
        column_ = 1;
      }
    } else {
      break;
    }
  }
  word_ = {};
  word_.span = {line_, column_, 1};
  if (at_ == text_.size()) return;
  std::size_t end = at_ + 1;
  if (!is_brace(text_[at_])) {
    while (end < text_.size() && !is_separator(text_[end]) && !is_brace(text_[end]) && text_.substr(end, 2) != "//")
      ++end;
  }
  word_.text = text_.substr(at_, end - at_);
  word_.span.length = code_points(word_.text);
  word_.negative = at_ > 0 && text_[at_ - 1] == '-' && is_digit(text_[at_]);
  word_.glued_comment = text_.substr(end, 2) == "//";
  // Told once for each pair: by the brace for what stands before it, and for the word behind it.
  word_.glued_brace = (is_brace(text_[at_]) && at_ > 0 && !is_separator(text_[at_ - 1])) ||
                      (is_brace(text_[at_]) && end < text_.size() && !is_separator(text_[end]) && !word_.glued_comment);
  column_ += word_.span.length;
  at_ = end;
}

}  // namespace einflow::maestro
