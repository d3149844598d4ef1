// The best mapping of a problem on a machine, with the proof that none is better.
//
// The space: nests with one place per storage level, so that all holds of a level stand together (even placement); a
// level may hold any of the tensors; every loop divides what it cuts; temporal loops in any number and order; the `par`
// lines of a mesh stand inside the temporal loops of their part of the nest, next to the holds inside the mesh.
// Capacity is respected, and so is the machine's order. What the operation is left at the end of the nest is 1 of
// every rank, or anything that the compute level's atomic shape takes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// What is made as small as possible.
struct Objective {
  enum class Kind {
    energy,   ///< pJ, every part that the machine states
    cycles,   ///< overlapped
    edp,      ///< energy x cycles, pJ cycles
    traffic,  ///< bits that one storage level reads and writes
  };
  Kind kind = Kind::energy;
  int level = -1;  ///< traffic only: index into Machine::levels
  bool operator==(const Objective&) const = default;
};

/// Whether a level keeps a tensor.
enum class Holding : std::uint8_t { free, held, bypassed };

/// Parts of the mapping that are given. Vectors are empty (nothing given) or have one entry per machine level.
struct MapConstraints {
  /// [level][tensor]
  std::vector<std::vector<Holding>> holding;
  /// [storage level][rank]: what is left of the rank at the level's place; 0 = free.
  std::vector<std::vector<std::int64_t>> tile;
  /// [storage level]: the tensor that the innermost temporal loop outside the level's place leaves there; -1 = free.
  std::vector<int> stationary;
  /// [mesh level][axis][rank]: trips of the rank's `par` line on the axis; 0 = free, 1 = not spread.
  std::vector<std::vector<std::vector<std::int64_t>>> spread;
  /// Share of the compute instances that must be in use, 0 to 1.
  double least_utilization = 0;
};

/// How far a search is. `bound`: no mapping of the space is better; `best`: the best one found, where there is one.
struct MapProgress {
  std::string stage;
  Count expanded;
  double bound = 0;
  std::optional<double> best;
};

struct MapRequest {
  Einsum einsum;
  Machine machine;
  Objective objective;
  bool front = false;  ///< all mappings that no other beats in energy and cycles; `objective` is not looked at
  MapConstraints constraints;
  std::optional<double> most_seconds;
  int threads = 1;  ///< one search is one thread's work; the answer is the same whatever their number
  /// Called now and then from the thread that called; false = stop and give the best so far.
  std::function<bool(const MapProgress&)> progress;
};

/// A mapping with what it costs, as `analyze` has it.
struct MapPoint {
  Spec spec;
  std::optional<double> energy_picojoules;
  std::optional<Count> cycles;
  double value = 0;  ///< of the objective
};

/// What was looked at, and what is known of what was not.
struct MapProof {
  bool optimal = false;  ///< no mapping of the space is better
  double value = 0;      ///< of the best mapping
  double bound = 0;      ///< every mapping of the space has at least this; = value where optimal
  Count tile_shapes;     ///< of one place
  double mappings =
      0;           ///< in the space: loop orders, tile shapes, spatial unrollings and bypass choices, before capacity
  Count states;    ///< partial mappings left after those that do not differ in what stays were joined
  Count expanded;  ///< of these, looked into; the others are beaten by another one or by the bound
  double seconds = 0;   ///< of processor time
  std::string stopped;  ///< why it ended before the proof; empty where it did not
  /// (value - bound) / value
  double gap() const { return value > 0 ? (value - bound) / value : 0; }
};

struct MapResult {
  std::vector<MapPoint> points;  ///< one; with `front` all of it, energy rising and cycles falling
  MapProof proof;
  std::vector<std::string> conventions;
};

/// The best mapping. Errors: nothing of the space fits (the level, its need and its room), the objective is one that
/// the machine states no figures for, a space too large to hold in memory, a count that leaves 128 bits.
Result<MapResult> best_mapping(const MapRequest& request);

/// The kinds of objective that the machine has figures for, the first being the one to take where none is asked for.
std::vector<Objective> objectives_of(const Einsum& einsum, const Machine& machine);

}  // namespace einflow
