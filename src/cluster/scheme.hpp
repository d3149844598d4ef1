// A parallel scheme: einsums with `par` loops over mesh axes, and where each tensor rests between them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cluster/placement.hpp"

namespace einflow::cluster {

/// `par rank on axis`: the axis cuts the rank's loop of an einsum.
struct ParLoop {
  std::string rank;
  std::string axis;
  bool operator==(const ParLoop&) const = default;
};

/// How the pieces of a time loop come to a device.
enum class Delivery {
  broadcast,  ///< in step t the owner of piece t sends it along the axis (SUMMA); outputs: all send theirs to it
  shift,      ///< each device passes on to its neighbour what it just used (ring attention)
};

/// `for rank into q`, q the size of the axis that stores the rank split and needs it whole: what would be gathered
/// (scattered, for an output) at once comes (goes) piece by piece. Same bytes, only a piece of room.
struct TimeLoop {
  std::string rank;
  Delivery delivery = Delivery::broadcast;
  bool operator==(const TimeLoop&) const = default;
};

/// An einsum and how the mesh's axes share its loops.
struct ShardedEinsum {
  Einsum einsum;
  std::vector<ParLoop> par;  ///< at most one for each axis; a rank may have several, major first
  std::optional<TimeLoop> time;
  bool operator==(const ShardedEinsum&) const = default;
};

/// The states in which an einsum computes, by the one rule: an operand that has the rank is split, another input
/// is replicated, an output without it is partial. One placement for each tensor of the einsum.
std::vector<Placement> compute_states(const ShardedEinsum& einsum, const DeviceMesh& mesh);

/// Storage states of a weight, its gradient and its optimizer state over the axes of data parallelism.
struct TrainingStorage {
  Placement weight;
  Placement gradient;   ///< where gradients rest between microbatches; partial = each device keeps its own sum
  Placement optimizer;  ///< where the update is computed
  bool operator==(const TrainingStorage&) const = default;
};

struct Scheme {
  std::string name;
  DeviceMesh mesh;
  std::vector<ShardedEinsum> forward;  ///< in order; tensors are shared by name
  std::map<std::string, Placement>
      storage;  ///< at rest; a tensor that is not here rests as its producer leaves it
                ///< (a partial is then made replicated), an input as its first reader wants it
  std::map<std::string, TrainingStorage> weights;  ///< inputs that a training step updates
  std::set<std::string> constant;                  ///< inputs that want no gradient (masks)
  std::set<std::string> kept;  ///< whose copies in other states stay from forward to backward (gathered weights)
  std::int64_t microbatches = 1;
};

}  // namespace einflow::cluster
