#include "cluster/block_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cluster/gradient.hpp"

namespace einflow::cluster {

namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> ranks_of(const Einsum& einsum) {
  std::vector<std::string> names;
  for (const Rank& rank : einsum.ranks) names.push_back(rank.name);
  return names;
}

bool has_tensor_parallel_rank(const std::vector<std::string>& ranks) {
  return has(ranks, "v") || has(ranks, "f") || has(ranks, "g") || has(ranks, "u");
}

/// Tensors on both sides are at rest there: what lies between is no einsum of the mesh's devices.
bool is_border(const Operation& operation) {
  return operation.kind == OperationKind::rename || operation.kind == OperationKind::dispatch ||
         operation.kind == OperationKind::combine;
}

class Planner {
 public:
  Planner(const Block& block, const Plan& plan, const Transformer& model) : block_(block), plan_(plan) {
    whole_ = mesh_of(plan, model);
    result_.mesh.axes.assign(whole_.axes.begin() + 1, whole_.axes.end());
  }

  Result<BlockPlan> run() {
    for (const ModelTensor& tensor : block_.tensors) {
      roles_[tensor.name] = tensor.role;
      result_.rest[tensor.name] = rest_of(tensor);
    }
    for (const Operation& operation : block_.operations) {
      PlannedOperation planned;
      planned.operation = &operation;
      planned.work.einsum = operation.shape;
      planned.work.par = loops_of(operation);
      planned.states = compute_states(planned.work, result_.mesh);
      result_.operations.push_back(std::move(planned));
    }
    for (std::size_t first = 0; first < result_.operations.size();) {
      std::size_t last = first;
      while (last < result_.operations.size() && !is_border(*result_.operations[last].operation)) ++last;
      if (last > first) {
        if (auto done = segment(first, last); !done) return tl::unexpected(done.error());
      }
      first = last + 1;
    }
    return std::move(result_);
  }

 private:
  std::int64_t size_of(const std::string& axis) const {
    return result_.mesh.axes[static_cast<std::size_t>(result_.mesh.axis_named(axis))].size;
  }

  /// par loops of the rank over the axes, those of one device left out.
  void cut(std::vector<ParLoop>& loops, const std::vector<std::string>& ranks, const std::string& rank,
           const std::vector<std::string>& axes) const {
    if (!has(ranks, rank)) return;
    for (const std::string& axis : axes) {
      if (size_of(axis) > 1) loops.push_back({rank, axis});
    }
  }

  std::vector<ParLoop> tensor_parallel(const std::vector<std::string>& ranks) const {
    std::vector<ParLoop> loops;
    if (has(ranks, "v")) {
      cut(loops, ranks, "v", {"tp", "tq"});
    } else if (has(ranks, "f")) {
      cut(loops, ranks, "f", {"tp", "tq"});
    } else {
      cut(loops, ranks, "g", {"tp"});
      cut(loops, ranks, "u", {"tq"});
    }
    return loops;
  }

  std::vector<ParLoop> loops_of(const Operation& operation) const {
    const std::vector<std::string> ranks = ranks_of(operation.shape);
    std::vector<ParLoop> loops;
    const bool among_experts = has(ranks, "c");
    cut(loops, ranks, "b", {"dp", "ep"});
    if (among_experts) cut(loops, ranks, "c", {"dp", "cp"});
    if (among_experts) cut(loops, ranks, "e", {"ep"});
    const std::vector<ParLoop> tensor = tensor_parallel(ranks);
    const bool heads_over_cp = plan_.way == ContextWay::ulysses && has(ranks, "t") && has(ranks, "g");
    if (!heads_over_cp) cut(loops, ranks, "s", {"cp"});
    loops.insert(loops.end(), tensor.begin(), tensor.end());
    if (heads_over_cp) cut(loops, ranks, "g", {"cp"});
    if (plan_.sequence && tensor.empty() && !has_tensor_parallel_rank(ranks)) cut(loops, ranks, "s", {"tp", "tq"});
    return loops;
  }

  Placement rest_of(const ModelTensor& tensor) const {
    std::vector<ParLoop> loops;
    const std::vector<std::string>& ranks = tensor.ranks;
    const bool weight = tensor.role == Role::weight;
    if (weight) {
      cut(loops, ranks, "e", {"ep"});
    } else {
      cut(loops, ranks, "b", {"dp", "ep"});
      cut(loops, ranks, "s", {"cp"});
      cut(loops, ranks, "t", {"cp"});
    }
    const std::vector<ParLoop> tensor_loops = tensor_parallel(ranks);
    const bool crosses = !weight && has(ranks, "c") && !has_tensor_parallel_rank(ranks);
    if (has(ranks, "c") && !crosses) {
      cut(loops, ranks, "c", {"dp", "cp"});
      cut(loops, ranks, "e", {"ep"});
    }
    if (crosses) {
      // Tokens rest with the device that has them, sorted by expert.
      cut(loops, ranks, "c", {"dp", "cp"});
      if (plan_.sequence) cut(loops, ranks, "c", {"tp", "tq"});
      cut(loops, ranks, "c", {"ep"});
    }
    loops.insert(loops.end(), tensor_loops.begin(), tensor_loops.end());
    if (plan_.sequence && !weight && !has_tensor_parallel_rank(ranks)) {
      cut(loops, ranks, "s", {"tp", "tq"});
    }
    return placement_of(loops);
  }

