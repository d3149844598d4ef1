// What an operation keeps for backward, moves and computes: from its kind and shape alone.
#include <fmt/format.h>

#include <algorithm>

#include "cluster/blocks_build.hpp"

namespace einflow::cluster {

namespace {

bool has(const ModelTensor& tensor, const std::string& rank) {
  return std::find(tensor.ranks.begin(), tensor.ranks.end(), rank) != tensor.ranks.end();
}

class Rules {
 public:
  Rules(Operation& operation, const Block& block, const Transformer& model, const Workload& workload)
      : operation_(operation), block_(block), model_(model), workload_(workload) {
    for (const Tensor& tensor : operation.shape.tensors) tensors_.push_back(block.tensor_named(tensor.name));
    output_ = tensors_.back();
    tensors_.pop_back();
    // An input may be read in two roles (a latent vector as key and as value): it moves once.
    for (const ModelTensor* input : tensors_) {
      if (std::find(inputs_.begin(), inputs_.end(), input) == inputs_.end()) inputs_.push_back(input);
    }
  }

  void complete() {
    share();
    compute();
    move();
    if (workload_.phase != Phase::training) return;
    operation_.backward_flops = operation_.forward_flops * 2;
    keep();
    move_back();
  }

 private:
  bool of_pairs() const { return operation_.shape.rank_named("s") >= 0 && operation_.shape.rank_named("t") >= 0; }
  bool of_experts() const { return operation_.shape.rank_named("e") >= 0; }

  /// Tokens that experts work on, of all the room that they have.
  Ratio filled() const {
    return Ratio(Count(workload_.batch) * Count(workload_.queries) * Count(model_.experts->chosen),
                 Count(block_.extent("e")) * Count(block_.extent("c")));
  }

  void share() {
    const bool arithmetic = operation_.kind == OperationKind::product || operation_.kind == OperationKind::attention;
    if (arithmetic && of_pairs()) {
      const Ratio share(attention_pairs(model_, workload_), Count(block_.extent("s")) * Count(block_.extent("t")));
      if (share != Ratio(Count(1))) {
        operation_.shape.executed = {share, model_.window > 0 ? "causal mask and window" : "causal mask"};
      }
    } else if (arithmetic && of_experts() && filled() != Ratio(Count(1))) {
      operation_.shape.executed = {filled(), "experts' places that have a token"};
    }
  }

  Count executed(Count operations) const {
    const Ratio& share = operation_.shape.executed.share;
    return ceil_div(operations * share.numerator(), share.denominator());
  }

  std::string extents(const std::vector<std::string>& ranks) const {
    std::string text;
    for (const std::string& rank : ranks) text += fmt::format(" * {} {}", rank, block_.extent(rank));
    return text;
  }

  std::string share_text() const {
    const ExecutedShare& executed = operation_.shape.executed;
    if (executed.because.empty()) return "";
    return fmt::format(" * {}/{} ({})", executed.share.numerator().str(), executed.share.denominator().str(),
                       executed.because);
  }

  void compute() {
    if (operation_.kind == OperationKind::product) {
      operation_.forward_flops = executed(operation_.shape.operations()) * 2;
      std::vector<std::string> ranks;
      for (const Rank& rank : operation_.shape.ranks) ranks.push_back(rank.name);
      operation_.flops_formula = "2" + extents(ranks) + share_text();
    } else if (operation_.kind == OperationKind::attention) {
      compute_attention();
    }
  }

  /// Scores are summed over the dimensions of queries, contexts over the keys for each dimension of the output.
  void compute_attention() {
    const std::vector<std::string> pairs{"b", "g", "u", "s", "t"};
    Count points = 1;
    for (const std::string& rank : pairs) points *= Count(block_.extent(rank));
    const auto dimensions = [&](const ModelTensor& tensor) {
      std::vector<std::string> ranks = tensor.ranks;
      std::erase_if(
          ranks, [&](const std::string& rank) { return std::find(pairs.begin(), pairs.end(), rank) != pairs.end(); });
      return ranks;
    };
    std::int64_t of_scores = 0;
    std::string text;
    for (const ModelTensor* query : inputs_) {
      if (!has(*query, "s")) continue;
      for (const std::string& rank : dimensions(*query)) {
        of_scores += block_.extent(rank);
        text += fmt::format("{} {} + ", rank, block_.extent(rank));
      }
    }
    std::int64_t of_context = 0;
    for (const std::string& rank : dimensions(*output_)) {
      of_context += block_.extent(rank);
      text += fmt::format("{} {}", rank, block_.extent(rank));
    }
    operation_.forward_flops = executed(points) * Count(of_scores + of_context) * 2;
    operation_.flops_formula = "2" + extents(pairs) + fmt::format(" * ({})", text) + share_text();
    if (workload_.phase == Phase::training) operation_.repeated_flops = executed(points) * Count(of_scores) * 2;
  }

