// The least traffic for every buffer size, for people and for scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/json.hpp"
#include "report/layout.hpp"
#include "search/staircase.hpp"

namespace einflow {

/// What `einflow bound` answers.
struct StaircaseReport {
  Einsum einsum;
  StaircaseSpace space;
  Staircase staircase;
  std::optional<Machine> machine;  ///< whose storages are placed on the staircase
  std::vector<std::string> conventions;
};

/// The step that a buffer of this many bits affords; nullptr where it is below the first.
const StaircaseStep* affordable(const Staircase& staircase, Count buffer_bits);

/// "einflow-bound-1"
Json to_json(const StaircaseReport& report);
/// Every step with `all`, else the last below each power of two.
std::string to_text(const StaircaseReport& report, bool all, const TextStyle& style);

}  // namespace einflow
