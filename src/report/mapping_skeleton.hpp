// A nest to start from, for those who have no mapping yet.
#pragma once

#include <string>

#include "machine/machine.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// Nest lines that name every level and every rank, with TILE where a size is to be chosen. Each line in the
/// form of a spec's `mapping`.
std::string mapping_skeleton(const Einsum& einsum, const Machine& machine);

}  // namespace einflow
