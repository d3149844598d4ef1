// Signatures as the libraries declare them, and the arguments of a call in their order.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "notation/python/lowering.hpp"
#include "notation/python/values.hpp"

namespace einflow::python {

class Call;

/// A function, or a module class with the call of its instances.
struct Operation {
  std::string name;       ///< "torch.nn.functional.linear"
  std::string signature;  ///< "input, weight, bias=None"; "*operands" last takes what is left
  std::string forward;    ///< of a module's instances; empty for a function
  std::optional<Value> (*evaluate)(Call& call) = nullptr;
  Dialect dialect = Dialect::torch;
};

/// The operation of that full name, or nullptr.
const Operation* find_operation(const std::string& name);
std::vector<std::string> operation_names();

/// Arguments as written, before they are put into the order of a signature.
struct Arguments {
  std::vector<Value> values;  ///< keyword in Value::keyword
  Place place;                ///< of the whole call
  Place callee;
};

/// The arguments in the order of the signature; absent = default. `rest` takes those of "*operands".
std::optional<std::vector<std::optional<Value>>> arguments_in_order(const std::string& operation,
                                                                    const std::string& signature,
                                                                    const Arguments& arguments,
                                                                    std::vector<Value>& rest, Lowering& lowering);

/// A call with its arguments, to be asked for them. What is not as expected is an error and "nothing".
class Call {
 public:
  Call(const Operation& of, const Arguments& written, Lowering& into)
      : operation(of), place(written.place), callee(written.callee), lowering(into) {}

  const Operation& operation;
  Place place;
  Place callee;
  Lowering& lowering;
  std::vector<std::optional<Value>> constructed;  ///< of a module
  std::vector<std::optional<Value>> called;
  std::vector<Value> rest;

  /// The argument as written, or its default; of a module both signatures are searched.
  Value argument(std::string_view name) const;
  bool given(std::string_view name) const;

  /// A tensor, or a shape that stands for one.
  std::optional<TensorValue> tensor(std::string_view name);
  /// Likewise; nothing and no error where it is None.
  std::optional<TensorValue> optional_tensor(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t minimum);
  std::optional<bool> flag(std::string_view name);
  /// One number for all of `count` axes, or one for each.
  std::optional<std::vector<std::int64_t>> numbers(std::string_view name, std::size_t count, std::int64_t minimum);
  /// None: all; a number or several: axes of a tensor with `rank` axes, negative ones from behind.
  std::optional<std::vector<std::size_t>> axes(std::string_view name, std::size_t rank);
  std::optional<std::size_t> axis(std::string_view name, std::size_t rank);
  std::optional<std::string> text(std::string_view name);

  std::nullopt_t error_at(std::string_view argument, std::string message, std::string hint = {});
  std::nullopt_t error(std::string message, std::string hint = {});
  /// An argument that only its default is counted for: others are errors.
  bool only_default(std::string_view name, const std::string& because);

  Value result(TensorValue tensor) const { return value_of(std::move(tensor), place); }
};

/// A shape written as numbers, where the value is one: (1, 64, 56, 56).
std::optional<std::vector<std::int64_t>> shape_of(const Value& value);

/// Largest size, count of channels, stride ... that is read.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;

}  // namespace einflow::python
