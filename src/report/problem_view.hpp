// The library's problems for people and for scripts.
#pragma once

#include <string>
#include <vector>

#include "notation/library.hpp"
#include "report/json.hpp"
#include "report/layout.hpp"

namespace einflow {

/// The einsum with its ranks, types and operations.
Json einsum_json(const Einsum& einsum);

/// Layers with einsum, sizes, MACs, repeat and totals ("einflow-problem-1").
Json problem_file_json(const ProblemFile& file);
std::string problem_file_text(const ProblemFile& file, const TextStyle& style);

/// One line for a list of problems: its layers and MACs.
std::string problem_summary(const ProblemFile& file);

}  // namespace einflow
