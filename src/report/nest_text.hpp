// The nest with who stays and who moves beside each line.
#pragma once

#include <string>

#include "mapping/mapping.hpp"
#include "report/layout.hpp"

namespace einflow {

/// "X W Y".
std::string names_text(const Einsum& einsum, const std::vector<int>& tensors);

/// One line for each hold and loop, outermost first, annotated: trips, and what the loop does to each tensor.
std::string nest_text(const Spec& spec, const TextStyle& style);

/// "toy at 1 GHz: DRAM > Buffer > array x 16, y 16 > RF > MAC".
std::string machine_line(const Machine& machine);

}  // namespace einflow
