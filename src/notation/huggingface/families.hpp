// The model families whose config is read, and what each makes of its keys.
#pragma once

#include <string_view>
#include <vector>

#include "notation/huggingface/config.hpp"
#include "notation/huggingface/model.hpp"

namespace einflow::huggingface {

struct Family {
  std::string_view model_type;
  std::string_view prefix;  ///< of its classes: "Llama" in LlamaForCausalLM
  Head usual;               ///< where `architectures` is not stated
  void (*read)(Config& config, Model& model);
};

/// Decoders with RMSNorm, gated MLPs and rotary embedding: Llama and what came from it.
std::vector<Family> llama_families();
/// GPT-2, GPT-J, GPT-NeoX, OPT, Phi, BERT, ViT.
std::vector<Family> gpt_families();
/// All of them.
const std::vector<Family>& families();

// What the families share.

/// The activation's name in einsums; an unknown one is an error.
std::string activation_of(Config& config, std::string_view key, const char* fallback);
/// How many layers have a sliding window: by `layer_types` where it is stated, else `otherwise`.
std::int64_t windowed_layers(Config& config, std::int64_t layers, std::int64_t otherwise);
/// The heads' sizes: heads, kv_heads and head_dim, which must divide. Without a key for them, KV heads are the heads.
void read_heads(Config& config, std::int64_t hidden, AttentionBlock& block, std::string_view heads_key,
                std::string_view kv_key, std::string_view head_dim_key);
/// floor(head_dim * share), the share from `key` or rope_parameters.
std::int64_t rotary_share(Config& config, std::int64_t head_dim, std::string_view key, const char* fallback);

}  // namespace einflow::huggingface
