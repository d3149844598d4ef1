// From statements to values and einsums.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "notation/python/arguments.hpp"

namespace einflow::python {

/// Evaluates statements one after the other; what they compute goes into the lowering.
class Evaluator {
 public:
  /// `sizes`: names that stand for numbers, from -r.
  Evaluator(std::string_view text, const std::map<std::string, std::int64_t>& sizes, Lowering& lowering)
      : text_(text), sizes_(sizes), lowering_(lowering) {}

  void run(const std::vector<Statement>& statements);

  /// The last tensor that was computed, and by whose rules.
  const std::optional<TensorValue>& result() const { return result_; }
  Dialect dialect() const { return dialect_; }
  /// The last operation's name: "conv2d".
  const std::string& operation() const { return operation_; }
  const std::set<std::string>& used_sizes() const { return used_sizes_; }

 private:
  void run(const Statement& statement);
  std::optional<Value> evaluate(const Expression& expression);
  std::optional<Value> evaluate_name(const Expression& expression);
  std::optional<Value> evaluate_number(const Expression& expression);
  std::optional<Value> evaluate_sequence(const Expression& expression);
  std::optional<Value> evaluate_attribute(const Expression& expression);
  std::optional<Value> evaluate_subscript(const Expression& expression);
  std::optional<Value> evaluate_call(const Expression& expression);
  std::optional<Value> evaluate_binary(const Expression& expression);
  std::optional<Value> evaluate_negative(const Expression& expression);
  std::optional<std::vector<Value>> evaluate_arguments(const Expression& call);
  std::optional<Value> apply(const Operation& operation, const Arguments& arguments);
  std::optional<Value> apply(const Module& module, Arguments arguments);
  std::optional<Value> no_such_operation(const std::string& name, const Place& place);

  /// Counts a call; modules within modules may mean more of them than the text has.
  bool too_many(const Place& place);

  std::string_view text_;
  const std::map<std::string, std::int64_t>& sizes_;
  Lowering& lowering_;
  std::map<std::string, Value> variables_;
  std::set<std::string> used_sizes_;
  std::optional<TensorValue> result_;
  Dialect dialect_ = Dialect::torch;
  std::string operation_;
  std::size_t applied_ = 0;
};

/// "F.conv2d" as "torch.nn.functional.conv2d": the full name under which an operation is listed.
std::string full_name(const std::string& name);

}  // namespace einflow::python
