// The mapper's search: from the operation outwards, one cut at a time, over partial mappings ("labels").
//
// A label is the inner part of a nest, up to some loop. Of it only this matters for what is still to come: the tile
// shape reached, where each tensor is held next, what has been spent, and what of that a loop further out can still
// spare (a tensor that no loop outside its hold has moved yet stays in place under the next loop too). Of labels alike
// in shape and next holds, one that is beaten in everything under every continuation is dropped; so is one whose lower
// bound is no better than a mapping already known. Orders of loops are not enumerated: cuts that leave the same in
// place lead to the same label.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "search/map_model.hpp"
#include "search/outer_bound.hpp"
#include "search/window_trail.hpp"

namespace einflow {

/// How figures make a value; the least is looked for.
struct Goal {
  enum class Kind {
    first,    ///< figure 0
    cycles,   ///< the largest of the figures in cycles, rounded up
    product,  ///< figure 0 x cycles
    front,    ///< both
  };
  Kind kind = Kind::first;
  bool has_first = true;                    ///< whether figure 0 is one to compare
  double most_first = OuterBound::kNever;   ///< mappings above this in figure 0 are not looked at
  double most_cycles = OuterBound::kNever;  ///< likewise in cycles
};

/// A complete mapping and what it costs.
struct FoundMapping {
  Mapping mapping;
  double first = 0;
  double cycles = 0;
  bool exact = true;  ///< else both are lower bounds
};

/// What is known to be attainable; labels that are no better are dropped.
struct Known {
  double value = OuterBound::kNever;
  std::vector<std::pair<double, double>> front;  ///< (figure 0, cycles)
};

struct SearchLimits {
  bool direct = false;      ///< only mappings that hold everything everywhere, or nothing
  bool bound_only = false;  ///< look for SearchOutcome::first_bound alone
  std::size_t widest = 0;   ///< labels kept from place to place, the most promising ones; 0: all
  std::function<bool(std::uint64_t expanded, double bound)> go_on;  ///< false: stop
};

struct SearchOutcome {
  std::vector<FoundMapping> found;  ///< best first
  std::uint64_t created = 0;
  std::uint64_t expanded = 0;
  bool complete = true;    ///< nothing was left out but what is beaten
  double bound = 0;        ///< where not complete: no mapping is better than this or than what is known
  double first_bound = 0;  ///< no mapping is better than this: known before anything is looked into
  std::string stopped;     ///< why, where it was stopped
};

/// Value of a pair of figures under the goal.
double goal_value(const Goal& goal, double first, double cycles);

SearchOutcome search_labels(const MapModel& model, const Parents& parents, const OuterBound& outer,
                            WindowTrails& trails, const Goal& goal, const Known& known, const SearchLimits& limits);

}  // namespace einflow
