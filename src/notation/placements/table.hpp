// All spellings of every spatial loop, side by side.
#pragma once

#include "notation/document.hpp"

namespace einflow::placements {

/// Of the document's only layer, with its mapping. Any par loop on any mesh has an entry; what a vocabulary has no word
/// for is said there.
Result<Writing> write_table(const Document& document);

}  // namespace einflow::placements
