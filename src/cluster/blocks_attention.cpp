// Attention: multi-head with grouped keys and values, and multi-head latent (DeepSeek-V2, arXiv:2405.04434, 2.1).
#include <string>

#include "cluster/blocks_build.hpp"

namespace einflow::cluster {

namespace {

/// The keys or values of the new tokens under the rank t. In inference they join the cache.
std::string by_key(BlockBuilder& builder, const std::string& input, const std::string& name, std::string ranks) {
  ranks[ranks.find('s')] = 't';
  return builder.apply(OperationKind::rename, input + " by key", {input},
                       {name, ranks, builder.training() ? Role::activation : Role::cache},
                       {.map = "copy", .reduce = "", .along = {}, .renames = {{"s", "t"}}});
}

}  // namespace

std::string add_attention_core(BlockBuilder& builder, const std::vector<std::string>& queries,
                               const std::vector<std::string>& keys, const std::string& values,
                               std::string_view context_ranks) {
  if (builder.workload().flash) {
    std::vector<std::string> inputs = queries;
    inputs.insert(inputs.end(), keys.begin(), keys.end());
    inputs.push_back(values);
    builder.apply(OperationKind::attention, "attention", inputs, {"Context", context_ranks},
                  {.map = "attention", .reduce = "log-sum-exp", .along = "t"});
    if (builder.training()) {
      builder.given({"LogSumExp", "bgus", Role::statistics, 32});
      builder.last().also_writes = {"LogSumExp"};
    }
    return "Context";
  }
  std::string scores;
  for (std::size_t part = 0; part < queries.size(); ++part) {
    const std::string suffix = queries.size() > 1 ? "_" + std::to_string(part + 1) : "";
    const std::string term =
        builder.product("scores" + suffix, {queries[part], keys[part]}, {"Scores" + suffix, "bgust"});
    scores = part == 0 ? term
                       : builder.apply(OperationKind::sum, "sum of scores", {scores, term}, {"Scores", "bgust"},
                                       {.map = "+"});
  }
  const std::string probabilities =
      builder.apply(OperationKind::softmax, "softmax", {scores}, {"Probabilities", "bgust"},
                    {.map = "softmax", .reduce = "", .along = "t"});
  return builder.product("context", {builder.dropped(probabilities), values}, {"Context", context_ranks});
}

std::string add_attention(BlockBuilder& builder, const std::string& input) {
  std::string q = builder.product("queries", {input}, {"Wq", "igud"}, {"Q", "bsgud"});
  std::string k = builder.product("keys", {input}, {"Wk", "igd"}, {"K", "bsgd"});
  std::string v = builder.product("values", {input}, {"Wv", "igd"}, {"V", "bsgd"});
  q = builder.biased(q, "Bq", "gud");
  k = by_key(builder, builder.biased(k, "Bk", "gd"), "Kt", "bsgd");
  v = by_key(builder, builder.biased(v, "Bv", "gd"), "Vt", "bsgd");
  const std::string context = add_attention_core(builder, {q}, {k}, v, "bsgud");
  const std::string projected = builder.product("out projection", {context}, {"Wo", "gudi"}, {"Attended", "bsi"});
  return builder.biased(projected, "Bo", "i");
}

std::string add_latent_attention(BlockBuilder& builder, const std::string& input) {
  const bool direct = builder.model().latent->query_rank == 0;
  std::string from = input;
  if (!direct) {
    from = builder.product("query latent", {input}, {"Wq_down", "iq"}, {"Qlatent", "bsq"});
    from = builder.norm("norm of query latent", from, {"Qlatent_normed", "bsq"}, Norm::rms, 'q', "_q");
  }
  const std::string q = builder.product("queries", {from}, {"Wq", direct ? "igun" : "qgun"}, {"Q", "bsgun"});
  const std::string q_rope =
      builder.product("rotated queries", {from}, {"Wq_rope", direct ? "igur" : "qgur"}, {"Qrope", "bsgur"});
  std::string latent = builder.product("key-value latent", {input}, {"Wkv_down", "il"}, {"KVlatent", "bsl"});
  latent = builder.norm("norm of key-value latent", latent, {"KVlatent_normed", "bsl"}, Norm::rms, 'l', "_kv");
  const std::string k_rope = builder.product("rotated key", {input}, {"Wk_rope", "ir"}, {"Krope", "bsr"});

  std::string context;
  if (builder.workload().phase == Phase::decode) {
    const std::string cached = by_key(builder, latent, "KVlatent_t", "bsl");
    const std::string cached_rope = by_key(builder, k_rope, "Krope_t", "bsr");
    const std::string absorbed = builder.product("queries of latents", {q}, {"Wk", "lgn"}, {"Qabsorbed", "bsgul"});
    context = add_attention_core(builder, {absorbed, q_rope}, {cached, cached_rope}, cached, "bsgul");
    context = builder.product("values of context", {context}, {"Wv", "lgm"}, {"ContextValues", "bsgum"});
  } else if (builder.training()) {
    const std::string k = builder.product("keys", {latent}, {"Wk", "lgn"}, {"K", "bsgn"});
    const std::string v = builder.product("values", {latent}, {"Wv", "lgm"}, {"V", "bsgm"});
    context = add_attention_core(builder, {q, q_rope},
                                 {by_key(builder, k, "Kt", "bsgn"), by_key(builder, k_rope, "Krope_t", "bsr")},
                                 by_key(builder, v, "Vt", "bsgm"), "bsgum");
  } else {
    // Latent vectors of all tokens so far come from the cache: keys and values of a chunk are made of them again.
    const std::string cached = by_key(builder, latent, "KVlatent_t", "bsl");
    const std::string cached_rope = by_key(builder, k_rope, "Krope_t", "bsr");
    const std::string k = builder.product("keys", {cached}, {"Wk", "lgn"}, {"Kt", "btgn"});
    const std::string v = builder.product("values", {cached}, {"Wv", "lgm"}, {"Vt", "btgm"});
    context = add_attention_core(builder, {q, q_rope}, {k, cached_rope}, v, "bsgum");
  }
  return builder.product("out projection", {context}, {"Wo", "gumi"}, {"Attended", "bsi"});
}

}  // namespace einflow::cluster
