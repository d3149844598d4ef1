#include "base/count.hpp"

#include <algorithm>

namespace einflow {

std::string Count::str() const {
  if (overflowed()) return "overflow";
  if (value_ == 0) return "0";
  const bool negative = value_ < 0;
  Int rest = negative ? -value_ : value_;
  std::string digits;
  for (; rest != 0; rest /= 10) digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::optional<Count> parse_count(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  Count value = 0;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  if (value.overflowed()) return std::nullopt;
  return value;
}

}  // namespace einflow
