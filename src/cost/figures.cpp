#include "cost/figures.hpp"

#include "mapping/atomic.hpp"

namespace einflow {

std::vector<int> storage_levels(const Machine& machine) {
  std::vector<int> levels;
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    if (machine.storage(level)) levels.push_back(level);
  }
  return levels;
}

Count instances_of(const Machine& machine, int level) {
  Count instances = 1;
  for (int outer = 0; outer < level; ++outer) {
    if (const Mesh* mesh = machine.mesh(outer)) instances *= mesh->size();
  }
  return instances;
}

Count element_bits(const Spec& spec, int tensor) {
  return spec.einsum.tensors[static_cast<std::size_t>(tensor)].type.bits;
}

Ratio bytes_of_bits(Count bits) { return {bits, Count(8)}; }

int hold_at(const Mapping& mapping, int tensor, int level) {
  const std::vector<Hold>& holds = mapping.holds[static_cast<std::size_t>(tensor)];
  for (std::size_t hold = 0; hold < holds.size(); ++hold) {
    if (holds[hold].level == level) return static_cast<int>(hold);
  }
  return -1;
}

const HoldCounts& counts_of(const Counts& counts, int tensor, int hold) {
  // Counts::holds goes tensor by tensor, each from the outermost hold on.
  std::size_t index = 0;
  while (counts.holds[index].tensor != tensor) ++index;
  return counts.holds[index + static_cast<std::size_t>(hold)];
}

const ElementType& compute_type(const Einsum& einsum) {
  std::size_t widest = 0;
  for (std::size_t input = 1; input + 1 < einsum.tensors.size(); ++input) {
    if (einsum.tensors[input].type.bits > einsum.tensors[widest].type.bits) widest = input;
  }
  return einsum.tensors[widest].type;
}

Count atomic_operations(const Compute& compute) {
  Count operations = 1;
  for (const auto& [rank, extent] : compute.atomic) operations *= extent;
  return operations;
}

std::optional<Ratio> compute_rate(const Spec& spec) {
  const Compute& compute = spec.machine.compute();
  if (!executes(compute, spec.einsum)) return std::nullopt;
  return figure_for(compute.rate, compute_type(spec.einsum).name);
}

std::optional<Ratio> peak_rate(const Spec& spec) {
  const std::optional<Ratio> rate = compute_rate(spec);
  if (!rate) return std::nullopt;
  return *rate * Ratio(spec.machine.compute_instances());
}

}  // namespace einflow
