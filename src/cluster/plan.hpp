// A parallel plan: how many devices share which rank of a model, and what rests where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "cluster/model.hpp"
#include "cluster/pipeline.hpp"

namespace einflow::cluster {

enum class Recompute {
  none,
  selective,  ///< scores, softmax and context again from queries, keys and values (arXiv:2205.05198, section 5)
  full,       ///< each layer again from its input
};

/// How keys and values reach the queries of another part of the sequence.
enum class ContextWay { ring, all_gather, ulysses };

struct Plan {
  std::int64_t tp = 1;    ///< devices that share the heads, the feed-forward width and the vocabulary
  std::int64_t pp = 1;    ///< stages that share the layers
  std::int64_t dp = 1;    ///< groups that share the sequences
  std::int64_t cp = 1;    ///< devices that share the positions of a sequence
  std::int64_t ep = 1;    ///< devices, out of dp, that share the experts
  bool sequence = false;  ///< tensors between the tensor-parallel pairs rest split by position (Megatron's SP)
  int zero = 0;           ///< 0: all replicated over dp; 1: optimizer state split; 2: gradients too; 3: weights too
  std::int64_t microbatch = 1;          ///< sequences of one pass on one device
  std::optional<std::int64_t> batch;    ///< sequences of a step on all devices; without it one microbatch a device
  std::optional<std::int64_t> length;   ///< positions of a sequence; without it the model's own, else 2048
  std::optional<std::int64_t> context;  ///< decode: keys that a new token sees
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t interleave = 1;  ///< chunks of layers a stage
  Recompute recompute = Recompute::none;
  ContextWay way = ContextWay::ring;
  bool flash = true;  ///< scores stay on the chip
  std::int64_t gradient_bits = 16;
  bool overlap = false;  ///< gradients are reduced while the backward pass runs
  Phase phase = Phase::training;
  bool operator==(const Plan&) const = default;

  std::int64_t devices() const { return tp * pp * dp * cp; }
  /// Microbatches of a step on one device.
  std::int64_t microbatches() const;
  std::int64_t step_batch() const;
};

/// Reads words as a user writes them: "tp=8 pp=12 dp=16 sp zero=1 microbatch=1 recompute=selective". Errors name the
/// word, what it may be, and the nearest key.
Result<Plan> parse_plan(const std::vector<std::string>& words);

/// The words again, without what is as it is anyway.
std::string to_text(const Plan& plan);

/// What cannot be: numbers that do not divide, more stages than layers, more devices than heads. Each names its
/// numbers.
Diagnostics check(const Plan& plan, const Transformer& model);
/// What can be but wastes or surprises (heads that tp does not divide, stages of unequal layers).
std::vector<std::string> warnings(const Plan& plan, const Transformer& model);

/// The keys that parse_plan knows, each with its meaning.
std::vector<std::pair<std::string, std::string>> plan_keys();

}  // namespace einflow::cluster
