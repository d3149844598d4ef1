// The second half of a block: a MLP, or a router and its experts.
#include <fmt/format.h>

#include "notation/fields.hpp"
#include "notation/huggingface/network.hpp"

namespace einflow::huggingface {

namespace {

/// One MLP for `rows` tokens; names begin with `prefix`.
void add_mlp(NetworkBuilder& builder, const std::string& prefix, std::int64_t repeat, const Model& model,
             const Mlp& mlp, std::int64_t rows) {
  const RankSizes sizes{{"m", rows}, {"f", mlp.width}};
  const Einsum activation = einsum_of("", fmt::format("A[m,f] = {}(G[m,f])", mlp.activation), sizes);
  if (!mlp.gated) {
    add_projection(builder, prefix + "fc_in", repeat, model, rows, model.hidden, mlp.width, mlp.bias);
    builder.add(prefix + mlp.activation, repeat, std::vector<Einsum>{activation});
    add_projection(builder, prefix + "fc_out", repeat, model, rows, mlp.width, model.hidden, mlp.bias);
    return;
  }
  if (mlp.fused) {
    add_projection(builder, prefix + "gate_up_proj", repeat, model, rows, model.hidden, 2 * mlp.width, mlp.bias);
  } else {
    add_projection(builder, prefix + "gate_proj", repeat, model, rows, model.hidden, mlp.width, mlp.bias);
    add_projection(builder, prefix + "up_proj", repeat, model, rows, model.hidden, mlp.width, mlp.bias);
  }
  builder.add(prefix + mlp.activation, repeat, std::vector<Einsum>{activation});
  builder.add(prefix + "gate", repeat, std::vector<Einsum>{einsum_of("", "H[m,f] = A[m,f] * U[m,f]", sizes)});
  add_projection(builder, prefix + "down_proj", repeat, model, rows, mlp.width, model.hidden, mlp.bias);
}

void add_router(NetworkBuilder& builder, const Model& model, const Experts& experts, std::int64_t m) {
  const std::int64_t layers = experts.layers;
  const RankSizes sizes{{"m", m}, {"e", experts.count}, {"c", experts.chosen}};
  builder.add("router", layers, linear(m, model.hidden, experts.count), weights({experts.count, model.hidden}));
  if (experts.sigmoid) {
    builder.add("router.sigmoid", layers, std::vector<Einsum>{einsum_of("", "P[m,e] = sigmoid(S[m,e])", sizes)});
  } else {
    builder.add("router.softmax", layers, softmax_of("m", "e", sizes, {}));
  }
  if (experts.correction_bias) {
    builder.add("router.correction", layers, std::vector<Einsum>{einsum_of("", "C[m,e] = P[m,e] + B[e]", sizes)},
                weights({experts.count}));
  }
  if (experts.renormalised) {
    builder.add("router.renormalise", layers,
                std::vector<Einsum>{einsum_of("sum", "L[m] += P[m,c]", sizes),
                                    einsum_of("divide", "N[m,c] = P[m,c] / L[m]", sizes)});
  }
  if (experts.scaled) {
    builder.add("router.scale", layers, std::vector<Einsum>{einsum_of("", "R[m,c] = N[m,c] * F", sizes)});
  }
}

/// `count` experts of `rows` tokens each; `own` experts' weights are counted here.
void add_expert_group(NetworkBuilder& builder, const std::string& prefix, const Model& model, const Experts& experts,
                      std::int64_t count, std::int64_t rows, std::int64_t own) {
  const std::int64_t layers = experts.layers;
  const std::string& activation = model.mlp.activation;
  const RankSizes sizes{{"e", count}, {"m", rows}, {"f", experts.width}, {"i", model.hidden}};
  const Weights matrix = weights({own, experts.width, model.hidden});
  const auto add = [&](const std::string& name, const std::string& text, const Weights& weight = {}) {
    builder.add(prefix + name, layers, std::vector<Einsum>{einsum_of("", text, sizes)}, weight);
  };
  add("gate_proj", "G[e,m,f] += X[e,m,i] * W[e,f,i]", matrix);
  add("up_proj", "U[e,m,f] += X[e,m,i] * W[e,f,i]", matrix);
  add(activation, fmt::format("A[e,m,f] = {}(G[e,m,f])", activation));
  add("gate", "H[e,m,f] = A[e,m,f] * U[e,m,f]");
  add("down_proj", "Y[e,m,i] += H[e,m,f] * W[e,i,f]", matrix);
  add("weight", "Z[e,m,i] = Y[e,m,i] * P[e,m]");
}

void add_experts(NetworkBuilder& builder, const Model& model, const Experts& experts, std::int64_t m) {
  const std::int64_t layers = experts.layers;
  const Count pairs = Count(m) * Count(experts.chosen);  // below 2^90
  const Count each = Count(pairs.value() / experts.count);
  const Count rest = pairs - each * Count(experts.count);
  const std::int64_t fuller = rest.to_int64().value_or(0);
  const std::optional<std::int64_t> rows = each.to_int64();
  std::vector<std::string>& lines = builder.document().conventions;
  if (!rows) return builder.add("experts", layers, Result<Einsum>(fail("more tokens than 64 bits hold")));
  std::string spread = fmt::format("experts: routing assumed balanced, {} tokens x {} = {} pairs over {} experts: ", m,
                                   experts.chosen, pairs.str(), experts.count);
  if (*rows == 0) {
    add_expert_group(builder, "experts.", model, experts, fuller, 1, experts.count);
    spread +=
        fmt::format("{} have one token, {} none; the parameters are those of all", fuller, experts.count - fuller);
  } else if (fuller == 0) {
    add_expert_group(builder, "experts.", model, experts, experts.count, *rows, experts.count);
    spread += fmt::format("{} tokens each", *rows);
  } else {
    add_expert_group(builder, "experts.", model, experts, experts.count - fuller, *rows, experts.count - fuller);
    add_expert_group(builder, "fuller_experts.", model, experts, fuller, *rows + 1, fuller);
    spread += fmt::format("{} have {} tokens, {} (fuller_experts) one more", experts.count - fuller, *rows, fuller);
  }
  lines.push_back(spread);
  if (experts.chosen == 2) {
    builder.add("experts.combine", layers,
                std::vector<Einsum>{einsum_of("", "O[m,i] = Y[m,i] + Z[m,i]", {{"m", m}, {"i", model.hidden}})});
  } else if (experts.chosen > 2) {
    builder.add("experts.combine", layers,
                std::vector<Einsum>{
                    einsum_of("", "O[m,i] += Z[m,c,i]", {{"m", m}, {"c", experts.chosen}, {"i", model.hidden}})});
  }
  if (experts.shared_width == 0) return;
  Mlp shared = model.mlp;
  shared.width = experts.shared_width;
  add_mlp(builder, "shared_experts.", layers, model, shared, m);
  if (experts.shared_gate) {
    builder.add("shared_experts.router", layers, linear(m, model.hidden, 1), weights({1, model.hidden}));
    builder.add("shared_experts.sigmoid", layers,
                std::vector<Einsum>{einsum_of("", "P[m] = sigmoid(S[m])", {{"m", m}})});
    builder.add("shared_experts.weight", layers,
                std::vector<Einsum>{einsum_of("", "Z[m,i] = Y[m,i] * P[m]", {{"m", m}, {"i", model.hidden}})});
  }
  add_sum(builder, "shared_experts.add", layers, m, model.hidden);
}

}  // namespace

void add_feed_forward(NetworkBuilder& builder, const Model& model, const Pass& pass) {
  const std::int64_t m = pass.tokens;
  if (!model.one_norm) {
    add_norm(builder, "mlp_norm", model.layers, model.norm, model.norm_weights, "m", {{"m", m}, {"i", model.hidden}},
             model.hidden);
  }
  const std::int64_t with_experts = model.experts ? model.experts->layers : 0;
  add_mlp(builder, "", model.layers - with_experts, model, model.mlp, m);
  if (with_experts > 0) {
    add_router(builder, model, *model.experts, m);
    add_experts(builder, model, *model.experts, m);
  }
  if (model.output_norms) {
    add_norm(builder, "mlp_output_norm", model.layers, model.norm, model.norm_weights, "m",
             {{"m", m}, {"i", model.hidden}}, model.hidden);
  }
  add_sum(builder, "mlp_residual", model.layers, m, model.hidden);
}

}  // namespace einflow::huggingface
