// States of tensors as DTensor and JAX spell them, written and read.
#pragma once

#include <string>
#include <vector>

#include "base/yaml.hpp"
#include "notation/placements/assignment.hpp"

namespace einflow::placements {

/// What a text says about a tensor on one mesh axis.
struct Stated {
  enum class Kind {
    shard,
    replicate,
    partial,
    unsaid,  ///< a PartitionSpec that does not name the axis: the tensor is whole, or partial where that follows
  };
  Kind kind = Kind::unsaid;
  int dimension = 0;      ///< of a shard: the tensor's axis
  std::string operation;  ///< of partial results: sum, max, min, product
  Span span;
};

/// A tensor's states, one for each axis of the mesh.
struct StatedTensor {
  std::vector<Stated> states;
  std::vector<std::vector<int>> orders;  ///< mesh axes that one PartitionSpec entry names together, major first
  Span span;
};

/// A mesh as a text states it.
struct StatedMesh {
  std::vector<std::string> names;
  std::vector<std::int64_t> sizes;
  std::vector<Span> name_spans;
  std::vector<Span> size_spans;
};

/// The name that partial results of the einsum have in DTensor: "sum", "max", "min", "product".
std::string partial_operation(const Einsum& einsum);

/// `DeviceMesh((2, 4), mesh_dim_names=("dp", "tp"))`, `Mesh((2, 4), ('dp', 'tp'))`.
std::string mesh_text(Words words, const Assignment& assignment);
/// `[Shard(0), Replicate()]`, `P('dp', None)`. Every axis of the assignment must be plain_axis() in tensors that have
/// it.
std::string tensor_text(Words words, const Einsum& einsum, int tensor, const Assignment& assignment);

/// Read what the two above write and the spellings that users know beside them: Shard(dim=0), S(0), R, P(sum),
/// init_device_mesh("cuda", ...), PartitionSpec(...). Nothing where an error was added.
std::optional<StatedMesh> read_mesh(Words words, const YamlNode& node, Diagnostics& errors);
std::optional<StatedTensor> read_dtensor_states(const YamlNode& node, const Tensor& tensor, const StatedMesh& mesh,
                                                Diagnostics& errors);
std::optional<StatedTensor> read_partition_spec(const YamlNode& node, const Tensor& tensor, const StatedMesh& mesh,
                                                Diagnostics& errors);

}  // namespace einflow::placements
