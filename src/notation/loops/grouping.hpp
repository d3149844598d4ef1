// Which loop variables are parts of one rank: m2, m1, m0 of m.
#pragma once

#include <string>
#include <vector>

#include "notation/loops/nest_text.hpp"

namespace einflow::loops {

/// The loops of one rank, outermost first.
struct LoopGroup {
  std::string name;  ///< of the rank
  std::vector<int> loops;
  std::string note;  ///< how the loops were taken together, where their names do not say it
};

/// With a line `einsum:` a loop belongs to the rank of its name or, less digits, of its stem; a name that is no rank's
/// gets a group of its own. Without it, variables are one rank where they are written as such (m2, m1, m0; `m = ...`; a
/// loop that starts at another's variable) or can only be one, and occur in the same indices.
Result<std::vector<LoopGroup>> group_loops(const NestText& text);

}  // namespace einflow::loops
