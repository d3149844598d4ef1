// The names that each community gives to who is split and who is copied; those of who stays are in mapping/.
#pragma once

#include <string>

#include "mapping/stationarity.hpp"

namespace einflow {

/// What a spatial loop is called where tensors are sharded over processors: "column parallel ...", "row
/// parallel ...", "data parallel ...". Depends only on which tensors the loop's rank indexes.
std::string sharding_words(const Einsum& einsum, const Loop& loop);

/// What the mesh's network does for a tensor that the loop does not split: one read for all, or merged on the
/// way; empty for a tensor that it splits.
std::string network_words(const Spec& spec, const Loop& loop, int tensor);

}  // namespace einflow
