// The worked example of the user guide: a matrix product of 1024 cubed on a toy machine with a 16 x 16 array.
// Small enough that every figure in the tests of cost/ and report/ is derived by hand beside its check.
#pragma once

#include <string>

#include "mapping/mapping.hpp"

namespace einflow::testing {

/// The spec as YAML; lines can be replaced before it is read.
std::string worked_example_text();

/// Reads a spec; throws std::runtime_error with the messages where it is wrong.
Spec read(const std::string& yaml);

/// `text` with the one occurrence of `from` replaced; throws where there is not exactly one.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace einflow::testing
