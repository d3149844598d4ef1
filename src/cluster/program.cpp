#include "cluster/program.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "cluster/gradient.hpp"
#include "cluster/traffic.hpp"

namespace einflow::cluster {

namespace {

/// What a tensor is, wherever it occurs.
struct Declared {
  std::vector<Rank> ranks;
  ElementType type;
};

std::vector<std::int64_t> extents(const Declared& declared) {
  std::vector<std::int64_t> result;
  for (const Rank& rank : declared.ranks) result.push_back(rank.extent);
  return result;
}

Result<Declared> declared_in(const Einsum& einsum, std::size_t tensor) {
  Declared declared;
  declared.type = einsum.tensors[tensor].type;
  for (const Axis& axis : einsum.tensors[tensor].axes) {
    if (axis.terms.size() != 1 || axis.terms.front().coefficient != 1 || axis.constant != 0 || axis.stored_size) {
      return fail(fmt::format("tensor {} has an axis that is no single rank: devices split ranks only",
                              in_quotes(einsum.tensors[tensor].name)));
    }
    declared.ranks.push_back(einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)]);
  }
  return declared;
}

Result<void> check_loops(const ShardedEinsum& sharded, const DeviceMesh& mesh) {
  std::vector<std::string> axes;
  std::vector<std::string> ranks;
  std::set<std::string> used;
  for (const MeshAxis& axis : mesh.axes) axes.push_back(axis.name);
  for (const Rank& rank : sharded.einsum.ranks) ranks.push_back(rank.name);
  const std::string text = to_text(sharded.einsum);
  for (const ParLoop& loop : sharded.par) {
    if (mesh.axis_named(loop.axis) < 0) {
      return fail(fmt::format("the mesh has no axis {}", in_quotes(loop.axis)), name_hint(loop.axis, axes, "axes"));
    }
    if (sharded.einsum.rank_named(loop.rank) < 0) {
      return fail(fmt::format("{} has no rank {}", text, in_quotes(loop.rank)), name_hint(loop.rank, ranks, "ranks"));
    }
    if (!used.insert(loop.axis).second) {
      return fail(fmt::format("axis {} stands in two par loops of {}: an axis splits one rank of an einsum",
                              in_quotes(loop.axis), text));
    }
  }
  if (sharded.time && sharded.einsum.rank_named(sharded.time->rank) < 0) {
    return fail(fmt::format("{} has no rank {}", text, in_quotes(sharded.time->rank)),
                name_hint(sharded.time->rank, ranks, "ranks"));
  }
  return {};
}

/// Operands come to an einsum, its output leaves it.
enum class Passage { comes, leaves };

/// Builds the steps of one section; knows in which placements each tensor is present.
class Builder {
 public:
  Builder(const DeviceMesh& mesh, Diagnostics& errors) : mesh_(mesh), errors_(errors) {}

  void declare(const Einsum& einsum) {
    for (std::size_t tensor = 0; tensor < einsum.tensors.size(); ++tensor) {
      auto declared = declared_in(einsum, tensor);
      if (!declared) {
        errors_.insert(errors_.end(), declared.error().begin(), declared.error().end());
        continue;
      }
      const auto known = declared_.find(einsum.tensors[tensor].name);
      if (known != declared_.end() && extents(known->second) != extents(*declared)) {
        errors_.push_back({{},
                           fmt::format("tensor {} has the sizes {} and {}", in_quotes(known->first),
                                       fmt::join(extents(known->second), " x "), fmt::join(extents(*declared), " x ")),
                           "tensors are shared by name",
                           {}});
        continue;
      }
      declared_.insert_or_assign(einsum.tensors[tensor].name, *declared);
    }
  }
  /// Another name for a tensor of the same ranks and type.
  void declare_like(const std::string& name, const std::string& like) {
    declared_.insert_or_assign(name, declared_.at(like));
  }
  const Declared& declared(const std::string& tensor) const { return declared_.at(tensor); }

  void have(const std::string& tensor, const Placement& placement) {
    auto& present = present_[tensor];
    if (std::find(present.begin(), present.end(), placement) == present.end()) present.push_back(placement);
  }
  bool has(const std::string& tensor) const { return present_.count(tensor) != 0 && !present_.at(tensor).empty(); }

