// A trace file read back.
#pragma once

#include <string_view>

#include "base/diagnostic.hpp"
#include "notation/chakra/trace.hpp"

namespace einflow::chakra {

/// The bytes of one device's file, `device` its number (it stands in the file's name only). Integers may have any of
/// the types that Chakra has. Not kept: start times, inputs and outputs of nodes, attributes that TraceNode has no
/// field for. What nodes say together is not checked (trace_check.hpp does).
/// Errors, with the byte: what is no such message or ends early; a node of no known kind, without what its kind needs,
/// with a text where a number belongs, with a number that does not fit; an id twice; more than 4 million nodes.
Result<Trace> read_chakra(std::string_view bytes, std::int64_t device = 0);

}  // namespace einflow::chakra