  /// Of a tensor, the share that the operation touches.
  Ratio touched(const ModelTensor& tensor) const {
    const Count tokens = Count(block_.extent("b")) * Count(block_.extent("s"));
    const auto at_most_all = [](Count some, Count all) { return some < all ? Ratio(some, all) : Ratio(Count(1)); };
    if (operation_.kind == OperationKind::embedding && tensor.role == Role::weight) {
      const bool by_token = has(tensor, "v");
      return at_most_all(by_token ? tokens : Count(block_.extent("s")), Count(block_.extent(by_token ? "v" : "p")));
    }
    if (has(tensor, "e")) {
      if (tensor.role != Role::weight) return filled();
      return at_most_all(Count(workload_.batch) * Count(workload_.queries) * Count(model_.experts->chosen),
                         Count(block_.extent("e")));
    }
    if (operation_.kind == OperationKind::rename && tensor.role == Role::cache) {
      return at_most_all(Count(block_.extent("s")), Count(block_.extent("t")));
    }
    return Ratio(Count(1));
  }

  Access value(const ModelTensor& tensor) const { return {tensor.name, false, touched(tensor)}; }
  Access gradient(const ModelTensor& tensor) const { return {tensor.name, true, touched(tensor)}; }

  void move() {
    switch (operation_.kind) {
      case OperationKind::rename:
        if (output_->role != Role::cache) return;  // nothing moves
        break;
      case OperationKind::bias:
        operation_.reads = {value(*inputs_.back())};
        return;
      case OperationKind::dropout:
        operation_.reads = {value(*inputs_.front())};
        operation_.writes = {value(*output_), value(*inputs_.back())};
        return;
      default:
        break;
    }
    for (const ModelTensor* input : inputs_) operation_.reads.push_back(value(*input));
    operation_.writes.push_back(value(*output_));
    for (const std::string& other : operation_.also_writes) {
      operation_.writes.push_back(value(*block_.tensor_named(other)));
    }
  }

  void keep() {
    const auto keep_inputs = [&] {
      for (const ModelTensor* input : inputs_) {
        if (input->role == Role::activation) operation_.keeps.push_back(input->name);
      }
    };
    switch (operation_.kind) {
      case OperationKind::product:
      case OperationKind::gate:
      case OperationKind::combine:
      case OperationKind::function:
      case OperationKind::norm:  // the mean and variance of each token are left out, as K22 does
      case OperationKind::loss:
        return keep_inputs();
      case OperationKind::softmax:
        operation_.keeps = {output_->name};
        return;
      case OperationKind::dropout:
        operation_.keeps = {inputs_.back()->name};
        return;
      case OperationKind::attention:
        keep_inputs();
        operation_.keeps.push_back(output_->name);
        operation_.keeps.insert(operation_.keeps.end(), operation_.also_writes.begin(), operation_.also_writes.end());
        return;
      case OperationKind::sum:
      case OperationKind::bias:
      case OperationKind::embedding:  // the token numbers are data
      case OperationKind::dispatch:
      case OperationKind::rename:
        return;
    }
  }

  void move_back() {
    std::vector<Access>& reads = operation_.backward_reads;
    std::vector<Access>& writes = operation_.backward_writes;
    switch (operation_.kind) {
      case OperationKind::product:
        for (const ModelTensor* input : inputs_) {
          reads.push_back(gradient(*output_));
          for (const ModelTensor* other : inputs_) {
            if (other != input) reads.push_back(value(*other));
          }
          writes.push_back(gradient(*input));
        }
        return;
      case OperationKind::bias:
        reads.push_back(gradient(*output_));
        writes.push_back(gradient(*inputs_.back()));
        return;
      case OperationKind::sum:
      case OperationKind::rename:
        return;  // the output's gradient is the inputs'
      case OperationKind::loss:
        for (const std::string& kept : operation_.keeps) {
          reads.push_back(value(*block_.tensor_named(kept)));
          writes.push_back(gradient(*block_.tensor_named(kept)));
        }
        return;
      default:
        break;
    }
    reads.push_back(gradient(*output_));
    for (const std::string& kept : operation_.keeps) reads.push_back(value(*block_.tensor_named(kept)));
    for (const ModelTensor* input : inputs_) {
      if (operation_.kind == OperationKind::norm && input->role == Role::weight && input == inputs_[1]) {
        reads.push_back(value(*input));
      }
      if (input->role == Role::activation || input->role == Role::weight) writes.push_back(gradient(*input));
    }
  }

  Operation& operation_;
  const Block& block_;
  const Transformer& model_;
  const Workload& workload_;
  std::vector<const ModelTensor*> tensors_;  ///< inputs as written
  std::vector<const ModelTensor*> inputs_;   ///< each once
  const ModelTensor* output_ = nullptr;
};

}  // namespace

void complete_operation(Operation& operation, const Block& block, const Transformer& model, const Workload& workload) {
  Rules(operation, block, model, workload).complete();
}

}  // namespace einflow::cluster
