#include "notation/loops/scanner.hpp"

#include <algorithm>

#include "base/utf8.hpp"

namespace einflow::loops {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace

Scanner::Scanner(std::string_view text, std::vector<Comment>& comments) : text_(text), comments_(&comments) {
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
  advance();
}

Token Scanner::next() {
  last_ = token_;
  advance();
  return last_;
}

void Scanner::step() {
  const bool continues = (static_cast<unsigned char>(text_[at_]) & 0xC0U) == 0x80U;
  if (!continues) ++column_;
  ++at_;
}

void Scanner::to_new_line() {
  ++at_;
  ++line_;
  column_ = 1;
  depth_ = 0;
  indentation_ = 0;
}

/// Notes the comment text_[content, end) and goes on at `after`.
void Scanner::take_comment(std::size_t content, std::size_t end, std::size_t after) {
  const std::string_view body = trimmed(text_.substr(content, end - content));
  const bool alone = indentation_ == 0;
  const bool known = !comments_->empty() && comments_->back().offset >= at_;  // a copy of this scanner was here
  const bool directive = text_.compare(at_, 8, "#pragma ") == 0 || text_.compare(at_, 8, "#define ") == 0;
  const bool speaks = directive || !alone || body.find(':') != std::string_view::npos;
  if (speaks && !known) {
    const auto skipped = static_cast<std::size_t>(body.data() - (text_.data() + at_));
    const int column = column_ + code_points(text_.substr(at_, body.empty() ? 0 : skipped));
    comments_->push_back({body, {line_, column, std::max(1, code_points(body))}, at_, alone, directive});
  }
  while (at_ < after) text_[at_] == '\n' ? to_new_line() : step();
}

void Scanner::skip_blanks_and_comments() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '\n') {
      to_new_line();
    } else if (is_blank(c)) {
      step();
    } else if (text_.compare(at_, 2, "/*") == 0) {
      const std::size_t end = std::min(text_.find("*/", at_ + 2), text_.size());
      take_comment(at_ + 2, end, std::min(end + 2, text_.size()));
    } else if (c == '#' || (depth_ == 0 && text_.compare(at_, 2, "//") == 0)) {
      const std::size_t end = std::min(text_.find('\n', at_), text_.size());
      take_comment(at_ + (c == '#' ? 1 : 2), end, end);
    } else {
      return;
    }
  }
}

void Scanner::advance() {
  skip_blanks_and_comments();
  token_ = {};
  token_.offset = at_;
  token_.span = {line_, column_, 1};
  token_.indentation = indentation_ == 0 ? column_ : indentation_;
  if (at_ >= text_.size()) return;
  token_.first_on_line = indentation_ == 0;
  indentation_ = token_.indentation;
  const std::size_t begin = at_;
  const char c = text_[at_];
  std::size_t end = begin + 1;
  if (is_letter(c)) {
    token_.kind = Token::Kind::name;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
  } else if (is_digit(c)) {
    token_.kind = Token::Kind::number;
    while (end < text_.size() && is_digit(text_[end])) ++end;
  } else {
    token_.kind = Token::Kind::symbol;
    static constexpr std::string_view kPairs[] = {"+=", "-=", "*=", "<=", ">=", "==", "!=", "++", "--", "//", ":="};
    const std::string_view pair = text_.substr(begin, 2);
    const bool paired = std::find(std::begin(kPairs), std::end(kPairs), pair) != std::end(kPairs);
    end = begin + (paired ? 2 : static_cast<std::size_t>(decode_utf8(text_, begin).bytes));
    if (c == '(' || c == '[') ++depth_;
    if ((c == ')' || c == ']') && depth_ > 0) --depth_;
  }
  token_.text = text_.substr(begin, end - begin);
  while (at_ < end) step();
  token_.span.length = column_ - token_.span.column;
}

std::string_view Scanner::rest_of_line(Span& span) {
  // From the last word taken: what was peeked at may stand on a later line.
  const std::size_t begin = last_.offset + last_.text.size();
  std::size_t end = begin;
  int depth = 0;
  bool quoted = false;
  for (; end < text_.size() && text_[end] != '\n'; ++end) {
    const char c = text_[end];
    if (quoted) {
      if (c == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n') ++end;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '#' || text_.compare(end, 2, "/*") == 0 || (depth == 0 && text_.compare(end, 2, "//") == 0)) {
      break;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if ((c == ')' || c == ']') && depth > 0) {
      --depth;
    }
  }
  const std::string_view rest = trimmed(text_.substr(begin, end - begin));
  const auto blanks = static_cast<std::size_t>(rest.data() - (text_.data() + begin));
  span = {last_.span.line, last_.span.column + last_.span.length + static_cast<int>(rest.empty() ? 0 : blanks),
          std::max(1, code_points(rest))};
  const int column = span.column + code_points(rest);
  at_ = end;
  line_ = last_.span.line;
  column_ = column + code_points(text_.substr(begin + blanks + rest.size(), end - begin - blanks - rest.size()));
  depth_ = 0;
  indentation_ = last_.indentation;
  std::erase_if(*comments_, [&](const Comment& comment) { return comment.offset >= begin && comment.offset < end; });
  advance();
  return rest;
}

}  // namespace einflow::loops
