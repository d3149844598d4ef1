#include "cluster/schemes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/message.hpp"
#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

/// Words in lower case without those that make no difference, in one spelling of each, sorted.
std::vector<std::string> key_words(std::string_view text) {
  static const std::map<std::string, std::string> kSpellings{{"tensor", "tp"},
                                                             {"context", "cp"},
                                                             {"sequence", "sp"},
                                                             {"pipeline", "pp"},
                                                             {"expert", "ep"},
                                                             {"data", "dp"},
                                                             {"seq", "sp"},
                                                             {"col", "column"},
                                                             {"columns", "column"},
                                                             {"rows", "row"},
                                                             {"colwise", "column"},
                                                             {"rowwise", "row"},
                                                             {"vocab", "vocabulary"},
                                                             {"allgather", "gather"},
                                                             {"shard", "sharded"},
                                                             {"linear", ""},
                                                             {"all", ""},
                                                             {"parallel", ""},
                                                             {"parallelism", ""},
                                                             {"parallelization", ""},
                                                             {"the", ""},
                                                             {"stage", ""},
                                                             {"scheme", ""}};
  static const std::vector<std::string> kEndings{"parallelism", "parallellinear", "parallelembedding", "parallel"};
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&] {
    for (const std::string& ending : kEndings) {
      if (word.size() > ending.size() && word.ends_with(ending)) word.erase(word.size() - ending.size());
    }
    if (const auto found = kSpellings.find(word); found != kSpellings.end()) word = found->second;
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '.') {
      word += static_cast<char>(std::tolower(letter));
    } else {
      end_word();
    }
  }
  end_word();
  std::sort(words.begin(), words.end());
  return words;
}

/// The same written together.
std::string key_of(std::string_view text) {
  std::string key;
  for (const std::string& word : key_words(text)) key += word;
  return key;
}

/// Also where words are written together: "zero 3" is "zero3".
std::string joined(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '.') letters += static_cast<char>(std::tolower(letter));
  }
  return letters;
}

bool means(std::string_view text, const std::string& name) {
  if (joined(text) == joined(name)) return true;
  const std::vector<std::string> words = key_words(text);
  return !words.empty() && words == key_words(name);
}

/// Names that are near the text in spelling, or have a word in common with it.
std::vector<std::string> nearest_schemes(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> names;  // what to compare, and what to show
  for (const NamedScheme& scheme : named_schemes()) {
    names.emplace_back(key_of(scheme.name), scheme.name);
    for (const std::string& synonym : scheme.synonyms) names.emplace_back(key_of(synonym), scheme.name);
  }
  for (const AmbiguousTerm& term : ambiguous_terms()) {
    names.emplace_back(key_of(term.name), term.name);
    for (const std::string& synonym : term.synonyms) names.emplace_back(key_of(synonym), term.name);
  }
  std::vector<std::string> valid;
  for (const auto& [spelling, shown] : names) valid.push_back(spelling);
  std::vector<std::string> found;
  const auto add = [&](const std::string& name) {
    if (std::find(found.begin(), found.end(), name) == found.end() && found.size() < 5) found.push_back(name);
  };
  const std::string nearest = nearest_name(key_of(text), valid);
  for (const auto& [spelling, shown] : names) {
    if (!nearest.empty() && spelling == nearest) add(shown);
  }
  const std::vector<std::string> words = key_words(text);
  const auto shares_a_word = [&](const std::string& name) {
    const std::vector<std::string> others = key_words(name);
    return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
      return word.size() > 1 && std::find(others.begin(), others.end(), word) != others.end();
    });
  };
  for (const NamedScheme& scheme : named_schemes()) {
    bool shares = shares_a_word(scheme.name);
    for (const std::string& synonym : scheme.synonyms) shares = shares || shares_a_word(synonym);
    if (shares) add(scheme.name);
  }
  return found;
}

