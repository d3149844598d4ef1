// Random small specs that exercise everything the law speaks of, valid by construction (docs/law.md section 3).
//
// A spec is decoded from a recipe of small numbers. Zero always decodes to the simplest choice, so a recipe whose
// numbers shrink towards zero is a spec that gets simpler: RapidCheck's own shrinking finds small counterexamples.
#pragma once

#include <rapidcheck.h>
#include <cstdint>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow::testing {

/// The numbers that decide about the problem, the machine and the mapping. A change in one part leaves the others as
/// they are, as far as they still fit.
struct Recipe {
  std::vector<std::uint8_t> problem;
  std::vector<std::uint8_t> machine;
  std::vector<std::uint8_t> mapping;
};

/// Recipes whose numbers are uniform.
rc::Gen<Recipe> recipes();

/// The spec of a recipe; at most 600 operations.
Spec decode(const Recipe& recipe);

/// What a spec exercises, in words; the same words for the same thing.
std::set<std::string> features(const Spec& spec);
/// What only shows in its counts.
std::set<std::string> features(const Spec& spec, const Counts& counts);
/// Every word that the two above can give.
const std::vector<std::string>& all_features();

void showValue(const Recipe& recipe, std::ostream& out);

}  // namespace einflow::testing
