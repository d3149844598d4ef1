// How many mappings the space has.
#pragma once

#include "search/map_model.hpp"

namespace einflow {

/// Nests of the space that respect the constraints on holds and par lines, before capacity and tiles are looked at:
/// loop orders, tile shapes, spatial unrollings and bypass choices. A double: it may have hundreds of digits.
double mappings_in_space(const MapModel& model);

}  // namespace einflow
