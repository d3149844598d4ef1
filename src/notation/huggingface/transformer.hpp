// A config's model as a transformer whose operations a parallel plan can cut.
#pragma once

#include "cluster/model.hpp"
#include "notation/huggingface/model.hpp"

namespace einflow::huggingface {

/// Without dropout. Errors: what cluster::Transformer has no place for (norms of queries and keys, parallel blocks,
/// biases of some projections only, windows of some layers only, ...), all of it at once.
Result<cluster::Transformer> transformer_of(const Model& model);

}  // namespace einflow::huggingface
