// ASTRA-sim's file of communicator groups: a JSON object, the devices of each group under its name.
#pragma once

#include <string>

#include "base/diagnostic.hpp"
#include "notation/chakra/trace.hpp"

namespace einflow::chakra {

/// `{"1": [0, 1, 2, 3], ...}`, a group a line, in order of their numbers.
std::string groups_text(const CommGroups& groups);

/// Errors, with their places: no JSON object of lists of devices; a name that is no whole number above 0; a device
/// twice in a group; a number below 0.
Result<CommGroups> read_groups(const std::string& text);

}  // namespace einflow::chakra
