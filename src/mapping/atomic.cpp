#include "mapping/atomic.hpp"

#include <algorithm>

namespace einflow {
namespace {

bool is_matrix_shape(const Compute& compute) {
  return compute.atomic.size() == 3 && std::all_of(compute.atomic.begin(), compute.atomic.end(), [](const auto& entry) {
           return entry.first == "m" || entry.first == "n" || entry.first == "k";
         });
}

std::vector<AtomicRole> matrix_layout(const Einsum& einsum, const Compute& compute, int first, int second) {
  std::vector<AtomicRole> roles;
  for (const auto& [name, extent] : compute.atomic) {
    AtomicRole role{name, extent, {}};
    for (int rank = 0; rank < static_cast<int>(einsum.ranks.size()); ++rank) {
      const bool in_first = einsum.has_rank(first, rank);
      const bool in_second = einsum.has_rank(second, rank);
      const bool in_output = einsum.has_rank(einsum.output(), rank);
      const bool takes = name == "m"   ? in_first && !in_second && in_output
                         : name == "n" ? !in_first && in_second && in_output
                                       : in_first && in_second && !in_output;
      if (takes) role.ranks.push_back(rank);
    }
    roles.push_back(std::move(role));
  }
  return roles;
}

}  // namespace

std::vector<std::vector<AtomicRole>> atomic_layouts(const Einsum& einsum, const Compute& compute) {
  if (compute.atomic.empty()) return {};
  if (is_matrix_shape(compute) && einsum.tensors.size() == 3) {
    return {matrix_layout(einsum, compute, 0, 1), matrix_layout(einsum, compute, 1, 0)};
  }
  std::vector<AtomicRole> roles;
  for (const auto& [name, extent] : compute.atomic) {
    AtomicRole role{name, extent, {}};
    const int rank = einsum.rank_named(name);
    if (rank >= 0) role.ranks.push_back(rank);
    roles.push_back(std::move(role));
  }
  return {roles};
}

bool executes(const Compute& compute, const Einsum& einsum) { return !is_matrix_shape(compute) || einsum.is_mac(); }

}  // namespace einflow
