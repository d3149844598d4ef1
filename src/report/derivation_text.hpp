// Why each number is what it is, for a terminal.
#pragma once

#include <string>
#include <vector>

#include "movement/derivation.hpp"
#include "report/layout.hpp"
#include "report/level_derivation.hpp"

namespace einflow {

/// Under each hold its loops in their roles, and each of its numbers with its formula, in names and in values; then
/// the numbers of the levels likewise.
std::string derivations_text(const Spec& spec, const std::vector<Derivation>& derivations,
                             const std::vector<LevelDerivation>& levels, const TextStyle& style);

}  // namespace einflow
