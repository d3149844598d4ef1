// Text as users see it: code points, and what of them may be shown on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace einflow {

/// One code point of a text; a byte that is not part of valid UTF-8 stands alone, with `valid` false.
struct CodePoint {
  char32_t value = 0;
  int bytes = 1;
  bool valid = true;
};

/// The code point that starts at byte `at`. Requires at < text.size().
CodePoint decode_utf8(std::string_view text, std::size_t at);

/// Whether a terminal may be shown it as it is: no control, no bidirectional override, no broken byte.
bool is_printable(const CodePoint& point);

/// Number of code points (broken bytes count one each): the column before which a text ends, less one.
int code_points(std::string_view text);

/// The text with every code point that is not printable replaced by '?', cut after `limit` code points ("...").
std::string printable(std::string_view text, int limit);

/// The text in double quotes, escaped as JSON (and so YAML) wants; bytes that are not UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace einflow
