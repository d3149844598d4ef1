#include "cluster/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace einflow::cluster {

namespace {

constexpr std::int64_t kMaximumSize = std::int64_t{1} << 40;

class ModelCheck {
 public:
  explicit ModelCheck(const Transformer& model) : model_(model) {}

  std::vector<ModelFault> run() {
    sizes();
    if (model_.latent) {
      latent(*model_.latent);
    } else {
      heads();
    }
    if (model_.window > 0 && !model_.causal) {
      fault("window", "a window is of causal attention, but the model is not causal");
    }
    if (model_.experts) experts(*model_.experts);
    return std::move(faults_);
  }

 private:
  void fault(std::string key, std::string message) { faults_.push_back({std::move(key), std::move(message)}); }

  void size(std::string key, std::int64_t value, std::int64_t minimum = 1) {
    if (value >= minimum && value <= kMaximumSize) return;
    std::string message = fmt::format("'{}' is {}, expected {} to 2^40", key, value, minimum);
    fault(std::move(key), std::move(message));
  }

  void sizes() {
    size("hidden", model_.hidden);
    size("layers", model_.layers);
    size("heads", model_.heads);
    size("vocabulary", model_.vocabulary);
    size("positions", model_.positions, 0);
    size("window", model_.window, 0);
    const bool dense = !model_.experts || model_.experts->dense_layers > 0 || model_.experts->every > 1;
    size("ffn", model_.ffn, dense ? 1 : 0);
  }

  void heads() {
    size("head_dim", model_.head_dim);
    size("kv_heads", model_.kv_heads);
    if (model_.kv_heads > 0 && model_.heads % model_.kv_heads != 0) {
      fault("kv_heads", fmt::format("{} heads cannot share {} KV heads evenly", model_.heads, model_.kv_heads));
    }
  }

  void latent(const LatentAttention& latent) {
    if (model_.kv_heads != model_.heads) {
      fault("kv_heads", fmt::format("latent attention has keys and values of each of its {} heads, found {} KV heads",
                                    model_.heads, model_.kv_heads));
    }
    size("latent.query_rank", latent.query_rank, 0);
    size("latent.key_value_rank", latent.key_value_rank);
    size("latent.rope_dim", latent.rope_dim);
    size("latent.nope_dim", latent.nope_dim);
    size("latent.value_dim", latent.value_dim);
  }

  void experts(const Experts& experts) {
    size("experts.count", experts.count);
    size("experts.chosen", experts.chosen);
    size("experts.ffn", experts.ffn);
    size("experts.shared", experts.shared, 0);
    size("experts.every", experts.every);
    size("experts.dense_layers", experts.dense_layers, 0);
    if (experts.chosen > experts.count) {
      fault("experts.chosen", fmt::format("{} experts are chosen of {}", experts.chosen, experts.count));
    }
    if (experts.dense_layers > model_.layers) {
      fault("experts.dense_layers", fmt::format("{} dense layers of {} layers", experts.dense_layers, model_.layers));
    }
  }

  const Transformer& model_;
  std::vector<ModelFault> faults_;
};

/// Elements of weights, each once; of experts `numerator` of `denominator`.
Count weights(const Transformer& model, std::int64_t numerator, std::int64_t denominator) {
  const auto blocks = blocks_of(model, {});
  if (!blocks) return 0;
  Count sum = 0;
  for (const Block& block : *blocks) {
    for (const ModelTensor& tensor : block.tensors) {
      if (tensor.role != Role::weight || tensor.elsewhere) continue;
      Count elements = block.elements(tensor) * Count(block.repeat);
      const bool of_experts = std::find(tensor.ranks.begin(), tensor.ranks.end(), "e") != tensor.ranks.end();
      if (of_experts) elements = ceil_div(elements * Count(numerator), Count(denominator));
      sum += elements;
    }
  }
  return sum;
}

}  // namespace

Count Transformer::parameters() const { return weights(*this, 1, 1); }

Count Transformer::active_parameters() const {
  return experts && experts->count > 0 ? weights(*this, experts->chosen, experts->count) : parameters();
}

std::vector<ModelFault> faults_of(const Transformer& model) { return ModelCheck(model).run(); }

Result<void> check(const Transformer& model) {
  Diagnostics errors;
  for (ModelFault& fault : faults_of(model)) errors.push_back({{}, std::move(fault.message), {}, {}});
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return {};
}

