#include "report/json.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace einflow {
namespace {

TEST(Json, IntegersAreExactHoweverLarge) {
  const Count big = Count(10000000000) * Count(10000000000) * Count(10000000000);
  EXPECT_EQ(Json(big).str(), "1000000000000000000000000000000\n");
  EXPECT_EQ(Json(Count(-3)).str(), "-3\n");
}

TEST(Json, RatiosAreExactWhereTheirDecimalsEnd) {
  EXPECT_EQ(exact_decimal(Ratio(Count(1), Count(2))), "0.5");
  EXPECT_EQ(exact_decimal(Ratio(Count(-5), Count(4))), "-1.25");
  EXPECT_EQ(exact_decimal(Ratio(Count(1), Count(8))), "0.125");
  EXPECT_EQ(exact_decimal(Ratio(Count(12))), "12");
  EXPECT_EQ(exact_decimal(Ratio(Count(1), Count(3))), "");
  EXPECT_EQ(Json(Ratio(Count(1), Count(3))).str(), "0.3333333333333333\n") << "the nearest double";
}

TEST(Json, StringsAreEscaped) {
  EXPECT_EQ(json_quoted("a\"b\\c\n\t"), "\"a\\\"b\\\\c\\n\\t\"");
  EXPECT_EQ(json_quoted(std::string("\x01", 1)), "\"\\u0001\"");
  EXPECT_EQ(json_quoted("\xC3\xA4"), "\"\xC3\xA4\"") << "UTF-8 stays";
  EXPECT_EQ(json_quoted("\xFF"), "\"\xEF\xBF\xBD\"") << "what is no UTF-8 becomes U+FFFD";
}

TEST(Json, NumbersThatJsonCannotSayAreNull) {
  EXPECT_EQ(Json(1.0 / 0.0).str(), "null\n");
  EXPECT_EQ(Json(Count::overflow()).str(), "null\n");
}

TEST(Json, KeysKeepTheirOrderAndLongDocumentsBreak) {
  Json document = Json::object();
  document.set("z", Count(1)).set("a", true);
  EXPECT_EQ(document.str(), "{\"z\": 1, \"a\": true}\n");
  Json list = Json::array();
  for (int i = 0; i < 100; ++i) list.push(std::string("entry"));
  document.set("list", std::move(list)).set("empty", Json::array());
  const std::string text = document.str();
  EXPECT_EQ(text.substr(0, 20), "{\n  \"z\": 1,\n  \"a\": t");
  EXPECT_EQ(nlohmann::json::parse(text)["list"].size(), 100u);
}

}  // namespace
}  // namespace einflow
