// What `map` searches for: a problem or a whole network in any notation, and a machine by name or by file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/document_input.hpp"
#include "search/network_map.hpp"

namespace einflow {

/// What the user gave. The machine may stand last among `texts`: a name of the library, or a machine file.
struct MapProblemArguments : DocumentArguments {
  std::string problem;  ///< library problem, "resnet50/conv1" or "resnet50"
};

void add_map_problem_arguments(CommandArguments& command, MapProblemArguments& arguments);

struct MapProblem {
  std::string name;                  ///< of the problem or network; may be empty
  std::vector<NetworkLayer> layers;  ///< at least one; several for a network or a cascade
  std::vector<std::string> conventions;
  std::vector<std::string> uncounted;  ///< operations of a network that have no einsum
  SourceText source;                   ///< that messages point into
  bool is_network() const { return layers.size() > 1; }
};

/// Reads problem and machine; a mapping in the text is not used. Where it fails, the errors have been printed.
std::optional<MapProblem> load_map_problem(const MapProblemArguments& arguments);

}  // namespace einflow