std::vector<NamedScheme> all_schemes() {
  std::vector<NamedScheme> all;
  for (auto&& some : {data_schemes(), tensor_schemes(), grid_schemes(), sequence_schemes(), layer_schemes()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace

const std::vector<NamedScheme>& named_schemes() {
  static const std::vector<NamedScheme> kSchemes = all_schemes();
  return kSchemes;
}

const std::vector<AmbiguousTerm>& ambiguous_terms() {
  static const std::vector<AmbiguousTerm> kTerms{
      {"tensor parallelism",
       {"tp", "intra-operator", "intra-layer"},
       "Which rank of which of input, weight and output is split, over which mesh axis, and is the output then split "
       "or "
       "a partial sum?",
       {{"column", "the output's rank"},
        {"row", "the rank that is summed over"},
        {"megatron-mlp", "Megatron-LM: a pair of both"},
        {"megatron-attention", "Megatron-LM: by heads"},
        {"vocabulary", "embedding and logits"},
        {"summa", "Colossal-AI's 2D"},
        {"3d-tp", "Colossal-AI's 3D"}}},
      {"megatron",
       {"megatron-lm", "megatron tensor"},
       "The pair of the MLP, that of attention, or the layer; and how do the tensors between the pairs rest, whole or "
       "split along the sequence?",
       {{"megatron-mlp", "one pair"},
        {"megatron-attention", "one pair"},
        {"megatron-layer", "both, whole between them"},
        {"megatron-sp", "both, split along s between them"}}},
      {"sequence parallelism",
       {"sp"},
       "During attention, which rank is split: heads, query positions or key positions?",
       {{"megatron-sp", "Megatron-LM's flag: heads; s is split only between the pairs"},
        {"ring", "Li et al. 2021, LightSeq; Megatron calls it context parallel: query positions"},
        {"ulysses", "DeepSpeed: heads, and s everywhere else"},
        {"token", "JAX users: s of layers that do not mix tokens"}}},
      {"context parallelism",
       {"cp"},
       "Do keys and values go round, are they gathered at once, or are heads exchanged for positions?",
       {{"ring", "Megatron's cp_comm_type p2p"},
        {"all-gather-cp", "Llama 3; Megatron's all_gather"},
        {"ulysses", "Megatron's a2a"},
        {"split-kv", "in decode: one query, split keys"}}},
      {"2.5d",
       {"2.5d tensor"},
       "Do the layers of the third axis share the rank that is summed over, or the tokens?",
       {{"2.5d-classic", "Solomonik and Demmel 2011: k, and Y is partial over the layers"},
        {"2.5d-tesseract", "Tesseract, Colossal-AI: tokens, and W is whole on each layer"}}},
      {"3d parallelism",
       {"3d"},
       "Three axes on one matrix product, or three kinds of parallelism: data x tensor x pipeline?",
       {{"3d-tp", "Agarwal et al. 1995, Colossal-AI: one product on a cube"},
        {"data", "dp of dp x tp x pp (Megatron, DeepSpeed)"},
        {"megatron-layer", "tp of dp x tp x pp"},
        {"pipeline", "pp of dp x tp x pp"}}},
      {"zero",
       {"zero redundancy", "fsdp zero", "sharding strategy"},
       "Of weights, gradients and optimizer state, which rest split, and how often are the weights gathered in a "
       "microbatch?",
       {{"zero-1", "optimizer state; DeepSpeed stage 1, Megatron's distributed optimizer"},
        {"zero-2", "and gradients; DeepSpeed stage 2"},
        {"shard-grad-op", "and weights at rest, gathered once: FSDP's SHARD_GRAD_OP, often called ZeRO-2"},
        {"zero-3", "and weights, gathered twice: DeepSpeed stage 3, FSDP's FULL_SHARD"},
        {"hsdp", "the same inside groups: FSDP's HYBRID_SHARD"},
        {"data", "nothing: DDP, FSDP's NO_SHARD"}}},
      {"model parallelism",
       {"mp"},
       "Is a single operator split, or are whole layers on different devices?",
       {{"megatron-layer", "Megatron-LM 2019: operators"}, {"pipeline", "layers"}, {"expert", "experts"}}},
      {"expert data or tensor",
       {"expert tensor", "etp"},
       "Is the expert rank split, or the ffn rank inside each expert?",
       {{"expert", "e: GShard, DeepSpeed-MoE"}, {"megatron-mlp", "f inside an expert: Megatron-Core's ETP"}}}};
  return kTerms;
}

Result<SchemeTerm> find_scheme(std::string_view text) {
  for (const NamedScheme& scheme : named_schemes()) {
    if (joined(scheme.name) == joined(text)) return SchemeTerm{&scheme, nullptr};
  }
  for (const AmbiguousTerm& term : ambiguous_terms()) {
    if (means(text, term.name)) return SchemeTerm{nullptr, &term};
    for (const std::string& synonym : term.synonyms) {
      if (means(text, synonym)) return SchemeTerm{nullptr, &term};
    }
  }
  for (const NamedScheme& scheme : named_schemes()) {
    if (means(text, scheme.name)) return SchemeTerm{&scheme, nullptr};
    for (const std::string& synonym : scheme.synonyms) {
      if (means(text, synonym)) return SchemeTerm{&scheme, nullptr};
    }
  }
  const std::vector<std::string> nearest = nearest_schemes(text);
  std::string hint;
  for (const std::string& name : nearest) hint += (hint.empty() ? "did you mean " : ", ") + in_quotes(name);
  if (!hint.empty()) hint += "? ";
  return fail(fmt::format("no parallel scheme is called {}", in_quotes(std::string(text))),
              hint + "`einflow explain schemes` lists all");
}

std::vector<const AmbiguousTerm*> questions_of(const NamedScheme& scheme) {
  std::vector<const AmbiguousTerm*> terms;
  for (const AmbiguousTerm& term : ambiguous_terms()) {
    for (const auto& [name, who] : term.readings) {
      if (name == scheme.name) terms.push_back(&term);
    }
  }
  return terms;
}

SchemeSizes sizes_for(const NamedScheme& scheme, SchemeSizes sizes) {
  for (;;) {
    SizeReader reader(sizes);
    if (!scheme.build(reader)) return sizes;
    const auto unused = reader.unused();
    if (!unused) return sizes;
    sizes.ranks.erase(*unused);
  }
}

Result<Scheme> build_scheme(const NamedScheme& named, const SchemeSizes& sizes) {
  for (const auto& [rank, extent] : sizes.ranks) {
    // So that products of two fit: m = b s.
    if (extent < 1 || extent > (std::int64_t{1} << 31)) {
      return fail(fmt::format("rank {} has the extent {}, expected 1 to 2^31", in_quotes(rank), extent));
    }
  }
  const std::int64_t microbatches = sizes.microbatches.value_or(1);
  if (microbatches < 1 || microbatches > (std::int64_t{1} << 20)) {
    return fail(fmt::format("found {} microbatches, expected 1 to 2^20", microbatches));
  }
  SizeReader reader(sizes);
  auto scheme = named.build(reader);
  if (!scheme) return scheme;
  if (const auto unused = reader.unused()) {
    return fail(fmt::format("{} has no rank {}", named.name, in_quotes(*unused)),
                name_hint(*unused, reader.names(), "its ranks"));
  }
  return scheme;
}

}  // namespace einflow::cluster
