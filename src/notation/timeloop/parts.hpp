// Timeloop's files as one set of parts: `problem`, `architecture`, `mapping`, `ERT`, each in any of the files.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/yaml.hpp"

namespace einflow::timeloop {

/// The value of a top-level key, and which source it is in.
struct Part {
  const YamlNode* node = nullptr;
  Span key;
  std::string source;
};

struct Parts {
  std::vector<YamlNode> roots;        ///< one for each source; `parts` points into them
  std::map<std::string, Part> parts;  ///< by key

  /// nullptr where it is not given.
  const Part* find(const std::string& key) const;
};

/// Reads all sources. Hyphens in keys become underscores (`word-bits`), as Timeloop does it. Errors: texts that are no
/// YAML, a part given twice, templates ({{...}}) and `!include`.
Result<Parts> read_parts(const std::vector<SourceText>& sources);

/// Gives the diagnostics from `first` on the name of their source.
void stamp(Diagnostics& errors, std::size_t first, const std::string& source);

}  // namespace einflow::timeloop
