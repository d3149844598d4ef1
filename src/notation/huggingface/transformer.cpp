#include "notation/huggingface/transformer.hpp"

#include <fmt/format.h>

#include <utility>

namespace einflow::huggingface {

namespace {

class Translation {
 public:
  explicit Translation(const Model& model) : from_(model) {}

  Result<cluster::Transformer> run() {
    blocks();
    attention();
    if (from_.experts) experts(*from_.experts);
    to_.source = fmt::format("config.json of the family {}", from_.family);
    to_.hidden = from_.hidden;
    to_.layers = from_.layers;
    to_.vocabulary = from_.vocabulary;
    to_.positions = from_.positions;
    to_.tied = from_.tied;
    to_.norm = from_.norm == NormKind::rms ? cluster::Norm::rms : cluster::Norm::layer;
    to_.ffn = from_.mlp.width;
    to_.gated = from_.mlp.gated;
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    if (auto checked = cluster::check(to_); !checked) return tl::unexpected(checked.error());
    return std::move(to_);
  }

 private:
  void refuse(bool there, const char* what) {
    if (!there) return;
    errors_.push_back({{},
                       fmt::format("{}: the blocks of a parallel plan do not have it", what),
                       "`einflow translate` reads the network's operations",
                       {}});
  }

  void blocks() {
    refuse(from_.vision.has_value() || from_.vocabulary == 0, "a model of images");
    refuse(from_.head != Head::language_model, "a model without logits over its vocabulary");
    refuse(from_.embedding != 0 && from_.embedding != from_.hidden, "an embedding of another width");
    refuse(from_.token_types > 0, "an embedding of token types");
    refuse(from_.embedding_norm, "a norm of the embedding");
    refuse(!from_.norm_weights, "norms without weights");
    refuse(!from_.final_norm, "a head without a norm");
    refuse(from_.one_norm, "attention and feed-forward network side by side");
    refuse(from_.output_norms, "norms behind attention and feed-forward network");
    refuse(from_.head_bias, "a bias of the logits");
  }

  void attention() {
    const AttentionBlock& block = from_.attention;
    to_.heads = block.heads;
    to_.kv_heads = block.kv_heads;
    to_.head_dim = block.head_dim;
    to_.causal = block.causal;
    refuse(block.qk_norm, "a norm of queries and keys");
    to_.biases = from_.mlp.bias;
    refuse(block.qkv_bias != to_.biases || block.output_bias != to_.biases, "biases of some projections only");
    refuse(block.windowed != 0 && block.windowed != from_.layers, "a window of some layers only");
    if (block.windowed == from_.layers) to_.window = block.window;
    if (!block.latent) return;
    const LatentAttention& latent = *block.latent;
    to_.latent =
        cluster::LatentAttention{latent.q_rank.value_or(0), latent.kv_rank, latent.rope, latent.nope, latent.value};
  }

  void experts(const Experts& experts) {
    refuse(experts.shared_gate, "a gate of the shared experts");
    refuse(experts.shared_width % experts.width != 0, "shared experts of another width");
    to_.experts = cluster::Experts{.count = experts.count,
                                   .chosen = experts.chosen,
                                   .ffn = experts.width,
                                   .shared = experts.shared_width / experts.width,
                                   .every = 1,
                                   .dense_layers = from_.layers - experts.layers};
  }

  const Model& from_;
  cluster::Transformer to_;
  Diagnostics errors_;
};

}  // namespace

Result<cluster::Transformer> transformer_of(const Model& model) { return Translation(model).run(); }

}  // namespace einflow::huggingface
