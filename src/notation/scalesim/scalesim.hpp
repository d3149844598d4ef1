// SCALE-Sim's topology and configuration files (docs/notations/scalesim.md).
#pragma once

#include "notation/document.hpp"

namespace einflow {

/// Whether the text is a topology or a configuration.
bool is_scalesim(const SourceText& source);
/// A topology with its configuration.
Result<Document> read_scalesim(const std::vector<SourceText>& sources, const ReadOptions& options);

}  // namespace einflow
