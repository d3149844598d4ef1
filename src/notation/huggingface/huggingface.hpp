// Hugging Face config.json as a network of primitives (docs/notations/huggingface.md).
#pragma once

#include "cluster/model.hpp"
#include "notation/document.hpp"

namespace einflow {

/// Whether the text is JSON with a model_type.
bool is_huggingface(const SourceText& source);
/// The model with the batch and lengths of --set.
Result<Document> read_huggingface(const std::vector<SourceText>& sources, const ReadOptions& options);
/// The model as a transformer that a parallel plan cuts; its name is empty. Errors have no source.
Result<cluster::Transformer> read_huggingface_transformer(const SourceText& source);

}  // namespace einflow
