// Why a count is what it is: the loops in their roles and the arithmetic with values put in.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// What a loop outside a hold does to the tensor there (docs/law.md section 5 and 4).
struct LoopRole {
  enum class Role {
    moves,         ///< temporal, its rank indexes the tensor
    stationary,    ///< temporal, the tile stays in place under it (no moving loop inside it)
    refetches,     ///< temporal, not the tensor's rank, but a moving loop inside it brings the same tiles again
    split,         ///< spatial, the tensor's rank
    replicated,    ///< spatial, an input that lacks the rank
    partial_sums,  ///< spatial, an output that lacks the rank
  };
  int loop = 0;  ///< index into Mapping::loops
  Role role = Role::moves;
};

/// One number with its formula: evaluating `formula` (integers, + - * and parentheses) gives `value`.
struct Derivation {
  int tensor = 0;
  int hold = 0;
  std::string quantity;  ///< name of the field of HoldCounts: "fills", "parent_reads", ...
  Count value;
  std::string symbolic;  ///< the same in names: "tile(W) * trips(k) * trips(n)"
  std::string formula;   ///< the same with values put in: "(16 * 8) * 64 * 4"
  std::string meaning;   ///< one sentence in words
};

std::string to_text(LoopRole::Role role);

/// Roles of the loops outside a hold, outermost first (loops with a single trip are left out).
std::vector<LoopRole> loop_roles(const Spec& spec, int tensor, int hold);

/// Derivations of every count of every hold, in the order of Counts::holds.
Result<std::vector<Derivation>> derive(const Spec& spec);

}  // namespace einflow
