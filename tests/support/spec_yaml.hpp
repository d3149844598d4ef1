// A spec as YAML text, so that a case found by a test can be run again through the command line.
#pragma once

#include <string>

#include "mapping/mapping.hpp"

namespace einflow::testing {

/// Everything that counts and cycles depend on; energies, capacities and provenance are left out.
std::string to_yaml(const Spec& spec);

}  // namespace einflow::testing
