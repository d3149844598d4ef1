#include "notation/model_reader.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/huggingface/huggingface.hpp"
#include "notation/library.hpp"

namespace einflow {

namespace {

using cluster::Experts;
using cluster::LatentAttention;
using cluster::ModelFault;
using cluster::Norm;
using cluster::Transformer;

/// Sizes of one map, into the places given.
class Sizes {
 public:
  Sizes(const Fields& fields, Diagnostics& errors) : fields_(fields), errors_(errors) {}

  void required(const char* key, std::int64_t& size, const std::string& hint) {
    if (const YamlNode* value = fields_.require(key, hint)) read(*value, key, size, 1);
  }

  /// Whether it is there.
  bool optional(const char* key, std::int64_t& size, std::int64_t minimum) {
    const YamlNode* value = fields_.find(key);
    if (value != nullptr) read(*value, key, size, minimum);
    return value != nullptr;
  }

 private:
  void read(const YamlNode& value, const char* key, std::int64_t& size, std::int64_t minimum) {
    if (const auto given = read_integer(value, in_quotes(key), minimum, errors_)) size = *given;
  }

  const Fields& fields_;
  Diagnostics& errors_;
};

class ModelReader {
 public:
  explicit ModelReader(Diagnostics& errors) : errors_(errors) {}

  std::optional<Transformer> read(const YamlNode& node) {
    const std::size_t errors_before = errors_.size();
    const Fields fields(
        node, "the model",
        {"name",  "source", "hidden", "layers",  "heads", "kv_heads", "head_dim", "ffn",     "vocabulary", "positions",
         "gated", "tied",   "biases", "dropout", "norm",  "causal",   "window",   "experts", "latent",     "notes"},
        errors_);
    if (!node.is_map()) return std::nullopt;
    model_.name = fields.text("name").value_or("");
    model_.source = fields.text("source").value_or("");
    if (const YamlNode* notes = fields.find("notes")) read_texts(*notes, "'notes'", errors_);
    if (const YamlNode* experts = fields.find("experts")) read_experts(*experts);
    if (const YamlNode* latent = fields.find("latent")) read_latent(*latent);
    read_sizes(fields);
    model_.gated = fields.flag("gated").value_or(model_.gated);
    model_.tied = fields.flag("tied").value_or(model_.tied);
    model_.biases = fields.flag("biases").value_or(model_.biases);
    model_.dropout = fields.flag("dropout").value_or(model_.dropout);
    model_.causal = fields.flag("causal").value_or(model_.causal);
    if (const YamlNode* norm = fields.find("norm")) read_norm(*norm);
    if (errors_.size() == errors_before) tell_faults(node);
    if (errors_.size() > errors_before) return std::nullopt;
    return model_;
  }

 private:
  void read_sizes(const Fields& fields) {
    Sizes sizes(fields, errors_);
    sizes.required("hidden", model_.hidden, "hidden: 4096, the width of the residual stream");
    sizes.required("layers", model_.layers, "layers: 32");
    sizes.required("heads", model_.heads, "heads: 32, of queries");
    sizes.required("vocabulary", model_.vocabulary, "vocabulary: 32000");
    const bool dense = !model_.experts || model_.experts->dense_layers > 0 || model_.experts->every > 1;
    if (dense) {
      sizes.required("ffn", model_.ffn, "ffn: 11008, the width of the feed-forward network");
    } else {
      sizes.optional("ffn", model_.ffn, 1);
    }
    sizes.optional("positions", model_.positions, 0);
    sizes.optional("window", model_.window, 0);
    if (!sizes.optional("kv_heads", model_.kv_heads, 1)) model_.kv_heads = model_.heads;
    if (sizes.optional("head_dim", model_.head_dim, 1) || model_.latent) return;
    if (model_.heads > 0 && model_.hidden % model_.heads != 0) {
      return add_error(errors_, fields.find("heads")->span,
                       fmt::format("hidden {} is not a multiple of {} heads", model_.hidden, model_.heads),
                       "state 'head_dim'");
    }
    if (model_.heads > 0) model_.head_dim = model_.hidden / model_.heads;
  }

  void read_experts(const YamlNode& node) {
    const Fields fields(node, "'experts'", {"count", "chosen", "ffn", "shared", "every", "dense_layers"}, errors_);
    Experts experts;
    Sizes sizes(fields, errors_);
    sizes.required("count", experts.count, "count: 8, of a layer");
    sizes.required("chosen", experts.chosen, "chosen: 2, for each token");
    sizes.required("ffn", experts.ffn, "ffn: 14336, the width of one expert");
    sizes.optional("shared", experts.shared, 0);
    sizes.optional("every", experts.every, 1);
    sizes.optional("dense_layers", experts.dense_layers, 0);
    model_.experts = experts;
  }

  void read_latent(const YamlNode& node) {
    const Fields fields(node, "'latent'", {"query_rank", "key_value_rank", "rope_dim", "nope_dim", "value_dim"},
                        errors_);
    LatentAttention latent;
    Sizes sizes(fields, errors_);
    sizes.optional("query_rank", latent.query_rank, 0);
    sizes.required("key_value_rank", latent.key_value_rank, "key_value_rank: 512");
    sizes.required("rope_dim", latent.rope_dim, "rope_dim: 64, of a head, rotated");
    sizes.required("nope_dim", latent.nope_dim, "nope_dim: 128, of a head, not rotated");
    sizes.required("value_dim", latent.value_dim, "value_dim: 128, of a head");
    model_.latent = latent;
  }

  void read_norm(const YamlNode& node) {
    const auto text = read_text(node, "'norm'", errors_);
    if (!text) return;
    if (*text == "rms" || *text == "layer") {
      model_.norm = *text == "rms" ? Norm::rms : Norm::layer;
      return;
    }
    add_error(errors_, node.span, fmt::format("unknown norm {}", in_quotes(*text)),
              name_hint(*text, {"rms", "layer"}, "norms"));
  }

  void tell_faults(const YamlNode& node) {
    for (const ModelFault& fault : faults_of(model_)) {
      const std::size_t dot = fault.key.find('.');
      const YamlNode* place = node.find(fault.key.substr(0, dot));
      if (place != nullptr && dot != fault.key.npos) {
        if (const YamlNode* inner = place->find(fault.key.substr(dot + 1))) place = inner;
      }
      add_error(errors_, place != nullptr ? place->span : node.span, fault.message);
    }
  }

  Diagnostics& errors_;
  Transformer model_;
};

}  // namespace

std::optional<Transformer> read_model(const YamlNode& node, Diagnostics& errors) {
  return ModelReader(errors).read(node);
}

Result<Transformer> read_model_text(const SourceText& source) {
  Diagnostics errors;
  const auto tree = parse_yaml(source.text);
  if (tree) {
    if (auto model = read_model(*tree, errors)) return std::move(*model);
  } else {
    errors = tree.error();
  }
  for (Diagnostic& error : errors) error.source = source.name;
  sort_by_place(errors);
  return tl::unexpected(std::move(errors));
}

Result<Transformer> load_model(const Library& library, const std::string& text) {
  if (is_huggingface({"", text})) return read_huggingface_transformer({"", text});
  const bool in_place = text.find_first_of("{:\n") != text.npos;
  return in_place ? read_model_text({"", text}) : model_named(text, library);
}

}  // namespace einflow
