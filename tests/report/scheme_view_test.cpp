#include "report/scheme_view.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/scheme_words.hpp"

namespace einflow {
namespace {

using namespace cluster;

SchemeFacts facts_of(const std::string& name, const SchemeSizes& sizes = {}) {
  const auto term = find_scheme(name);
  EXPECT_TRUE(term && term->scheme != nullptr) << name;
  auto facts = scheme_facts(*term->scheme, sizes_for(*term->scheme, sizes));
  EXPECT_TRUE(facts) << name << ": " << facts.error().front().message;
  return *facts;
}

/// Whether the text has a line of these words, whatever the space between them.
bool has_line(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream in(line);
    std::string squeezed;
    for (std::string word; in >> word;) squeezed += (squeezed.empty() ? "" : " ") + word;
    if (squeezed == words) return true;
  }
  return false;
}

// X[4,8,64] has 2,048 elements of 2 B. Only its gradient moves: 2 (p-1)/p of 4,096 B.
TEST(SchemeView, ColumnParallel) {
  const std::string text = scheme_text(facts_of("column"), {});
  EXPECT_TRUE(has_line(text, "par n into 4 on devices.tp")) << text;
  EXPECT_TRUE(has_line(text, "X R R 4,096 4,096 4,096")) << text;
  EXPECT_TRUE(has_line(text, "W S(n) S(n) 32,768 8,192 8,192")) << text;
  EXPECT_TRUE(has_line(text, "dX P(+) R 4,096 4,096 4,096")) << text;
  EXPECT_TRUE(has_line(text, "backward all-reduce dX on tp 2 x 3/4 x 4,096 B 6,144")) << text;
  EXPECT_TRUE(has_line(text, "together: forward 0 B, backward 6,144 B, step end 0 B")) << text;
  // ColwiseParallel of nn.Linear is Shard(0), and of the einsum's W[k,n] Shard(1).
  EXPECT_TRUE(has_line(text, "W computes, rests [Shard(1)] P(None, 'tp')")) << text;
  EXPECT_TRUE(has_line(text, "torch nn.Linear keeps W as [out, in] = [n,k]: there it is Shard(0)")) << text;
  EXPECT_TRUE(has_line(text, "MAESTRO SpatialMap(64,64) N in a cluster level of 4 units")) << text;
  EXPECT_TRUE(has_line(text, "Tangram OUTP (output channels)")) << text;
}

TEST(SchemeView, PiecesOfATimeLoopNeedRoomForOne) {
  const std::string text = scheme_text(facts_of("summa"), {});
  EXPECT_TRUE(has_line(text, "for k into 2")) << text;
  // X[32,64]: 4,096 B; a device has a quarter, and one panel of the other's quarter at a time.
  EXPECT_TRUE(has_line(text, "X S(m), R S(m), S(k) 4,096 1,024* 1,024")) << text;
  EXPECT_TRUE(has_line(text, "forward broadcast X on j by k 1/2 x 2,048 B 1,024")) << text;
}

TEST(SchemeView, TheOrderOfCutsIsSaidWhereItIsNotTheMeshs) {
  const SchemeFacts facts = facts_of("3d-tp");
  const std::string text = scheme_text(facts, {});
  EXPECT_TRUE(has_line(text, "W: k cut by l, then i")) << text;
  for (const SchemeTensor& tensor : facts.tensors) {
    if (tensor.name != "W") continue;
    EXPECT_EQ(spelling_of(tensor.ranks, tensor.rests, facts.scheme.mesh).jax, "P(('l', 'i'), 'j')");
    EXPECT_EQ(spelling_of(tensor.ranks, tensor.rests, facts.scheme.mesh).dtensor, "[Shard(0), Shard(1), Shard(0)]");
  }
}

TEST(SchemeView, UnevenPiecesHaveNoFormula) {
  SchemeSizes sizes;
  sizes.devices = {3};
  sizes.ranks = {{"k", 64}, {"b", 1}, {"s", 1}};
  // 64 elements in chunks of 22, 22 and 20: the device between two large chunks sends 42 + 44, of 2 B.
  const std::string text = scheme_text(facts_of("column", sizes), {});
  EXPECT_TRUE(has_line(text, "backward all-reduce dX on tp 172")) << text;
}

// K22: p (1 + (p-1)/(p v)) microbatches live on the first of p devices with v chunks.
TEST(SchemeView, PipelinesHaveSchedules) {
  const std::string text = scheme_text(facts_of("pipeline"), {});
  EXPECT_TRUE(has_line(text, "gpipe 1 3/8 = 37.5 % 3/11 = 27.3 % 8")) << text;
  EXPECT_TRUE(has_line(text, "1f1b 1 3/8 = 37.5 % 3/11 = 27.3 % 4")) << text;
  EXPECT_TRUE(has_line(text, "interleaved 2 3/16 = 18.8 % 3/19 = 15.8 % 5.5")) << text;
  EXPECT_TRUE(has_line(text, "forward send Y to the next stage 4 x 8 x 64 x 2 B 4,096")) << text;
}

TEST(SchemeView, SizesWhoseBytesLeave128BitsAreAnError) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 31;
  SchemeSizes sizes;
  sizes.ranks = {{"g", kLarge}, {"u", kLarge}, {"b", kLarge}, {"s", kLarge}, {"d", kLarge}, {"t", kLarge}};
  const auto facts = scheme_facts(*find_scheme("ring")->scheme, sizes);
  ASSERT_FALSE(facts);
  EXPECT_NE(facts.error().front().message.find("128 bits"), std::string::npos);
}

