// The YAML tree knows where everything was written. Refusals are in tests/notation/wrong_specs.
#include "base/yaml.hpp"
#include "support/processor_time.hpp"

#include <gtest/gtest.h>

#include <ctime>

namespace einflow {
namespace {

YamlNode tree(const std::string& text) {
  auto node = parse_yaml(text);
  EXPECT_TRUE(node) << (node ? "" : render(node.error(), {"", text}));
  return node ? *node : YamlNode{};
}

TEST(Yaml, MapsKeepOrderAndPlaces) {
  const YamlNode root = tree("b: 1\na:\n  - x\n  - {c: d}\n");
  ASSERT_EQ(root.entries.size(), 2u);
  EXPECT_EQ(root.entries[0].key.text, "b");
  EXPECT_EQ(root.entries[1].key.span, (Span{2, 1, 1}));
  const YamlNode& list = *root.find("a");
  EXPECT_EQ(list.items[0].span, (Span{3, 5, 1}));
  EXPECT_EQ(list.items[1].find("c")->span, (Span{4, 9, 1}));
  EXPECT_EQ(root.find("z"), nullptr);
}

TEST(Yaml, JsonIsYaml) {
  const YamlNode root = tree("{\"a\":1,\"b\":[true,null,\"x\\/y\"]}");
  EXPECT_EQ(root.find("a")->text, "1");
  EXPECT_TRUE(root.find("b")->items[1].is_null());
  EXPECT_EQ(root.find("b")->items[2].text, "x/y");
}

TEST(Yaml, PlacesInsideScalars) {
  const YamlNode root = tree("plain: abc def\nquoted: \"abc def\"\nsingle: 'abc'\n");
  EXPECT_EQ(place_inside(*root.find("plain"), {1, 5, 3}), (Span{1, 12, 3}));
  EXPECT_EQ(place_inside(*root.find("quoted"), {1, 5, 3}), (Span{2, 14, 3}));
  EXPECT_EQ(place_inside(*root.find("single"), {1, 1, 3}), (Span{3, 10, 3}));
}

TEST(Yaml, PlacesInsideBlocks) {
  const YamlNode root = tree("text: |\n    abc\n\n      def\r\n    ghi");
  const YamlNode& block = *root.find("text");
  EXPECT_EQ(block.text, "abc\n\n  def\nghi");
  EXPECT_EQ(place_inside(block, {1, 2, 1}), (Span{2, 6, 1}));
  EXPECT_EQ(place_inside(block, {3, 3, 3}), (Span{4, 7, 3}));
  EXPECT_EQ(place_inside(block, {4, 1, 3}), (Span{5, 5, 3}));
}

TEST(Yaml, PlacesCountCharactersNotBytes) {
  const YamlNode root = tree("é: \"→ abc\"\n");
  EXPECT_EQ(place_inside(*root.find("é"), {1, 3, 3}), (Span{1, 7, 3}));
}

TEST(Yaml, WhatDoesNotStandThereLetterByLetterIsPointedAtAsAWhole) {
  const YamlNode root = tree("escaped: \"a\\nb\"\nfolded: >\n  a\n  b\nplain: a\n  b\n");
  for (const char* key : {"escaped", "folded", "plain"}) {
    const YamlNode& node = *root.find(key);
    EXPECT_EQ(place_inside(node, {1, 1, 1}), node.span) << key;
  }
}

TEST(Yaml, QuotedTextIsNeverNull) {
  const YamlNode root = tree("a: ~\nb: \"null\"\nc:\nd: ''\n");
  EXPECT_TRUE(root.find("a")->is_null());
  EXPECT_FALSE(root.find("b")->is_null());
  EXPECT_TRUE(root.find("c")->is_null());
  EXPECT_FALSE(root.find("d")->is_null());
}

TEST(Yaml, AByteOrderMarkIsSkipped) {
  EXPECT_EQ(tree("\xEF\xBB\xBF"
                 "a: 1\n")
                .entries[0]
                .key.span,
            (Span{1, 1, 1}));
}

TEST(Yaml, LargeInputsAreRefusedOrReadFast) {
  const std::clock_t start = std::clock();
  EXPECT_FALSE(parse_yaml(std::string((1 << 20) + 1, 'a')));
  EXPECT_FALSE(parse_yaml(std::string(1 << 20, '[')));
  EXPECT_FALSE(parse_yaml(std::string(1 << 20, '{')));
  std::string flat, keys, dashes;
  while (flat.size() < 1000000) flat += "a,";
  while (keys.size() < 1000000) keys += "a: 1\n";
  while (dashes.size() < 1000000) dashes += "- ";
  EXPECT_FALSE(parse_yaml("[" + flat + "]")) << "more than 100,000 values";
  EXPECT_FALSE(parse_yaml(keys)) << "duplicate keys";
  EXPECT_FALSE(parse_yaml(dashes)) << "too deep";
  EXPECT_TRUE(parse_yaml("a: " + std::string(1000000, 'x') + "\n"));
  EXPECT_LT(testing::processor_seconds_since(start), 30);
}

YamlNode foreign(const std::string& text) {
  auto node = parse_yaml(text, yaml_of_other_tools());
  EXPECT_TRUE(node) << (node ? "" : render(node.error(), {"", text}));
  return node ? *node : YamlNode{};
}

std::string refusal(const std::string& text, const YamlOptions& options = yaml_of_other_tools()) {
  const auto node = parse_yaml(text, options);
  return node ? "accepted" : node.error().front().message;
}

TEST(YamlOfOtherTools, AnAliasIsTheAnchoredValue) {
  const YamlNode root = foreign("a: &here {x: [1, 2]}\nb: *here\nc: &word text\n*word : *word\n");
  EXPECT_EQ(root.find("b")->find("x")->items[1].text, "2");
  EXPECT_EQ(root.find("b")->find("x")->span, (Span{1, 14, 1})) << "its place is that of the anchor";
  EXPECT_EQ(root.find("text")->text, "text");
}

TEST(YamlOfOtherTools, ALaterAnchorOfTheSameNameReplacesTheEarlier) {
  const YamlNode root = foreign("- &a 1\n- *a\n- &a 2\n- *a\n");
  EXPECT_EQ(root.items[1].text, "1");
  EXPECT_EQ(root.items[3].text, "2");
}

TEST(YamlOfOtherTools, MergeKeysAddWhatIsNotThere) {
  // yaml.org/type/merge.html: the map's own keys win, then the earlier of several maps.
  const YamlNode root = foreign(
      "p: &p {a: 1, b: 2}\n"
      "q: &q {b: 3, c: 4}\n"
      "one: {<<: *p, a: 0}\n"
      "two: {<<: [*p, *q]}\n"
      "late:\n  b: 5\n  <<: *q\n"
      "quoted: {'<<': 1}\n");
  EXPECT_EQ(root.find("one")->find("a")->text, "0");
  EXPECT_EQ(root.find("one")->find("b")->text, "2");
  EXPECT_EQ(root.find("one")->entries.size(), 2u);
  EXPECT_EQ(root.find("two")->find("b")->text, "2");
  EXPECT_EQ(root.find("two")->find("c")->text, "4");
  EXPECT_EQ(root.find("late")->find("b")->text, "5");
  EXPECT_EQ(root.find("late")->find("c")->text, "4");
  EXPECT_EQ(root.find("quoted")->find("<<")->text, "1");
}

TEST(YamlOfOtherTools, TagsAreKept) {
  const YamlNode root = foreign("- !Component {name: !x DRAM}\n- ! plain\n- none\n- !List [1]\n");
  EXPECT_EQ(root.items[0].tag(), "!Component");
  EXPECT_EQ(root.items[0].find("name")->tag(), "!x");
  EXPECT_EQ(root.items[2].tag(), "");
  EXPECT_EQ(root.items[3].tag(), "!List");
}

TEST(YamlOfOtherTools, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(refusal("a: &a [1, *a]\n"), "the alias '*a' stands inside the value it stands for (line 1)");
  EXPECT_EQ(refusal("a: &b 1\nb: *c\n"), "there is no anchor '&c' before this alias");
  EXPECT_EQ(refusal("a: {<<: 3}\n"), "found '3' behind '<<', expected a map or a list of maps");
  EXPECT_EQ(refusal("a: {<<: [{b: 1}, 2]}\n"), "found a list behind '<<', expected a map or a list of maps");
  EXPECT_EQ(refusal("a: &a {b: 1}\nc: {<<: *a, <<: *a}\n"), "the key '<<' was already given on line 2");
  EXPECT_EQ(refusal("a: &a {b: 1}\nc: {<<<: *a}\n"),
            "'<<<' merges maps inside maps, which no YAML reader but Timeloop's front end knows");
  EXPECT_EQ(refusal("a: &a [1]\n*a : 1\n"), "a key must be a single word, not a list or a map");
}

TEST(YamlOfOtherTools, AliasBombsEndAtTheLimitOfValues) {
  // A billion values in 500 characters: ten times the one before, nine times.
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) bomb += (j == 0 ? "*a" : ", *a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  YamlOptions options = yaml_of_other_tools();
  options.maximum_values = 20000;
  EXPECT_EQ(refusal(bomb, options), "more than 20000 values");
  EXPECT_EQ(refusal(bomb), "more than 2000000 values");
  std::string merged = "a0: &a0 {k: [x, x, x, x, x, x, x, x]}\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = std::to_string(i - 1), name = std::to_string(i);
    merged += "a" + name + ": &a" + name + " {p: *a" + before + ", q: *a" + before + ", <<: *a" + before + "}\n";
  }
  EXPECT_EQ(refusal(merged, options), "more than 20000 values");
  // Anchors around anchors: each value is kept once for each anchor around it, and that is counted, too.
  std::string nested = "[x, x, x, x, x, x, x, x, x, x]";
  for (int i = 0; i < 50; ++i) nested = "&a" + std::to_string(i) + " [x, x, " + nested + "]";
  options.maximum_values = 1000;
  EXPECT_EQ(refusal(nested, options), "more than 1000 values behind anchors");
}

TEST(YamlOfOtherTools, AliasesNestNoDeeperThanLists) {
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 70; ++i) {
    deep += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_EQ(refusal(deep), "nested more than 64 levels deep");
}

TEST(YamlOfOtherTools, TenMegabytesAreReadInTwoSeconds) {
  std::string text = "mapping:\n";
  while (text.size() < 10000000) text += "- {target: DRAM, type: temporal, factors: M=4 N=2, permutation: MNK}\n";
  const std::clock_t start = std::clock();  // the processor's time: tests run beside each other
  EXPECT_TRUE(parse_yaml(text, yaml_of_other_tools()));
  EXPECT_LT(testing::processor_seconds_since(start), 2 * testing::kBusyMachine);
}

}  // namespace
}  // namespace einflow
