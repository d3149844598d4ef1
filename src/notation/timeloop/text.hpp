// Words of a YAML text that is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace einflow::timeloop {

/// "a, b, c" with ", " between.
std::string joined(const std::vector<std::string>& parts, std::string_view between);

/// A name, in quotes where a YAML reader would take it for something else (null, true).
std::string word(const std::string& name);

}  // namespace einflow::timeloop
