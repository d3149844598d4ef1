// What is computed: ranks, tensors with affine axes, einsums, cascades (docs/law.md section 1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/count.hpp"
#include "base/ratio.hpp"

namespace einflow {

/// A named iteration dimension, 0 <= index < extent; extent >= 1.
struct Rank {
  std::string name;
  std::int64_t extent = 1;
  bool operator==(const Rank&) const = default;
};

/// coefficient * rank, coefficient >= 1; `rank` indexes Einsum::ranks.
struct Term {
  int rank = 0;
  std::int64_t coefficient = 1;
  bool operator==(const Term&) const = default;
};

/// A tensor's axis: the sum of its terms plus a constant. With `stored_size`, only positions
/// 0 <= x < *stored_size exist: the others are implicit zeros (padding), not stored, moved or counted.
struct Axis {
  std::vector<Term> terms;
  std::int64_t constant = 0;
  std::optional<std::int64_t> stored_size;
  bool operator==(const Axis&) const = default;
};

/// An element type: its name as users write it ("bf16") and its width.
struct ElementType {
  std::string name = "bf16";
  int bits = 16;
  bool operator==(const ElementType&) const = default;
};

/// The type of that name (bf16 fp16 tf32 fp32 fp64 fp8 fp6 fp4 int1..int64 uint8 bool ..., or "N-bit").
std::optional<ElementType> find_element_type(const std::string& name);
/// All named types, for messages.
const std::vector<ElementType>& element_types();

struct Tensor {
  std::string name;
  std::vector<Axis> axes;  ///< may be empty: a scalar
  ElementType type;
  bool operator==(const Tensor&) const = default;
};

/// Share of the iteration space's operations that is executed, where the problem declares one
/// (causal mask). Movement and steps are those of the whole space; reports say so.
struct ExecutedShare {
  Ratio share = Ratio(Count(1));
  std::string because;  ///< "causal mask"; empty where everything is executed
  bool operator==(const ExecutedShare&) const = default;
};

/// One output, one or more inputs, a map and a reduce operator. `tensors` holds the inputs in the
/// order written, then the output. A rank occurs in at most one axis of a tensor; output axes are single,
/// distinct ranks with coefficient 1 and constant 0.
struct Einsum {
  std::string name;         ///< may be empty
  std::vector<Rank> ranks;  ///< in order of first declaration
  std::vector<Tensor> tensors;
  std::string map = "*";     ///< "*", "+", "-", "/", "max", "min", or a function name ("exp") of one input
  std::string reduce = "+";  ///< "+", "max", "min", "*"; "" where there is nothing to reduce ("=")
  ExecutedShare executed;

  int output() const { return static_cast<int>(tensors.size()) - 1; }
  bool is_output(int tensor) const { return tensor == output(); }
  int rank_named(std::string_view name) const;    ///< index, or -1
  int tensor_named(std::string_view name) const;  ///< index, or -1
  bool has_rank(int tensor, int rank) const;      ///< whether the tensor is indexed by the rank

  /// prod(extents): the points of the iteration space.
  Count operations() const;
  /// operations() times the executed share, rounded up.
  Count executed_operations() const;
  /// One multiply and one add per operation: map "*", reduce "+", two inputs.
  bool is_mac() const;

  bool operator==(const Einsum&) const = default;
};

/// Einsums over tensors shared by name, in order of execution.
struct Cascade {
  std::string name;
  std::vector<Einsum> einsums;
};

/// Canonical text: "O[n,k,p] += I[n,c,2*p+r-1] * F[k,c,r]".
std::string to_text(const Einsum& einsum);
std::string to_text(const Tensor& tensor, const Einsum& einsum);
std::string to_text(const Axis& axis, const Einsum& einsum);

}  // namespace einflow
