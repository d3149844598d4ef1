// SCALE-Sim's configuration, an INI file: the array, its dataflow, and what of it the counts do not use.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "notation/scalesim/array.hpp"

namespace einflow::scalesim {

struct Configuration {
  std::string run_name;
  std::optional<std::int64_t> height;  ///< rows of the array
  std::optional<std::int64_t> width;   ///< columns
  std::optional<Dataflow> dataflow;
  bool sparse = false;  ///< SparsitySupport: ratios of the topology are applied
  Span sparse_span;
  std::vector<std::string> left_out;  ///< what it says and no count uses, each with its lines
};

/// Reads all keys that SCALE-Sim v1 to v3 know. Errors carry the source's name: lines that are neither a section nor a
/// key, unknown or repeated sections and keys, numbers that are none.
Result<Configuration> read_configuration(const SourceText& source);

/// A whole number of at least 1 that fits in 64 bits; nothing where the text is none.
std::optional<std::int64_t> whole_number(std::string_view text);

}  // namespace einflow::scalesim
