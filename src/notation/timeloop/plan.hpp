// A mapped machine as Timeloop can say it: storages with their loops in time, and between them fan-outs with theirs.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mapping/mapping.hpp"

namespace einflow::timeloop {

/// One factor: `bound` iterations, `residual` of them in the last round.
struct PlannedLoop {
  int rank = 0;
  std::int64_t bound = 1;
  std::int64_t residual = 1;
  bool y = false;  ///< spatial along Y
};

/// A storage, or with no `storage` a dummy, which keeps nothing and has only loops.
struct PlannedStorage {
  const Storage* storage = nullptr;
  std::vector<PlannedLoop> loops;  ///< outermost first, each of another rank
  std::vector<bool> keeps;         ///< by tensor
};

struct PlannedMesh {
  const Mesh* mesh = nullptr;
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::vector<PlannedLoop> loops;  ///< outermost first, along Y before those along X, each of another rank
};

using PlannedStage = std::variant<PlannedStorage, PlannedMesh>;

struct Plan {
  std::vector<PlannedStage> stages;  ///< outermost first, a storage of the machine first
  bool remainders = false;
};

/// Errors: what Timeloop cannot say, with the reason. `left_out` receives what it says otherwise without another count.
/// `mapped`: whether the mapping counts; else only the levels are laid out.
Result<Plan> plan_of(const Spec& spec, bool mapped, std::vector<std::string>& left_out);

}  // namespace einflow::timeloop
