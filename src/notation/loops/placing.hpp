// What the comments of a nest place: which tile is held where, which loop runs over which mesh axis.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "mapping/nest_builder.hpp"
#include "notation/loops/nest_text.hpp"
#include "notation/loops/ranks.hpp"

namespace einflow::loops {

struct PlacedNest {
  std::vector<NestLine> lines;
  Machine machine;
  std::vector<std::string> conventions;
  std::vector<std::string> left_out;
};

/// The nest's lines on a machine; without one, on the machine of the levels and meshes that the text names.
Result<PlacedNest> place_nest(const NestText& text, const RankedNest& ranked, const std::optional<Machine>& machine);

}  // namespace einflow::loops
