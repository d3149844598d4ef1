// A transformer as its config describes it: what the operations and weights depend on, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "problem/einsum.hpp"

namespace einflow::huggingface {

enum class NormKind { rms, layer };

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): K and V of all heads come from one vector of
/// `kv_rank` elements, beside one rotated key part of `rope` elements that all heads share.
struct LatentAttention {
  std::optional<std::int64_t> q_rank;  ///< absent: queries are projected in one step
  std::int64_t kv_rank = 1;
  std::int64_t nope = 1;  ///< per head, without rotary embedding
  std::int64_t rope = 1;  ///< with it
  std::int64_t value = 1;
};

struct AttentionBlock {
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_dim = 1;
  bool causal = true;
  bool fused_qkv = false;  ///< Q, K and V are one projection
  bool qkv_bias = false;
  bool output_bias = false;
  bool qk_norm = false;       ///< RMSNorm of every head's query and key
  bool softcap = false;       ///< scores pass c * tanh(s / c)
  std::int64_t rotary = 0;    ///< rotated elements of a head
  std::int64_t window = 0;    ///< keys that a query of a windowed layer sees, itself included
  std::int64_t windowed = 0;  ///< how many layers have the window
  std::optional<LatentAttention> latent;
};

struct Mlp {
  std::int64_t width = 1;
  bool gated = true;
  bool fused = false;  ///< gate and up are one projection
  bool bias = false;
  std::string activation = "silu";
};

struct Experts {
  std::int64_t layers = 0;  ///< how many layers have experts in place of the MLP
  std::int64_t count = 1;
  std::int64_t chosen = 1;  ///< per token
  std::int64_t width = 1;
  bool sigmoid = false;           ///< the router's scores; else softmax over all experts
  bool correction_bias = false;   ///< added to the scores for the choice only
  bool renormalised = false;      ///< weights of the chosen sum to 1
  bool scaled = false;            ///< weights are multiplied by a factor
  std::int64_t shared_width = 0;  ///< of the experts that every token uses, together; 0 = none
  bool shared_gate = false;       ///< their output is multiplied by sigmoid(x w)
};

/// What stands behind the blocks.
enum class Head { none, language_model, masked_language_model, classifier, pooler };

struct Vision {
  std::int64_t image = 1;
  std::int64_t patch = 1;
  std::int64_t channels = 3;
  std::int64_t labels = 2;
};

struct Model {
  std::string family;  ///< model_type
  std::int64_t hidden = 1;
  std::int64_t layers = 1;
  std::int64_t vocabulary = 0;
  std::int64_t embedding = 0;     ///< width of the token embedding where it differs from `hidden`
  std::int64_t positions = 0;     ///< rows of a learned position embedding; 0 = none
  std::int64_t token_types = 0;   ///< rows of a token type embedding
  std::int64_t longest = 0;       ///< tokens of a sequence that the positions allow; 0 = not stated
  bool scaled_embedding = false;  ///< embeddings are multiplied by sqrt(hidden)
  bool embedding_norm = false;
  NormKind norm = NormKind::rms;
  bool norm_weights = true;  ///< norms have gain (and shift)
  bool final_norm = true;
  bool one_norm = false;       ///< attention and MLP share their input's norm (parallel blocks)
  bool output_norms = false;   ///< attention and MLP outputs are normed too
  bool stored_in_out = false;  ///< weights are stored [in, out] (Conv1D)
  AttentionBlock attention;
  Mlp mlp;  ///< of the layers without experts
  std::optional<Experts> experts;
  Head head = Head::language_model;
  bool tied = false;  ///< the head's weight is the embedding
  bool head_bias = false;
  bool head_softcap = false;
  std::optional<Vision> vision;
  ElementType type;
  std::vector<std::string> conventions;
};

}  // namespace einflow::huggingface
