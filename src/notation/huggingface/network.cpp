#include "notation/huggingface/network.hpp"

#include <fmt/format.h>

namespace einflow::huggingface {

namespace {

void add_embeddings(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const std::int64_t width = model.embedding > 0 ? model.embedding : model.hidden;
  const std::int64_t m = pass.tokens;
  if (model.vision) {
    const Vision& vision = *model.vision;
    Convolution shape;
    shape.batch = pass.batch;
    shape.in_channels = vision.channels;
    shape.out_channels = model.hidden;
    shape.axes.assign(2, ConvolutionAxis{vision.image, vision.patch, vision.patch});
    const Weights filters = weights({model.hidden, vision.channels, vision.patch, vision.patch});
    auto patches = convolution(shape);
    if (patches) {
      patches->name = "conv";
      const std::int64_t side = vision.image / vision.patch;
      builder.add(
          "patch_embedding", 1,
          std::vector<Einsum>{*patches, einsum_of("bias", "Z[n,k,p,q] = O[n,k,p,q] + B[k]",
                                                  {{"n", pass.batch}, {"k", model.hidden}, {"p", side}, {"q", side}})},
          filters + weights({model.hidden}));
    } else {
      builder.add("patch_embedding", 1, std::move(patches));
    }
    builder.leave("class_token", "concatenate", 1, "a copy of one row in front of each image's patches",
                  weights({model.hidden}));
  } else {
    builder.leave("embedding", "gather", 1, "rows of a table are copied, nothing is computed",
                  weights({model.vocabulary, width}));
  }
  if (model.scaled_embedding) {
    builder.add("embedding_scale", 1,
                std::vector<Einsum>{einsum_of("", "Y[m,i] = X[m,i] * C", {{"m", m}, {"i", width}})});
  }
  if (model.token_types > 0) {
    builder.leave("token_type_embedding", "gather", 1, "rows of a table are copied",
                  weights({model.token_types, width}));
    add_sum(builder, "token_type_add", 1, m, width);
  }
  if (width != model.hidden) add_projection(builder, "project_in", 1, model, m, width, model.hidden, false);
  if (model.positions > 0) {
    if (model.vision) {
      builder.add("position_embedding", 1,
                  std::vector<Einsum>{einsum_of("", "Y[b,q,i] = X[b,q,i] + P[q,i]",
                                                {{"b", pass.batch}, {"q", pass.queries}, {"i", model.hidden}})},
                  weights({model.positions, model.hidden}));
    } else {
      builder.leave("position_embedding", "gather", 1, "rows of a table are copied",
                    weights({model.positions, model.hidden}));
      add_sum(builder, "position_add", 1, m, model.hidden);
    }
  }
  if (model.embedding_norm) {
    add_norm(builder, "embedding_norm", 1, model.norm, model.norm_weights, "m", {{"m", m}, {"i", model.hidden}},
             model.hidden);
  }
}

void add_head(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const std::int64_t width = model.embedding > 0 ? model.embedding : model.hidden;
  const bool all = model.head == Head::none || !pass.last_only;
  if (model.final_norm) {
    add_norm(builder, "final_norm", 1, model.norm, model.norm_weights, "m", {{"m", pass.tokens}, {"i", model.hidden}},
             model.hidden);
  }
  if (width != model.hidden) add_projection(builder, "project_out", 1, model, pass.tokens, model.hidden, width, false);
  std::int64_t rows = all ? pass.tokens : pass.batch;
  if (model.head == Head::none) return;
  if (model.head == Head::pooler || model.head == Head::classifier) {
    rows = pass.batch;
    const bool pooler = model.head == Head::pooler;
    add_projection(builder, pooler ? "pooler" : "classifier", 1, model, rows, model.hidden,
                   pooler ? model.hidden : model.vision->labels, true);
    if (pooler) {
      builder.add("pooler_tanh", 1,
                  std::vector<Einsum>{einsum_of("", "T[m,o] = tanh(Y[m,o])", {{"m", rows}, {"o", model.hidden}})});
    }
    return;
  }
  if (model.head == Head::masked_language_model) {
    add_projection(builder, "head_transform", 1, model, rows, model.hidden, model.hidden, true);
    builder.add("head_" + model.mlp.activation, 1,
                std::vector<Einsum>{einsum_of("", fmt::format("A[m,i] = {}(Y[m,i])", model.mlp.activation),
                                              {{"m", rows}, {"i", model.hidden}})});
    add_norm(builder, "head_norm", 1, model.norm, true, "m", {{"m", rows}, {"i", model.hidden}}, model.hidden);
  }
  Weights own;
  if (!model.tied) own = own + weights({width, model.vocabulary});
  if (model.head_bias) own = own + weights({model.vocabulary});
  std::vector<Einsum> einsums{linear(rows, width, model.vocabulary)};
  if (model.head_bias) {
    einsums.front().name = "linear";
    einsums.push_back(einsum_of("bias", "Z[m,o] = Y[m,o] + B[o]", {{"m", rows}, {"o", model.vocabulary}}));
  }
  builder.add("lm_head", 1, std::move(einsums), own);
  if (model.head_softcap) {
    const RankSizes sizes{{"m", rows}, {"o", model.vocabulary}};
    builder.add("logit_softcap", 1,
                std::vector<Einsum>{einsum_of("divide", "D[m,o] = Y[m,o] / C", sizes),
                                    einsum_of("tanh", "T[m,o] = tanh(D[m,o])", sizes),
                                    einsum_of("multiply", "L[m,o] = T[m,o] * C", sizes)});
  }
}

/// What every model of a kind has and no einsum stands for.
void leave_the_rest(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const std::int64_t layers = model.layers;
  builder.leave("attention_scale", "multiply by 1/sqrt(head_dim)", layers,
                "one multiplication of a constant, folded into the queries or the exponent");
  if (model.attention.causal && pass.queries > 1) {
    builder.leave("causal_mask", "mask", layers, "the executed share of scores and softmax stands for it");
  }
  if (model.attention.rotary > 0 || model.attention.latent) {
    builder.leave("rotary_table", "cos, sin", 1, "computed once for all layers and kept");
  }
  std::int64_t norms = layers * (model.one_norm ? 1 : 2) * (model.output_norms ? 2 : 1) + (model.final_norm ? 1 : 0) +
                       (model.embedding_norm ? 1 : 0) + (model.head == Head::masked_language_model ? 1 : 0);
  if (model.attention.qk_norm) norms += 2 * layers;
  if (model.attention.latent) norms += layers * (model.attention.latent->q_rank ? 2 : 1);
  builder.leave("norms", "mean and epsilon", norms,
                "a division and an addition for each row, folded into the reciprocal root");
  builder.leave("attention", "reshape, transpose, concatenate, cache update", layers,
                "elements are moved or copied, nothing is computed");
  if (!model.experts) return;
  const std::int64_t moe = model.experts->layers;
  builder.leave("router", "top-k", moe, "a choice by comparison; the law counts no sorting");
  builder.leave("experts", "gather and scatter of tokens", moe, "rows are copied to their experts and back");
}

/// Whether a sum that a view may form overflows.
bool leaves_128_bits(const Document& document) {
  Count all = 0;
  for (const DocumentLayer& layer : document.layers) {
    for (const Einsum& einsum : layer.cascade.einsums) all += einsum.operations() * Count(2) * Count(layer.repeat);
  }
  bool overflowed = all.overflowed();
  for (const DocumentFigure& figure : document.figures) overflowed = overflowed || figure.value.overflowed();
  return overflowed;
}

}  // namespace

void add_norm(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, NormKind kind, bool weighted,
              const std::string& rows, RankSizes sizes, std::int64_t width) {
  const std::string axis = std::prev(sizes.end())->first;
  const std::string all = rows + "," + axis;
  std::vector<Einsum> parts;
  const auto add = [&](const char* part, const std::string& text) { parts.push_back(einsum_of(part, text, sizes)); };
  if (kind == NormKind::rms) {
    add("square_sum", fmt::format("A[{}] += square(X[{}])", rows, all));
    add("rsqrt", fmt::format("R[{0}] = rsqrt(A[{0}])", rows));
    add("scale", fmt::format("N[{0}] = X[{0}] * R[{1}]", all, rows));
    if (weighted) add("gain", fmt::format("Y[{0}] = N[{0}] * W[{1}]", all, axis));
    builder.add(name, repeat, std::move(parts), weighted ? weights({width}) : Weights{});
    return;
  }
  add("mean", fmt::format("A[{}] += X[{}]", rows, all));
  add("center", fmt::format("C[{0}] = X[{0}] - A[{1}]", all, rows));
  add("variance", fmt::format("V[{}] += square(C[{}])", rows, all));
  add("rsqrt", fmt::format("R[{0}] = rsqrt(V[{0}])", rows));
  add("scale", fmt::format("N[{0}] = C[{0}] * R[{1}]", all, rows));
  if (weighted) {
    add("gain", fmt::format("G[{0}] = N[{0}] * W[{1}]", all, axis));
    add("shift", fmt::format("Y[{0}] = G[{0}] + B[{1}]", all, axis));
  }
  builder.add(name, repeat, std::move(parts), weighted ? weights({2, width}) : Weights{});
}

void add_projection(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, const Model& model,
                    std::int64_t rows, std::int64_t in, std::int64_t out, bool bias) {
  const bool in_out = model.stored_in_out;
  std::vector<Einsum> parts{in_out ? matmul(rows, out, in) : linear(rows, in, out)};
  Weights own = in_out ? weights({in, out}) : weights({out, in});
  if (bias) {
    parts.front().name = "linear";
    const char* const to = in_out ? "n" : "o";
    parts.push_back(einsum_of("bias", fmt::format("Z[m,{0}] = Y[m,{0}] + B[{0}]", to), {{"m", rows}, {to, out}}));
    own = own + weights({out});
  }
  builder.add(name, repeat, std::move(parts), own);
}

void add_sum(NetworkBuilder& builder, const std::string& name, std::int64_t repeat, std::int64_t tokens,
             std::int64_t width) {
  builder.add(name, repeat,
              std::vector<Einsum>{einsum_of("", "Z[m,i] = X[m,i] + Y[m,i]", {{"m", tokens}, {"i", width}})});
}

std::vector<Einsum> softmax_of(const std::string& rows, const std::string& axis, RankSizes sizes,
                               const ExecutedShare& executed) {
  const std::string all = rows + "," + axis;
  std::vector<Einsum> parts{
      einsum_of("max", fmt::format("M[{}] max= S[{}]", rows, all), sizes),
      einsum_of("subtract", fmt::format("D[{0}] = S[{0}] - M[{1}]", all, rows), sizes),
      einsum_of("exp", fmt::format("E[{0}] = exp(D[{0}])", all), sizes),
      einsum_of("sum", fmt::format("L[{}] += E[{}]", rows, all), sizes),
      einsum_of("divide", fmt::format("P[{0}] = E[{0}] / L[{1}]", all, rows), sizes),
  };
  for (Einsum& part : parts) part.executed = executed;
  return parts;
}

Result<Document> network_of(const Model& model, const Pass& pass) {
  NetworkBuilder builder(model.type);
  builder.document().name = model.family;
  builder.document().conventions = model.conventions;
  add_embeddings(builder, model, pass);
  add_attention(builder, model, pass);
  add_feed_forward(builder, model, pass);
  add_head(builder, model, pass);
  leave_the_rest(builder, model, pass);
  add_figures(builder, model, pass);
  if (!builder.errors().empty()) return tl::unexpected(builder.errors());
  if (leaves_128_bits(builder.document())) return fail("the counts of the whole network leave 128 bits");
  return std::move(builder.document());
}

}  // namespace einflow::huggingface
