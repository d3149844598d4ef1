// The groups of docs/law.md section 4: tiles are products of one-dimensional sets, one per group of ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "problem/einsum.hpp"

namespace einflow {

/// Half-open interval of positions.
struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const Interval&) const = default;
};

/// The ranks that share an axis of a tensor (`indexed`), or one rank that the tensor lacks, whose set is
/// the one element {0} wherever the coordinate is active.
///
/// Positions along an indexed group are sum(coefficient * index) with the axis's constant taken off and its
/// coefficients divided by their greatest common divisor: a bijection, so every size stays the same.
struct Group {
  bool indexed = false;
  std::vector<Term> terms;         ///< by rising coefficient; a single term has coefficient 1
  std::optional<Interval> stored;  ///< positions that exist, where padding leaves some out
};

/// All groups of a tensor: its axes in order, then the ranks that it lacks.
std::vector<Group> groups_of(const Einsum& einsum, int tensor);

}  // namespace einflow
