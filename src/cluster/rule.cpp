// The one rule: what a `par` loop does to each tensor of an einsum.
#include <algorithm>
#include <map>

#include "cluster/scheme.hpp"

namespace einflow::cluster {

std::vector<Placement> compute_states(const ShardedEinsum& sharded, const DeviceMesh& mesh) {
  const Einsum& einsum = sharded.einsum;
  std::vector<Placement> result(einsum.tensors.size(), everywhere(mesh));
  std::map<std::string, int> depths;
  for (const ParLoop& loop : sharded.par) {
    const int axis = mesh.axis_named(loop.axis);
    const int rank = einsum.rank_named(loop.rank);
    if (axis < 0 || rank < 0) continue;
    const int depth = depths[loop.rank]++;
    for (std::size_t tensor = 0; tensor < einsum.tensors.size(); ++tensor) {
      State& state = result[tensor].states[static_cast<std::size_t>(axis)];
      if (einsum.has_rank(static_cast<int>(tensor), rank)) {
        state = split(loop.rank, depth);
      } else if (einsum.is_output(static_cast<int>(tensor))) {
        state = partial(einsum.reduce);
      }
    }
  }
  return result;
}

}  // namespace einflow::cluster
