// Property: whatever a config says, it is either refused with messages or read as a network of well-formed einsums
// whose figures are the sums of its layers.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "notation/huggingface/huggingface.hpp"
#include "problem/einsum_check.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

std::vector<std::string> published_configs() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(EINFLOW_SOURCE_DIR "/tests/reference/huggingface")) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    texts.push_back(text.str());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

using Random = std::mt19937_64;

template <typename Things>
const auto& one_of(const Things& things, Random& random) {
  return things[std::uniform_int_distribution<std::size_t>(0, things.size() - 1)(random)];
}

/// A line `"key": value,` with another value, or without the line; lists and maps of several lines stay.
void change_a_line(std::string& text, Random& random) {
  static const std::vector<std::string> kValues{
      "0",   "1",  "2",  "3",        "7",     "64",  "-1", "1073741824", "1073741825", "null", "true", "false", "1.5",
      "0.5", "[]", "{}", "\"silu\"", "1e400", "[3]", "9",  "\"x\"",      "4294967296", "5",    "16",   "12"};
  const std::size_t at = std::uniform_int_distribution<std::size_t>(0, text.size() - 1)(random);
  const std::size_t begin = text.rfind('\n', at);
  const std::size_t end = text.find('\n', at);
  if (begin == std::string::npos || end == std::string::npos || begin >= end) return;
  const std::string line = text.substr(begin, end - begin);
  const std::size_t colon = line.find("\": ");
  if (colon == std::string::npos || line.find_first_of("[{") != std::string::npos || line.back() != ',') return;
  if (line.find("model_type") != std::string::npos) return;
  const bool drop = std::uniform_int_distribution<int>(0, 4)(random) == 0;
  text.replace(begin, end - begin, drop ? std::string() : line.substr(0, colon + 3) + one_of(kValues, random) + ",");
}

std::map<std::string, std::string> some_settings(Random& random) {
  static const std::vector<std::pair<std::string, std::vector<std::string>>> kSettings{
      {"batch", {"1", "3", "1073741824", "x"}},
      {"seq", {"1", "17", "1073741824"}},
      {"context", {"1", "4000", "1073741824"}},
      {"phase", {"prefill", "decode"}},
      {"mla", {"absorbed", "expanded"}},
      {"logits", {"all", "last"}},
      {"type", {"fp4", "bf16"}},
      {"kv_type", {"3-bit", "fp8"}}};
  std::map<std::string, std::string> settings;
  for (const auto& [key, values] : kSettings) {
    if (std::uniform_int_distribution<int>(0, 5)(random) == 0) settings[key] = one_of(values, random);
  }
  return settings;
}

void expect_whole(const Document& document, const std::string& text) {
  Count macs = 0;
  for (const DocumentLayer& layer : document.layers) {
    ASSERT_GE(layer.repeat, 1) << layer.name << text;
    ASSERT_TRUE(layer.parameters) << layer.name;
    ASSERT_FALSE(layer.cascade.einsums.empty()) << layer.name;
    for (const Einsum& einsum : layer.cascade.einsums) {
      ASSERT_TRUE(check_form(einsum).empty()) << to_text(einsum) << text;
      ASSERT_TRUE(check_sizes(einsum).empty()) << to_text(einsum) << text;
      if (einsum.is_mac()) macs += einsum.executed_operations() * Count(layer.repeat);
    }
  }
  ASSERT_FALSE(macs.overflowed());
  for (const DocumentFigure& figure : document.figures) {
    ASSERT_FALSE(figure.value.overflowed()) << figure.name << text;
    ASSERT_FALSE(figure.derivation.empty()) << figure.name;
    if (figure.name == "MACs") {
      ASSERT_EQ(figure.value, macs) << text;
    }
  }
}

TEST(HuggingFaceProperty, AConfigIsRefusedOrWhole) {
  const std::vector<std::string> configs = published_configs();
  ASSERT_GE(configs.size(), 30u);
  const std::uint64_t cases = testing::from_environment("EINFLOW_PROPERTY_CASES", 5000);
  Random random(20261130);
  std::uint64_t whole = 0;
  for (std::uint64_t at = 0; at < cases; ++at) {
    SourceText source{"config.json", one_of(configs, random)};
    const int changes = std::uniform_int_distribution<int>(0, 4)(random);
    for (int change = 0; change < changes; ++change) change_a_line(source.text, random);
    ReadOptions options;
    options.settings = some_settings(random);
    const auto document = read_huggingface({source}, options);
    if (!document) {
      ASSERT_FALSE(document.error().empty());
      for (const Diagnostic& problem : document.error()) ASSERT_FALSE(problem.message.empty());
      continue;
    }
    ++whole;
    expect_whole(*document, source.text);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(whole, cases / 10);
  EXPECT_LT(whole, cases - cases / 10);
}

}  // namespace
}  // namespace einflow
