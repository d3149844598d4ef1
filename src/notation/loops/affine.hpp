// Index arithmetic of loop nests: sums of loop indices, and the bounds made of them.
#pragma once

#include <utility>
#include <vector>

#include "base/count.hpp"

namespace einflow::loops {

/// constant + sum of coefficient * index. An index is the number of a loop's trip, from 0; it is named by the loop's
/// place in the text.
struct Affine {
  Count constant = 0;
  std::vector<std::pair<int, Count>> terms;  ///< in order of first use; no coefficient is 0

  bool is_constant() const { return terms.empty(); }
  Count coefficient(int loop) const;
  /// Whether a number in it left 128 bits.
  bool overflowed() const;
};

Affine sum(const Affine& a, const Affine& b);
Affine scaled(const Affine& a, Count factor);
/// Equal whatever the order of the terms.
bool same(const Affine& a, const Affine& b);

/// ceil(dividend / divisor), divisor >= 1.
struct Quotient {
  Affine dividend;
  Count divisor = 1;
};

/// The same value in lowest terms; a constant has divisor 1.
Quotient canonical(const Quotient& quotient);
bool same(const Quotient& a, const Quotient& b);

/// The least of its quotients; at least one.
using Bound = std::vector<Quotient>;

}  // namespace einflow::loops
