// The blocks of a transformer: embedding, layers, head.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "cluster/blocks_build.hpp"

namespace einflow::cluster {

namespace {

constexpr std::int64_t kMaximumTokens = std::int64_t{1} << 40;

Result<void> check_workload(const Transformer& model, const Workload& workload) {
  Diagnostics errors;
  const auto fault = [&](std::string message) { errors.push_back({{}, std::move(message), {}, {}}); };
  const std::array<std::pair<const char*, std::int64_t>, 3> sizes{
      {{"sequences", workload.batch}, {"queries", workload.queries}, {"keys", workload.keys}}};
  for (const auto& [what, size] : sizes) {
    if (size < 1 || size > kMaximumTokens) fault(fmt::format("{} {}, expected 1 to 2^40", size, what));
  }
  if (workload.keys < workload.queries) {
    fault(fmt::format("{} keys for {} queries: the new tokens are among the keys", workload.keys, workload.queries));
  }
  if (workload.phase == Phase::training && workload.keys != workload.queries) {
    fault(fmt::format("{} keys for {} queries: in training every token is both", workload.keys, workload.queries));
  }
  if (model.positions > 0 && workload.keys > model.positions) {
    fault(fmt::format("{} tokens, but {} has {} learned positions", workload.keys,
                      model.name.empty() ? "the model" : model.name, model.positions));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return {};
}

Block embedding_block(const Transformer& model, const Workload& workload) {
  BlockBuilder builder("embedding", model, workload);
  builder.rank('b', workload.batch);
  builder.rank('s', workload.queries);
  builder.rank('i', model.hidden);
  builder.rank('v', model.vocabulary);
  const std::string tokens = builder.given({"Tokens", "bs", Role::tokens, 32});
  const std::string table = builder.given({"E", "vi", Role::weight});
  const OperationForm lookup{.map = "lookup", .reduce = "+"};
  std::string x = builder.apply(OperationKind::embedding, "embedding", {tokens, table},
                                {model.positions > 0 ? "Embedded" : "X", "bsi"}, lookup);
  if (model.positions > 0) {
    builder.rank('p', model.positions);
    const std::string places = builder.given({"Places", "s", Role::tokens, 32});
    const std::string rows = builder.given({"Epositions", "pi", Role::weight});
    const std::string position =
        builder.apply(OperationKind::embedding, "positions", {places, rows}, {"Position", "si"}, lookup);
    x = builder.apply(OperationKind::sum, "sum of positions", {x, position}, {"X", "bsi"}, {.map = "+"});
  }
  x = builder.dropped(x);
  return builder.finish("Tokens", x, 1);
}

/// Places of each expert for tokens.
Result<std::int64_t> tokens_of_an_expert(const Experts& experts, const Workload& workload) {
  const Count chosen = Count(workload.batch) * Count(workload.queries) * Count(experts.chosen);
  const auto places = ceil_div(chosen, Count(experts.count)).to_int64();
  if (chosen.overflowed() || !places) return fail("the experts have more than 2^63 tokens");
  return *places;
}

void declare_attention_ranks(BlockBuilder& builder) {
  const Transformer& model = builder.model();
  const Workload& workload = builder.workload();
  // A cache forgets what the window of its oldest new query does not reach.
  const bool forgets = model.window > 0 && workload.phase != Phase::training;
  builder.rank('b', workload.batch);
  builder.rank('s', workload.queries);
  builder.rank('t', forgets ? std::min(workload.keys, model.window + workload.queries - 1) : workload.keys);
  builder.rank('i', model.hidden);
  if (!model.latent) {
    builder.rank('g', model.kv_heads);
    builder.rank('u', model.heads / model.kv_heads);
    builder.rank('d', model.head_dim);
    return;
  }
  builder.rank('g', model.heads);
  builder.rank('u', 1);
  if (model.latent->query_rank > 0) builder.rank('q', model.latent->query_rank);
  builder.rank('l', model.latent->key_value_rank);
  builder.rank('n', model.latent->nope_dim);
  builder.rank('r', model.latent->rope_dim);
  builder.rank('m', model.latent->value_dim);
}

Result<Block> layer_block(const Transformer& model, const Workload& workload, bool experts, std::int64_t repeat) {
  BlockBuilder builder(experts ? "expert layer" : "layer", model, workload);
  declare_attention_ranks(builder);
  builder.rank('f', experts ? model.experts->ffn : model.ffn);
  if (experts) {
    const auto places = tokens_of_an_expert(*model.experts, workload);
    if (!places) return tl::unexpected(places.error());
    builder.rank('x', model.experts->count);
    builder.rank('e', model.experts->count);
    builder.rank('c', *places);
    if (model.experts->shared > 0) builder.rank('j', model.experts->shared);
  }
  const OperationForm plus{.map = "+"};
  const std::string x = builder.given({"X", "bsi"});
  const std::string normed =
      builder.norm("norm before attention", x, {"Xnormed", "bsi"}, model.norm, 'i', "_attention");
  const std::string attended =
      builder.dropped(model.latent ? add_latent_attention(builder, normed) : add_attention(builder, normed));
  const std::string middle =
      builder.apply(OperationKind::sum, "residual of attention", {x, attended}, {"Z", "bsi"}, plus);
  const std::string middle_normed =
      builder.norm("norm before feed-forward", middle, {"Znormed", "bsi"}, model.norm, 'i', "_ffn");
  const std::string down =
      builder.dropped(experts ? add_experts(builder, middle_normed) : add_feed_forward(builder, middle_normed));
  const std::string y =
      builder.apply(OperationKind::sum, "residual of feed-forward", {middle, down}, {"Y", "bsi"}, plus);
  return builder.finish(x, y, repeat);
}

Block head_block(const Transformer& model, const Workload& workload) {
  BlockBuilder builder("head", model, workload);
  builder.rank('b', workload.batch);
  builder.rank('s', workload.phase == Phase::prefill ? 1 : workload.queries);
  builder.rank('i', model.hidden);
  builder.rank('v', model.vocabulary);
  const std::string x = builder.given({"X", "bsi"});
  const std::string normed = builder.norm("final norm", x, {"Xnormed", "bsi"}, model.norm, 'i', "_final");
  const NewTensor weight = model.tied ? NewTensor{"E", "vi"} : NewTensor{"Wlogits", "iv"};
  std::string result = builder.product("logits", {normed}, weight, {"Logits", "bsv", Role::activation, 32});
  if (builder.training()) {
    const std::string targets = builder.given({"Targets", "bs", Role::tokens, 32});
    result = builder.apply(OperationKind::loss, "loss", {result, targets}, {"Loss", "bs", Role::statistics, 32},
                           {.map = "cross_entropy", .reduce = "+", .along = "v"});
  }
  Block block = builder.finish(x, result, 1);
  for (ModelTensor& tensor : block.tensors) tensor.elsewhere = model.tied && tensor.name == "E";
  return block;
}

}  // namespace

Result<std::vector<Block>> blocks_of(const Transformer& model, const Workload& workload) {
  if (auto checked = check(model); !checked) return tl::unexpected(checked.error());
  if (auto checked = check_workload(model, workload); !checked) return tl::unexpected(checked.error());
  std::vector<Block> blocks{embedding_block(model, workload)};
  const std::int64_t with_experts =
      model.experts ? (model.layers - model.experts->dense_layers) / model.experts->every : 0;
  for (const bool experts : {false, true}) {
    const std::int64_t repeat = experts ? with_experts : model.layers - with_experts;
    if (repeat == 0) continue;
    auto block = layer_block(model, workload, experts, repeat);
    if (!block) return tl::unexpected(block.error());
    blocks.push_back(std::move(*block));
  }
  blocks.push_back(head_block(model, workload));
  Count flops = 0;
  for (const Block& block : blocks) {
    for (const Operation& operation : block.operations) flops += operation.forward_flops + operation.backward_flops;
  }
  if (flops.overflowed()) return fail("the model has more than 2^127 operations");
  return blocks;
}

}  // namespace einflow::cluster
