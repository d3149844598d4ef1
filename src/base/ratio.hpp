// Exact fractions of counts: clocks, bandwidths, rates, shares.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/count.hpp"

namespace einflow {

/// numerator / denominator in lowest terms, denominator > 0. Overflow shows in
/// the numerator, as for Count.
class Ratio {
 public:
  constexpr Ratio() = default;
  Ratio(Count numerator, Count denominator);      // requires denominator > 0
  Ratio(Count whole) : Ratio(whole, Count(1)) {}  // NOLINT: whole numbers are ratios

  Count numerator() const { return numerator_; }
  Count denominator() const { return denominator_; }
  bool overflowed() const { return numerator_.overflowed() || denominator_.overflowed(); }
  bool is_whole() const { return denominator_ == Count(1); }
  double to_double() const { return numerator_.to_double() / denominator_.to_double(); }

  /// Smallest whole number that is not below it. Requires it to be >= 0.
  Count ceil() const { return ceil_div(numerator_, denominator_); }

  friend Ratio operator+(const Ratio& a, const Ratio& b);
  friend Ratio operator*(const Ratio& a, const Ratio& b);
  /// Requires b > 0.
  friend Ratio operator/(const Ratio& a, const Ratio& b);
  friend bool operator==(const Ratio& a, const Ratio& b) = default;
  /// Exact comparison; meaningless where either overflowed.
  friend bool operator<(const Ratio& a, const Ratio& b);

 private:
  Count numerator_ = 0;
  Count denominator_ = 1;
};

/// Reads a plain decimal ("64", "1.83", "2e3", "1.5e-2") exactly.
std::optional<Ratio> parse_decimal(std::string_view text);

/// The ratio's digits where its decimals end ("0.5", "1048576"); nothing where they do not.
std::string exact_decimal(const Ratio& value);

}  // namespace einflow