  Placement placement_of(const std::vector<ParLoop>& loops) const {
    Placement placement = everywhere(result_.mesh);
    std::map<std::string, int> depths;
    for (const ParLoop& loop : loops) {
      placement.states[static_cast<std::size_t>(result_.mesh.axis_named(loop.axis))] =
          split(loop.rank, depths[loop.rank]++);
    }
    return placement;
  }

  /// What a weight's gradient is when its einsum is done: split or partial on each axis.
  Result<Placement> gradient_state(const ShardedEinsum& work, int tensor) const {
    auto parts = gradient_of(work.einsum, tensor);
    if (!parts) return tl::unexpected(parts.error());
    if (parts->empty()) return result_.rest.at(work.einsum.tensors[static_cast<std::size_t>(tensor)].name);
    ShardedEinsum last;
    last.einsum = parts->back();
    for (const ParLoop& loop : work.par) {
      if (last.einsum.rank_named(loop.rank) >= 0) last.par.push_back(loop);
    }
    return compute_states(last, result_.mesh).back();
  }

  Result<void> segment(std::size_t first, std::size_t last) {
    Scheme scheme;
    scheme.name = block_.name;
    scheme.mesh = result_.mesh;
    for (std::size_t i = first; i < last; ++i) {
      const PlannedOperation& planned = result_.operations[i];
      scheme.forward.push_back(planned.work);
      for (int tensor = 0; tensor < planned.work.einsum.output(); ++tensor) {
        const Tensor& input = planned.work.einsum.tensors[static_cast<std::size_t>(tensor)];
        const Role role = roles_.at(input.name);
        if (role == Role::mask) scheme.constant.insert(input.name);
        if (role != Role::weight || scheme.weights.count(input.name) != 0) continue;
        auto gradient = gradient_state(planned.work, tensor);
        if (!gradient) return tl::unexpected(gradient.error());
        const Placement& rest = result_.rest.at(input.name);
        scheme.weights[input.name] = {rest, *gradient, *gradient};
        result_.weights.push_back(
            {input.name, ranks(planned.work.einsum, tensor), input.type, rest, *gradient,
             rest.states[static_cast<std::size_t>(result_.mesh.axis_named("ep"))].kind == StateKind::split});
      }
    }
    scheme.storage = result_.rest;
    const bool training = plan_.phase == Phase::training;
    // The update is planned for all weights of a device together, not here.
    auto program = training ? training_program(scheme) : forward_program(scheme);
    if (!program) return tl::unexpected(program.error());
    take(program->forward, result_.forward);
    take(program->backward, result_.backward);
    return {};
  }

  static std::vector<Rank> ranks(const Einsum& einsum, int tensor) {
    std::vector<Rank> result;
    for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(tensor)].axes) {
      result.push_back(einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)]);
    }
    return result;
  }

  static void take(const std::vector<Step>& steps, std::vector<Collective>& into) {
    for (const Step& step : steps) {
      const auto* const collective = std::get_if<Collective>(&step);
      if (collective != nullptr && collective->kind != CollectiveKind::slice) into.push_back(*collective);
    }
  }

  const Block& block_;
  const Plan& plan_;
  DeviceMesh whole_;
  BlockPlan result_;
  std::map<std::string, Role> roles_;
};

}  // namespace

DeviceMesh mesh_of(const Plan& plan, const Transformer& model) {
  // As many devices as have a KV head of their own; the others share one, and split its queries.
  const std::int64_t kv_heads = std::max<std::int64_t>(1, model.kv_heads);
  std::int64_t heads = plan.tp;
  if (plan.tp > kv_heads) heads = std::gcd(plan.tp, kv_heads);
  return {{{"pp", plan.pp},
           {"dp", plan.dp / plan.ep},
           {"cp", plan.cp},
           {"ep", plan.ep},
           {"tp", heads},
           {"tq", plan.tp / heads}}};
}

Result<BlockPlan> plan_block(const Block& block, const Plan& plan, const Transformer& model) {
  return Planner(block, plan, model).run();
}

}  // namespace einflow::cluster
