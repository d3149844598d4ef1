// Tensor parallelism on one axis: which rank of a weight is split.
#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

Result<Scheme> one_product(SizeReader& sizes, const std::string& name, const std::string& rank) {
  auto mesh = line_of(sizes, "tp");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder(name, *mesh, sizes);
  builder.product({"Y", "bsn"}, {"X", "bsk"}, {"W", "kn"}, {{rank, "tp"}});
  return builder.weight("W", {{"tp", split(rank)}}).done();
}

/// Y = gelu(X A) C, the ffn rank split; X and Y rest in the states `rest`.
void add_mlp(SchemeBuilder& builder, const std::string& input, const std::string& output,
             const std::vector<ParLoop>& par, const StateList& rest) {
  builder.product({"Z", "bsf"}, {input, "bsh"}, {"A", "hf"}, par)
      .add({"G", "bsf"}, "gelu", {{"Z", "bsf"}}, par)
      .product({output, "bsh"}, {"G", "bsf"}, {"C", "fh"}, par)
      .rest(input, rest)
      .rest(output, rest);
  StateList weights;
  for (const ParLoop& loop : par) weights.emplace_back(loop.axis, split(loop.rank));
  builder.weight("A", weights).weight("C", weights);
}

/// Projections, attention over the heads of each device, and the projection back.
void add_attention_layer(SchemeBuilder& builder, const std::string& input, const std::string& output,
                         const HeadSplit& heads, const StateList& rest) {
  builder.product({"Q", "bgusd"}, {input, "bsh"}, {"WQ", "hgud"}, heads.query)
      .product({"K", "bgsd"}, {input, "bsh"}, {"WK", "hgd"}, heads.key)
      .product({"V", "bgsd"}, {input, "bsh"}, {"WV", "hgd"}, heads.key);
  add_attention(builder, heads.query);
  builder.product({output, "bsh"}, {"O", "bgusd"}, {"WO", "gudh"}, heads.query);
  builder.rest(input, rest).rest(output, rest);
  builder.weight("WQ", heads.heads(true)).weight("WO", heads.heads(true));
  builder.weight("WK", heads.heads(false)).weight("WV", heads.heads(false));
}

Result<Scheme> mlp(SizeReader& sizes, const std::string& name, bool sequence) {
  auto mesh = line_of(sizes, "tp");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder(name, *mesh, sizes);
  add_mlp(builder, "X", "Y", {{"f", "tp"}}, sequence ? StateList{{"tp", split("s")}} : StateList{});
  return builder.done();
}

Result<Scheme> attention(SizeReader& sizes) {
  auto heads = heads_of(sizes, "tp");
  if (!heads) return tl::unexpected(heads.error());
  SchemeBuilder builder("megatron-attention", heads->mesh, sizes);
  add_attention_layer(builder, "X", "Y", *heads, {});
  return builder.done();
}

/// Norm, attention, residual, norm, MLP, residual. Of a norm only the gain is here: the rest of it is within a token.
Result<Scheme> layer(SizeReader& sizes, const std::string& name, bool sequence) {
  auto heads = heads_of(sizes, "tp");
  if (!heads) return tl::unexpected(heads.error());
  SchemeBuilder builder(name, heads->mesh, sizes);
  std::vector<ParLoop> tokens;
  std::vector<ParLoop> ffn;
  StateList rest;
  StateList gain_gradient;
  for (const MeshAxis& axis : heads->mesh.axes) {
    ffn.push_back({"f", axis.name});
    if (!sequence) continue;
    tokens.push_back({"s", axis.name});
    rest.emplace_back(axis.name, split("s"));
    gain_gradient.emplace_back(axis.name, partial());
  }
  builder.product({"N1", "bsh"}, {"X", "bsh"}, {"gain1", "h"}, tokens);
  add_attention_layer(builder, "N1", "P", *heads, rest);
  builder.add({"R", "bsh"}, "+", {{"X", "bsh"}, {"P", "bsh"}}, tokens)
      .product({"N2", "bsh"}, {"R", "bsh"}, {"gain2", "h"}, tokens);
  add_mlp(builder, "N2", "F", ffn, rest);
  builder.add({"Y", "bsh"}, "+", {{"R", "bsh"}, {"F", "bsh"}}, tokens);
  builder.rest("X", rest).rest("R", rest).rest("Y", rest);
  for (const char* gain : {"gain1", "gain2"}) builder.weight(gain, {}, gain_gradient, {});
  return builder.done();
}

