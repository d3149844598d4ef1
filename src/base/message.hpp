// Pieces that messages to users are built from.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace einflow {

/// The text in quotes, fit to be shown: nothing unprintable in it and not longer than 60 columns.
std::string in_quotes(std::string_view text);

/// "a, b, c"; after `limit` names "... (12 more)".
std::string comma_list(const std::vector<std::string>& names, std::size_t limit = 24);

/// The hint for a name that is none of `valid`: "did you mean 'm'?", or where none is near "KINDS: m, n, k".
std::string name_hint(std::string_view found, const std::vector<std::string>& valid, std::string_view kinds);

}  // namespace einflow
