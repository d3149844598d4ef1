// Transformers in einflow's own form:
//
//   name: mixtral-8x7b
//   source: "where the figures are from"
//   hidden: 4096
//   layers: 32
//   heads: 32
//   kv_heads: 8          # heads where left out; of no other number with latent
//   head_dim: 128        # hidden / heads where left out
//   ffn: 14336           # of layers without experts
//   vocabulary: 32000
//   positions: 0         # learned position embeddings
//   gated: true          # SwiGLU; else GELU
//   tied: false          # logits use the embedding's matrix
//   biases: false
//   dropout: false
//   norm: rms            # or layer
//   causal: true
//   window: 0            # keys that a query sees; 0: all
//   experts: {count: 8, chosen: 2, ffn: 14336, shared: 0, every: 1, dense_layers: 0}
//   latent: {query_rank: 1536, key_value_rank: 512, rope_dim: 64, nope_dim: 128, value_dim: 128}
//   notes: ["..."]
//
// Only name, source, hidden, layers, heads, vocabulary and ffn (experts: count, chosen, ffn; latent: all but
// query_rank) must be thought of: the values shown for positions to window are those of what is left out, but gated,
// tied, biases and dropout are false.
#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.hpp"
#include "base/yaml.hpp"
#include "cluster/model.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {

/// Reads a model; nothing after errors. What faults_of finds is told at its key.
std::optional<cluster::Transformer> read_model(const YamlNode& node, Diagnostics& errors);

/// Reads the text of a model file. Errors carry the source's name.
Result<cluster::Transformer> read_model_text(const SourceText& source);

/// "NAME" of the library, or a model in place: "{hidden: 4096, layers: 32, ...}", lines of YAML, or the text of a
/// Hugging Face config.json. Errors of one in place have places in `text` and no source.
Result<cluster::Transformer> load_model(const Library& library, const std::string& text);

}  // namespace einflow
