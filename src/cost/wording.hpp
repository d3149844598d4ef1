// What the figures follow and what they leave out, in words: no figure is silently zero.
#pragma once

#include <string>
#include <vector>

#include "cost/cost.hpp"

namespace einflow {

/// Every convention that this report's numbers follow.
std::vector<std::string> cost_conventions(const Spec& spec, const Cost& cost);

/// Everything that the report leaves out, with the names of the levels that do not state a figure.
std::vector<std::string> uncounted_figures(const Spec& spec, const Cost& cost);

}  // namespace einflow
