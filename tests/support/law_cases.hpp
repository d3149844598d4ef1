// The counts of tests/reference/law/cases.jsonl as specs and Counts.
#pragma once

#include <string>
#include <vector>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow::testing {

struct LawCase {
  std::string text;  ///< einsum and nest, for messages
  Spec spec;
  Counts expected;
};

/// All cases, in order; throws std::runtime_error where the file cannot be read.
std::vector<LawCase> law_cases();

}  // namespace einflow::testing
