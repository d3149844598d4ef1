// What random schemes exercise.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "support/random_scheme.hpp"

namespace einflow::testing {

namespace {

using cluster::Placement;
using cluster::Scheme;
using cluster::ShardedEinsum;
using cluster::State;
using cluster::StateKind;

bool has_state(const Placement& placement, StateKind kind) {
  return std::any_of(placement.states.begin(), placement.states.end(),
                     [&](const State& state) { return state.kind == kind; });
}

void placement_features(const Placement& placement, std::set<std::string>& found) {
  for (const State& state : placement.states) {
    if (state.kind == StateKind::split && state.depth > 0) found.insert("two axes split one rank at rest");
  }
}

void loop_features(const ShardedEinsum& sharded, const Scheme& scheme, std::set<std::string>& found) {
  std::map<std::string, std::int64_t> cuts;
  for (const cluster::ParLoop& loop : sharded.par) {
    const std::int64_t size = scheme.mesh.axes[static_cast<std::size_t>(scheme.mesh.axis_named(loop.axis))].size;
    if (cuts.count(loop.rank) != 0) found.insert("two axes cut one rank of an einsum");
    std::int64_t& pieces = cuts.emplace(loop.rank, 1).first->second;
    pieces *= size;
    const int rank = sharded.einsum.rank_named(loop.rank);
    const std::int64_t extent = sharded.einsum.ranks[static_cast<std::size_t>(rank)].extent;
    if (extent % pieces != 0) found.insert("a rank that its axes do not divide");
    if (extent < pieces) found.insert("more devices than indices");
    if (!sharded.einsum.has_rank(sharded.einsum.output(), rank)) {
      found.insert(sharded.einsum.reduce == "+" ? "partial sums" : "partial maxima or minima");
    }
  }
  if (sharded.einsum.tensor_named("K") >= 0 && cuts.count("u") != 0) found.insert("KV heads on several devices");
}

}  // namespace

std::set<std::string> scheme_features(const SchemeCase& scheme_case) {
  const Scheme& scheme = scheme_case.scheme;
  std::set<std::string> found{fmt::format("{} mesh axes", scheme.mesh.axes.size())};
  if (scheme.microbatches > 1) found.insert("several microbatches");
  if (!scheme.weights.empty()) found.insert("weights");
  if (!scheme.constant.empty()) found.insert("constants");
  if (!scheme.storage.empty()) found.insert("storage");
  for (const auto& [name, placement] : scheme.storage) placement_features(placement, found);
  for (const auto& [name, weight] : scheme.weights) {
    placement_features(weight.weight, found);
    if (has_state(weight.gradient, StateKind::partial)) found.insert("gradients at rest partial");
    if (has_state(weight.gradient, StateKind::split)) found.insert("gradients at rest split");
  }
  for (const ShardedEinsum& sharded : scheme.forward) {
    loop_features(sharded, scheme, found);
    if (sharded.time) {
      found.insert(sharded.time->delivery == cluster::Delivery::shift ? "time loop by shift"
                                                                      : "time loop by broadcast");
    }
    if (sharded.einsum.map == "exp") found.insert("softmax");
    if (sharded.einsum.tensors.size() == 4) found.insert("three operands");
  }
  return found;
}

const std::vector<std::string>& all_scheme_features() {
  static const std::vector<std::string> kFeatures{"1 mesh axes",
                                                  "2 mesh axes",
                                                  "3 mesh axes",
                                                  "several microbatches",
                                                  "weights",
                                                  "constants",
                                                  "storage",
                                                  "two axes split one rank at rest",
                                                  "gradients at rest partial",
                                                  "gradients at rest split",
                                                  "two axes cut one rank of an einsum",
                                                  "a rank that its axes do not divide",
                                                  "more devices than indices",
                                                  "partial sums",
                                                  "partial maxima or minima",
                                                  "KV heads on several devices",
                                                  "time loop by shift",
                                                  "time loop by broadcast",
                                                  "softmax",
                                                  "three operands"};
  return kFeatures;
}

std::string to_text(const SchemeCase& scheme_case) {
  const Scheme& scheme = scheme_case.scheme;
  std::string text = "mesh";
  for (const MeshAxis& axis : scheme.mesh.axes) text += fmt::format(" {}={}", axis.name, axis.size);
  text += fmt::format(", {} microbatches\n", scheme.microbatches);
  for (const ShardedEinsum& sharded : scheme.forward) {
    text += "  " + einflow::to_text(sharded.einsum) + " with";
    for (const Rank& rank : sharded.einsum.ranks) text += fmt::format(" {}={}", rank.name, rank.extent);
    for (const cluster::ParLoop& loop : sharded.par) text += fmt::format(", par {} on {}", loop.rank, loop.axis);
    if (sharded.time) {
      const bool shift = sharded.time->delivery == cluster::Delivery::shift;
      text += fmt::format(", for {} by {}", sharded.time->rank, shift ? "shift" : "broadcast");
    }
    text += "\n";
  }
  const auto placed = [&](const Placement& placement) { return cluster::to_text(placement, scheme.mesh); };
  for (const auto& [name, placement] : scheme.storage) text += fmt::format("  {}: {}\n", name, placed(placement));
  for (const auto& [name, weight] : scheme.weights) {
    text += fmt::format("  weight {}: {} | gradient {} | optimizer {}\n", name, placed(weight.weight),
                        placed(weight.gradient), placed(weight.optimizer));
  }
  for (const std::string& name : scheme.constant) text += fmt::format("  constant {}\n", name);
  return text;
}

}  // namespace einflow::testing
