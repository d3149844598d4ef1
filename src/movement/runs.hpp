// Finite sets of integers as sorted runs, for the one-dimensional sets of a group.
#pragma once

#include <cstdint>
#include <vector>

#include "movement/group.hpp"

namespace einflow {

/// Disjoint, non-empty, non-adjacent intervals in rising order.
using Runs = std::vector<Interval>;

/// Sorts and joins arbitrary intervals into runs.
void join_runs(Runs& runs);
/// Number of integers.
std::int64_t measure(const Runs& runs);
/// Number of integers in both.
std::int64_t measure_common(const Runs& a, const Runs& b);
/// Appends the integers of `a` that are not in `b` to `out` (not joined).
void append_difference(const Runs& a, const Runs& b, Runs& out);
/// Keeps what lies in the window.
void clip(Runs& runs, Interval window);

/// One summand of an axis: coefficient * x for begin <= x < begin + length.
struct Progression {
  std::int64_t coefficient = 1;
  std::int64_t begin = 0;
  std::int64_t length = 1;
};
/// The exact image of a sum of progressions (by rising coefficient, lengths >= 1). False, with `out` in no
/// particular state, where it has more runs than `most_runs` on the way.
bool sum_of_progressions(const Progression* progressions, std::size_t count, std::size_t most_runs, Runs& out);

}  // namespace einflow
