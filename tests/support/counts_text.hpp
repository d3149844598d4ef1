// Counts in words, for the messages of failing tests.
#pragma once

#include <string>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow::testing {

/// The lines in which two Counts of a spec differ; empty where they are equal.
std::string difference(const Counts& found, const Counts& expected, const Spec& spec);

}  // namespace einflow::testing
