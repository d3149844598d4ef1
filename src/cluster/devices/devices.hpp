// Executes a program on simulated devices with real values, counting every element that a device sends.
//
// It is the law of cluster/ once more, by doing it: it shares with the closed forms the types alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/devices/local_einsum.hpp"
#include "cluster/devices/wires.hpp"
#include "cluster/program.hpp"

namespace einflow::cluster::devices {

/// What the program is given: whole tensors. A tensor that every microbatch has of its own is in `microbatch`.
struct Inputs {
  Tensors shared;
  std::vector<Tensors> microbatch;  ///< one for each microbatch, or none at all
};

enum class Section { forward, backward, finish };

/// How einsums with a time loop are executed.
enum class Timed {
  /// A piece of a streamed operand at a time. Whole where its collectives do not go together, or where other steps
  /// read the whole copy or none drops it.
  in_pieces,
  whole,  ///< the collectives first (or afterwards), by pieces, then the einsum
};

/// What one collective moved in one execution.
struct Exchange {
  Section section = Section::forward;
  std::int64_t microbatch = 0;
  std::size_t step = 0;  ///< in its section
  Tally tally;
};

struct Run {
  std::vector<Tensors> microbatch;  ///< the program's outputs that are there after each microbatch, gathered
  Tensors outputs;                  ///< those that are there at the end
  Tally forward;                    ///< over all microbatches
  Tally backward;
  Tally finish;
  std::vector<Exchange> exchanges;  ///< in order
  std::vector<std::int64_t> peak;   ///< elements of all copies that a device holds at once, at most
  std::int64_t streamed = 0;        ///< einsums executed in pieces
};

/// Runs forward and backward for each microbatch, then finish. Between microbatches remain the inputs, and what
/// steps with `accumulate` have written. Gathering an output joins partial terms. Errors: inputs that are missing or of
/// another size, steps that read what is not there or do not fit the mesh, an operator that is not known, outputs
/// missing, devices that should have the same elements and differ (by more than 1e-9 of their size).
Result<Run> run(const Program& program, const Inputs& inputs, Timed timed = Timed::in_pieces);

}  // namespace einflow::cluster::devices
