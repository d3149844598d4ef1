// A scheme's program against its execution.
#pragma once

#include <cstdint>
#include <string>

#include "cluster/program.hpp"
#include "support/random_scheme.hpp"

namespace einflow::cluster {

struct Outcome {
  std::string faults;            ///< a line each; empty where all is right
  bool streamed = false;         ///< an einsum was executed in pieces
  std::int64_t collectives = 0;  ///< carried out
};

/// Executes the program on random values, in pieces and whole: outputs, gradients and updated weights are those of the
/// unsplit einsums, every device sends in every collective what the closed forms say, tensors rest where the scheme
/// says.
Outcome try_program(const testing::SchemeCase& scheme_case, Result<Program> program, std::uint64_t seed, bool training);

}  // namespace einflow::cluster
