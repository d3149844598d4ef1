// Einsum strings and calls of numpy, PyTorch, TensorFlow and einops (docs/notations/python.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text is an einsum string or such a call.
bool is_python(const SourceText& source);
/// One expression on tensors given by their shapes.
Result<Document> read_python(const std::vector<SourceText>& sources, const ReadOptions& options);
/// torch.einsum on tensors of the ranks' sizes.
Result<Writing> write_python(const Document& document);

}  // namespace einflow
