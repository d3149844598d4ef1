#include "cluster/blocks_build.hpp"

#include <algorithm>
#include <utility>

namespace einflow::cluster {

BlockBuilder::BlockBuilder(std::string name, const Transformer& model, const Workload& workload)
    : model_(model), workload_(workload) {
  block_.name = std::move(name);
}

void BlockBuilder::rank(char name, std::int64_t extent) {
  block_.ranks.push_back({std::string(1, name), std::max<std::int64_t>(extent, 1)});
}

void BlockBuilder::add_tensor(const NewTensor& tensor) {
  ModelTensor added{tensor.name, {}, tensor.role, tensor.bits, false};
  for (const char rank : tensor.ranks) added.ranks.emplace_back(1, rank);
  block_.tensors.push_back(std::move(added));
}

std::string BlockBuilder::given(const NewTensor& tensor) {
  add_tensor(tensor);
  return tensor.name;
}

Tensor BlockBuilder::shape_tensor(const ModelTensor& tensor, Einsum& shape) const {
  Tensor result{tensor.name, {}, {}};
  if (tensor.role == Role::mask) {
    result.type = {"bool", 8};
  } else if (tensor.role == Role::tokens) {
    result.type = {"int32", 32};
  } else if (tensor.bits == 32) {
    result.type = {"fp32", 32};
  }
  for (const std::string& rank : tensor.ranks) {
    int index = shape.rank_named(rank);
    if (index < 0) {
      index = static_cast<int>(shape.ranks.size());
      shape.ranks.push_back({rank, block_.extent(rank)});
    }
    result.axes.push_back({{{index, 1}}, 0, std::nullopt});
  }
  return result;
}

std::string BlockBuilder::apply(OperationKind kind, const std::string& name, const std::vector<std::string>& inputs,
                                const NewTensor& output, const OperationForm& form) {
  add_tensor(output);
  Operation operation;
  operation.name = name;
  operation.kind = kind;
  operation.along = form.along;
  operation.renames = form.renames;
  operation.shape.name = name;
  operation.shape.map = form.map;
  operation.shape.reduce = form.reduce;
  for (const std::string& input : inputs) {
    operation.shape.tensors.push_back(shape_tensor(tensor(input), operation.shape));
  }
  operation.shape.tensors.push_back(shape_tensor(tensor(output.name), operation.shape));
  block_.operations.push_back(std::move(operation));
  return output.name;
}

std::string BlockBuilder::product(const std::string& name, const std::vector<std::string>& inputs,
                                  const NewTensor& output) {
  return apply(OperationKind::product, name, inputs, output, {.map = "*", .reduce = "+"});
}

std::string BlockBuilder::product(const std::string& name, const std::vector<std::string>& inputs,
                                  const NewTensor& weight, const NewTensor& output) {
  std::vector<std::string> all = inputs;
  all.push_back(given({weight.name, weight.ranks, Role::weight, weight.bits}));
  return product(name, all, output);
}

std::string BlockBuilder::norm(const std::string& name, const std::string& input, const NewTensor& output, Norm kind,
                               char along, const std::string& suffix) {
  const std::string rank(1, along);
  std::vector<std::string> inputs{input, given({"Gain" + suffix, rank, Role::weight})};
  if (kind == Norm::layer) inputs.push_back(given({"Offset" + suffix, rank, Role::weight}));
  return apply(OperationKind::norm, name, inputs, output,
               {.map = kind == Norm::layer ? "layer_norm" : "rms_norm", .reduce = "", .along = rank});
}

std::string BlockBuilder::biased(const std::string& input, const std::string& vector, std::string_view vector_ranks) {
  if (!model_.biases) return input;
  std::string ranks;
  for (const std::string& rank : tensor(input).ranks) ranks += rank;
  const std::string bias = given({vector, vector_ranks, Role::weight});
  return apply(OperationKind::bias, "bias of " + input, {input, bias}, {input + "_biased", ranks}, {.map = "+"});
}

std::string BlockBuilder::dropped(const std::string& input) {
  if (!model_.dropout || !training()) return input;
  std::string ranks;
  for (const std::string& rank : tensor(input).ranks) ranks += rank;
  const std::string mask = given({input + "_mask", ranks, Role::mask, 8});
  return apply(OperationKind::dropout, "dropout of " + input, {input, mask}, {input + "_dropped", ranks}, {.map = "*"});
}

Block BlockBuilder::finish(std::string input, std::string output, std::int64_t repeat) {
  block_.input = std::move(input);
  block_.output = std::move(output);
  block_.repeat = repeat;
  for (Operation& operation : block_.operations) complete_operation(operation, block_, model_, workload_);
  return std::move(block_);
}

}  // namespace einflow::cluster
