// What communities that split loops call a split, from the tensors that have its rank.
#pragma once

#include <string>

#include "mapping/mapping.hpp"

namespace einflow::placements {

/// "column parallel (tensor parallel)", "row parallel (tensor parallel)", "data parallel (batch); sequence or context
/// parallel (tokens)", ...
std::string parallelism_name(const Einsum& einsum, int rank);

/// "OUTP (output channels)", "INPP (input channels)", "BATP (batch)", "OFMP (output pixels, with a halo of the input)";
/// what Tangram has no name for is said.
std::string tangram_name(const Einsum& einsum, int rank);

/// "SpatialMap(512,512) K in a cluster level of 8 units".
std::string maestro_name(const Spec& spec, const Loop& loop);

/// Where nn.Linear keeps the weight the other way round than the einsum has it: what to write for it there.
std::string torch_weight(const Einsum& einsum, int rank);

}  // namespace einflow::placements
