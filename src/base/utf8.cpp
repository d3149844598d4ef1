#include "base/utf8.hpp"

#include <fmt/format.h>

namespace einflow {

CodePoint decode_utf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1, true};
  const int bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || at + static_cast<std::size_t>(bytes) > text.size()) return {first, 1, false};
  char32_t value = first & (0xFFu >> (bytes + 1));
  for (int i = 1; i < bytes; ++i) {
    const unsigned char next = byte(at + static_cast<std::size_t>(i));
    if ((next & 0xC0) != 0x80) return {first, 1, false};
    value = (value << 6) | (next & 0x3Fu);
  }
  const bool overlong = (bytes == 3 && value < 0x800) || (bytes == 4 && value < 0x10000);
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (overlong || surrogate || value > 0x10FFFF) return {first, 1, false};
  return {value, bytes, true};
}

bool is_printable(const CodePoint& point) {
  const char32_t c = point.value;
  if (!point.valid || c < 0x20 || (c >= 0x7F && c < 0xA0)) return false;
  if ((c >= 0x200B && c <= 0x200F) || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F)) return false;
  return c != 0xFEFF && c != 0xFFFE && c != 0xFFFF;
}

int code_points(std::string_view text) {
  int count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += static_cast<std::size_t>(decode_utf8(text, at).bytes);
  return count;
}

std::string printable(std::string_view text, int limit) {
  std::string shown;
  int count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) {
    if (count == limit) return shown + "...";
    const CodePoint point = decode_utf8(text, at);
    const auto bytes = static_cast<std::size_t>(point.bytes);
    if (is_printable(point)) {
      shown += text.substr(at, bytes);
    } else {
      shown += point.value == '\t' && point.valid ? ' ' : '?';
    }
    at += bytes;
  }
  return shown;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    const std::string_view bytes = text.substr(at, static_cast<std::size_t>(point.bytes));
    at += bytes.size();
    if (!point.valid) {
      out += "\xEF\xBF\xBD";  // U+FFFD
    } else if (point.value == U'"' || point.value == U'\\') {
      out += '\\';
      out += bytes;
    } else if (point.value == U'\n') {
      out += "\\n";
    } else if (point.value == U'\t') {
      out += "\\t";
    } else if (point.value < 0x20 || point.value == 0x7F) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out += bytes;
    }
  }
  return out + "\"";
}

}  // namespace einflow
