// ONNX models as networks of primitives (docs/notations/onnx.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the bytes are a model.
bool is_onnx(const SourceText& source);
/// Every operator becomes a layer or is listed as uncounted.
Result<Document> read_onnx(const std::vector<SourceText>& sources, const ReadOptions& options);

}  // namespace einflow
