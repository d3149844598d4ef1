#include "base/ratio.hpp"

namespace einflow {
namespace {

Count gcd(Count a, Count b) {
  Count::Int x = a.value() < 0 ? -a.value() : a.value();
  Count::Int y = b.value();
  while (y != 0) {
    const Count::Int rest = x % y;
    x = y;
    y = rest;
  }
  return Count(x);
}

Count divide(Count a, Count b) { return Count(a.value() / b.value()); }

}  // namespace

Ratio::Ratio(Count numerator, Count denominator) : numerator_(numerator), denominator_(denominator) {
  if (overflowed()) {
    numerator_ = Count::overflow();
    denominator_ = 1;
    return;
  }
  const Count common = gcd(numerator, denominator);
  if (common > Count(1)) {
    numerator_ = divide(numerator, common);
    denominator_ = divide(denominator, common);
  }
}

Ratio operator+(const Ratio& a, const Ratio& b) {
  return {a.numerator_ * b.denominator_ + b.numerator_ * a.denominator_, a.denominator_ * b.denominator_};
}

Ratio operator*(const Ratio& a, const Ratio& b) {
  // Cancelling crosswise first keeps the intermediate products as small as the result allows.
  const Ratio left(a.numerator_, b.denominator_);
  const Ratio right(b.numerator_, a.denominator_);
  return {left.numerator_ * right.numerator_, left.denominator_ * right.denominator_};
}

Ratio operator/(const Ratio& a, const Ratio& b) { return a * Ratio(b.denominator_, b.numerator_); }

bool operator<(const Ratio& a, const Ratio& b) {
  const Count left = a.numerator_ * b.denominator_;
  const Count right = b.numerator_ * a.denominator_;
  if (left.overflowed() || right.overflowed()) return a.to_double() < b.to_double();
  return left < right;
}

std::optional<Ratio> parse_decimal(std::string_view text) {
  Count digits = 0;
  int shift = 0;
  bool seen_digit = false;
  bool seen_point = false;
  std::size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.' && !seen_point) {
      seen_point = true;
    } else if (c >= '0' && c <= '9') {
      digits = digits * 10 + (c - '0');
      seen_digit = true;
      if (seen_point) --shift;
    } else {
      break;
    }
  }
  if (!seen_digit) return std::nullopt;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    ++i;
    const bool negative = i < text.size() && text[i] == '-';
    if (i < text.size() && (text[i] == '-' || text[i] == '+')) ++i;
    if (i >= text.size()) return std::nullopt;
    int exponent = 0;
    for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      exponent = exponent * 10 + (text[i] - '0');
      if (exponent > 60) return std::nullopt;
    }
    shift += negative ? -exponent : exponent;
  }
  if (i != text.size()) return std::nullopt;
  if (shift < -60 || shift > 60) return std::nullopt;
  Count scale = 1;
  for (int k = 0; k < (shift < 0 ? -shift : shift); ++k) scale = scale * 10;
  Ratio value = shift < 0 ? Ratio(digits, scale) : Ratio(digits * scale, Count(1));
  if (value.overflowed()) return std::nullopt;
  return value;
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

}  // namespace einflow
