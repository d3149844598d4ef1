// The law where every tile divides: one position class per loop, so that every count is a short product.
#pragma once

#include <cstdint>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// The uniform law prepared for one einsum on one machine, to be applied to many mappings (search, benchmarks).
class UniformLaw {
 public:
  UniformLaw(const Einsum& einsum, const Machine& machine);

  /// Fills `counts` (reusing its memory) and returns true where every cut divides what it cuts, no padding is met
  /// and every set is one interval or a row of equal ones. Returns false elsewhere, with `counts` in no particular
  /// state: count_movement_general() has the answer then. Overflow shows in the counts.
  bool count(const Mapping& mapping, Counts& counts) const;

  /// The share of one tensor in a group: its ranks by rising coefficient.
  struct GroupTerms {
    int first = 0;  ///< index into TensorPlan::terms
    int size = 0;
  };
  struct TensorPlan {
    std::vector<Term> terms;
    std::vector<GroupTerms> groups;         ///< indexed groups only
    std::vector<int> group_of;              ///< per rank; -1 where the tensor lacks it
    std::vector<std::int64_t> coefficient;  ///< per rank, normalised
    bool padded = false;
  };

 private:
  struct Ability {
    bool multicast = false, reduction = false, forwarding = false;
  };
  const Einsum& einsum_;
  Count operations_;
  int compute_level_ = 0;
  bool latches_ = false;
  std::vector<TensorPlan> plans_;
  std::vector<Ability> abilities_;  ///< per machine level
};

/// The general form, for all nests (slower); equal to the uniform one wherever that applies.
Result<Counts> count_movement_general(const Spec& spec);

}  // namespace einflow
