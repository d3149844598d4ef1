// Fractions stay exact and in lowest terms.
#include "base/ratio.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace einflow {
namespace {

Ratio ratio(std::int64_t numerator, std::int64_t denominator) { return {Count(numerator), Count(denominator)}; }

TEST(Ratio, IsKeptInLowestTerms) {
  EXPECT_EQ(ratio(6, 4).numerator(), Count(3));
  EXPECT_EQ(ratio(6, 4).denominator(), Count(2));
  EXPECT_EQ(ratio(-6, 4), ratio(-3, 2));
  EXPECT_EQ(ratio(0, 7), Ratio(Count(0)));
}

TEST(Ratio, Computes) {
  EXPECT_EQ(ratio(1, 2) + ratio(1, 3), ratio(5, 6));
  EXPECT_EQ(ratio(2, 3) * ratio(3, 4), ratio(1, 2));
  EXPECT_EQ(ratio(2, 3) / ratio(4, 9), ratio(3, 2));
  EXPECT_TRUE(ratio(1, 3) < ratio(1, 2));
  EXPECT_EQ(ratio(7, 2).ceil(), Count(4));
  EXPECT_TRUE(ratio(8, 2).is_whole());
}

TEST(Ratio, CancelsBeforeItMultiplies) {
  const Count large = Count(Count::Int{1} << 100);
  EXPECT_EQ(Ratio(large, Count(3)) * Ratio(Count(3), large), Ratio(Count(1)));
}

TEST(Ratio, SaysWhereItOverflowed) {
  const Count large = Count(Count::Int{1} << 100);
  EXPECT_TRUE((Ratio(large) * Ratio(large)).overflowed());
  EXPECT_TRUE(Ratio(Count::overflow(), Count(1)).overflowed());
  EXPECT_TRUE(Ratio(Count(1), Count::overflow()).overflowed());
}

TEST(Ratio, ReadsDecimalsExactly) {
  EXPECT_EQ(parse_decimal("64"), Ratio(Count(64)));
  EXPECT_EQ(parse_decimal("1.83"), ratio(183, 100));
  EXPECT_EQ(parse_decimal("2e3"), Ratio(Count(2000)));
  EXPECT_EQ(parse_decimal("1.5e-2"), ratio(3, 200));
  EXPECT_EQ(parse_decimal(".5"), ratio(1, 2));
}

TEST(Ratio, RefusesWhatIsNoDecimal) {
  for (const char* text : {"", ".", "-1", "1e", "1e+", "e3", "1.2.3", "1 ", "nan", "inf", "0x1", "1e61", "1e-61",
                           "1e999999999999", "170141183460469231731687303715884105728"}) {
    EXPECT_EQ(parse_decimal(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(RatioProperty, DividingUndoesMultiplying, (std::int32_t a, std::uint16_t b, std::uint16_t c)) {
  const Ratio x = ratio(a, b + 1), y = ratio(c + 1, b + 1);
  RC_ASSERT(x * y / y == x);
}

}  // namespace
}  // namespace einflow
