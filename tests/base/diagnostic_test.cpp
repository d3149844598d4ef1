// Messages look like a good compiler's, whatever is in them.
#include "base/diagnostic.hpp"

#include <gtest/gtest.h>

#include "base/message.hpp"
#include "base/utf8.hpp"

namespace einflow {
namespace {

TEST(Render, QuotesTheLineWithACaret) {
  const SourceText source{"matmul.yaml", "mapping: |\n  for mm by 128\n"};
  EXPECT_EQ(render(Diagnostic{{2, 7, 2}, "unknown rank 'mm'", "ranks: m, n, k", ""}, source),
            "matmul.yaml:2:7: error: unknown rank 'mm'\n"
            "   2 |   for mm by 128\n"
            "     |       ^^\n"
            "hint: ranks: m, n, k\n");
}

TEST(Render, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(render(Diagnostic{{}, "too large", "", ""}, {"a.yaml", "x\n"}), "a.yaml: error: too large\n");
  EXPECT_EQ(render(Diagnostic{{}, "too large", "", ""}, {"", ""}), "error: too large\n");
  EXPECT_EQ(render(Diagnostic{{3, 4, 1}, "no unit", "", "machines/toy.yaml"}, {"a.yaml", "x\n"}),
            "machines/toy.yaml:3:4: error: no unit\n");
}

TEST(Render, CountsColumnsInCharacters) {
  EXPECT_EQ(render(Diagnostic{{1, 4, 1}, "found 'x'", "", ""}, {"a", "é→\tx\r\n"}),
            "a:1:4: error: found 'x'\n   1 | é→ x\n     |    ^\n");
}

TEST(Render, PassesNothingToTheTerminalThatItWouldObey) {
  const std::string text = render(Diagnostic{{1, 1, 1}, "a\x1b[31mb\nc", "", ""}, {"n\x07", "\x1b[2J\xff\xE2\x80\xAE"});
  EXPECT_EQ(text, "n?:1:1: error: a?[31mb?c\n   1 | ?[2J??\n     | ^\n");
}

TEST(Render, CutsLongLinesAroundTheCaret) {
  const std::string line = std::string(1000, 'a') + "b" + std::string(1000, 'c');
  const std::string text = render(Diagnostic{{1, 1001, 1}, "found 'b'", "", ""}, {"a", line});
  EXPECT_NE(text.find("...aaaa"), std::string::npos);
  std::size_t start = 0, caret = 0, b = 0;
  for (std::size_t end; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string shown = text.substr(start, end - start);
    EXPECT_LE(shown.size(), 120u);
    if (shown.find('|') == std::string::npos) continue;
    if (shown.find('^') != std::string::npos) caret = shown.find('^');
    if (shown.find("b") != std::string::npos) b = shown.find("b");
  }
  EXPECT_EQ(caret, b);
}

TEST(Render, CaretsStayWithinTheLine) {
  EXPECT_EQ(render(Diagnostic{{1, 3, 50}, "m", "", ""}, {"a", "abcd"}), "a:1:3: error: m\n   1 | abcd\n     |   ^^\n");
  EXPECT_EQ(render(Diagnostic{{1, 99, 1}, "m", "", ""}, {"a", "ab"}), "a:1:99: error: m\n   1 | ab\n     |   ^\n");
  EXPECT_EQ(render(Diagnostic{{7, 1, 1}, "m", "", ""}, {"a", "ab"}), "a:7:1: error: m\n   7 | \n     | ^\n");
}

TEST(Render, StopsAfterFortyErrors) {
  const Diagnostics many(100, Diagnostic{{}, "m", "", ""});
  const std::string text = render(many, {"a", ""});
  EXPECT_NE(text.find("... and 60 more errors\n"), std::string::npos);
}

TEST(SortByPlace, GoesLineByLineAndKeepsTheOrderOfEquals) {
  Diagnostics errors{
      {{2, 1, 1}, "c", "", ""}, {{1, 5, 1}, "a", "", ""}, {{2, 1, 1}, "d", "", ""}, {{1, 9, 1}, "b", "", ""}};
  sort_by_place(errors);
  std::string order;
  for (const Diagnostic& error : errors) order += error.message;
  EXPECT_EQ(order, "abcd");
}

TEST(NearestName, FindsMisspellings) {
  const std::vector<std::string> levels{"DRAM", "Buffer", "RF"};
  EXPECT_EQ(nearest_name("Bufer", levels), "Buffer");
  EXPECT_EQ(nearest_name("Bfufer", levels), "Buffer") << "neighbours that changed places are one edit";
  EXPECT_EQ(nearest_name("buffer", levels), "Buffer") << "the case does not count";
  EXPECT_EQ(nearest_name("dram", levels), "DRAM");
  EXPECT_EQ(nearest_name("h100", {"h200-sxm", "h100-sxm-node", "h100-sxm"}), "h100-sxm") << "a beginning";
}

TEST(NearestName, IsNotFarFetched) {
  const std::vector<std::string> levels{"DRAM", "Buffer", "RF"};
  EXPECT_EQ(nearest_name("Cache", levels), "");
  EXPECT_EQ(nearest_name("SF", levels), "") << "a third of two letters is none";
  EXPECT_EQ(nearest_name("", levels), "");
  EXPECT_EQ(nearest_name(std::string(1000000, 'a'), levels), "");
}

TEST(Message, ListsAreCut) {
  EXPECT_EQ(comma_list({"a", "b", "c"}), "a, b, c");
  EXPECT_EQ(comma_list({"a", "b", "c"}, 2), "a, b, ... (1 more)");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "'" + std::string(60, 'x') + "...'");
}

TEST(Utf8, BrokenBytesStandAlone) {
  // Unicode 15, table 3-7: well-formed byte sequences.
  for (const char* bytes :
       {"\x80", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8", "\xE2\x82"}) {
    EXPECT_FALSE(decode_utf8(bytes, 0).valid) << bytes;
  }
  EXPECT_EQ(decode_utf8("\xE2\x82\xAC", 0).value, 0x20ACu);
  EXPECT_EQ(decode_utf8("\xF0\x9F\x98\x80", 0).value, 0x1F600u);
  EXPECT_EQ(code_points("a\xC3\xA9\xFF"), 3);
}

}  // namespace
}  // namespace einflow
