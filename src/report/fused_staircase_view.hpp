// The least traffic of two fused einsums for every buffer size, beside that of the two one after the other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.hpp"
#include "report/layout.hpp"
#include "search/fused_staircase.hpp"

namespace einflow {

/// What `einflow bound --fused` answers.
struct FusedReport {
  FusedChain chain;
  FusedSpace space;
  FusedStaircase staircase;
  std::vector<UnfusedStep> unfused;
  std::optional<Machine> machine;  ///< whose storages are placed on the staircases
  std::vector<std::string> conventions;
};

/// "einflow-fused-bound-1"
Json to_json(const FusedReport& report);
/// Every step with `all`, else the last below each power of two.
std::string to_text(const FusedReport& report, bool all, const TextStyle& style);

}  // namespace einflow
