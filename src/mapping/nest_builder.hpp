// From nest lines with names to a checked Mapping: the rules of docs/law.md section 3, wherever the lines come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// A word of a nest line and where it stands.
struct NestWord {
  std::string text;
  Span span;
};

/// One line of a nest, its names not yet looked up.
struct NestLine {
  enum class Kind { at, temporal, spatial };
  Kind kind = Kind::temporal;
  Span span;                      ///< the whole line
  NestWord level;                 ///< `at` only
  std::vector<NestWord> tensors;  ///< `at` only
  std::vector<NestWord> ranks;    ///< loops only, outermost first
  std::int64_t number = 1;        ///< loops only: the tile, or after `into` the count; >= 1
  bool into = false;
  Span number_span;
  NestWord mesh;  ///< `par` only
  NestWord axis;  ///< `par` only
};

/// Looks the names up and checks order, fan-out and coverage. All errors that can be told at once.
Result<Mapping> build_mapping(const std::vector<NestLine>& lines, const Einsum& einsum, const Machine& machine);

}  // namespace einflow
