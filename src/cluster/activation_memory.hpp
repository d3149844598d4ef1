// What a block keeps from forward to backward: the tensors that its operations' backward reads.
#pragma once

#include <string>
#include <vector>

#include "cluster/model.hpp"

namespace einflow::cluster {

enum class Recompute {
  none,
  selective,  ///< what attention computes for (query, key) pairs is computed again (arXiv:2205.05198, section 5)
  full,       ///< only the block's input is kept, all operations are computed again
};

/// A tensor kept, and the operations that want it.
struct KeptTensor {
  std::string tensor;
  Count elements;
  Count bytes;
  std::string because;  ///< "backward of queries, backward of keys"
  bool operator==(const KeptTensor&) const = default;
};

struct ActivationMemory {
  std::vector<KeptTensor> tensors;  ///< each once, in the order of the operations that keep them
  Count bytes;                      ///< their sum
};

/// Whether selective recomputation computes the operation again: scores, softmax, dropout and context, the operations
/// with both a rank of queries and one of keys. Not an attention in one operation: it keeps no pairs.
bool recomputed_by_selective(const Operation& operation);

/// Of one copy of the block (not times `repeat`) and one microbatch of its workload; in training.
///
/// `elements` says how many of a tensor's elements a device has. Conventions of arXiv:2205.05198: statistics of norms,
/// token numbers, biases and routing tables keep nothing. Full recomputation keeps the input of any block: whether
/// embedding and head are recomputed is for the caller to say (Megatron-LM: layers only).
ActivationMemory activation_memory(const Block& block, const Elements& elements, Recompute recompute);

/// FLOPs of forward operations that backward computes again, on the whole tensors, of one copy of the block.
Count recomputed_flops(const Block& block, Recompute recompute);

}  // namespace einflow::cluster
