// GPT-2 and its relatives, BERT and ViT: LayerNorm and plain MLPs.
#include <fmt/format.h>

#include "base/message.hpp"
#include "notation/huggingface/families.hpp"

namespace einflow::huggingface {

namespace {

void plain(Model& model) {
  model.norm = NormKind::layer;
  model.mlp.gated = false;
}

void read_gpt2(Config& config, Model& model) {
  plain(model);
  model.hidden = config.size("n_embd");
  model.layers = config.size("n_layer");
  model.vocabulary = config.size("vocab_size");
  read_heads(config, model.hidden, model.attention, "n_head", "", "");
  model.mlp.width = config.size_or("n_inner", 4 * model.hidden);
  model.mlp.activation = activation_of(config, "activation_function", "gelu_new");
  model.longest = config.number_or("n_positions", 0);
  config.ignore({"n_ctx", "embd_pdrop", "attn_pdrop", "resid_pdrop", "layer_norm_epsilon", "scale_attn_weights",
                 "scale_attn_by_inverse_layer_idx", "reorder_and_upcast_attn", "summary_type", "summary_use_proj",
                 "summary_activation", "summary_proj_to_labels", "summary_first_dropout"});
  if (model.family == "gptj") {
    model.tied = config.flag_or("tie_word_embeddings", false);
    model.one_norm = true;
    model.mlp.bias = true;
    model.head_bias = true;
    model.attention.rotary = config.size_or("rotary_dim", model.attention.head_dim);
    if (model.attention.rotary > model.attention.head_dim) {
      config.error("rotary_dim", fmt::format("{} rotated elements are more than a head's {}", model.attention.rotary,
                                             model.attention.head_dim));
    }
    config.ignore({"rotary"});
    return;
  }
  model.positions = model.longest = config.size("n_positions");
  model.tied = config.flag_or("tie_word_embeddings", true);
  model.stored_in_out = true;
  model.attention.fused_qkv = model.attention.qkv_bias = model.attention.output_bias = model.mlp.bias = true;
}

void read_neox(Config& config, Model& model) {
  plain(model);
  model.hidden = config.size("hidden_size");
  model.layers = config.size("num_hidden_layers");
  model.vocabulary = config.size("vocab_size");
  read_heads(config, model.hidden, model.attention, "num_attention_heads", "", "");
  model.mlp.width = config.size("intermediate_size");
  model.mlp.activation = activation_of(config, "hidden_act", "gelu");
  model.longest = config.number_or("max_position_embeddings", 0);
  model.attention.rotary = rotary_share(config, model.attention.head_dim, "rotary_pct", "0.25");
  model.attention.fused_qkv = true;
  model.attention.qkv_bias = model.attention.output_bias = config.flag_or("attention_bias", true);
  model.mlp.bias = true;
  model.tied = config.flag_or("tie_word_embeddings", false);
  config.ignore({"layer_norm_eps", "rotary_emb_base", "use_parallel_residual", "classifier_dropout"});
}

void read_opt(Config& config, Model& model) {
  plain(model);
  model.hidden = config.size("hidden_size");
  model.layers = config.size("num_hidden_layers");
  model.vocabulary = config.size("vocab_size");
  read_heads(config, model.hidden, model.attention, "num_attention_heads", "", "");
  model.mlp.width = config.size("ffn_dim");
  model.mlp.activation = activation_of(config, "activation_function", "relu");
  model.longest = config.size("max_position_embeddings");
  model.positions = model.longest + 2;  // the first two rows are never looked up
  const std::int64_t width = config.size_or("word_embed_proj_dim", model.hidden);
  model.embedding = width == model.hidden ? 0 : width;
  const bool bias = config.flag_or("enable_bias", true);
  model.attention.qkv_bias = model.attention.output_bias = model.mlp.bias = bias;
  model.norm_weights = config.flag_or("layer_norm_elementwise_affine", true);
  model.final_norm = config.flag_or("do_layer_norm_before", true) && !config.flag_or("_remove_final_layer_norm", false);
  model.tied = config.flag_or("tie_word_embeddings", true);
  config.ignore({"layerdrop", "init_std", "prefix", "output_projection"});
}

void read_phi(Config& config, Model& model) {
  plain(model);
  model.hidden = config.size("hidden_size");
  model.layers = config.size("num_hidden_layers");
  model.vocabulary = config.size("vocab_size");
  read_heads(config, model.hidden, model.attention, "num_attention_heads", "num_key_value_heads", "");
  model.mlp.width = config.size("intermediate_size");
  model.mlp.activation = activation_of(config, "hidden_act", "gelu_new");
  model.mlp.bias = true;
  model.longest = config.number_or("max_position_embeddings", 0);
  model.attention.rotary = rotary_share(config, model.attention.head_dim, "partial_rotary_factor", "0.5");
  model.attention.qkv_bias = model.attention.output_bias = true;
  model.one_norm = true;
  model.head_bias = true;
  model.tied = config.flag_or("tie_word_embeddings", false);
  config.expect_flag("qk_layernorm", false, "its norms are not those of other families");
  config.ignore({"layer_norm_eps"});
}

void read_encoder(Config& config, Model& model) {
  plain(model);
  model.hidden = config.size("hidden_size");
  model.layers = config.size("num_hidden_layers");
  read_heads(config, model.hidden, model.attention, "num_attention_heads", "", "");
  model.mlp.width = config.size("intermediate_size");
  model.mlp.activation = activation_of(config, "hidden_act", "gelu");
  model.mlp.bias = true;
  model.attention.causal = false;
  model.attention.output_bias = true;
  config.ignore({"layer_norm_eps", "hidden_dropout_prob", "attention_probs_dropout_prob", "classifier_dropout"});
}

void read_bert(Config& config, Model& model) {
  read_encoder(config, model);
  model.attention.qkv_bias = true;
  model.vocabulary = config.size("vocab_size");
  model.positions = model.longest = config.size("max_position_embeddings");
  model.token_types = config.size_or("type_vocab_size", 2);
  model.embedding_norm = true;
  model.final_norm = false;
  model.tied = config.flag_or("tie_word_embeddings", true);
  model.head_bias = true;
  config.expect_flag("is_decoder", false, "a BERT that decodes has a causal mask and a cache");
  if (config.text_or("position_embedding_type", "absolute") != "absolute") {
    config.error("position_embedding_type", "relative positions are not read", "absolute is");
  }
}

void read_vit(Config& config, Model& model) {
  read_encoder(config, model);
  model.attention.qkv_bias = config.flag_or("qkv_bias", true);
  Vision vision;
  vision.image = config.size("image_size");
  vision.patch = config.size("patch_size");
  vision.channels = config.size_or("num_channels", 3);
  const YamlNode* labels = config.find("id2label");
  vision.labels = labels != nullptr && labels->is_map() && !labels->entries.empty()
                      ? static_cast<std::int64_t>(labels->entries.size())
                      : config.size_or("num_labels", 2);
  if (labels == nullptr && !config.states("num_labels") && model.head == Head::classifier) {
    model.conventions.emplace_back("no labels are stated: 2, the default of transformers");
  }
  if (vision.patch > vision.image && config.states("image_size")) {
    config.error("patch_size", fmt::format("a patch of {} is larger than the image of {}", vision.patch, vision.image));
    vision.patch = vision.image;
  }
  if (vision.image % vision.patch != 0) {
    model.conventions.push_back(fmt::format("the image's last {} rows and columns fill no patch and are not read",
                                            vision.image % vision.patch));
  }
  const std::int64_t side = vision.image / vision.patch;
  model.positions = side * side + 1;
  model.vision = vision;
  if (config.text_or("pooler_act", "tanh") != "tanh") config.error("pooler_act", "only tanh is read");
  config.ignore({"encoder_stride", "num_labels", "pooler_output_size"});
}

}  // namespace

std::vector<Family> gpt_families() {
  return {{"gpt2", "GPT2", Head::language_model, read_gpt2},
          {"gptj", "GPTJ", Head::language_model, read_gpt2},
          {"gpt_neox", "GPTNeoX", Head::language_model, read_neox},
          {"opt", "OPT", Head::language_model, read_opt},
          {"phi", "Phi", Head::language_model, read_phi},
          {"bert", "Bert", Head::masked_language_model, read_bert},
          {"vit", "ViT", Head::classifier, read_vit}};
}

}  // namespace einflow::huggingface
