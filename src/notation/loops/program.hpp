// What programs written from a nest share: names that the language leaves free, functions, sizes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "notation/document.hpp"
#include "notation/loops/nest_view.hpp"

namespace einflow::loops {

/// Names of a program, each given once: one that is taken gets '_' behind it.
class NameGiver {
 public:
  explicit NameGiver(std::set<std::string> taken) : taken_(std::move(taken)) {}
  std::string give(const std::string& wanted);
  const std::set<std::string>& taken() const { return taken_; }

 private:
  std::set<std::string> taken_;
};

/// A function of one number in both languages: expressions of `x`.
struct NamedFunction {
  std::string name;
  std::string c;
  std::string numpy;
};

/// The function that an einsum's map names; an unknown name is an error with the known ones.
Result<NamedFunction> function_named(const std::string& name);

/// Whether the map operator is a function of one operand.
bool maps_by_function(const Einsum& einsum);
/// Whether the program computes with whole numbers, where a sum is the same in any order: + - * max min.
bool is_exact(const Einsum& einsum);
/// Whether no sum or product of inputs from -8 to 8 leaves 62 bits.
bool stays_small(const Einsum& einsum);

/// A program's text as the answer of its writer, with what no program says.
Writing program_writing(std::string text, const Document& document, const Einsum& einsum);

/// How a tensor is stored: its sizes, and for each axis how many implicit zeros before and behind are touched.
struct StoredTensor {
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> zeros_before;
  std::vector<std::int64_t> zeros_behind;
  Count elements = 1;

  bool is_padded() const;
};

/// Errors: 2^60 elements or more, which no program can address.
Result<StoredTensor> stored_tensor(const Einsum& einsum, int tensor);

}  // namespace einflow::loops
