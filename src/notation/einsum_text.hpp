// Einsums as users write them: "O[n,k,p] += I[n,c,2*p+r-1] * F[k,c,r]".
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// An einsum and where its parts stand in the text (line 1, column 1 is the first character).
struct ParsedEinsum {
  Einsum einsum;                        ///< extents 1, types bf16, no stored sizes
  Span assignment;                      ///< "+="
  std::vector<Span> ranks;              ///< first use of each rank
  std::vector<Span> tensors;            ///< names, in the order of Einsum::tensors
  std::vector<std::vector<Span>> axes;  ///< of each tensor
};

/// Reads and checks the form (docs/law.md section 1); sizes are not known yet. A syntax error is told alone, faults
/// of form all together. At most 64 tensors, 64 ranks and 64 KiB.
Result<ParsedEinsum> parse_einsum_text(const std::string& text);

}  // namespace einflow
