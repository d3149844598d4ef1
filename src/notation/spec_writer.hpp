// einflow's own YAML, written: what spec_reader and library read back as the same values.
#pragma once

#include <string>

#include "notation/document.hpp"

namespace einflow {

/// The `problem:` part of a spec that says this einsum.
std::string problem_text(const Einsum& einsum);

/// A whole spec. Errors: a figure that has no finite decimal in any unit.
Result<std::string> spec_text(const Spec& spec);

/// The `machine:` part of a spec. Errors likewise.
Result<std::string> machine_text(const Machine& machine);

/// A spec of the document's only layer; without a machine, its problem alone.
Result<Writing> write_spec(const Document& document);

/// A problem file of the library: every layer of the document, without machines and mappings.
Result<Writing> write_problem_file(const Document& document);

}  // namespace einflow
