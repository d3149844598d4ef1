// The `architecture` part as a chain: v0.3's subtree and v0.4's nodes give the same stages.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "notation/timeloop/findings.hpp"
#include "notation/timeloop/parts.hpp"

namespace einflow::timeloop {

/// A storage or the multipliers. Figures are per instance; words are of its own width.
struct Unit {
  std::string name;
  Span span;
  bool compute = false;
  bool dummy = false;       ///< class dummy_storage: Timeloop's own place for a fan-out
  std::int64_t mesh_x = 1;  ///< instances in all, along X
  std::int64_t mesh_y = 1;
  std::int64_t word_bits = 16;
  std::int64_t block = 1;    ///< words of an access
  std::int64_t cluster = 1;  ///< instances that share one access
  std::optional<Count> words;
  Ratio multiple_buffering = Ratio(Count(1));
  std::optional<Ratio> read_bandwidth;   ///< words per cycle
  std::optional<Ratio> write_bandwidth;  ///< words per cycle
  std::optional<Ratio> shared_bandwidth;
  std::optional<Ratio> access_energy;  ///< vector_access_energy: of every access, in place of the ERT's
};

/// Instances of what is inside for each instance of what is outside.
struct FanOut {
  std::string target;  ///< what a spatial directive calls it
  std::string mesh;    ///< its name in einflow; empty: after the storage outside it
  std::int64_t x = 1;
  std::int64_t y = 1;
  Span span;
};

using Stage = std::variant<Unit, FanOut>;

/// A mapping directive that stands in a node (v0.4 `constraints`).
struct Constraint {
  std::string target;
  std::string type;
  const YamlNode* node = nullptr;
};

struct Architecture {
  std::string name;
  std::string source;  ///< name of the text it is in
  bool nodes = false;  ///< written as v0.4 `nodes`
  std::optional<Ratio> cycle_seconds;
  std::vector<Stage> stages;  ///< outermost first; a storage first, the multipliers last
  std::vector<Constraint> constraints;
};

/// Nothing where an error was added.
std::optional<Architecture> read_architecture(const Part& part, Findings& findings);

}  // namespace einflow::timeloop
