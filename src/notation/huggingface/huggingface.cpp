#include "notation/huggingface/huggingface.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/huggingface/families.hpp"
#include "notation/huggingface/network.hpp"
#include "notation/huggingface/transformer.hpp"

namespace einflow {

namespace huggingface {
namespace {

/// Label maps of tens of thousands of classes stand in some configs.
constexpr YamlOptions kLimits{std::size_t{16} << 20, 1000000, false, false};

/// JSON writes characters beyond U+FFFF as two escapes, YAML has none for them: each becomes U+FFFD, so that everything
/// stays in its place. No count depends on such a text.
std::string without_surrogates(std::string text) {
  for (std::size_t at = 0; at + 5 < text.size(); ++at) {
    if (text[at] != '\\') continue;
    const bool surrogate = text[at + 1] == 'u' && (text[at + 2] == 'd' || text[at + 2] == 'D') &&
                           std::string_view("89abcdefABCDEF").find(text[at + 3]) != std::string_view::npos;
    if (surrogate) text.replace(at + 2, 4, "fffd");
    ++at;
  }
  return text;
}

/// Keys of every config on which no count depends.
void ignore_common(Config& config) {
  config.ignore({"_name_or_path",
                 "name_or_path",
                 "_commit_hash",
                 "transformers_version",
                 "auto_map",
                 "bos_token_id",
                 "eos_token_id",
                 "pad_token_id",
                 "unk_token_id",
                 "sep_token_id",
                 "cls_token_id",
                 "mask_token_id",
                 "decoder_start_token_id",
                 "initializer_range",
                 "use_cache",
                 "attention_dropout",
                 "hidden_dropout",
                 "dropout",
                 "activation_dropout",
                 "rope_theta",
                 "rope_scaling",
                 "rope_parameters",
                 "output_attentions",
                 "output_hidden_states",
                 "output_router_logits",
                 "return_dict",
                 "router_aux_loss_coef",
                 "router_jitter_noise",
                 "embd_pdrop",
                 "resid_pdrop",
                 "gradient_checkpointing",
                 "task_specific_params",
                 "label2id",
                 "problem_type",
                 "finetuning_task",
                 "tokenizer_class",
                 "_attn_implementation",
                 "attn_implementation",
                 "_flash_attn_2_enabled",
                 "use_flash_attn",
                 "low_cpu_mem_usage",
                 "device_map",
                 "chunk_size_feed_forward",
                 "do_sample",
                 "max_length",
                 "temperature",
                 "top_p",
                 "top_k",
                 "model_max_length"});
}

/// The end of the class that has the family's usual head.
const char* usual_class(const Family& family) {
  if (family.usual == Head::classifier) return "ForImageClassification";
  if (family.usual == Head::masked_language_model) return "ForMaskedLM";
  return family.model_type == "gpt2" ? "LMHeadModel" : "ForCausalLM";
}

/// What stands behind the blocks, from the class name.
Head head_of(Config& config, const Family& family, Model& model) {
  const std::vector<std::string> names = config.texts("architectures");
  if (names.empty()) {
    model.conventions.push_back(
        fmt::format("architectures is not stated: the head is that of {}{}", family.prefix, usual_class(family)));
    return family.usual;
  }
  const std::string& name = names.front();
  const std::string prefix(family.prefix);
  const auto ends = [&](std::string_view end) {
    return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
  };
  const bool text = family.usual == Head::language_model;
  if (text && (ends("ForCausalLM") || ends("LMHeadModel"))) return Head::language_model;
  if (name == prefix + "Model") return text ? Head::none : Head::pooler;
  if (family.usual == Head::masked_language_model && ends("ForMaskedLM")) return Head::masked_language_model;
  if (family.usual == Head::classifier && ends("ForImageClassification")) return Head::classifier;
  config.error_at("architectures", 0, fmt::format("the head of {} is not known here", in_quotes(name)),
                  fmt::format("{}{} and {}Model are read", prefix, usual_class(family), prefix));
  return family.usual;
}

ElementType type_of(Config& config, Model& model) {
  const char* const key = config.states("torch_dtype") ? "torch_dtype" : "dtype";
  std::string stated = config.text_or(key, "");
  if (config.states("torch_dtype") && config.states("dtype") && config.text_or("dtype", "") != stated) {
    config.error("dtype", "torch_dtype and dtype differ", "leave one of them out");
  }
  config.ignore({"torch_dtype", "dtype"});
  if (stated.empty()) {
    model.conventions.emplace_back("torch_dtype is not stated: float32, as transformers loads it (--set type=TYPE)");
    return ElementType{"fp32", 32};
  }
  if (stated.rfind("torch.", 0) == 0) stated.erase(0, 6);
  const std::vector<std::pair<const char*, const char*>> types{
      {"bfloat16", "bf16"}, {"float16", "fp16"}, {"half", "fp16"},          {"float32", "fp32"},
      {"float", "fp32"},    {"float64", "fp64"}, {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"},
      {"int8", "int8"},     {"uint8", "uint8"}};
  std::vector<std::string> names;
  for (const auto& [name, type] : types) {
    if (stated == name) {
      model.conventions.push_back(
          fmt::format("every tensor is {} ({}; --set type=TYPE, --set kv_type=TYPE)", type, key));
      return find_element_type(type).value_or(ElementType{});
    }
    names.emplace_back(name);
  }
  config.error(key, fmt::format("there is no element type {}", in_quotes(stated)), name_hint(stated, names, "types"));
  return ElementType{};
}

const Family* family_of(Config& config) {
  if (!config.states("model_type")) {
    config.error("model_type", "'model_type' is missing", "a config.json names its family: \"model_type\": \"llama\"");
    return nullptr;
  }
  const std::string stated = config.text_or("model_type", "");
  std::vector<std::string> names;
  for (const Family& family : families()) {
    if (stated == family.model_type) return &family;
    names.emplace_back(family.model_type);
  }
  std::string hint = name_hint(stated, names, "families");
  if (config.states("text_config")) hint = "the language model alone is read: give what 'text_config' holds";
  config.error("model_type", fmt::format("the family {} is not read", in_quotes(stated)), std::move(hint));
  return nullptr;
}

/// What the config says and no count takes in.
void leave_out(Config& config, const Model& model, std::vector<std::string>& left_out) {
  const auto leave = [&](std::string_view key, const std::string& because) {
    if (config.find(key) != nullptr)
      left_out.push_back(fmt::format("'{}' (line {}): {}", key, config.place(key).line, because));
  };
  leave("quantization_config",
        fmt::format("sizes in bytes are those of {} for every element (--set type=TYPE, --set kv_type=TYPE)",
                    model.type.name));
  if (model.family == "deepseek_v3" && config.number_or("num_nextn_predict_layers", 0) > 0) {
    leave("num_nextn_predict_layers", "the layers that predict further tokens (MTP) are not part of the main model");
  }
  for (std::string& text : config.unread()) left_out.push_back(std::move(text));
}

void check_experts(Config& config, const Model& model) {
  if (!model.experts || model.experts->chosen <= model.experts->count) return;
  config.error("num_experts_per_tok", fmt::format("{} experts for each token are more than the {} that there are",
                                                  model.experts->chosen, model.experts->count));
}

Result<YamlNode> tree_of(const SourceText& source) {
  auto tree = parse_yaml(without_surrogates(source.text), kLimits);
  if (tree && !tree->is_map()) {
    return fail(fmt::format("found {}, expected the map of a config.json", describe(*tree)), "", tree->span);
  }
  return tree;
}

/// `errors` are those of the config.
Result<Model> model_of(Config& config, Diagnostics& errors) {
  const Family* family = family_of(config);
  if (family == nullptr) return tl::unexpected(std::move(errors));
  Model model;
  model.family = family->model_type;
  model.type = type_of(config, model);
  model.head = head_of(config, *family, model);
  family->read(config, model);
  check_experts(config, model);
  config.expect_flag("add_cross_attention", false, "the encoder's side is not in this config");
  config.expect_flag("is_encoder_decoder", false, "one stack of blocks is read");
  config.ignore({"is_decoder", "cross_attention_hidden_size", "id2label"});
  ignore_common(config);
  if (!config.assumed().empty()) {
    model.conventions.push_back("not stated, taken as transformers does: " + comma_list(config.assumed()));
  }
  if (!errors.empty()) {
    config.explain_missing();
    sort_by_place(errors);
    return tl::unexpected(std::move(errors));
  }
  return model;
}

}  // namespace
}  // namespace huggingface

bool is_huggingface(const SourceText& source) {
  const std::string_view text = std::string_view(source.text).substr(0, huggingface::kLimits.maximum_bytes);
  const std::size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  return first != std::string_view::npos && text[first] == '{' && text.find("\"model_type\"") != std::string_view::npos;
}

Result<Document> read_huggingface(const std::vector<SourceText>& sources, const ReadOptions& options) {
  using namespace huggingface;
  if (sources.size() != 1) return fail("a model is one config.json", "give the files of several models one by one");
  if (!options.ranks.empty()) {
    return fail("-r does not apply: a config.json states its sizes",
                "--set batch=1 --set seq=2048 says what it leaves open");
  }
  const auto tree = tree_of(sources.front());
  if (!tree) return tl::unexpected(tree.error());
  Diagnostics errors;
  Config config(*tree, errors);
  auto read = model_of(config, errors);
  if (!read) return tl::unexpected(read.error());
  Model& model = *read;
  const auto pass = pass_of(options.settings, model);
  if (!pass) return tl::unexpected(pass.error());
  auto document = network_of(model, *pass);
  if (document) leave_out(config, model, document->left_out);
  return document;
}

Result<cluster::Transformer> read_huggingface_transformer(const SourceText& source) {
  using namespace huggingface;
  const auto tree = tree_of(source);
  if (!tree) return tl::unexpected(tree.error());
  Diagnostics errors;
  Config config(*tree, errors);
  const auto model = model_of(config, errors);
  if (!model) return tl::unexpected(model.error());
  return transformer_of(*model);
}

}  // namespace einflow
