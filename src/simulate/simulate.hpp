// The law of movement again, by doing it: executes every step of a mapped einsum on real values in real buffers,
// counts what moves, and checks the result against the plain einsum. Shares nothing with movement/ but the types.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/count.hpp"
#include "base/diagnostic.hpp"
#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

struct SimulateOptions {
  /// Problems with more operations than this are declined.
  Count limit_operations = 20'000'000;
  /// Whether values move and the result is checked; counts and cycles are the same without.
  bool values = true;
  /// Called now and then with the operations done so far and in all.
  std::function<void(Count done, Count total)> progress;
};

struct Simulation {
  Counts counts;
  /// Every element of the output equals the plain evaluation, and every element was where the nest needed it.
  /// True where no values were asked for.
  bool result_matches = true;
  /// The first difference, in words: "Y[0,3] is 17, but the plain einsum gives 21". Empty where there is none.
  std::string first_mismatch;
  /// docs/law.md section 6; see simulate/pipeline.hpp for what overlaps what.
  Count pipelined_cycles;
  /// The counts by instance, mesh and access, as movement/movement.hpp has them.
  std::vector<BusiestInstance> busiest;
  std::vector<NetworkCounts> networks;
  std::vector<AccessCounts> accesses;
};

/// Executes a checked spec. Fails where the problem has more operations than the limit. The movement is that of the
/// whole iteration space, also where only a share of its operations is declared to be executed.
Result<Simulation> simulate(const Spec& spec, const SimulateOptions& options = {});

}  // namespace einflow
