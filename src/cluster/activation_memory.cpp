#include "cluster/activation_memory.hpp"

#include <algorithm>
#include <set>

namespace einflow::cluster {

namespace {

class Ledger {
 public:
  Ledger(const Block& block, const Elements& elements) : block_(block), elements_(elements) {}

  void keep(const std::string& name, const std::string& because) {
    const ModelTensor* tensor = block_.tensor_named(name);
    if (tensor == nullptr || tensor->role == Role::tokens) return;
    auto& kept = memory_.tensors;
    const auto found =
        std::find_if(kept.begin(), kept.end(), [&](const KeptTensor& entry) { return entry.tensor == name; });
    if (found != kept.end()) {
      found->because += ", " + because;
      return;
    }
    const Count elements = elements_(*tensor);
    const Count bytes = ceil_div(elements * Count(tensor->bits), 8);
    kept.push_back({name, elements, bytes, because});
    memory_.bytes += bytes;
  }

  ActivationMemory take() { return std::move(memory_); }

 private:
  const Block& block_;
  const Elements& elements_;
  ActivationMemory memory_;
};

}  // namespace

bool recomputed_by_selective(const Operation& operation) {
  const Einsum& shape = operation.shape;
  return operation.kind != OperationKind::rename && operation.kind != OperationKind::attention &&
         shape.rank_named("s") >= 0 && shape.rank_named("t") >= 0;
}

ActivationMemory activation_memory(const Block& block, const Elements& elements, Recompute recompute) {
  Ledger ledger(block, elements);
  if (recompute == Recompute::full) {
    ledger.keep(block.input, "the block is computed again from it");
    return ledger.take();
  }
  const auto again = [&](const Operation& operation) {
    return recompute == Recompute::selective && recomputed_by_selective(operation);
  };
  std::set<std::string> made_again;
  for (const Operation& operation : block.operations) {
    if (again(operation)) made_again.insert(operation.shape.tensors.back().name);
  }
  for (const Operation& operation : block.operations) {
    if (!again(operation)) {
      for (const std::string& tensor : operation.keeps) ledger.keep(tensor, "backward of " + operation.name);
      continue;
    }
    for (int tensor = 0; tensor < operation.shape.output(); ++tensor) {
      const std::string& name = operation.shape.tensors[static_cast<std::size_t>(tensor)].name;
      const bool given = block.tensor_named(name)->role == Role::activation && made_again.count(name) == 0;
      if (given) ledger.keep(name, operation.name + " computed again");
    }
  }
  return ledger.take();
}

Count recomputed_flops(const Block& block, Recompute recompute) {
  Count sum = 0;
  for (const Operation& operation : block.operations) {
    const bool again =
        recompute == Recompute::full || (recompute == Recompute::selective && recomputed_by_selective(operation));
    if (again) sum += operation.forward_flops;
  }
  return sum;
}

}  // namespace einflow::cluster
