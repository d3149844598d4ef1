#include "notation/placements/scanner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/count.hpp"
#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/fields.hpp"

namespace einflow::placements {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

}  // namespace

void Scanner::skip() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
}

Span Scanner::place(std::size_t begin, std::size_t end) const {
  int line = 1;
  std::size_t start = 0;
  for (std::size_t i = 0; i < begin; ++i) {
    if (text_[i] != '\n') continue;
    ++line;
    start = i + 1;
  }
  const Span inside{line, code_points(text_.substr(start, begin - start)) + 1,
                    std::max(1, code_points(text_.substr(begin, end - begin)))};
  return place_inside(node_, inside);
}

std::string_view Scanner::upcoming() {
  skip();
  std::size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  if (end == at_ && end < text_.size()) end += static_cast<std::size_t>(decode_utf8(text_, end).bytes);
  return text_.substr(at_, end - at_);
}

bool Scanner::at_end() {
  skip();
  return at_ == text_.size();
}

bool Scanner::take(char c) {
  skip();
  if (failed_ || at_ >= text_.size() || text_[at_] != c) return false;
  last_begin_ = at_++;
  return true;
}

bool Scanner::expect(char c, std::string_view what) {
  if (take(c)) return true;
  unexpected(what);
  return false;
}

std::string_view Scanner::word() {
  skip();
  const std::string_view next = upcoming();
  if (failed_ || next.empty() || !is_word(next.front())) return {};
  last_begin_ = at_;
  at_ += next.size();
  return next;
}

std::optional<std::int64_t> Scanner::number(std::string_view what) {
  skip();
  const std::size_t begin = at_;
  const bool negative = take('-');
  const std::string_view digits = upcoming();
  const auto count = parse_count(digits);
  const auto value = count ? count->to_int64() : std::nullopt;
  if (failed_ || !value) {
    if (negative) at_ = begin;
    unexpected(what);
    return std::nullopt;
  }
  at_ += digits.size();
  last_begin_ = begin;
  return negative ? -*value : *value;
}

bool Scanner::quote_is_next() {
  skip();
  return at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
}

std::optional<std::string> Scanner::quoted(std::string_view what) {
  if (failed_ || !quote_is_next()) {
    unexpected(what);
    return std::nullopt;
  }
  const std::size_t end = text_.find(text_[at_], at_ + 1);
  if (end == std::string_view::npos) {
    error(next(), "the quote is not closed");
    return std::nullopt;
  }
  last_begin_ = at_;
  const std::string found(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return found;
}

Span Scanner::next() {
  const std::string_view word = upcoming();
  return place(at_, at_ + word.size());
}

void Scanner::error(const Span& span, std::string message, std::string hint) {
  if (!failed_) add_error(errors_, span, std::move(message), std::move(hint));
  failed_ = true;
}

void Scanner::unexpected(std::string_view what, std::string hint) {
  const Span span = next();
  const std::string found = at_end() ? "the end" : in_quotes(upcoming());
  error(span, fmt::format("found {}, expected {}", found, what), std::move(hint));
}

}  // namespace einflow::placements
