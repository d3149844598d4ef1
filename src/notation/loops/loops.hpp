// Loop nests as they are taught and programmed (docs/notations/loops.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text has for and parallel-for lines.
bool is_loops(const SourceText& source);
/// Pseudo-code as write_loops prints it and as textbooks do.
Result<Document> read_loops(const std::vector<SourceText>& sources, const ReadOptions& options);
/// `for`/`parallel-for` pseudo-code, the stationary tensors marked.
Result<Writing> write_loops(const Document& document);
/// A C program that computes the nest and checks itself.
Result<Writing> write_c(const Document& document);
/// A numpy program that computes the nest and checks itself.
Result<Writing> write_numpy(const Document& document);

}  // namespace einflow
