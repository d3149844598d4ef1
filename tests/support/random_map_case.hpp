// Random small problems for the mapper: an einsum, a machine and constraints whose mappings can all be tried.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "search/mapper.hpp"

namespace einflow::testing {

struct MapCase {
  Einsum einsum;
  Machine machine;
  MapConstraints constraints;
  std::int64_t nests = 0;  ///< that meet the constraints, whether they fit or not
};

/// The case of a seed, the same on every platform. At most `most_nests` nests meet its constraints; without them there
/// are at least 10.
MapCase random_map_case(std::uint64_t seed, std::int64_t most_nests = 20000);

/// What a case exercises, in words; the same words for the same thing.
std::set<std::string> map_features(const MapCase& map_case);
/// Every word that map_features() can give.
const std::vector<std::string>& all_map_features();

/// The constraints in words, a line each; empty where there are none.
std::string to_text(const MapCase& map_case);

}  // namespace einflow::testing
