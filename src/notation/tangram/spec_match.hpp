// From any spec to a schedule: which words of nn_dataflow its ranks, tensors and levels are, and what has none.
#pragma once

#include <string>
#include <vector>

#include "notation/tangram/schedule.hpp"

namespace einflow::tangram {

/// A schedule's spec in the spec's own words.
struct Match {
  Schedule schedule;
  std::vector<std::string> left_out;
};

/// The layer of an einsum, and where its ranks and tensors stand.
struct LayerMatch {
  Layer layer;
  int word = 16;
  std::vector<int> ranks;    ///< the einsum's rank for each rank of einsum_of(layer)
  std::vector<int> tensors;  ///< likewise
  std::vector<std::string> left_out;
};
Result<LayerMatch> match_layer(const Einsum& einsum);

/// The resource of a machine of nn_dataflow's structure.
struct ResourceMatch {
  Resource resource;
  bool nodes_level = false;  ///< whether the machine has a mesh of nodes, if only one of 1 x 1
  std::vector<std::string> left_out;
};
Result<ResourceMatch> match_resource(const Machine& machine, int word);

/// The schedule whose spec_of() is this spec, up to names and figures (left_out). Errors say what has no word.
Result<Match> match_schedule(const Spec& spec, const std::string& name);

}  // namespace einflow::tangram
