// Every mapping of the mapper's space (search/mapper.hpp), by trying them all: what best_mapping() is held against.
//
// Places: the outermost storage, which holds every tensor; each further storage level that holds any tensor; the
// compute level. A level that holds nothing has no place. Between two neighbouring places stands a block: temporal
// loops, then the `par` lines of the meshes between the two, the outer mesh first. Every loop divides what it cuts and
// has more than one trip. Two neighbouring temporal loops of a block that cut the same rank are one loop and not
// written as two; the order of `par` lines on an axis means nothing and is that of the ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cost/cost.hpp"
#include "search/mapper.hpp"

namespace einflow::testing {

/// Calls `visit` once with every nest of the space that meets the constraints, whether it fits or not, until `visit`
/// returns false. The spec lives as long as the call.
void for_each_nest(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                   const std::function<bool(const Spec&)>& visit);

/// How many nests that is; `limit` where there are at least so many.
std::int64_t count_nests(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                         std::int64_t limit);

/// Calls `visit` once with every nest of the space that meets the constraints and fits, what it counts and what it
/// costs. Throws std::runtime_error where a spec cannot be counted. Returns the nests that did not fit.
std::int64_t for_each_mapping(const Einsum& einsum, const Machine& machine, const MapConstraints& constraints,
                              const std::function<void(const Spec&, const Counts&, const Cost&)>& visit);

/// The first constraint that the nest does not meet, in words; empty where it meets all.
std::string violated_constraint(const Spec& spec, const MapConstraints& constraints);

/// What puts the nest outside the space, in words; empty where it is inside. Loops of one trip are looked through.
std::string outside_space(const Spec& spec);

}  // namespace einflow::testing
