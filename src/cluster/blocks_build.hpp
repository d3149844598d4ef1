// Builds a block operation by operation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster/model.hpp"

namespace einflow::cluster {

/// A tensor to be: its name and its ranks, a letter each.
struct NewTensor {
  std::string name;
  std::string_view ranks;
  Role role = Role::activation;
  int bits = 16;
};

/// What an operation is beyond its kind and tensors.
struct OperationForm {
  std::string map = "*";
  std::string reduce = {};  ///< where ranks of inputs are not in the output
  std::string along = {};
  std::vector<std::pair<std::string, std::string>> renames = {};
};

class BlockBuilder {
 public:
  BlockBuilder(std::string name, const Transformer& model, const Workload& workload);

  const Transformer& model() const { return model_; }
  const Workload& workload() const { return workload_; }
  bool training() const { return workload_.phase == Phase::training; }

  /// Declares a rank of one letter; an extent below 1 counts as 1.
  void rank(char name, std::int64_t extent);
  /// Adds a tensor that no operation of the block writes: a weight, a mask, the block's input.
  std::string given(const NewTensor& tensor);

  /// Adds an operation that writes `output`, and gives the output's name. `weight`, where it has a name, is a new
  /// tensor that it reads last.
  std::string product(const std::string& name, const std::vector<std::string>& inputs, const NewTensor& weight,
                      const NewTensor& output);
  std::string product(const std::string& name, const std::vector<std::string>& inputs, const NewTensor& output);
  std::string apply(OperationKind kind, const std::string& name, const std::vector<std::string>& inputs,
                    const NewTensor& output, const OperationForm& form);

  /// Norm along `along`, with gain and, for layer norm, offset, named with the suffix.
  std::string norm(const std::string& name, const std::string& input, const NewTensor& output, Norm kind, char along,
                   const std::string& suffix);
  /// The tensor with a bias vector added, where the model has biases; else the tensor itself.
  std::string biased(const std::string& input, const std::string& vector, std::string_view vector_ranks);
  /// The tensor with elements dropped, where the model drops in this phase; else the tensor itself.
  std::string dropped(const std::string& input);

  Operation& last() { return block_.operations.back(); }
  const ModelTensor& tensor(const std::string& name) const { return *block_.tensor_named(name); }

  /// The block, its operations with what they keep, move and compute.
  Block finish(std::string input, std::string output, std::int64_t repeat);

 private:
  void add_tensor(const NewTensor& tensor);
  Tensor shape_tensor(const ModelTensor& tensor, Einsum& shape) const;

  const Transformer& model_;
  const Workload& workload_;
  Block block_;
};

/// Fills in what follows from the kind of an operation (blocks_rules.cpp).
void complete_operation(Operation& operation, const Block& block, const Transformer& model, const Workload& workload);

/// Attention of a layer, from its normed input to what is added to the residual stream.
std::string add_attention(BlockBuilder& builder, const std::string& input);
std::string add_latent_attention(BlockBuilder& builder, const std::string& input);
/// The core of both: scores, softmax and context. `queries` and `keys` are summed pair by pair.
std::string add_attention_core(BlockBuilder& builder, const std::vector<std::string>& queries,
                               const std::vector<std::string>& keys, const std::string& values,
                               std::string_view context_ranks);

/// Feed-forward network, likewise.
std::string add_feed_forward(BlockBuilder& builder, const std::string& input);
std::string add_experts(BlockBuilder& builder, const std::string& input);

}  // namespace einflow::cluster
