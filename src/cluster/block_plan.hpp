// A block of a model under a plan: the states of its tensors, and the collectives that they need, by the one rule.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cluster/plan.hpp"
#include "cluster/program.hpp"

namespace einflow::cluster {

/// An operation with its par loops, and the state in which each of its tensors is computed.
struct PlannedOperation {
  const Operation* operation = nullptr;
  ShardedEinsum work;
  std::vector<Placement> states;
};

/// A weight: where it rests, and what its gradient is on each axis when a microbatch is done.
struct PlannedWeight {
  std::string name;
  std::vector<Rank> ranks;
  ElementType type;
  Placement rest;
  Placement gradient;
  bool expert = false;  ///< its axis ep splits it: dp's other devices alone have it too
};

struct BlockPlan {
  DeviceMesh mesh;  ///< dp cp ep tp (tq), the plan's devices of one stage; axes of one device too
  std::vector<PlannedOperation> operations;
  std::map<std::string, Placement> rest;  ///< of every tensor
  std::vector<PlannedWeight> weights;
  std::vector<Collective> forward;   ///< of one microbatch
  std::vector<Collective> backward;  ///< empty in inference
};

/// The mesh of a whole plan, stages outermost: pp dp cp ep tp tq. tp has the KV heads' devices and tq those that share
/// one KV head's queries, where tp is more than the KV heads.
DeviceMesh mesh_of(const Plan& plan, const Transformer& model);

/// The plan for one block. `block` must outlive it.
///
/// Gradients of activations are always added up where the activation rests: where several devices share a KV head
/// (axis tq), the gradients of its keys and values are reduced over them before the projections' gradients, which
/// moves more than leaving them partial would. Tokens rest with their owners: an expert's weight gradients fetch them
/// once more.
Result<BlockPlan> plan_block(const Block& block, const Plan& plan, const Transformer& model);

}  // namespace einflow::cluster
