// The `mapping` part: factors, permutations, splits and bypasses of every level.
#pragma once

#include <vector>

#include "notation/timeloop/architecture.hpp"
#include "problem/einsum.hpp"

namespace einflow::timeloop {

/// One loop of a level: `bound` iterations, `residual` of them where every loop of its dimension outside is at its
/// last.
struct Factor {
  int rank = 0;
  Count bound = 1;
  Count residual = 1;
  bool y = false;  ///< a spatial loop along Y
  Span span;
};

/// By stage of the architecture.
struct Directives {
  std::vector<std::vector<Factor>> loops;  ///< outermost first; those of one iteration are left out
  std::vector<std::vector<bool>> keeps;    ///< by tensor; of storages
};

/// Checks names, and that the factors of each dimension multiply to its bound as Timeloop has it. Nothing where an
/// error was added.
std::optional<Directives> read_directives(const Part& part, const Architecture& architecture, const Einsum& einsum,
                                          bool link_transfers, Findings& findings);

}  // namespace einflow::timeloop
