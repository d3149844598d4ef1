// "M=4,2 N0": factors as Timeloop's mappings write them, and its permutations.
#pragma once

#include <optional>
#include <vector>

#include "notation/timeloop/directives.hpp"

namespace einflow::timeloop {

/// By rank; a dimension that is not named has none. `zero` receives whether a factor was 0, the full bound.
std::vector<std::optional<Factor>> read_factors(const YamlNode& node, const Einsum& einsum, bool& zero,
                                                Diagnostics& errors);

/// Ranks, innermost first; single letters in one word, or a list of names.
std::vector<int> read_permutation(const YamlNode& node, const Einsum& einsum, Diagnostics& errors);

}  // namespace einflow::timeloop
