// Llama and what came from it. Keys and their defaults are those of the transformers library's config classes.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/huggingface/families.hpp"

namespace einflow::huggingface {

namespace {

/// What all of them have.
void read_decoder(Config& config, Model& model, bool tied = false, std::string_view activation_key = "hidden_act",
                  const char* activation = "silu") {
  model.hidden = config.size("hidden_size");
  model.layers = config.size("num_hidden_layers");
  model.vocabulary = config.size("vocab_size");
  model.longest = config.number_or("max_position_embeddings", 0);
  model.mlp.width = config.size("intermediate_size");
  model.mlp.activation = activation_of(config, activation_key, activation);
  model.tied = config.flag_or("tie_word_embeddings", tied);
  config.ignore({"rms_norm_eps", "pretraining_tp", "original_max_position_embeddings"});
}

/// Where the family's default for the KV heads is a number of its own, they must be stated; null is as many as heads.
void read_plain_attention(Config& config, Model& model, bool kv_heads_stated = true) {
  if (kv_heads_stated) config.require("num_key_value_heads");
  read_heads(config, model.hidden, model.attention, "num_attention_heads", "num_key_value_heads", "head_dim");
  model.attention.rotary = model.attention.head_dim;
}

/// A window on `otherwise` of the layers, or on those that layer_types names.
void read_window(Config& config, Model& model, std::optional<std::int64_t> window, std::int64_t otherwise) {
  const std::int64_t windowed = windowed_layers(config, model.layers, window ? otherwise : 0);
  if (windowed > 0 && !window) {
    config.error("layer_types", "layers have a sliding window, but 'sliding_window' is not stated");
    return;
  }
  if (windowed == 0) return;
  model.attention.window = *window;
  model.attention.windowed = std::min(windowed, model.layers);
  model.conventions.push_back(fmt::format("sliding window of {} tokens, the query's own among them, in {} of {} layers",
                                          *window, model.attention.windowed, model.layers));
}

void read_llama(Config& config, Model& model) {
  read_decoder(config, model);
  read_plain_attention(config, model, false);
  model.attention.qkv_bias = model.attention.output_bias = config.flag_or("attention_bias", false);
  model.mlp.bias = config.flag_or("mlp_bias", false);
}

void read_mistral(Config& config, Model& model) {
  read_decoder(config, model);
  read_plain_attention(config, model);
  std::optional<std::int64_t> window = config.optional_size("sliding_window");
  if (!config.mentions("sliding_window") && model.family == "mistral") {
    window = 4096;
    config.assume("sliding_window", "4096");
  }
  read_window(config, model, window, model.layers);
}

void read_mixtral(Config& config, Model& model) {
  read_mistral(config, model);
  Experts experts;
  experts.layers = model.layers;
  experts.count = config.size("num_local_experts");
  experts.chosen = config.size("num_experts_per_tok");
  experts.width = model.mlp.width;
  experts.renormalised = true;
  model.experts = experts;
}

/// Layers from `max_window_layers` on have the window, where it is used at all.
void read_qwen_window(Config& config, Model& model) {
  std::optional<std::int64_t> window = config.optional_size("sliding_window");
  std::int64_t first = model.layers;
  if (config.flag_or("use_sliding_window", false)) {
    if (!config.mentions("sliding_window")) window = config.size_or("sliding_window", 4096);
    first = config.number_or("max_window_layers", 28);
  } else {
    config.ignore({"max_window_layers"});
    window.reset();
  }
  read_window(config, model, window, std::max<std::int64_t>(0, model.layers - first));
}

void read_qwen2(Config& config, Model& model) {
  read_decoder(config, model);
  read_plain_attention(config, model);
  model.attention.qkv_bias = true;
  read_qwen_window(config, model);
}

void read_qwen3(Config& config, Model& model) {
  read_decoder(config, model);
  if (model.family == "qwen3") config.require("head_dim");
  read_plain_attention(config, model);
  model.attention.qkv_bias = model.attention.output_bias = config.flag_or("attention_bias", false);
  model.attention.qk_norm = true;
  read_qwen_window(config, model);
}

/// Every decoder_sparse_step-th layer has experts, but for those of mlp_only_layers.
void read_qwen_experts(Config& config, Model& model) {
  Experts experts;
  experts.count = config.size("num_experts");
  experts.chosen = config.size("num_experts_per_tok");
  experts.width = config.size("moe_intermediate_size");
  experts.renormalised = config.flag_or("norm_topk_prob", false);
  const std::int64_t step = config.size_or("decoder_sparse_step", 1);
  experts.layers = model.layers / step;
  std::set<std::int64_t> dense;
  const std::vector<std::string> texts = config.texts("mlp_only_layers");
  for (std::size_t at = 0; at < texts.size(); ++at) {
    const auto count = parse_count(texts[at]);
    const auto layer = count ? count->to_int64() : std::nullopt;
    if (!layer || *layer >= model.layers) {
      config.error_at("mlp_only_layers", at, fmt::format("there is no layer {}", in_quotes(texts[at])),
                      fmt::format("layers count from 0 to {}", model.layers - 1));
    } else if ((*layer + 1) % step == 0 && dense.insert(*layer).second) {
      --experts.layers;
    }
  }
  model.experts = experts;
}

void read_qwen2_moe(Config& config, Model& model) {
  read_qwen2(config, model);
  model.attention.qkv_bias = config.flag_or("qkv_bias", true);
  read_qwen_experts(config, model);
  model.experts->shared_width = config.size("shared_expert_intermediate_size");
  model.experts->shared_gate = true;
}

void read_qwen3_moe(Config& config, Model& model) {
  read_qwen3(config, model);
  read_qwen_experts(config, model);
}

/// Latent attention and experts, arXiv 2405.04434 and 2412.19437.
void read_deepseek(Config& config, Model& model) {
  read_decoder(config, model);
  AttentionBlock& block = model.attention;
  block.heads = block.kv_heads = config.size("num_attention_heads");
  config.ignore({"num_key_value_heads", "head_dim", "rope_interleave", "qk_head_dim"});
  LatentAttention latent;
  config.require("q_lora_rank");
  latent.q_rank = config.optional_size("q_lora_rank");
  latent.kv_rank = config.size("kv_lora_rank");
  latent.nope = config.size("qk_nope_head_dim");
  latent.rope = config.size("qk_rope_head_dim");
  latent.value = config.size("v_head_dim");
  block.latent = latent;
  block.qkv_bias = block.output_bias = config.flag_or("attention_bias", false);
  const bool third = model.family == "deepseek_v3";
  if (config.mentions("mlp_bias")) model.mlp.bias = config.flag_or("mlp_bias", false);
  config.require("n_routed_experts");
  config.require("n_shared_experts");
  if (config.find("n_routed_experts") != nullptr) {
    Experts experts;
    experts.count = config.size("n_routed_experts");
    experts.chosen = config.size("num_experts_per_tok");
    experts.width = config.size("moe_intermediate_size");
    const bool shared = config.find("n_shared_experts") != nullptr;
    experts.shared_width = shared ? config.number_or("n_shared_experts", 0) * experts.width : 0;
    experts.sigmoid = third;
    if (const std::string scores = config.text_or("scoring_func", third ? "sigmoid" : "softmax");
        scores == "sigmoid" || scores == "softmax") {
      experts.sigmoid = scores == "sigmoid";
    } else {
      config.error("scoring_func", fmt::format("there is no scoring function {}", in_quotes(scores)),
                   "softmax and sigmoid are read");
    }
    experts.correction_bias = config.text_or("topk_method", third ? "noaux_tc" : "greedy") == "noaux_tc";
    experts.renormalised = config.flag_or("norm_topk_prob", third);
    const std::string factor = config.text_or("routed_scaling_factor", third ? "2.5" : "1.0");
    experts.scaled = factor != "1.0" && factor != "1" && (third || !experts.renormalised);
    const std::int64_t first = std::min(config.number_or("first_k_dense_replace", third ? 3 : 0), model.layers);
    const std::int64_t step = config.size_or("moe_layer_freq", 1);
    const auto multiples_below = [step](std::int64_t end) { return end / step + (end % step != 0 ? 1 : 0); };
    experts.layers = multiples_below(model.layers) - multiples_below(first);
    model.experts = experts;
  }
  config.ignore({"n_group", "topk_group", "ep_size", "num_experts_per_tok", "moe_intermediate_size", "seq_aux",
                 "aux_loss_alpha", "n_shared_experts"});
}

/// RMSNorm with a gain of 1 + w, embeddings times sqrt(hidden): the counts are those of a plain gain.
void read_gemma(Config& config, Model& model) {
  const char* const key = config.states("hidden_activation") ? "hidden_activation" : "hidden_act";
  read_decoder(config, model, true, key, "gelu_pytorch_tanh");
  config.require("head_dim");
  read_plain_attention(config, model);
  config.ignore({"hidden_activation", "hidden_act", "query_pre_attn_scalar"});
  model.attention.qkv_bias = model.attention.output_bias = config.flag_or("attention_bias", false);
  model.scaled_embedding = true;
}

/// Whether there is a cap; where the key is missing, the family's default, if it has one.
bool is_capped(Config& config, std::string_view key, const std::string& fallback) {
  if (!fallback.empty()) config.assume(key, fallback);
  return config.mentions(key) ? config.find(key) != nullptr : !fallback.empty();
}

void read_gemma2(Config& config, Model& model) {
  read_gemma(config, model);
  model.output_norms = true;
  const bool second = model.family == "gemma2";
  model.attention.softcap = is_capped(config, "attn_logit_softcapping", second ? "50.0" : "");
  model.head_softcap = is_capped(config, "final_logit_softcapping", second ? "30.0" : "");
  config.ignore({"cache_implementation", "sliding_window_size"});
  config.require("sliding_window");
  const auto window = config.optional_size("sliding_window");
  const char* const key =
      config.mentions("_sliding_window_pattern") ? "_sliding_window_pattern" : "sliding_window_pattern";
  const bool listed = config.mentions("layer_types");
  const std::int64_t pattern = second ? 2 : listed ? config.optional_size(key).value_or(6) : config.size_or(key, 6);
  read_window(config, model, window, model.layers - model.layers / pattern);
}

void read_gemma3(Config& config, Model& model) {
  read_gemma2(config, model);
  model.attention.qk_norm = true;
  config.ignore({"rope_local_base_freq", "use_bidirectional_attention"});
}

void read_phi3(Config& config, Model& model) {
  read_decoder(config, model);
  read_plain_attention(config, model, false);
  model.attention.rotary = rotary_share(config, model.attention.head_dim, "partial_rotary_factor", "1");
  model.attention.fused_qkv = true;
  model.mlp.fused = true;
  config.expect_flag("attention_bias", false, "the projections have no bias in this family");
  read_window(config, model, config.optional_size("sliding_window"), model.layers);
}

}  // namespace

std::vector<Family> llama_families() {
  constexpr Head kHead = Head::language_model;
  return {{"llama", "Llama", kHead, read_llama},
          {"mistral", "Mistral", kHead, read_mistral},
          {"mixtral", "Mixtral", kHead, read_mixtral},
          {"qwen2", "Qwen2", kHead, read_qwen2},
          {"qwen2_moe", "Qwen2Moe", kHead, read_qwen2_moe},
          {"qwen3", "Qwen3", kHead, read_qwen3},
          {"qwen3_moe", "Qwen3Moe", kHead, read_qwen3_moe},
          {"deepseek_v2", "DeepseekV2", kHead, read_deepseek},
          {"deepseek_v3", "DeepseekV3", kHead, read_deepseek},
          {"gemma", "Gemma", kHead, read_gemma},
          {"gemma2", "Gemma2", kHead, read_gemma2},
          {"gemma3_text", "Gemma3Text", kHead, read_gemma3},
          {"phi3", "Phi3", kHead, read_phi3}};
}

}  // namespace einflow::huggingface
