// The `ERT` part: energies of each component's actions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "notation/timeloop/findings.hpp"
#include "notation/timeloop/parts.hpp"

namespace einflow::timeloop {

/// Picojoules of an access (a block of words) or of an operation.
struct ActionEnergies {
  std::optional<Ratio> read;
  std::optional<Ratio> fill;
  std::optional<Ratio> update;
  std::optional<Ratio> compute;
};

/// By component, of those that are levels. Several actions of one name (with other arguments) count as the dearest, as
/// Timeloop takes them.
std::map<std::string, ActionEnergies> read_energies(const Part& part, const std::set<std::string>& levels,
                                                    Findings& findings);

}  // namespace einflow::timeloop
