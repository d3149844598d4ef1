// The `problem` part: a shape with its data spaces, and the bounds of an instance.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "notation/timeloop/findings.hpp"
#include "notation/timeloop/parts.hpp"
#include "problem/einsum.hpp"

namespace einflow::timeloop {

/// The einsum, checked; its element types are those of `Tensor` (the architecture knows better). `sizes` are bounds
/// from outside for dimensions that the text leaves open. Nothing where an error was added.
std::optional<Einsum> read_problem(const Part& part, const std::map<std::string, std::string>& sizes,
                                   Findings& findings);

}  // namespace einflow::timeloop
