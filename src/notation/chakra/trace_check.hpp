// Whether traces are what a simulator can execute to the end.
#pragma once

#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "notation/chakra/trace.hpp"

namespace einflow::chakra {

/// A whole number above 0 without leading zeros, in 31 bits: what ASTRA-sim reads with std::stoi.
bool is_group_name(std::string_view name);

/// Errors, each with its device and node: devices that are not 0, 1, ...; a trace without nodes; an id twice; a
/// dependency on no node before it; sizes and operations below 1 (a simulator skips such a node, or divides by zero);
/// an unknown group, or one without the device; a send that is not from the device, a receive that is not to it; sends
/// and receives of two devices that do not match in number, order and size; collectives of a group that its devices do
/// not have in the same order.
Diagnostics faults_of(const std::vector<Trace>& traces, const CommGroups& groups);

}  // namespace einflow::chakra
