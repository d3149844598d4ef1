// The names that each community gives to who stays and who is split.
#pragma once

#include <optional>
#include <string>

#include "mapping/mapping.hpp"

namespace einflow {

/// The input that holds the weights, where its name says so ("W", "F", "weight", "filter" ...) and no other
/// input's does; problems with two inputs only.
std::optional<int> weights_of(const Einsum& einsum);

/// "output stationary", "weight stationary", "input stationary", or "stationary A" where the name of A does
/// not say which it is.
std::string stationary_name(const Einsum& einsum, int tensor);

/// What a spatial loop is called where tensors are sharded over processors: "column parallel ...", "row
/// parallel ...", "data parallel ...". Depends only on which tensors the loop's rank indexes.
std::string sharding_words(const Einsum& einsum, const Loop& loop);

/// What the mesh's network does for a tensor that the loop does not split: one read for all, or merged on the
/// way; empty for a tensor that it splits.
std::string network_words(const Spec& spec, const Loop& loop, int tensor);

}  // namespace einflow
