// MAESTRO's data-centric directives (docs/notations/maestro.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text is a mapping or hardware file.
bool is_maestro(const SourceText& source);
/// A mapping file, with a hardware file beside it or --set num_pes=N.
Result<Document> read_maestro(const std::vector<SourceText>& sources, const ReadOptions& options);
/// One network with a layer for each of the document's.
Result<Writing> write_maestro(const Document& document);

}  // namespace einflow
