// Exact figures of the whole model, each with its formula.
#include <fmt/format.h>

#include <algorithm>

#include "notation/huggingface/network.hpp"

namespace einflow::huggingface {

namespace {

/// Bytes of `elements`, and how they are computed; a type whose elements do not fill bytes is counted in bits.
DocumentFigure size_figure(const std::string& name, Count elements, const std::string& formula, const ElementType& type,
                           const std::string& suffix) {
  const bool bytes = type.bits % 8 == 0;
  const int unit = bytes ? type.bits / 8 : type.bits;
  return {name, elements * Count(unit), (bytes ? "B" : "bit") + suffix,
          fmt::format("{} x {} {} ({})", formula, unit, bytes ? "B" : "bit", type.name)};
}

void add_cache(Document& document, const Model& model, const Pass& pass) {
  const AttentionBlock& block = model.attention;
  const Count layers = model.layers;
  const std::int64_t per_layer_expanded =
      block.latent ? block.heads * (block.latent->nope + block.latent->rope + block.latent->value) : 0;
  const std::int64_t per_layer =
      block.latent ? block.latent->kv_rank + block.latent->rope : 2 * block.kv_heads * block.head_dim;
  const std::string formula = block.latent ? fmt::format("({} + {})", block.latent->kv_rank, block.latent->rope)
                                           : fmt::format("2 x {} x {}", block.kv_heads, block.head_dim);
  std::vector<DocumentFigure>& figures = document.figures;
  figures.push_back(size_figure("KV cache per token", Count(per_layer) * layers,
                                fmt::format("{} x {} layers", formula, model.layers), pass.cache_type, ""));
  if (block.latent) {
    figures.push_back(size_figure("KV cache per token, not compressed", Count(per_layer_expanded) * layers,
                                  fmt::format("{} x ({} + {} + {}) x {} layers", block.heads, block.latent->nope,
                                              block.latent->rope, block.latent->value, model.layers),
                                  pass.cache_type, ""));
  }
  const std::int64_t kept = block.windowed > 0 ? std::min(pass.context, block.window) : pass.context;
  std::string places = fmt::format("{} x {}", model.layers, pass.context);
  Count tokens = layers * Count(pass.context);
  if (kept < pass.context) {
    const std::int64_t full = model.layers - block.windowed;
    tokens = Count(full) * Count(pass.context) + Count(block.windowed) * Count(kept);
    places = full == 0 ? fmt::format("{} x {}", block.windowed, kept)
                       : fmt::format("({} x {} + {} x {})", full, pass.context, block.windowed, kept);
    document.conventions.push_back(
        fmt::format("KV cache: layers with a sliding window keep its {} tokens and no more", block.window));
  }
  figures.push_back(size_figure("KV cache", Count(pass.batch) * tokens * Count(per_layer),
                                fmt::format("{} x {} x {}", pass.batch, places, formula), pass.cache_type, ""));
}

}  // namespace

void add_figures(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  Document& document = builder.document();
  const Weights all = builder.all_weights();
  document.figures.push_back({"parameters", all.count, "", all.formula});
  if (model.experts && model.experts->layers > 0) {
    const Experts& experts = *model.experts;
    const std::int64_t idle = experts.count - experts.chosen;
    const Count unused = Count(experts.layers) * Count(idle) * Count(3) * Count(experts.width) * Count(model.hidden);
    document.figures.push_back({"active parameters per token", all.count - unused, "",
                                fmt::format("{} - {} x ({} - {}) x 3 x {} x {}", all.count.str(), experts.layers,
                                            experts.count, experts.chosen, experts.width, model.hidden)});
  }
  document.figures.push_back(size_figure("weights", all.count, all.count.str(), model.type, ""));
  if (model.attention.causal) add_cache(document, model, pass);
  const Weights macs = builder.all_macs();
  document.figures.push_back({"MACs", macs.count, "", macs.formula});
  if (model.tied && (model.head == Head::language_model || model.head == Head::masked_language_model)) {
    document.conventions.push_back("lm_head has the embedding's weights (tied): its parameters are counted once");
  }
}

}  // namespace einflow::huggingface
