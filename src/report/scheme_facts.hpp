// What there is to say of a named scheme: states of each tensor, what moves and what a device holds.
#pragma once

#include <string>
#include <vector>

#include "base/ratio.hpp"
#include "cluster/pipeline.hpp"
#include "cluster/program.hpp"
#include "cluster/schemes.hpp"

namespace einflow {

enum class SchemePart { forward, backward, finish };

/// A tensor, a gradient, or an updated weight.
struct SchemeTensor {
  std::string name;
  std::vector<Rank> ranks;
  SchemePart part = SchemePart::forward;
  std::vector<cluster::Placement> computes;  ///< in which einsums read or write it, in order, each once
  cluster::Placement rests;
  Count whole_bytes;
  Count resting_bytes;    ///< of the largest piece
  Count computing_bytes;  ///< likewise; where it comes and goes in pieces, of one of them
  bool in_pieces = false;
};

struct SchemeMove {
  SchemePart part = SchemePart::forward;
  cluster::Collective collective;
  std::string words;    ///< "all-reduce dX on tp"
  std::string formula;  ///< "2 x 3/4 x 4,096 B"; empty where pieces are uneven
  Count bytes;          ///< that the device sends which sends most
  Count total;          ///< of all devices
  Count messages;       ///< one after the other
};

/// A pipeline whose stages take a unit forward and two backward (zero-bubble: one of those for weights).
struct SchemeSchedule {
  cluster::Schedule schedule = cluster::Schedule::gpipe;
  std::int64_t chunks = 1;  ///< of layers on a device
  std::int64_t total = 0;   ///< units of time; a stage's share of them where there are several chunks
  std::int64_t ideal = 0;   ///< without a bubble
  Ratio live;               ///< microbatches whose activations the first device holds at most
};

struct SchemeFacts {
  const cluster::NamedScheme* named = nullptr;
  cluster::Scheme scheme;
  cluster::Program program;
  std::vector<SchemeTensor> tensors;
  std::vector<SchemeMove> moves;
  Count forward_bytes;  ///< each of the device that sends most; of one microbatch
  Count backward_bytes;
  Count finish_bytes;
  Count step_bytes;                       ///< of all microbatches and the end of the step
  Count boundary_bytes;                   ///< of a pipeline: from a stage to the next, in one microbatch
  std::string boundary_text;              ///< its formula
  std::vector<SchemeSchedule> schedules;  ///< of a pipeline; those that these sizes can have
};

/// Errors: as build_scheme() and the programs have them.
Result<SchemeFacts> scheme_facts(const cluster::NamedScheme& named, const cluster::SchemeSizes& sizes);

/// The name that a program's tensor is shown under: "dW" of "dW.sum"; of a derivative's temporaries their own.
std::string shown_tensor_name(const std::string& name);

/// States on the mesh's axes in order: "S(m), R"; on one axis "S(n)".
std::string states_text(const cluster::Placement& placement);
/// What states_text() leaves open: "k cut by l, then i"; empty where the mesh's order is that of the cuts.
std::string cut_order(const cluster::Placement& placement, const cluster::DeviceMesh& mesh);

}  // namespace einflow