const ModelTensor* Block::tensor_named(std::string_view wanted) const {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const ModelTensor& tensor) { return tensor.name == wanted; });
  return found == tensors.end() ? nullptr : &*found;
}

std::int64_t Block::extent(std::string_view wanted) const {
  const auto found = std::find_if(ranks.begin(), ranks.end(), [&](const Rank& rank) { return rank.name == wanted; });
  return found == ranks.end() ? 1 : found->extent;
}

Count Block::elements(const ModelTensor& tensor) const {
  Count product = 1;
  for (const std::string& rank : tensor.ranks) product *= Count(extent(rank));
  return product;
}

std::vector<Rank> Block::ranks_of(const ModelTensor& tensor) const {
  std::vector<Rank> result;
  for (const std::string& rank : tensor.ranks) result.push_back({rank, extent(rank)});
  return result;
}

Count attention_pairs(const Transformer& model, const Workload& workload) {
  const Count queries = workload.queries;
  const Count keys = workload.keys;
  const bool windowed = model.window > 0 && model.window < workload.keys;
  if (!model.causal || (workload.causal_flops == CausalFlops::full && !windowed)) return queries * keys;
  // Query q, 0 <= q < queries, sees the first keys - queries + q + 1 keys, at most `window` of them.
  const auto sum_up_to = [](Count last) { return ceil_div(last * (last + Count(1)), Count(2)); };
  const Count before = keys - queries;
  if (!windowed) return sum_up_to(keys) - sum_up_to(before);
  const Count window = model.window;
  const Count growing = window < before ? before : window;  // so many first tokens see less than the window or just it
  return sum_up_to(growing) - sum_up_to(before) + (keys - growing) * window;
}

std::vector<Placement> states_of(const Operation& operation, const std::vector<ParLoop>& par, const DeviceMesh& mesh) {
  const Einsum& shape = operation.shape;
  if (operation.renames.empty()) return compute_states({shape, par, std::nullopt}, mesh);
  std::vector<Placement> result(shape.tensors.size(), everywhere(mesh));
  for (std::size_t tensor = 0; tensor < shape.tensors.size(); ++tensor) {
    const bool output = shape.is_output(static_cast<int>(tensor));
    const auto has = [&](const std::string& rank) {
      return shape.has_rank(static_cast<int>(tensor), shape.rank_named(rank));
    };
    std::map<std::string, int> depths;
    for (const ParLoop& loop : par) {
      const int axis = mesh.axis_named(loop.axis);
      if (axis < 0 || shape.rank_named(loop.rank) < 0) continue;
      std::string rank = loop.rank;
      for (const auto& [from, to] : operation.renames) {
        if (has(rank)) break;
        if (loop.rank == from && has(to)) rank = to;
        if (loop.rank == to && has(from)) rank = from;
      }
      State& state = result[tensor].states[static_cast<std::size_t>(axis)];
      if (has(rank)) {
        state = split(rank, depths[rank]++);
      } else if (output) {
        state = partial(shape.reduce.empty() ? "+" : shape.reduce);
      }
    }
  }
  return result;
}

Elements whole_tensors(const Block& block) {
  return [&block](const ModelTensor& tensor) { return block.elements(tensor); };
}

Elements largest_pieces(const Block& block, const DeviceMesh& mesh, std::map<std::string, Placement> rest) {
  return [&block, mesh, rest = std::move(rest)](const ModelTensor& tensor) {
    const auto found = rest.find(tensor.name);
    return found == rest.end() ? block.elements(tensor) : largest_piece(block.ranks_of(tensor), found->second, mesh);
  };
}

Count bytes_of(const Block& block, const std::vector<Access>& accesses, const Elements& elements) {
  Count bytes = 0;
  for (const Access& access : accesses) {
    const ModelTensor* tensor = block.tensor_named(access.tensor);
    if (tensor == nullptr) continue;
    const Count bits = elements(*tensor) * Count(tensor->bits) * access.share.numerator();
    bytes += ceil_div(bits, Count(8) * access.share.denominator());
  }
  return bytes;
}

Count bytes_of(const Block& block, const std::vector<Access>& accesses) {
  return bytes_of(block, accesses, whole_tensors(block));
}

}  // namespace einflow::cluster
