#include "notation/timeloop/text.hpp"

#include <set>

#include "base/utf8.hpp"

namespace einflow::timeloop {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

std::string word(const std::string& name) {
  static const std::set<std::string> others{"null", "Null", "NULL", "true", "True", "TRUE", "false", "False", "FALSE"};
  return others.count(name) > 0 ? json_quoted(name) : name;
}

}  // namespace einflow::timeloop
