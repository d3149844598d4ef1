#include "base/message.hpp"

#include <fmt/format.h>

#include "base/diagnostic.hpp"
#include "base/utf8.hpp"

namespace einflow {

std::string in_quotes(std::string_view text) { return fmt::format("'{}'", printable(text, 60)); }

std::string comma_list(const std::vector<std::string>& names, std::size_t limit) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i == limit) return list + fmt::format(", ... ({} more)", names.size() - limit);
    if (i > 0) list += ", ";
    list += printable(names[i], 60);
  }
  return list;
}

std::string name_hint(std::string_view found, const std::vector<std::string>& valid, std::string_view kinds) {
  const std::string nearest = nearest_name(found, valid);
  if (!nearest.empty()) return fmt::format("did you mean {}?", in_quotes(nearest));
  if (valid.empty()) return fmt::format("there are no {}", kinds);
  return fmt::format("{}: {}", kinds, comma_list(valid));
}

}  // namespace einflow
