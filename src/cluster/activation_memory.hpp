// What a block keeps from forward to backward: the tensors that its operations' backward reads.
#pragma once

#include <string>
#include <vector>

#include "cluster/model.hpp"
#include "cluster/plan.hpp"

namespace einflow::cluster {

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
/// `elements` says how many of a tensor's elements a device has (whole_tensors, largest_pieces). Conventions of
/// arXiv:2205.05198: statistics of norms, token numbers, biases and routing tables keep nothing; nor does the dropout
/// within an attention in one operation, whose mask is drawn again. Full recomputation keeps the input of any block:
/// whether embedding and head are recomputed is for the caller to say (Megatron-LM: layers only).
ActivationMemory activation_memory(const Block& block, const Elements& elements, Recompute recompute);

/// FLOPs of forward operations that backward computes again, on the whole tensors, of one copy of the block.
Count recomputed_flops(const Block& block, Recompute recompute);

}  // namespace einflow::cluster