TEST(SchemeView, FitsItsWidth) {
  std::vector<std::string> texts{schemes_text({})};
  SchemeSizes large;
  large.devices = {16};
  large.ranks = {{"h", 12288}, {"s", 2048}, {"a", 96}, {"g", 16}, {"l", 96}};
  for (const NamedScheme& named : named_schemes()) {
    texts.push_back(scheme_text(facts_of(named.name), {}));
    const auto facts = scheme_facts(named, sizes_for(named, large));
    if (facts) texts.push_back(scheme_text(*facts, {}));
  }
  for (const AmbiguousTerm& term : ambiguous_terms()) texts.push_back(term_text(term, large, {}));
  for (const std::string& text : texts) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
  }
}

TEST(SchemeView, JsonHasTheSameFigures) {
  const auto json = nlohmann::json::parse(scheme_json(facts_of("zero-3")).str());
  EXPECT_EQ(json.at("format"), "einflow-scheme-1");
  EXPECT_EQ(json.at("scheme"), "zero-3");
  EXPECT_EQ(json.at("mesh").at("dp"), 4);
  // W[64,256] of 2 B: 3/4 of 32,768 B each time.
  EXPECT_EQ(json.at("bytes_per_device").at("forward"), 24576);
  EXPECT_EQ(json.at("bytes_per_device").at("backward"), 2 * 24576);
  ASSERT_EQ(json.at("collectives").size(), 3U);
  EXPECT_EQ(json.at("collectives")[2].at("kind"), "reduce_scatter");
  EXPECT_EQ(json.at("collectives")[2].at("tensor"), "dW");
  EXPECT_EQ(json.at("collectives")[2].at("from"), "dp: P(+)");
  for (const NamedScheme& named : named_schemes()) {
    const auto parsed = nlohmann::json::parse(scheme_json(facts_of(named.name)).str());
    EXPECT_FALSE(parsed.at("einsums").empty()) << named.name;
  }
  EXPECT_EQ(nlohmann::json::parse(schemes_json().str()).at("schemes").size(), named_schemes().size());
}

TEST(SchemeView, TermsCompareTheirReadings) {
  const auto term = find_scheme("sequence parallel");
  ASSERT_TRUE(term && term->ambiguous != nullptr);
  const std::string text = term_text(*term->ambiguous, {}, {});
  EXPECT_NE(text.find("which rank is split"), std::string::npos) << text;
  EXPECT_TRUE(has_line(text, "ring cp 4 3,072 6,144 0")) << text;
  EXPECT_TRUE(has_line(text, "megatron-sp tp 4 12,288 18,432 384")) << text;
  const auto json = nlohmann::json::parse(term_json(*term->ambiguous, {}).str());
  EXPECT_EQ(json.at("readings").size(), 4U);
}

}  // namespace
}  // namespace einflow
