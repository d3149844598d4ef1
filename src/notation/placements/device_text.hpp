// A text with placements, read: problem, mesh, one line a tensor, and perhaps the nest.
#pragma once

#include "notation/document.hpp"
#include "notation/placements/assignment.hpp"

namespace einflow::placements {

/// The document of the text, whose placements are spelled in these words.
Result<Document> read_device_text(const std::vector<SourceText>& sources, const ReadOptions& options, Words words);

/// The text of the document's only layer.
Result<Writing> write_device_text(const Document& document, Words words);

}  // namespace einflow::placements
