// The YAML tree knows where everything was written. Refusals are in tests/notation/wrong_specs.
#include "base/yaml.hpp"

#include <gtest/gtest.h>

#include <chrono>

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
  const auto start = std::chrono::steady_clock::now();
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
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace einflow
