// The attributes of a component: what Timeloop counts with, and everything else that Accelergy's plug-ins take.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "notation/timeloop/architecture.hpp"

namespace einflow::timeloop {

/// Attributes as written, the component's own before those it inherits: the first of a name counts.
using Attributes = std::vector<const YamlEntry*>;

/// Fills the unit's figures, and with `in_tree` its instances from meshX, meshY and the name's [0..N].
void read_attributes(const Attributes& attributes, std::int64_t named_instances, bool in_tree, Unit& unit,
                     Findings& findings);

}  // namespace einflow::timeloop
