// Time, energy and space of a mapped problem (docs/law.md section 6), from the counts of section 4.
//
// Elements become bits by each tensor's type; bytes are bits / 8, exact (a 4-bit element is half a byte).
// A figure whose input the machine does not state is absent here and named in `uncounted`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "base/ratio.hpp"
#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"
#include "movement/movement.hpp"

namespace einflow {

/// What a storage level moves of one tensor, all instances together, in elements. Reads: the parent reads
/// and read-modify-writes that its children cause, what it forwards, its drains. Writes: its fills and the
/// updates that arrive.
struct TensorTraffic {
  int tensor = 0;
  Count reads;
  Count writes;
  Count exchanged_below;  ///< the part of both that its children cause
};

struct LevelCost {
  int level = 0;                       ///< index into Machine::levels, a storage level
  Count instances;                     ///< that the machine has
  std::vector<TensorTraffic> tensors;  ///< those held here
  Count reads;                         ///< elements, all tensors
  Count writes;
  Ratio bytes_read;
  Ratio bytes_written;
  Ratio bytes_exchanged_below;          ///< between this level and what is below it
  Ratio occupancy_bytes;                ///< per instance: largest tiles, twice where double-buffered
  std::optional<Ratio> capacity_bytes;  ///< per instance
  std::optional<Count> cycles;          ///< of its busiest instance, the slower direction
  std::optional<double> energy_picojoules;
  std::optional<double> flop_per_byte;  ///< executed FLOPs / bytes_exchanged_below; multiply-add problems
};

/// One tensor's traffic over one mesh: a hop is one element over the mesh once.
struct NetworkCost {
  NetworkCounts counts;
  Count hops;  ///< inputs: elements delivered, forwarded ones included; outputs: elements collected
  std::optional<double> energy_picojoules;
};

/// Fill and drain of one systolic mesh.
struct SystolicCost {
  int mesh = 0;
  int stationary = 0;  ///< the tensor that stays in the array
  Count folds;         ///< how often its tile changes
  Count rows;          ///< of the array, not of the part in use
  Count columns;
  Count cycles_per_fold;  ///< added to the compute cycles, per fold
};

struct TimeCost {
  Count steps;                       ///< distinct steps of the whole nest
  std::optional<Count> compute;      ///< cycles
  std::vector<SystolicCost> arrays;  ///< systolic meshes, outermost first
  std::optional<Count> systolic;     ///< compute and the fill and drain of every systolic mesh
  std::optional<Count> overlapped;   ///< the largest of all
  std::string limited_by;            ///< "compute", "systolic" or the level's name
  std::optional<double> seconds;
  std::optional<double> utilization;  ///< executed operations / (overlapped x peak of all instances)
};

struct EnergyCost {
  std::optional<double> compute;  ///< pJ
  std::optional<double> network;
  std::optional<double> total;         ///< of every part that is stated
  std::optional<double> energy_delay;  ///< joule seconds
};

/// The roofline at the outermost level that states a bandwidth. FLOPs for multiply-add problems, else operations.
struct RooflineCost {
  int level = 0;
  bool in_flops = true;
  double intensity = 0;         ///< per byte that the level reads or writes
  double ideal_intensity = 0;   ///< per byte where every tensor moves once
  double peak = 0;              ///< per cycle, all instances
  double bandwidth = 0;         ///< bytes per cycle, all instances, at this mix of reads and writes
  double ridge = 0;             ///< the intensity at which both bounds meet
  double attainable = 0;        ///< per cycle
  std::optional<double> hertz;  ///< to turn the above into seconds, where the clock is stated
  bool memory_bound() const { return intensity < ridge; }
};

struct Cost {
  std::vector<LevelCost> levels;  ///< storage levels, outermost first
  std::vector<NetworkCost> networks;
  TimeCost time;
  EnergyCost energy;
  std::optional<RooflineCost> roofline;
  std::vector<std::string> conventions;
  std::vector<std::string> uncounted;
};

/// Everything above. Fails only where a number leaves 128 bits.
Result<Cost> cost_of(const Spec& spec, const Counts& counts);

}  // namespace einflow
