// Where the library's machines and problems are looked for.
#pragma once

#include <string>
#include <vector>

#include "notation/spec_reader.hpp"

namespace einflow {

/// The user's own folders first, then the working directory, then what the program came with: EINFLOW_LIBRARY
/// (folders separated by ':'), share/einflow beside the program's folder, the installed and the source data.
Library library_of(const std::vector<std::string>& own_folders);

}  // namespace einflow
