// What each device does, step by step: local einsums, and collectives between states.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "cluster/scheme.hpp"

namespace einflow::cluster {

enum class CollectiveKind {
  all_reduce,      ///< P -> R
  reduce_scatter,  ///< P -> S
  all_gather,      ///< S -> R
  all_to_all,      ///< S(r) -> S(q)
  slice,           ///< R -> S, or R -> P (all but the first device take the operator's identity): nothing moves
  /// Any to any: each device is sent what it lacks, by the device that has it and shares the receiver's coordinates
  /// on all axes that do not split the tensor before.
  redistribute,
};

/// A change of the state of one tensor on one mesh axis (redistribute: on all).
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string tensor;
  std::vector<Rank> ranks;  ///< the whole tensor's axes
  ElementType type;
  int axis = 0;  ///< of the mesh; of no meaning in a redistribute
  Placement from;
  Placement to;
  std::optional<TimeLoop> time;  ///< goes piece by piece with the einsum that reads (or writes) it
  bool operator==(const Collective&) const = default;
};

/// Every device computes its piece of the einsum; `placements` has the state of each tensor of it, in order.
struct LocalEinsum {
  ShardedEinsum work;
  std::vector<Placement> placements;
  bool accumulate = false;  ///< adds to what the output has already in that placement (gradients)
  bool operator==(const LocalEinsum&) const = default;
};

/// Copies of the tensor in this placement are dropped.
struct Release {
  std::string tensor;
  Placement placement;
  bool operator==(const Release&) const = default;
};

using Step = std::variant<LocalEinsum, Collective, Release>;

/// A tensor may be present in several placements at once; a step names those that it reads and writes.
struct Program {
  DeviceMesh mesh;
  std::map<std::string, Placement> inputs;  ///< where what is given rests at the start
  std::map<std::string, Placement> outputs;
  std::map<std::string, Placement> rest;  ///< where every tensor rests between its uses; gradients under their names
  std::vector<Step> forward;              ///< once for each microbatch
  std::vector<Step> backward;             ///< once for each microbatch, after forward
  std::vector<Step> finish;  ///< once: gradients to where the update is, the update, weights to where they rest
  std::int64_t microbatches = 1;
};

/// The updated weight has the weight's name and "'"; gradients are named as gradient_name (gradient.hpp) says, the sum
/// of a weight's over the microbatches with ".sum" behind it.
std::string updated_name(const std::string& weight);

/// Forward steps only: transitions into compute states, the einsums, transitions to rest. Errors: a placement that
/// does not fit, a transition that the einsum's non-linearity forbids, a rank on two axes of one einsum.
Result<Program> forward_program(const Scheme& scheme);
/// Forward, backward and, where the scheme has weights, the update. Gradients of outputs are given, named by
/// gradient_name, in the outputs' placements.
Result<Program> training_program(const Scheme& scheme);

/// The cheapest chain of collectives from one placement to the other, by elements sent, then by steps.
Result<std::vector<Collective>> transition(const std::string& tensor, const std::vector<Rank>& ranks,
                                           const ElementType& type, const Placement& from, const Placement& to,
                                           const DeviceMesh& mesh);

}  // namespace einflow::cluster
