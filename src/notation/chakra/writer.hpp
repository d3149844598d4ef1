// Traces as files that ASTRA-sim reads: one of each device, and the groups of devices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"
#include "notation/chakra/trace.hpp"

namespace einflow::chakra {

struct TraceFile {
  std::string name;  ///< without a folder
  std::string bytes;
};

/// One trace in Protocol Buffers: a GlobalMetadata and then the Nodes, the length before each. Without checks.
std::string trace_bytes(const Trace& trace);

/// "NAME.0.et", "NAME.1.et", ..., and "NAME.json" with the groups where there are any.
/// Integers have the types that both of Chakra's feeders read (docs/notations/chakra.md).
/// Errors: faults_of(traces, groups) in trace_check.hpp.
Result<std::vector<TraceFile>> write_chakra(const std::vector<Trace>& traces, const CommGroups& groups = {},
                                            std::string_view name = "trace");

}  // namespace einflow::chakra
