// What mapping and hardware files say, word by word, before anything is computed from it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow::maestro {

struct Name {
  std::string_view text;
  Span span;
};

struct Number {
  std::int64_t value = 0;
  Span span;
};

/// "K: 64" in Dimensions or Stride.
struct DimensionSize {
  Name name;
  Number size;
};

/// TemporalMap, SpatialMap or Cluster.
struct Directive {
  enum class Kind { temporal, spatial, cluster };
  Kind kind = Kind::temporal;
  Number size;
  Number offset;   ///< maps only
  Name dimension;  ///< maps only
  Span span;       ///< of its first word
};

struct Layer {
  std::size_t source = 0;  ///< index of its text
  Name name;               ///< the last word; empty where there is none
  Span span;               ///< of the word Layer
  Name type;
  Span dimensions_span;
  std::vector<DimensionSize> strides;
  std::vector<DimensionSize> dimensions;
  std::vector<Directive> dataflow;
};

/// The keys of a hardware file.
inline constexpr std::array<std::string_view, 6> kHardwareKeys = {"num_pes",     "l1_size_cstr", "l2_size_cstr",
                                                                  "noc_bw_cstr", "NoC_NumHops",  "offchip_bw_cstr"};

/// The sources together.
struct Text {
  std::string network;                     ///< the first one's name
  std::vector<Layer> layers;               ///< without those that have errors
  std::map<std::string, Number> hardware;  ///< by key
  bool carriage_returns = false;
};

/// Adds what a source says to `text`, its errors to `errors`. The views point into the source.
void parse_source(const std::vector<SourceText>& sources, std::size_t source, Text& text, Diagnostics& errors);

/// "DIM: 4", "C 64": digits only, 0 <= value < 2^63.
std::optional<std::int64_t> whole_number(std::string_view digits);

}  // namespace einflow::maestro
