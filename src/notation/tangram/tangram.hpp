// Tangram's (nn_dataflow's) blocking and partitioning (docs/notations/tangram.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text has its keys.
bool is_tangram(const SourceText& source);
/// Blocking factors ti, to, tb, orders, partitioning.
Result<Document> read_tangram(const std::vector<SourceText>& sources, const ReadOptions& options);
/// Likewise.
Result<Writing> write_tangram(const Document& document);

}  // namespace einflow
