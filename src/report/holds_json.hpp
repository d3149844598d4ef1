// Counts as JSON, in the one form that `analyze` and `simulate` share.
#pragma once

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"
#include "report/json.hpp"

namespace einflow {

/// The problem: einsum, ranks, operations, MACs and FLOPs where they apply, tensors.
Json problem_json(const Spec& spec, const Counts& counts);

/// One entry per hold, in the order of Counts::holds.
Json holds_json(const Spec& spec, const Counts& counts);

/// Names of tensors.
Json names_json(const Einsum& einsum, const std::vector<int>& tensors);

/// `object` with the key, or, where it has the key already, with "KEY (kind)": a level or tensor that a user
/// named like a key of ours.
void set_named(Json& object, const std::string& key, const char* kind, Json value);

}  // namespace einflow