  /// Brings the tensor into the placement from the nearest of those in which it is present.
  /// `time`: the time loop of the einsum that reads it (comes) or has written it (leaves).
  void bring(const std::string& tensor, const Placement& to, const std::optional<TimeLoop>& time,
             Passage passage = Passage::comes) {
    const auto found = present_.find(tensor);
    if (found == present_.end() || found->second.empty()) {
      errors_.push_back({{}, fmt::format("tensor {} is read before it is there", in_quotes(tensor)), {}, {}});
      return;
    }
    if (std::find(found->second.begin(), found->second.end(), to) != found->second.end()) return;
    std::optional<std::vector<Collective>> best;
    Count least = 0;
    for (const Placement& from : found->second) {
      auto way = transition(tensor, declared(tensor).ranks, declared(tensor).type, from, to, mesh_);
      if (!way) {
        errors_.insert(errors_.end(), way.error().begin(), way.error().end());
        return;
      }
      Count sent = 0;
      for (const Collective& collective : *way) sent += total_sent(collective, mesh_);
      if (best && least <= sent) continue;
      best = std::move(*way);
      least = sent;
    }
    // Of a way through a place where it is, only what comes after.
    for (std::size_t i = best->size(); i-- > 0;) {
      const auto& there = found->second;
      if (std::find(there.begin(), there.end(), (*best)[i].to) == there.end()) continue;
      best->erase(best->begin(), best->begin() + static_cast<std::ptrdiff_t>(i) + 1);
      break;
    }
    for (Collective& collective : *best) {
      if (time && moves_by_pieces(collective, time->rank, passage)) collective.time = time;
      steps.emplace_back(std::in_place_type<Collective>, collective);
      have(tensor, collective.to);
    }
  }

  void compute(const ShardedEinsum& work, const std::vector<Placement>& placements, bool accumulate) {
    steps.emplace_back(std::in_place_type<LocalEinsum>, LocalEinsum{work, placements, accumulate});
    have(work.einsum.tensors.back().name, placements.back());
  }

  /// Drops every copy that is not kept; of the tensors in `untouched` none.
  void release_all_but(const std::map<std::string, Placement>& kept, const std::set<std::string>& untouched = {}) {
    for (auto& [tensor, present] : present_) {
      if (untouched.count(tensor) != 0) continue;
      std::vector<Placement> stays;
      for (const Placement& placement : present) {
        const auto found = kept.find(tensor);
        if (found != kept.end() && found->second == placement) {
          stays.push_back(placement);
        } else {
          steps.emplace_back(std::in_place_type<Release>, Release{tensor, placement});
        }
      }
      present = std::move(stays);
    }
  }
  /// Drops the copies of one tensor but that one.
  void release_others(const std::string& tensor, const Placement& kept) {
    for (const Placement& placement : std::vector<Placement>(present_[tensor])) {
      if (!(placement == kept)) release(tensor, placement);
    }
  }
  /// Drops a copy.
  void release(const std::string& tensor, const Placement& placement) {
    auto& present = present_[tensor];
    present.erase(std::remove(present.begin(), present.end(), placement), present.end());
    steps.emplace_back(std::in_place_type<Release>, Release{tensor, placement});
  }

  std::vector<Step> steps;

 private:
  static bool moves_by_pieces(const Collective& collective, const std::string& rank, Passage passage) {
    const auto axis = static_cast<std::size_t>(collective.axis);
    if (passage == Passage::comes) {
      return collective.kind == CollectiveKind::all_gather && collective.from.states[axis].rank == rank;
    }
    return collective.kind == CollectiveKind::reduce_scatter && collective.to.states[axis].rank == rank;
  }

  const DeviceMesh& mesh_;
  Diagnostics& errors_;
  std::map<std::string, Declared> declared_;
  std::map<std::string, std::vector<Placement>> present_;
};

Placement without_partials(Placement placement) {
  for (State& state : placement.states) {
    if (state.kind == StateKind::partial) state = replicated();
  }
  return placement;
}

bool has_partial(const Placement& placement) {
  return std::any_of(placement.states.begin(), placement.states.end(),
                     [](const State& state) { return state.kind == StateKind::partial; });
}

