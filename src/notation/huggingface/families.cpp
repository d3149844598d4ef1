#include "notation/huggingface/families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"

namespace einflow::huggingface {

const std::vector<Family>& families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> list = llama_families();
    for (const Family& family : gpt_families()) list.push_back(family);
    return list;
  }();
  return all;
}

std::string activation_of(Config& config, std::string_view key, const char* fallback) {
  static constexpr std::array<std::array<const char*, 2>, 12> kNames{{{"silu", "silu"},
                                                                      {"swish", "silu"},
                                                                      {"gelu", "gelu"},
                                                                      {"gelu_new", "gelu"},
                                                                      {"gelu_fast", "gelu"},
                                                                      {"gelu_python", "gelu"},
                                                                      {"gelu_pytorch_tanh", "gelu"},
                                                                      {"quick_gelu", "quick_gelu"},
                                                                      {"relu", "relu"},
                                                                      {"relu2", "relu2"},
                                                                      {"sigmoid", "sigmoid"},
                                                                      {"tanh", "tanh"}}};
  const std::string stated = config.text_or(key, fallback);
  std::vector<std::string> names;
  for (const auto& [name, function] : kNames) {
    if (stated == name) return function;
    names.emplace_back(name);
  }
  config.error(key, fmt::format("there is no activation {}", in_quotes(stated)),
               name_hint(stated, names, "activations"));
  return "silu";
}

std::int64_t windowed_layers(Config& config, std::int64_t layers, std::int64_t otherwise) {
  const YamlNode* list = config.find("layer_types");
  if (list == nullptr) return otherwise;
  const std::vector<std::string> types = config.texts("layer_types");
  std::int64_t windowed = 0;
  for (std::size_t layer = 0; layer < types.size(); ++layer) {
    windowed += types[layer] == "sliding_attention" ? 1 : 0;
    if (types[layer] == "sliding_attention" || types[layer] == "full_attention") continue;
    config.error_at("layer_types", layer, fmt::format("layer {} is of type {}", layer, in_quotes(types[layer])),
                    "full_attention and sliding_attention are read");
    return otherwise;
  }
  if (config.numbers_read() && static_cast<std::int64_t>(types.size()) != layers) {
    config.error("layer_types", fmt::format("'layer_types' lists {} layers, expected {}", types.size(), layers));
  }
  return windowed;
}

void read_heads(Config& config, std::int64_t hidden, AttentionBlock& block, std::string_view heads_key,
                std::string_view kv_key, std::string_view head_dim_key) {
  block.heads = config.size(heads_key);
  block.kv_heads = kv_key.empty() ? block.heads : config.size_or(kv_key, block.heads);
  if (config.numbers_read() && block.heads % block.kv_heads != 0) {
    config.error(kv_key, fmt::format("{} KV heads do not divide {} heads", block.kv_heads, block.heads),
                 "every KV head serves the same number of query heads");
    block.kv_heads = block.heads;
  }
  const auto stated = head_dim_key.empty() ? std::nullopt : config.optional_size(head_dim_key);
  if (!stated && hidden % block.heads != 0 && config.numbers_read()) {
    config.error(heads_key, fmt::format("{} heads do not divide the width of {}", block.heads, hidden),
                 head_dim_key.empty() ? "" : fmt::format("{} states the width of a head", head_dim_key));
  }
  block.head_dim = stated.value_or(std::max<std::int64_t>(1, hidden / block.heads));
  if (!head_dim_key.empty()) config.assume(head_dim_key, std::to_string(block.head_dim));
}

std::int64_t rotary_share(Config& config, std::int64_t head_dim, std::string_view key, const char* fallback) {
  if (!config.states(key)) {
    const YamlNode* rope = config.find("rope_parameters");
    const YamlNode* share = rope != nullptr && rope->is_map() ? rope->find("partial_rotary_factor") : nullptr;
    if (share != nullptr && share->is_scalar()) return config.share_of(head_dim, key, share->text.c_str());
  }
  return config.share_of(head_dim, key, fallback);
}

}  // namespace einflow::huggingface
