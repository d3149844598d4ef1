// Timeloop's YAML, v0.3 and v0.4: problem, architecture, mapping, energy table (docs/notations/timeloop.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text has the top-level keys of one of its files.
bool is_timeloop(const SourceText& source);
/// All its files together; the version is seen from the architecture.
Result<Document> read_timeloop(const std::vector<SourceText>& sources, const ReadOptions& options);
/// v0.4, all parts in one file.
Result<Writing> write_timeloop(const Document& document);
/// v0.3, all parts in one file.
Result<Writing> write_timeloop_v03(const Document& document);

}  // namespace einflow
