// Who is split, replicated or partial on each mesh axis, in the words of S/R/P, DTensor, JAX, MAESTRO and Tangram
// (docs/notations/placements.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text has placements of tensors on a DeviceMesh.
bool is_placements(const SourceText& source);
/// Whether it has PartitionSpecs over a Mesh.
bool is_jax(const SourceText& source);
/// A table of all spellings, for every spatial loop; only written.
Result<Writing> write_placements(const Document& document);
/// Placements as torch.distributed.tensor spells them.
Result<Document> read_dtensor(const std::vector<SourceText>& sources, const ReadOptions& options);
/// Likewise.
Result<Writing> write_dtensor(const Document& document);
/// PartitionSpecs.
Result<Document> read_jax(const std::vector<SourceText>& sources, const ReadOptions& options);
/// Likewise.
Result<Writing> write_jax(const Document& document);

}  // namespace einflow