/// Par loops that cut an einsum's ranks as a placement cuts its tensor.
std::vector<ParLoop> loops_of(const Placement& placement, const DeviceMesh& mesh) {
  std::vector<std::pair<int, ParLoop>> loops;
  for (std::size_t axis = 0; axis < placement.states.size(); ++axis) {
    const State& state = placement.states[axis];
    if (state.kind == StateKind::split) loops.push_back({state.depth, {state.rank, mesh.axes[axis].name}});
  }
  std::stable_sort(loops.begin(), loops.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ParLoop> result;
  for (auto& [depth, loop] : loops) result.push_back(std::move(loop));
  return result;
}

/// An einsum of whole tensors with the same ranks: output = map of the inputs.
ShardedEinsum elementwise(const Declared& like, const std::vector<std::string>& names, const std::string& map,
                          const Placement& placement, const DeviceMesh& mesh) {
  ShardedEinsum sharded;
  sharded.einsum.ranks = like.ranks;
  sharded.einsum.map = map;
  sharded.einsum.reduce = "";
  for (const std::string& name : names) {
    Tensor tensor;
    tensor.name = name;
    tensor.type = like.type;
    for (std::size_t rank = 0; rank < like.ranks.size(); ++rank) {
      tensor.axes.push_back(Axis{{Term{static_cast<int>(rank), 1}}, 0, {}});
    }
    sharded.einsum.tensors.push_back(std::move(tensor));
  }
  sharded.par = loops_of(placement, mesh);
  return sharded;
}

class Planner {
 public:
  explicit Planner(const Scheme& scheme) : scheme_(scheme), builder_(scheme.mesh, errors_) {}

  Result<Program> forward() {
    if (!prepare()) return tl::unexpected(errors_);
    program_.mesh = scheme_.mesh;
    program_.microbatches = scheme_.microbatches;
    run_forward();
    if (!errors_.empty()) return tl::unexpected(errors_);
    return program_;
  }

  Result<Program> training() {
    if (auto planned = forward(); !planned) return planned;
    run_backward();
    if (errors_.empty()) run_finish();
    if (!errors_.empty()) return tl::unexpected(errors_);
    return program_;
  }

 private:
  bool prepare() {
    if (scheme_.forward.empty()) errors_.push_back({{}, "a scheme has at least one einsum", {}, {}});
    for (const ShardedEinsum& sharded : scheme_.forward) {
      if (auto fits = check_loops(sharded, scheme_.mesh); !fits) {
        errors_.insert(errors_.end(), fits.error().begin(), fits.error().end());
      }
      builder_.declare(sharded.einsum);
    }
    if (!errors_.empty()) return false;
    std::set<std::string> produced;
    for (const ShardedEinsum& sharded : scheme_.forward) {
      const std::vector<Placement> states = compute_states(sharded, scheme_.mesh);
      for (int tensor = 0; tensor < sharded.einsum.output(); ++tensor) {
        const std::string& name = sharded.einsum.tensors[static_cast<std::size_t>(tensor)].name;
        if (rest_.count(name) == 0) {
          rest_[name] = stated_rest(name, states[static_cast<std::size_t>(tensor)]);
          given_.insert(name);
        }
      }
      const std::string& output = sharded.einsum.tensors.back().name;
      if (rest_.count(output) != 0) {
        errors_.push_back(
            {{}, fmt::format("tensor {} is written after it was read or written", in_quotes(output)), {}, {}});
      }
      rest_[output] = stated_rest(output, without_partials(states.back()));
    }
    for (const auto& [name, placement] : rest_) {
      if (auto fits = check(placement, scheme_.mesh, builder_.declared(name).ranks); !fits) {
        for (Diagnostic& error : fits.error()) {
          error.message = fmt::format("storage of {}: {}", name, error.message);
          errors_.push_back(error);
        }
      } else if (has_partial(placement)) {
        errors_.push_back({{}, fmt::format("storage of {}: a tensor at rest is not partial", name), {}, {}});
      }
    }
    return errors_.empty();
  }

  Placement stated_rest(const std::string& name, const Placement& otherwise) const {
    if (const auto weight = scheme_.weights.find(name); weight != scheme_.weights.end()) return weight->second.weight;
    const auto found = scheme_.storage.find(name);
    return found == scheme_.storage.end() ? otherwise : found->second;
  }

  /// Operands to where they are needed, the einsum, and copies that came piece by piece away.
  void apply(const ShardedEinsum& work, bool accumulate) {
    const std::vector<Placement> states = compute_states(work, scheme_.mesh);
    std::vector<std::pair<std::string, Placement>> passing;
    for (int tensor = 0; tensor < work.einsum.output(); ++tensor) {
      const std::string& name = work.einsum.tensors[static_cast<std::size_t>(tensor)].name;
      const std::size_t before = builder_.steps.size();
      builder_.bring(name, states[static_cast<std::size_t>(tensor)], work.time);
      for (std::size_t step = before; step < builder_.steps.size(); ++step) {
        const auto* const collective = std::get_if<Collective>(&builder_.steps[step]);
        if (collective != nullptr && collective->time) passing.emplace_back(name, collective->to);
      }
    }
    builder_.compute(work, states, accumulate);
    for (const auto& [name, placement] : passing) builder_.release(name, placement);
  }

  void run_forward() {
    for (const std::string& name : given_) {
      program_.inputs[name] = rest_.at(name);
      builder_.have(name, rest_.at(name));
    }
    std::set<std::string> read;
    for (const ShardedEinsum& sharded : scheme_.forward) {
      for (int tensor = 0; tensor < sharded.einsum.output(); ++tensor) {
        read.insert(sharded.einsum.tensors[static_cast<std::size_t>(tensor)].name);
      }
      apply(sharded, false);
      const std::string& output = sharded.einsum.tensors.back().name;
      builder_.bring(output, rest_.at(output), sharded.time, Passage::leaves);
    }
    for (const ShardedEinsum& sharded : scheme_.forward) {
      const std::string& output = sharded.einsum.tensors.back().name;
      if (read.count(output) != 0) continue;
      program_.outputs[output] = rest_.at(output);
      last_.insert(output);
    }
    builder_.release_all_but(rest_, scheme_.kept);
    program_.rest = rest_;
    program_.forward = std::move(builder_.steps);
    builder_.steps.clear();
  }

  /// The einsum's loops, as far as they cut ranks that the gradient's einsum has.
  ShardedEinsum with_loops_of(const ShardedEinsum& sharded, const Einsum& einsum) const {
    ShardedEinsum result;
    result.einsum = einsum;
    for (const ParLoop& loop : sharded.par) {
      if (einsum.rank_named(loop.rank) >= 0) result.par.push_back(loop);
    }
    if (sharded.time && einsum.rank_named(sharded.time->rank) >= 0) result.time = sharded.time;
    return result;
  }

  bool wants_gradient(const std::string& tensor) const { return scheme_.constant.count(tensor) == 0; }

  /// Where a gradient is collected: of a weight where its storage says, else where the tensor itself rests.
  Placement gradient_rest(const std::string& tensor) const {
    const auto weight = scheme_.weights.find(tensor);
    return weight == scheme_.weights.end() ? rest_.at(tensor) : weight->second.gradient;
  }

  void run_backward() {
    std::map<std::string, Placement> kept = rest_;
    for (const std::string& output : last_) {
      const std::string name = gradient_name(output);
      builder_.declare_like(name, output);
      builder_.have(name, rest_.at(output));
      program_.inputs[name] = rest_.at(output);
      program_.rest[name] = rest_.at(output);
    }
    std::map<std::string, int> readers;
    for (const ShardedEinsum& sharded : scheme_.forward) {
      for (int tensor = 0; tensor < sharded.einsum.output(); ++tensor) {
        ++readers[sharded.einsum.tensors[static_cast<std::size_t>(tensor)].name];
      }
    }
    for (auto sharded = scheme_.forward.rbegin(); sharded != scheme_.forward.rend(); ++sharded) {
      const Einsum& einsum = sharded->einsum;
      const std::string& output = einsum.tensors.back().name;
      // Nothing that was trained depends on it.
      if (!builder_.has(gradient_name(output))) {
        for (int tensor = 0; tensor < einsum.output(); ++tensor) {
          settle(einsum.tensors[static_cast<std::size_t>(tensor)].name, readers, sharded->time);
        }
        continue;
      }
      for (int tensor = 0; tensor < einsum.output(); ++tensor) {
        const std::string& name = einsum.tensors[static_cast<std::size_t>(tensor)].name;
        if (wants_gradient(name)) contribute(*sharded, tensor);
        settle(name, readers, sharded->time);
      }
    }
    for (const auto& [name, storage] : scheme_.weights) {
      if (given_.count(name) != 0) kept[gradient_name(name) + ".sum"] = storage.gradient;
    }
    for (const std::string& name : given_) {
      const std::string gradient = gradient_name(name);
      if (scheme_.weights.count(name) != 0 || !builder_.has(gradient)) continue;
      program_.outputs[gradient] = rest_.at(name);
      kept[gradient] = rest_.at(name);
    }
    builder_.release_all_but(kept);
    program_.backward = std::move(builder_.steps);
    builder_.steps.clear();
  }

  /// Adds one einsum's share of an input's gradient to the others that are in the same placement.
  void contribute(const ShardedEinsum& sharded, int tensor) {
    const std::string& name = sharded.einsum.tensors[static_cast<std::size_t>(tensor)].name;
    auto parts = gradient_of(sharded.einsum, tensor);
    if (!parts) {
      errors_.insert(errors_.end(), parts.error().begin(), parts.error().end());
      return;
    }
    for (std::size_t part = 0; part < parts->size(); ++part) {
      Einsum& einsum = (*parts)[part];
      builder_.declare(einsum);
      if (part + 1 < parts->size()) {
        apply(with_loops_of(sharded, einsum), false);
        continue;
      }
      const ShardedEinsum plain = with_loops_of(sharded, einsum);
      const Placement where = compute_states(plain, scheme_.mesh).back();
      auto& shares = shares_[name];
      std::size_t share = 0;
      while (share < shares.size() && !(shares[share] == where)) ++share;
      const bool first = share == shares.size();
      if (first) shares.push_back(where);
      const std::string target = share_name(name, share, where);
      ShardedEinsum work = plain;
      work.einsum.tensors.back().name = target;
      builder_.declare_like(target, name);
      // The sum over microbatches may grow in place.
      apply(work, !first || target == gradient_name(name) + ".sum");
    }
  }

  /// The name under which the shares in one placement are added.
  std::string share_name(const std::string& tensor, std::size_t share, const Placement& where) const {
    if (scheme_.weights.count(tensor) != 0 && where == gradient_rest(tensor)) return gradient_name(tensor) + ".sum";
    if (share == 0) return gradient_name(tensor);
    return fmt::format("{}.{}", gradient_name(tensor), share);
  }

  /// After the last of its readers: the shares go to where the gradient rests, and are added there.
  void settle(const std::string& tensor, std::map<std::string, int>& readers, const std::optional<TimeLoop>& time) {
    if (--readers[tensor] > 0 || shares_.count(tensor) == 0) return;
    const Placement rest = gradient_rest(tensor);
    program_.rest[gradient_name(tensor)] = rest;
    const bool weight = scheme_.weights.count(tensor) != 0;
    const std::string sum = gradient_name(tensor) + (weight ? ".sum" : "");
    builder_.declare_like(gradient_name(tensor), tensor);
    builder_.declare_like(sum, tensor);
    const std::vector<Placement> shares = shares_.at(tensor);
    for (std::size_t share = 0; share < shares.size(); ++share) {
      const std::string name = share_name(tensor, share, shares[share]);
      builder_.bring(name, rest, time, Passage::leaves);
      if (name == sum) continue;
      const ShardedEinsum add = elementwise(builder_.declared(tensor), {name, sum}, "*", rest, scheme_.mesh);
      builder_.compute(add, {rest, rest}, true);
    }
    // Copies elsewhere lack the other shares.
    if (shares.size() > 1) builder_.release_others(sum, rest);
  }

  void run_finish() {
    for (const auto& [name, storage] : scheme_.weights) {
      if (given_.count(name) == 0) continue;
      const std::string sum = gradient_name(name) + ".sum";
      if (!builder_.has(sum)) continue;
      builder_.bring(sum, storage.optimizer, {});
      builder_.bring(name, storage.optimizer, {});
      const std::string updated = updated_name(name);
      builder_.declare_like(updated, name);
      const ShardedEinsum update =
          elementwise(builder_.declared(name), {name, sum, updated}, "-", storage.optimizer, scheme_.mesh);
      builder_.compute(update, std::vector<Placement>(3, storage.optimizer), false);
      builder_.bring(updated, storage.weight, {});
      program_.outputs[updated] = storage.weight;
    }
    program_.finish = std::move(builder_.steps);
  }

  const Scheme& scheme_;
  Diagnostics errors_;
  Builder builder_;
  Program program_;
  std::map<std::string, Placement> rest_;
  std::set<std::string> given_;                           ///< that no einsum writes
  std::set<std::string> last_;                            ///< that no einsum reads
  std::map<std::string, std::vector<Placement>> shares_;  ///< of a gradient: placements of the terms that were added
};

}  // namespace

std::string updated_name(const std::string& weight) { return fmt::format("{}'", weight); }

Result<Program> forward_program(const Scheme& scheme) { return Planner(scheme).forward(); }

Result<Program> training_program(const Scheme& scheme) { return Planner(scheme).training(); }

}  // namespace einflow::cluster
