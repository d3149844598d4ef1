// The flags of `map` that say what is best, and which parts of the mapping are given.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "cli/command_line.hpp"
#include "search/mapper.hpp"

namespace einflow {

/// Parts of the mapping that are given, as written.
struct MapFlags {
  std::vector<std::string> hold;        ///< "Buffer:W,X": these and no others
  std::vector<std::string> keep;        ///< "Buffer:W"
  std::vector<std::string> bypass;      ///< "Buffer:Y"
  std::vector<std::string> tile;        ///< "Buffer:k=16,m=8"
  std::vector<std::string> stationary;  ///< "W@RF" or "W at RF"
  std::vector<std::string> spread;      ///< "array.x:k=16", or "x:k=16" where one mesh has an axis x
  std::vector<std::string> no_spread;   ///< "k", "k@array" or "k@array.x"
  std::string utilization;              ///< "0.8" or "80%"

  /// The flags as a user would write them again.
  std::vector<std::string> written() const;
  /// The first flag given that names ranks or tensors, and so belongs to one problem; empty where there is none.
  std::string of_one_problem() const;
};

/// The text without spaces at its ends.
std::string trimmed(const std::string& text);

void add_map_flags(CommandArguments& command, MapFlags& flags);

/// The flags as constraints of this problem on this machine. All errors: unknown names, tiles and trips that do not
/// divide, flags that contradict each other.
Result<MapConstraints> map_constraints(const MapFlags& flags, const Einsum& einsum, const Machine& machine);

/// "energy", "cycles", "edp" or "traffic:LEVEL".
Result<Objective> parse_objective(const std::string& text, const Machine& machine);

/// Seconds, above 0, of "10 s", "500 ms", "2 min", "1 h" or a plain number of seconds.
Result<double> parse_duration(const std::string& text);

}  // namespace einflow
