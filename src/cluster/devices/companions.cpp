#include "cluster/devices/companions.hpp"

#include <algorithm>

namespace einflow::cluster::devices {

namespace {

/// Whether no step but those two reads the copy before it is dropped: then it need never be whole.
bool passes_by(const std::vector<Step>& steps, std::size_t collective, std::size_t einsum, const Release& copy) {
  for (std::size_t i = std::min(collective, einsum) + 1; i < steps.size(); ++i) {
    if (i == collective || i == einsum) continue;
    if (const auto* const other = std::get_if<Collective>(&steps[i])) {
      if (other->tensor == copy.tensor && other->from == copy.placement) return false;
    } else if (const auto* const step = std::get_if<LocalEinsum>(&steps[i])) {
      for (std::size_t t = 0; t < step->placements.size(); ++t) {
        if (step->work.einsum.tensors[t].name == copy.tensor && step->placements[t] == copy.placement) return false;
      }
    } else if (std::get<Release>(steps[i]) == copy) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::vector<std::size_t> companions(const std::vector<Step>& steps, std::size_t position) {
  const auto& step = std::get<LocalEinsum>(steps[position]);
  if (!step.work.time) return {};
  const std::size_t output = step.placements.size() - 1;
  // Whether the collective at `i` brings or takes the tensor, and nothing else needs the whole copy.
  const auto goes_with = [&](std::size_t i, std::size_t tensor) {
    const auto& collective = std::get<Collective>(steps[i]);
    const Placement& rest = tensor == output ? collective.to : collective.from;
    const Placement& whole = tensor == output ? collective.from : collective.to;
    const std::string& name = step.work.einsum.tensors[tensor].name;
    return collective.tensor == name && collective.time == step.work.time &&
           rest.states.at(static_cast<std::size_t>(collective.axis)).rank == step.work.time->rank &&
           whole == step.placements[tensor] && passes_by(steps, i, position, {name, whole});
  };
  std::vector<std::size_t> found;
  for (std::size_t i = position; i-- > 0;) {
    const auto* const collective = std::get_if<Collective>(&steps[i]);
    if (collective == nullptr) break;
    if (collective->kind != CollectiveKind::all_gather) continue;
    for (std::size_t t = 0; t < output; ++t) {
      if (goes_with(i, t)) found.push_back(i);
    }
  }
  for (std::size_t i = position + 1; i < steps.size() && !step.accumulate; ++i) {
    if (std::holds_alternative<LocalEinsum>(steps[i])) break;
    const auto* const collective = std::get_if<Collective>(&steps[i]);
    if (collective == nullptr || collective->kind != CollectiveKind::reduce_scatter) continue;
    if (!goes_with(i, output)) continue;
    found.push_back(i);
    break;
  }
  return found;
}

}  // namespace einflow::cluster::devices
