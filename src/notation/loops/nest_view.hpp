// A checked nest as the three writers show it: named loop variables, ranges, and what stays where.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "mapping/mapping.hpp"
#include "notation/document.hpp"
#include "notation/loops/nest_text.hpp"
#include "notation/loops/tiling.hpp"

namespace einflow::loops {

struct ShownLoop {
  WrittenLoop::Kind kind = WrittenLoop::Kind::temporal;
  std::string variable;
  int rank = 0;
  TripBound bound;   ///< its terms name loops by their place in NestView::loops
  std::string axis;  ///< "array.x", spatial loops only
  std::string note;  ///< "W stationary, X refetched", "X replicated, W and Y split"
};

struct ShownHold {
  std::string level;
  std::string tensors;  ///< "X W Y"
  std::string note;     ///< "output stationary"; may be empty
};

struct NestView {
  std::vector<ShownLoop> loops;               ///< outermost first; what the atomic shape takes whole last
  std::vector<std::vector<ShownHold>> holds;  ///< holds[i] stand above loops[i], the last ones above the statement
  std::vector<Tiling> tilings;                ///< of each rank
  int mapped = 0;                             ///< how many of the loops are the mapping's own
};

/// The nest, its variables named after their ranks: m, or m1 and m0 counted from the innermost. No variable is one of
/// `taken`. Errors: ranks whose variables cannot be told apart.
Result<NestView> view_nest(const Spec& spec, const std::set<std::string>& taken);

/// "16*m1+m0" of a rank, as far as its outermost `loops` loops go; empty where there is none.
std::string index_text(const NestView& view, int rank, std::size_t loops);
/// Likewise of all loops.
std::string index_text(const NestView& view, int rank);
/// "2*(4*p1+p0)+r-1": an axis of a tensor.
std::string index_text(const NestView& view, const Axis& axis);
/// "100 - 16*m1": a term of a range.
std::string term_text(const NestView& view, const Affine& term);

/// What another notation's text says above the nest: the einsum, its sizes, types and shapes, the machine; one line
/// each.
std::vector<std::string> description(const Spec& spec);

/// The spec to write: the document's only layer. Errors: several layers, no machine, no mapping.
Result<Spec> spec_to_write(const Document& document);
/// What the document says beside its spec, for `left_out`.
std::vector<std::string> beside_the_spec(const Document& document);

}  // namespace einflow::loops
