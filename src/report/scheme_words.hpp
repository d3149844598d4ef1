// A scheme's placements and loops in the words of DTensor, JAX, MAESTRO and Tangram.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cluster/scheme.hpp"

namespace einflow {

/// The placement of a tensor of these ranks: "[Shard(1)]", "P(None, 'tp')"; JAX's is empty where a state is partial.
struct Spelling {
  std::string dtensor;
  std::string jax;
};
Spelling spelling_of(const std::vector<Rank>& ranks, const cluster::Placement& placement,
                     const cluster::DeviceMesh& mesh);

/// The mesh: "DeviceMesh((4,), mesh_dim_names=("tp"))" and "Mesh((4,), ('tp'))".
Spelling spelling_of(const cluster::DeviceMesh& mesh);

/// What others call one par loop of an einsum. `weight` is the name of the einsum's weight, or empty.
struct LoopWords {
  std::string called;
  std::string tangram;
  std::string maestro;
  std::string torch;  ///< nn.Linear's remark; may be empty
};
LoopWords loop_words(const cluster::ShardedEinsum& sharded, const cluster::ParLoop& loop,
                     const cluster::DeviceMesh& mesh, const std::string& weight);

/// The nest in einflow's notation, outermost first: "par n into 4 on devices.tp", "for k into 2". `pieces` are those
/// of the time loop.
std::vector<std::string> nest_lines(const cluster::ShardedEinsum& sharded, const cluster::DeviceMesh& mesh,
                                    std::int64_t pieces);

}  // namespace einflow
