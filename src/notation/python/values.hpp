// What an expression is worth: numbers, texts, tensors known by their shapes, modules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "notation/python/syntax.hpp"
#include "problem/einsum.hpp"

namespace einflow::python {

/// A tensor, known by its shape. A transposed tensor is the same tensor with its axes in another order.
struct TensorValue {
  std::string name;                 ///< in the cascade; empty until an einsum uses it
  std::vector<std::int64_t> shape;  ///< each size >= 1
  std::vector<std::string> ranks;   ///< rank of each axis where an einsum made it, else ""
  std::vector<int> stored_at;       ///< place of each axis among the stored axes
  std::optional<ElementType> type;  ///< absent = the text does not say
};

struct Module;

struct Value {
  enum class Kind { none, boolean, integer, real, text, sequence, tensor, module, type };
  Kind kind = Kind::none;
  Place place;
  std::int64_t integer = 0;  ///< also of a boolean
  std::string text;          ///< of a text or of a real number, as written
  std::vector<Value> items;
  TensorValue tensor;
  ElementType type;
  std::shared_ptr<const Module> module;
  std::string keyword;  ///< "stride" of an argument stride=2; empty where it is positional
  Place keyword_place;
};

struct Operation;

/// torch.nn.Conv2d(64, 128, 3): a module, and what it was made with.
struct Module {
  const Operation* operation = nullptr;
  std::vector<std::optional<Value>> arguments;  ///< in the order of the signature; absent = its default
  std::vector<Value> rest;                      ///< of torch.nn.Sequential
};

/// Whose rules hold where the libraries differ.
enum class Dialect { numpy, torch, tensorflow, einops };
/// "NumPy", "PyTorch", ...
const char* name_of(Dialect dialect);

/// "[1, 64, 56, 56]"
std::string shape_text(const std::vector<std::int64_t>& shape);
/// What a value is, for messages: "a tensor of shape [4, 5]", "'same'", "3".
std::string describe(const Value& value);

TensorValue tensor_of(std::vector<std::int64_t> shape, std::optional<ElementType> type);
/// The axes in another order; `order` holds which old axis each new one is.
TensorValue permuted(const TensorValue& tensor, const std::vector<int>& order);
Value value_of(TensorValue tensor, const Place& place);

/// The element type that a library calls so: bf16, f32, float16, int8, bits12 ("12-bit").
std::optional<ElementType> type_named(const std::string& name);
/// How python.txt files write it: "bf16", "bits12".
std::string type_text(const ElementType& type);

}  // namespace einflow::python