Result<Scheme> vocabulary(SizeReader& sizes) {
  auto mesh = line_of(sizes, "tp");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("vocabulary", *mesh, sizes);
  const std::vector<ParLoop> par{{"v", "tp"}};
  builder.product({"X", "bsh"}, {"token", "bsv"}, {"E", "vh"}, par)
      .product({"logits", "bsv"}, {"X", "bsh"}, {"U", "hv"}, par)
      .maximum({"max", "bs"}, {"logits", "bsv"}, par)
      .add({"diff", "bsv"}, "-", {{"logits", "bsv"}, {"max", "bs"}}, par)
      .add({"exp", "bsv"}, "exp", {{"diff", "bsv"}}, par)
      .add({"sum", "bs"}, "*", {{"exp", "bsv"}}, par)
      .product({"hit", "bs"}, {"target", "bsv"}, {"diff", "bsv"}, par)
      .add({"log", "bs"}, "log", {{"sum", "bs"}})
      .add({"loss", "bs"}, "-", {{"log", "bs"}, {"hit", "bs"}});
  builder.constant("token").constant("target");
  return builder.weight("E", {{"tp", split("v")}}).weight("U", {{"tp", split("v")}}).done();
}

const char* const kScores =
    "scores are einsums here; FlashAttention keeps them on the chip and moves the same between "
    "devices";
const char* const kNorm = "of a norm only the gain is an einsum: the rest of it is within a token and moves nothing";

}  // namespace

std::vector<NamedScheme> tensor_schemes() {
  return {
      {"column",
       {"column tensor parallel", "ColwiseParallel", "ColumnParallelLinear", "1D column", "OUTP"},
       "Each device computes some columns of the output: the weight is split along the output's rank.",
       "n of W and Y; X is whole",
       "tp",
       true,
       {},
       {},
       [](SizeReader& sizes) { return one_product(sizes, "column", "n"); }},
      {"row",
       {"row tensor parallel", "RowwiseParallel", "RowParallelLinear", "1D row", "INPP"},
       "Each device has some rows of the weight and computes a term of every output: the rank that is summed over is "
       "split.",
       "k of X and W; Y is a partial sum",
       "tp",
       true,
       {},
       {},
       [](SizeReader& sizes) { return one_product(sizes, "row", "k"); }},
      {"megatron-mlp",
       {"column-row", "column row pair", "megatron pair", "1D tensor parallel", "MLP tensor parallel", "MLP"},
       "Column, then row: the split rank f is inside the pair only, so nothing moves between the two products.",
       "f of A, Z, G and C; X and Y are whole",
       "tp",
       true,
       {},
       {},
       [](SizeReader& sizes) { return mlp(sizes, "megatron-mlp", false); }},
      {"megatron-attention",
       {"head parallel", "attention tensor parallel", "attention heads", "heads", "attention"},
       "Each device has some heads: their projections, scores and context, and its rows of the projection back.",
       "g (and u) of WQ, WK, WV, Q, K, V, scores, WO; X and Y are whole",
       "tp, or tp_g x tp_u",
       true,
       {kScores, "with more devices than KV heads, K and V are whole on tp_u: u query heads share a KV head"},
       {},
       attention},
      {"megatron-layer",
       {"megatron block", "transformer layer", "transformer tensor parallel"},
       "A transformer layer of both pairs, attention by heads and MLP by f; between them everything is whole.",
       "g (and u) in attention, f in the MLP; what is between them is whole",
       "tp, or tp_g x tp_u",
       true,
       {kScores, kNorm},
       {},
       [](SizeReader& sizes) { return layer(sizes, "megatron-layer", false); }},
      {"megatron-sp-mlp",
       {"megatron sequence parallel MLP", "megatron-sp pair"},
       "The column-row pair whose input and output rest split along the sequence.",
       "f of A, Z, G and C; s of X and Y at rest",
       "tp",
       true,
       {},
       {},
       [](SizeReader& sizes) { return mlp(sizes, "megatron-sp-mlp", true); }},
      {"megatron-sp",
       {"megatron sequence parallel", "TP + SP", "korthikanti"},
       "A transformer layer with tensor parallelism whose tensors between the pairs rest split along the sequence.",
       "g (and u) in attention, f in the MLP; s of what is between them",
       "tp, or tp_g x tp_u",
       true,
       {kScores, kNorm, "only the slice of a pair's input is kept for backward, which gathers it again"},
       {},
       [](SizeReader& sizes) { return layer(sizes, "megatron-sp", true); }},
      {"vocabulary",
       {"VocabParallelEmbedding", "parallel cross entropy", "loss parallel", "embedding", "logits"},
       "Each device has some words: rows of the embedding, columns of the logits, and a part of the softmax.",
       "v of E, U, logits; the looked-up X, the maximum, the sum and the target's logit are partial",
       "tp",
       true,
       {"the layers between embedding and logits are left out",
        "tokens and targets are written as 0/1 tensors with rank v; in a program they are indices, whole everywhere"},
       {},
       vocabulary}};
}

}  // namespace einflow::cluster
