// Attention: projections, rotary embedding, scores, softmax, context.
#include <fmt/format.h>

#include <algorithm>

#include "notation/huggingface/network.hpp"

namespace einflow::huggingface {

namespace {

/// x cos + rotate(x) sin of the first `rotated` elements of every head.
void add_rotary(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, std::int64_t tokens,
                std::int64_t heads, std::int64_t rotated) {
  const RankSizes sizes{{"m", tokens}, {"h", heads}, {"e", rotated}};
  builder.add(name, repeat,
              std::vector<Einsum>{einsum_of("cos", "C[m,h,e] = X[m,h,e] * T[m,e]", sizes),
                                  einsum_of("sin", "S[m,h,e] = V[m,h,e] * U[m,e]", sizes),
                                  einsum_of("add", "Y[m,h,e] = C[m,h,e] + S[m,h,e]", sizes)});
}

struct Product {
  std::int64_t heads;
  std::int64_t kv_heads;
  std::int64_t scored;  ///< elements of a query and a key
  std::int64_t value;   ///< elements of a value
};

/// Scores, softmax and context of `repeat` layers; with a window of 0 every earlier token is seen.
void add_products(NetworkBuilder& builder, const std::string& prefix, std::int64_t repeat, const Model& model,
                  const Pass& pass, const Product& product, std::int64_t window) {
  if (repeat < 1) return;
  Attention shape;
  shape.batch = pass.batch;
  shape.heads = product.heads;
  shape.kv_heads = product.kv_heads;
  shape.queries = pass.queries;
  shape.keys = window > 0 ? std::min(pass.context, pass.queries + window - 1) : pass.context;
  shape.head_dim = product.scored;
  // A single query sees all keys that are there.
  shape.causal = model.attention.causal && pass.queries > 1;
  shape.window = shape.causal && window < shape.keys ? window : 0;
  auto scores = attention_scores(shape);
  const ExecutedShare executed = scores ? scores->executed : ExecutedShare{};
  builder.add(prefix + "scores", repeat, std::move(scores));
  const bool grouped = shape.heads != shape.kv_heads;
  const std::string rows = grouped ? "b,g,u,q" : "b,h,q";
  const RankSizes sizes{{"b", shape.batch},    {"h", shape.heads},
                        {"g", shape.kv_heads}, {"u", shape.heads / shape.kv_heads},
                        {"q", shape.queries},  {"t", shape.keys}};
  if (model.attention.softcap) {
    std::vector<Einsum> parts{
        einsum_of("divide", fmt::format("D[{0},t] = S[{0},t] / C", rows), sizes),
        einsum_of("tanh", fmt::format("T[{0},t] = tanh(D[{0},t])", rows), sizes),
        einsum_of("multiply", fmt::format("L[{0},t] = T[{0},t] * C", rows), sizes),
    };
    for (Einsum& part : parts) part.executed = executed;
    builder.add(prefix + "softcap", repeat, std::move(parts));
  }
  builder.add(prefix + "softmax", repeat, softmax_of(rows, "t", sizes, executed));
  shape.head_dim = product.value;
  builder.add(prefix + "context", repeat, attention_context(shape));
}

void add_plain(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const AttentionBlock& block = model.attention;
  const std::int64_t layers = model.layers;
  const std::int64_t m = pass.tokens;
  const std::int64_t q = block.heads * block.head_dim;
  const std::int64_t kv = block.kv_heads * block.head_dim;
  if (block.fused_qkv) {
    add_projection(builder, "qkv_proj", layers, model, m, model.hidden, q + 2 * kv, block.qkv_bias);
  } else {
    add_projection(builder, "q_proj", layers, model, m, model.hidden, q, block.qkv_bias);
    add_projection(builder, "k_proj", layers, model, m, model.hidden, kv, block.qkv_bias);
    add_projection(builder, "v_proj", layers, model, m, model.hidden, kv, block.qkv_bias);
  }
  if (block.qk_norm) {
    for (const auto& [name, heads] : {std::pair("q_norm", block.heads), std::pair("k_norm", block.kv_heads)}) {
      add_norm(builder, name, layers, NormKind::rms, true, "m,h", {{"m", m}, {"h", heads}, {"e", block.head_dim}},
               block.head_dim);
    }
  }
  if (block.rotary > 0) {
    add_rotary(builder, "q_rotary", layers, m, block.heads, block.rotary);
    add_rotary(builder, "k_rotary", layers, m, block.kv_heads, block.rotary);
  }
  const Product product{block.heads, block.kv_heads, block.head_dim, block.head_dim};
  const bool mixed = block.windowed > 0 && block.windowed < layers;
  add_products(builder, "", layers - block.windowed, model, pass, product, 0);
  add_products(builder, mixed ? "window_" : "", block.windowed, model, pass, product, block.window);
  add_projection(builder, "o_proj", layers, model, m, q, model.hidden, block.output_bias);
}

void add_latent(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const AttentionBlock& block = model.attention;
  const LatentAttention& latent = *block.latent;
  const std::int64_t layers = model.layers;
  const std::int64_t m = pass.tokens;
  const std::int64_t heads = block.heads;
  const std::int64_t q = heads * (latent.nope + latent.rope);
  if (latent.q_rank) {
    add_projection(builder, "q_a_proj", layers, model, m, model.hidden, *latent.q_rank, block.qkv_bias);
    add_norm(builder, "q_a_norm", layers, NormKind::rms, true, "m", {{"m", m}, {"i", *latent.q_rank}}, *latent.q_rank);
    add_projection(builder, "q_b_proj", layers, model, m, *latent.q_rank, q, false);
  } else {
    add_projection(builder, "q_proj", layers, model, m, model.hidden, q, false);
  }
  add_projection(builder, "kv_a_proj", layers, model, m, model.hidden, latent.kv_rank + latent.rope, block.qkv_bias);
  add_norm(builder, "kv_a_norm", layers, NormKind::rms, true, "m", {{"m", m}, {"i", latent.kv_rank}}, latent.kv_rank);
  add_rotary(builder, "q_rotary", layers, m, heads, latent.rope);
  add_rotary(builder, "k_rotary", layers, m, 1, latent.rope);
  if (pass.absorbed) {
    const RankSizes sizes{{"m", m}, {"h", heads}, {"e", latent.nope}, {"f", latent.value}, {"c", latent.kv_rank}};
    builder.add("k_b_proj", layers, std::vector<Einsum>{einsum_of("", "A[m,h,c] += Q[m,h,e] * W[h,e,c]", sizes)},
                weights({heads, latent.nope, latent.kv_rank}));
    add_products(builder, "", layers, model, pass, {heads, 1, latent.kv_rank + latent.rope, latent.kv_rank}, 0);
    builder.add("v_b_proj", layers, std::vector<Einsum>{einsum_of("", "V[m,h,f] += O[m,h,c] * W[h,f,c]", sizes)},
                weights({heads, latent.value, latent.kv_rank}));
  } else {
    const std::int64_t keys = pass.batch * pass.context;
    add_projection(builder, "kv_b_proj", layers, model, keys, latent.kv_rank, heads * (latent.nope + latent.value),
                   false);
    add_products(builder, "", layers, model, pass, {heads, heads, latent.nope + latent.rope, latent.value}, 0);
  }
  add_projection(builder, "o_proj", layers, model, m, heads * latent.value, model.hidden, block.output_bias);
}

}  // namespace

void add_attention(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const std::int64_t m = pass.tokens;
  add_norm(builder, "attention_norm", model.layers, model.norm, model.norm_weights, "m",
           {{"m", m}, {"i", model.hidden}}, model.hidden);
  model.attention.latent ? add_latent(builder, model, pass) : add_plain(builder, model, pass);
  if (model.output_norms) {
    add_norm(builder, "attention_output_norm", model.layers, model.norm, model.norm_weights, "m",
             {{"m", m}, {"i", model.hidden}}, model.hidden);
  }
  add_sum(builder, "attention_residual", model.layers, m, model.hidden);
}

}  // namespace einflow::huggingface
