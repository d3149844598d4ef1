// Random small parallel schemes: einsums, a mesh, par and time loops, and where tensors rest.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cluster/devices/devices.hpp"
#include "cluster/scheme.hpp"

namespace einflow::testing {

struct SchemeCase {
  cluster::Scheme scheme;
  std::set<std::string> positive;  ///< inputs that divide, or whose root is taken
  bool trains = true;              ///< every einsum has a gradient
};

/// The case of a seed, the same on every platform.
SchemeCase random_scheme(std::uint64_t seed);

/// Tensors that no einsum writes, and those that none reads, with their numbers of elements.
std::vector<std::pair<std::string, std::int64_t>> inputs_of(const cluster::Scheme& scheme);
std::vector<std::pair<std::string, std::int64_t>> outputs_of(const cluster::Scheme& scheme);

/// Values for all inputs, and for the outputs' gradients where `gradients`: weights and constants the same for all
/// microbatches. Between -1 and 1; of positive inputs between 1 and 2.
cluster::devices::Inputs random_inputs(const SchemeCase& scheme_case, std::uint64_t seed, bool gradients);

/// What a case exercises, in words; the same words for the same thing.
std::set<std::string> scheme_features(const SchemeCase& scheme_case);
/// Every word that scheme_features() can give.
const std::vector<std::string>& all_scheme_features();

std::string to_text(const SchemeCase& scheme_case);

}  // namespace einflow::testing
