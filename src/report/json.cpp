#include "report/json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.hpp"

namespace einflow {

namespace {

constexpr std::size_t kLineWidth = 120;

}  // namespace

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

std::string exact_decimal(const Ratio& value) {
  Count denominator = value.denominator();
  Count scaled = value.numerator();
  std::size_t places = 0;
  // Multiply by ten until nothing is left of the denominator; powers of 2 and 5 end, others do not.
  for (; Count(1) < denominator && places <= 18; ++places) {
    const Ratio next(scaled * 10, denominator);
    if (next.overflowed()) return {};
    scaled = next.numerator();
    denominator = next.denominator();
  }
  if (Count(1) < denominator) return {};
  std::string digits = scaled.str();
  if (places == 0) return digits;
  const bool negative = digits.front() == '-';
  if (negative) digits.erase(0, 1);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  digits.insert(digits.size() - places, 1, '.');
  return (negative ? "-" : "") + digits;
}

Json::Json(Count value) : text_(value.overflowed() ? "null" : value.str()) {}

Json::Json(double value) : text_(std::isfinite(value) ? fmt::format("{}", value) : "null") {}

Json::Json(const Ratio& value) {
  text_ = value.overflowed() ? "null" : exact_decimal(value);
  if (text_.empty()) text_ = fmt::format("{}", value.to_double());
}

Json::Json(const std::string& value) : text_(json_quoted(value)) {}
Json::Json(const char* value) : text_(json_quoted(value)) {}

Json Json::array_of(const std::vector<std::string>& strings) {
  Json list = array();
  for (const std::string& text : strings) list.push(text);
  return list;
}

bool Json::has(std::string_view key) const {
  for (const auto& member : members_) {
    if (member.first == key) return true;
  }
  return false;
}

Json& Json::set(std::string_view key, Json value) {
  members_.emplace_back(key, std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  members_.emplace_back(std::string(), std::move(value));
  return *this;
}

std::string Json::flat() const {
  if (kind_ == Kind::leaf) return text_;
  std::string out = kind_ == Kind::object ? "{" : "[";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    if (i > 0) out += ", ";
    if (kind_ == Kind::object) out += json_quoted(members_[i].first) + ": ";
    out += members_[i].second.flat();
  }
  return out + (kind_ == Kind::object ? "}" : "]");
}

void Json::write(std::string& out, std::size_t indent, std::size_t used) const {
  std::string line = flat();
  if (kind_ == Kind::leaf || members_.empty() || used + line.size() <= kLineWidth) {
    out += line;
    return;
  }
  const bool is_object = kind_ == Kind::object;
  out += is_object ? "{" : "[";
  for (std::size_t i = 0; i < members_.size(); ++i) {
    out += i > 0 ? ",\n" : "\n";
    out.append(indent + 2, ' ');
    std::size_t start = indent + 2;
    if (is_object) {
      const std::string key = json_quoted(members_[i].first) + ": ";
      out += key;
      start += key.size();
    }
    members_[i].second.write(out, indent + 2, start + 1);  // 1 for the comma
  }
  out += '\n';
  out.append(indent, ' ');
  out += is_object ? "}" : "]";
}

std::string Json::str() const {
  std::string out;
  write(out, 0, 0);
  return out + "\n";
}

}  // namespace einflow
