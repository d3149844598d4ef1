// Counts are exact over all of 128 bits and say where they left them.
#include "base/count.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace einflow {
namespace {

constexpr Count kLargest = Count(static_cast<Count::Int>(~static_cast<unsigned __int128>(0) >> 1));

TEST(Count, PrintsAllOf128Bits) {
  EXPECT_EQ(Count(0).str(), "0");
  EXPECT_EQ(Count(-42).str(), "-42");
  EXPECT_EQ(kLargest.str(), "170141183460469231731687303715884105727");  // 2^127 - 1
  EXPECT_EQ((Count(0) - kLargest).str(), "-170141183460469231731687303715884105727");
}

TEST(Count, SaysWhereItOverflowed) {
  EXPECT_TRUE((kLargest + 1).overflowed());
  EXPECT_TRUE((kLargest * 2).overflowed());
  EXPECT_TRUE((Count(0) - kLargest - 2).overflowed());
  EXPECT_TRUE((Count(0) - kLargest - 1).overflowed()) << "-2^127 stands for the overflow itself";
  EXPECT_EQ((kLargest + 1).str(), "overflow");
}

TEST(Count, AnOverflowStaysOne) {
  const Count overflow = Count::overflow();
  EXPECT_TRUE((overflow + 1).overflowed());
  EXPECT_TRUE((overflow - overflow).overflowed());
  EXPECT_TRUE((overflow * 0).overflowed());
  EXPECT_TRUE(ceil_div(overflow, 2).overflowed());
}

TEST(Count, RoundsQuotientsUp) {
  EXPECT_EQ(ceil_div(0, 3), Count(0));
  EXPECT_EQ(ceil_div(6, 3), Count(2));
  EXPECT_EQ(ceil_div(7, 3), Count(3));
  EXPECT_EQ(ceil_div(kLargest, kLargest - 1), Count(2)) << "no intermediate sum may overflow";
}

TEST(Count, FitsIn64BitsOrNot) {
  EXPECT_EQ(Count(INT64_MAX).to_int64(), INT64_MAX);
  EXPECT_EQ(Count(INT64_MIN).to_int64(), INT64_MIN);
  EXPECT_EQ((Count(INT64_MAX) + 1).to_int64(), std::nullopt);
}

TEST(Count, ReadsDigitsOnly) {
  EXPECT_EQ(parse_count("0"), Count(0));
  EXPECT_EQ(parse_count("170141183460469231731687303715884105727"), kLargest);
  for (const char* text :
       {"", "-1", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "170141183460469231731687303715884105728"}) {
    EXPECT_EQ(parse_count(text), std::nullopt) << text;
  }
}

RC_GTEST_PROP(CountProperty, AgreesWith64BitArithmetic, (std::int32_t a, std::int32_t b)) {
  const std::int64_t x = a, y = b;
  RC_ASSERT((Count(x) + Count(y)).to_int64() == x + y);
  RC_ASSERT((Count(x) - Count(y)).to_int64() == x - y);
  RC_ASSERT((Count(x) * Count(y)).to_int64() == x * y);
  RC_ASSERT(Count(x).str() == std::to_string(x));
}

}  // namespace
}  // namespace einflow
