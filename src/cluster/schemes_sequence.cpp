// Attention with the sequence over devices.
#include "cluster/schemes_build.hpp"

namespace einflow::cluster {

namespace {

/// Queries split, keys come from the other devices.
Result<Scheme> context(SizeReader& sizes, const std::string& name, const std::optional<TimeLoop>& time) {
  auto mesh = line_of(sizes, "cp");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder(name, *mesh, sizes);
  add_attention(builder, {{"s", "cp"}}, time);
  return builder.rest("K", {{"cp", split("t")}}).rest("V", {{"cp", split("t")}}).done();
}

Result<Scheme> ulysses(SizeReader& sizes) {
  auto heads = heads_of(sizes, "cp");
  if (!heads) return tl::unexpected(heads.error());
  SchemeBuilder builder("ulysses", heads->mesh, sizes);
  add_attention(builder, heads->query);
  StateList queries;
  StateList keys;
  for (const MeshAxis& axis : heads->mesh.axes) {
    queries.emplace_back(axis.name, split("s"));
    keys.emplace_back(axis.name, split("t"));
  }
  return builder.rest("Q", queries).rest("O", queries).rest("K", keys).rest("V", keys).done();
}

/// One query of each sequence; a device has some of the keys.
Result<Scheme> split_keys(SizeReader& sizes) {
  auto mesh = line_of(sizes, "kv");
  if (!mesh) return tl::unexpected(mesh.error());
  SchemeBuilder builder("split-kv", *mesh, sizes);
  const std::vector<ParLoop> par{{"t", "kv"}};
  builder.product({"scores", "bgut"}, {"Q", "bgud"}, {"K", "bgtd"}, par)
      .maximum({"max", "bgu"}, {"scores", "bgut"}, par)
      .add({"diff", "bgut"}, "-", {{"scores", "bgut"}, {"max", "bgu"}}, par)
      .add({"exp", "bgut"}, "exp", {{"diff", "bgut"}}, par)
      .add({"sum", "bgu"}, "*", {{"exp", "bgut"}}, par)
      .product({"C", "bgud"}, {"exp", "bgut"}, {"V", "bgtd"}, par)
      .add({"O", "bgud"}, "/", {{"C", "bgud"}, {"sum", "bgu"}});
  return builder.done();
}

const char* const kGroup =
    "weights are whole on this axis: their gradients are partial on it, so it joins the group "
    "of the gradients' reduction (dp x cp)";
const char* const kZigzag =
    "with a causal mask equal slices do unequal work; zigzag slices (2p chunks, device i has i "
    "and 2p-1-i) even it out and move the same";

}  // namespace

std::vector<NamedScheme> sequence_schemes() {
  return {
      {"ring",
       {"ring attention", "ring context parallel", "ring self-attention"},
       "Each device keeps its queries; blocks of keys and values go round the ring and pass every device.",
       "s of Q and O; t of K and V at rest, whole while they pass",
       "cp",
       true,
       {kGroup, kZigzag, "the running softmax of each block is written as one softmax over all of them"},
       {},
       [](SizeReader& sizes) { return context(sizes, "ring", TimeLoop{"t", Delivery::shift}); }},
      {"all-gather-cp",
       {"all-gather context parallel", "Llama 3 context parallel", "all-gather KV"},
       "Each device keeps its queries and gathers all keys and values.",
       "s of Q and O; t of K and V at rest, whole during attention",
       "cp",
       true,
       {kGroup, kZigzag},
       {},
       [](SizeReader& sizes) { return context(sizes, "all-gather-cp", {}); }},
      {"ulysses",
       {"DeepSpeed-Ulysses", "Ulysses attention", "all-to-all sequence parallel", "a2a context parallel", "Ulysses SP"},
       "The sequence is split everywhere but in attention, where heads are: all-to-alls change between the two.",
       "g (and u) of Q, K, V, O during attention; s or t of them at rest",
       "cp, or cp_g x cp_u",
       true,
       {kGroup},
       {},
       ulysses},
      {"split-kv",
       {"split-KV decode", "Flash-Decoding", "KV split", "decode context parallel", "split keys"},
       "One query of each sequence against keys that are split: maximum, sum and context are partial.",
       "t of K, V and scores; Q is whole; maximum, sum and context are partial",
       "kv",
       false,
       {"the three reductions move d + 2 values for each head and sequence; a program merges them at once, with the "
        "log-sum-exp operator, which neither DTensor nor JAX has",
        "decode: there is no backward"},
       {},
       split_keys}};
}

}  // namespace einflow::cluster
