// Numbers with units are read exactly.
#include "base/quantity.hpp"

#include <gtest/gtest.h>

namespace einflow {
namespace {

using enum Measure;

Ratio value(std::string_view text, std::vector<Measure> measures) {
  const auto quantity = parse_quantity(text, measures);
  EXPECT_TRUE(quantity) << text << (quantity ? "" : quantity.error()[0].message);
  return quantity ? quantity->value : Ratio(Count(-1));
}

Ratio ratio(std::int64_t numerator, std::int64_t denominator) { return {Count(numerator), Count(denominator)}; }

TEST(Quantity, SizesAreBits) {
  EXPECT_EQ(value("512 B", {size}), Count(4096));
  EXPECT_EQ(value("1 kB", {size}), Count(8000));
  EXPECT_EQ(value("1 KiB", {size}), Count(8192));
  EXPECT_EQ(value("50 MB", {size}), Count(400000000));
  EXPECT_EQ(value("1.5 MiB", {size}), Count(12582912));
  EXPECT_EQ(value("6 bit", {size}), Count(6));
  EXPECT_EQ(value("80GB", {size}), Count(640000000000)) << "the blank may be left out";
  EXPECT_EQ(value("2EB", {size}), Count(16) * Count(1000000000000000000)) << "exa, not an exponent";
}

TEST(Quantity, FrequenciesAreHertz) {
  EXPECT_EQ(value("1.83 GHz", {frequency}), Count(1830000000));
  EXPECT_EQ(value("200 MHz", {frequency}), Count(200000000));
}

TEST(Quantity, TimesAreSeconds) {
  EXPECT_EQ(value("2 ms", {seconds}), ratio(1, 500));
  EXPECT_EQ(value("2.7 us", {seconds}), ratio(27, 10000000));
  EXPECT_EQ(value("500 ns", {seconds}), ratio(1, 2000000));
  EXPECT_EQ(value("5 ps", {seconds}), ratio(1, 200000000000));
  EXPECT_EQ(value("0 s", {seconds}), Count(0));
  EXPECT_EQ(units_of({seconds}), "s, ms, us, ns");
}

TEST(Quantity, BandwidthsTellCyclesFromSeconds) {
  const std::vector<Measure> bandwidth{bytes_per_cycle, bytes_per_second};
  EXPECT_EQ(parse_quantity("128 B/cycle", bandwidth), (Quantity{Ratio(Count(128)), bytes_per_cycle}));
  EXPECT_EQ(parse_quantity("3.35 TB/s", bandwidth), (Quantity{Ratio(Count(3350000000000)), bytes_per_second}));
  EXPECT_EQ(value("12 bit/cycle", bandwidth), ratio(3, 2));
  EXPECT_EQ(value("400 Gbit/s", bandwidth), Count(50000000000));
}

TEST(Quantity, AnOperationIsTwoFlop) {
  EXPECT_EQ(value("1024 FLOP/cycle", {operations_per_cycle}), Count(512));
  EXPECT_EQ(value("1 MAC/cycle", {operations_per_cycle}), Count(1));
  EXPECT_EQ(value("3 FLOP/cycle", {operations_per_cycle}), ratio(3, 2));
  EXPECT_EQ(value("990 TFLOP/s", {operations_per_second}), Count(495000000000000));
  EXPECT_EQ(value("0.3 pJ/FLOP", {picojoules_per_operation}), ratio(3, 5));
  EXPECT_EQ(value("0.5 pJ", {picojoules_per_operation}), ratio(1, 2));
}

TEST(Quantity, EnergiesArePicojoules) {
  const std::vector<Measure> energy{picojoules_per_byte, picojoules_per_element, picojoules_per_access};
  EXPECT_EQ(parse_quantity("8 pJ/B", energy), (Quantity{Ratio(Count(8)), picojoules_per_byte}));
  EXPECT_EQ(parse_quantity("200 fJ/element", energy), (Quantity{ratio(1, 5), picojoules_per_element}));
  EXPECT_EQ(parse_quantity("1 nJ/access", energy), (Quantity{Ratio(Count(1000)), picojoules_per_access}));
  EXPECT_EQ(value("3.9 pJ/bit", energy), ratio(156, 5));
  EXPECT_EQ(value("0 pJ/B", energy), Count(0));
}

Diagnostic error(std::string_view text, std::vector<Measure> measures) {
  const auto quantity = parse_quantity(text, measures);
  EXPECT_FALSE(quantity) << text;
  return quantity ? Diagnostic{} : quantity.error()[0];
}

TEST(Quantity, ErrorsPointAtTheNumberOrTheUnit) {
  EXPECT_EQ(error("512", {size}).message, "'512' has no unit");
  EXPECT_EQ(error("512", {size}).hint, "units: B, kB, MB, GB, KiB, MiB, GiB, bit");
  EXPECT_EQ(error("64 GHz", {bytes_per_second}).span, (Span{1, 4, 3}));
  EXPECT_EQ(error("8 pj/B", {picojoules_per_byte}).hint, "did you mean 'pJ/B'? units: pJ/B, pJ/bit");
  EXPECT_EQ(error("-1 B", {size}).message, "'-1' is negative");
  EXPECT_EQ(error("1.2.3 B", {size}).span, (Span{1, 1, 5}));
  EXPECT_EQ(error("much", {size}).message, "found 'much', expected a number with its unit");
  EXPECT_EQ(error("", {size}).message, "found '', expected a number with its unit");
}

TEST(Quantity, NoNumberIsRoundedOrWrapped) {
  EXPECT_NE(error("1e60 B", {size}).message, "");
  EXPECT_NE(error("99999999999999999999999999999999999 PB", {size}).message, "");
  EXPECT_NE(error("170141183460469231731687303715884105728 B", {size}).message, "");
}

TEST(Share, ReadsFractionsDecimalsAndPercent) {
  EXPECT_EQ(parse_share("8193/16384"), ratio(8193, 16384));
  EXPECT_EQ(parse_share("0.5"), ratio(1, 2));
  EXPECT_EQ(parse_share("50%"), ratio(1, 2));
  for (const char* text : {"", "/", "1/", "/2", "1/0", "a/b", "-1/2", "%", "1/2/3"}) {
    EXPECT_EQ(parse_share(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace einflow
