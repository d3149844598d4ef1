#include "report/json.hpp"

#include <fmt/format.h>

#include <cmath>

#include "base/utf8.hpp"

namespace einflow {

namespace {

constexpr std::size_t kLineWidth = 120;

}  // namespace

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
