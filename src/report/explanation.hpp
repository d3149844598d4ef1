// Who stays, who moves, who is split, replicated or reduced at each level (docs/law.md section 5), for `explain`.
#pragma once

#include <string>
#include <vector>

#include "mapping/stationarity.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"

namespace einflow {

/// For each place that holds something, the loops outside it from the innermost outwards with what each moves
/// and leaves, and the groups of tensors in the order in which they become stationary.
Json stationarity_json(const Spec& spec, const std::vector<MovementOrder>& orders);

/// The explanation as JSON ("einflow-explanation-1").
Json explanation_json(const Spec& spec);

/// The explanation for a terminal.
std::string explanation_text(const Spec& spec, const TextStyle& style);

}  // namespace einflow
