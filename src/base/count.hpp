// Exact counts that cannot lie: 128-bit integers whose overflow is seen, never wrapped.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace einflow {

/// An exact signed count. An operation whose result leaves 128 bits makes the
/// count `overflowed()`, and everything computed from it too; whoever hands a
/// count to a user checks once, at the end. No operation traps or throws.
class Count {
 public:
  using Int = __int128;

  constexpr Count() = default;
  constexpr Count(int value) : value_(value) {}                 // NOLINT: counts mix with literals
  constexpr Count(long value) : value_(value) {}                // NOLINT
  constexpr Count(long long value) : value_(value) {}           // NOLINT
  constexpr Count(unsigned value) : value_(value) {}            // NOLINT
  constexpr Count(unsigned long value) : value_(value) {}       // NOLINT
  constexpr Count(unsigned long long value) : value_(value) {}  // NOLINT
  constexpr Count(Int value) : value_(value) {}                 // NOLINT

  /// The count that stands for "left 128 bits".
  static constexpr Count overflow() { return Count(kOverflow); }

  constexpr bool overflowed() const { return value_ == kOverflow; }
  constexpr Int value() const { return value_; }
  /// The count as 64 bits, where it fits.
  constexpr std::optional<std::int64_t> to_int64() const {
    if (value_ < INT64_MIN || value_ > INT64_MAX) return std::nullopt;
    return static_cast<std::int64_t>(value_);
  }
  /// The nearest double; for energies, times and ratios only.
  double to_double() const { return static_cast<double>(value_); }
  /// Decimal digits without grouping; "overflow" where it overflowed.
  std::string str() const;

  friend constexpr Count operator+(Count a, Count b) {
    Int r = 0;
    if (a.overflowed() || b.overflowed() || __builtin_add_overflow(a.value_, b.value_, &r)) return overflow();
    return Count(r);
  }
  friend constexpr Count operator-(Count a, Count b) {
    Int r = 0;
    if (a.overflowed() || b.overflowed() || __builtin_sub_overflow(a.value_, b.value_, &r)) return overflow();
    return Count(r);
  }
  friend constexpr Count operator*(Count a, Count b) {
    Int r = 0;
    if (a.overflowed() || b.overflowed() || __builtin_mul_overflow(a.value_, b.value_, &r)) return overflow();
    return Count(r);
  }
  Count& operator+=(Count b) { return *this = *this + b; }
  Count& operator-=(Count b) { return *this = *this - b; }
  Count& operator*=(Count b) { return *this = *this * b; }

  friend constexpr bool operator==(Count a, Count b) = default;
  friend constexpr std::strong_ordering operator<=>(Count a, Count b) { return a.value_ <=> b.value_; }

 private:
  static constexpr Int kOverflow = static_cast<Int>(static_cast<unsigned __int128>(1) << 127);
  Int value_ = 0;
};

/// Quotient rounded up. Requires divisor > 0 and dividend >= 0.
constexpr Count ceil_div(Count dividend, Count divisor) {
  if (dividend.overflowed() || divisor.overflowed()) return Count::overflow();
  Count::Int q = dividend.value() / divisor.value();
  return Count(q * divisor.value() == dividend.value() ? q : q + 1);
}

/// Reads decimal digits only ("0", "123"); nothing else, and nothing where it overflows.
std::optional<Count> parse_count(std::string_view digits);

}  // namespace einflow
