#include "report/layout.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace einflow {
namespace {

TEST(Layout, DigitsInGroupsOfThree) {
  EXPECT_EQ(grouped(Count(0)), "0");
  EXPECT_EQ(grouped(Count(999)), "999");
  EXPECT_EQ(grouped(Count(1000)), "1,000");
  EXPECT_EQ(grouped(Count(1048576)), "1,048,576");
  EXPECT_EQ(grouped(Ratio(Count(2097153), Count(2))), "1,048,576.5");
}

TEST(Layout, QuantitiesWithPrefixes) {
  EXPECT_EQ(scaled(4.194304e-3, "s"), "4.194 ms");
  EXPECT_EQ(scaled(0, "J"), "0 J");
  EXPECT_EQ(scaled(989.4e12, "FLOP/s"), "989.4 TFLOP/s");
  EXPECT_EQ(scaled(999.99, "B/s"), "1 kB/s") << "never 1000 of a unit";
  EXPECT_EQ(bytes_text(Ratio(Count(524288))), "512 KiB");
  EXPECT_EQ(bytes_text(Ratio(Count(1), Count(2))), "0.5 B");
  EXPECT_EQ(percent(0.9972), "99.7 %");
  EXPECT_EQ(percent(0.000123), "0.012 %");
}

TEST(Layout, WordsAreWrappedAndLongOnesCut) {
  EXPECT_EQ(wrapped("one two three", 9, "- ", "  "), "- one two\n  three\n");
  EXPECT_EQ(wrapped("abcdefgh", 5, "", ""), "abcde\nfgh\n");
  EXPECT_EQ(wrapped("", 80, "- ", "  "), "-\n");
}

TEST(Layout, TablesAlign) {
  Table table({"level", "reads", "empty"}, 1);
  table.add({"DRAM", "16", ""});
  table.add({"L", "1,024", ""});
  EXPECT_EQ(table.str({}), "  level  reads\n  DRAM      16\n  L      1,024\n") << "a column without text is left out";
}

TEST(Layout, ATableThatIsTooWideIsWrittenRowByRow) {
  Table table({"level", "reads", "writes"}, 1);
  table.add({"DRAM", std::string(50, '1'), std::string(50, '2')});
  std::istringstream lines(table.str({}));
  std::string line;
  while (std::getline(lines, line)) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace einflow
