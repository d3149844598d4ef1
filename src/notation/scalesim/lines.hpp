// Lines of a text and places in them; private to notation/scalesim.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/diagnostic.hpp"
#include "base/utf8.hpp"

namespace einflow::scalesim {

struct Line {
  std::string_view text;  ///< without its line break
  int number = 1;

  /// The place of a part of `text`; of an empty part, the character behind it.
  Span span_of(std::string_view part) const {
    const auto before = static_cast<std::size_t>(part.data() - text.data());
    return {number, code_points(text.substr(0, before)) + 1, std::max(1, code_points(part))};
  }
};

/// Without spaces, tabs and carriage returns at both ends; a part of `text`, also where nothing is left.
inline std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

/// Calls `take` for each line, without a byte order mark.
template <typename Take>
void for_each_line(std::string_view text, Take take) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    take(Line{text.substr(0, end), number});
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
  }
}

}  // namespace einflow::scalesim
