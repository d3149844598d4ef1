// From operations on shapes to einsums: names of ranks and tensors, element types, checks.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "notation/document.hpp"
#include "notation/python/values.hpp"
#include "problem/constructors.hpp"

namespace einflow::python {

/// An axis of an einsum's tensor, by rank names.
struct NamedAxis {
  std::vector<std::pair<std::string, std::int64_t>> terms;  ///< rank, coefficient
  std::int64_t constant = 0;
  std::optional<std::int64_t> stored_size;
};

/// A tensor as an einsum reads it; `axes` in stored order.
struct Operand {
  TensorValue* tensor = nullptr;  ///< is named where it has no name yet
  std::string default_name;
  std::vector<NamedAxis> axes;
};

/// What is computed from the operands.
struct Body {
  std::string name;  ///< of the einsum
  std::string map = "*";
  std::string reduce = "";  ///< left empty where nothing is reduced
  ExecutedShare executed;
};

/// Collects the einsums of a text. All einsums share names of tensors and ranks: a rank name has one extent.
class Lowering {
 public:
  Lowering(std::string_view text, Diagnostics& errors) : text_(text), errors_(errors) {}

  /// Adds an error; where it points into the text it is told once.
  std::nullopt_t error(const Place& place, std::string message, std::string hint = {});
  bool failed() const { return !errors_.empty(); }

  /// A rank that stands for an axis of this extent: `base`, or with a number behind it where that name has another
  /// extent or is among `taken`, to which it is added.
  std::string rank(const std::string& base, std::int64_t extent, std::set<std::string>& taken);
  /// The rank that the axis had in the einsum that made the tensor, or as above.
  std::string rank_of(const TensorValue& tensor, std::size_t axis, const std::string& base,
                      std::set<std::string>& taken);

  /// The tensor with a rank for each axis; "" leaves an axis of size 1 out, which broadcasts.
  static Operand operand(TensorValue& tensor, const std::string& default_name, const std::vector<std::string>& ranks);

  /// Adds an einsum over named ranks; its output, whose axes are these ranks.
  std::optional<TensorValue> add(const Place& place, const Body& body, std::vector<Operand> inputs,
                                 const std::vector<std::string>& output_ranks, const std::string& output_name);
  /// Adds einsums that a constructor made. `tensors` are the values of their inputs by the constructor's names; the
  /// axes of inputs follow the constructor. The outputs' names are kept where they are free.
  bool adopt(const Place& place, std::vector<Einsum> einsums, const std::map<std::string, TensorValue*>& tensors);

  /// Name of a tensor that is free, beginning with `base`.
  std::string tensor_name(const std::string& base);
  /// Gives a tensor its name in all einsums. False where another one has it.
  bool rename_tensor(const std::string& from, const std::string& to);
  /// The type of a tensor that an einsum made.
  void set_type(const std::string& tensor, const ElementType& type);

  void convention(std::string text);
  void left_out(std::string text);
  void uncounted(std::string operation, std::string because);
  /// Weights of a module; `what` says which: "weight 128 x 64 x 3 x 3".
  void parameters(Count count, const std::string& what);

  /// The type of results where operands differ, from an annotation.
  std::optional<ElementType> stated_type;

  std::vector<Einsum>& einsums() { return einsums_; }
  /// Parameters, conventions and the rest go into the document.
  void finish(Document& document);

 private:
  bool settle_types(const Place& place, Einsum& einsum, const std::vector<TensorValue*>& inputs);
  bool checked(const Place& place, const Einsum& einsum);
  void unique_operands(Einsum& einsum);
  std::string einsum_name(const std::string& base);

  std::string_view text_;
  Diagnostics& errors_;
  std::vector<Einsum> einsums_;
  std::map<std::string, std::int64_t> extents_;  ///< of all rank names
  std::set<std::string> tensors_, einsum_names_;
  std::map<std::string, int> last_number_;  ///< behind names that were taken, to begin from
  std::set<std::string> untyped_;           ///< tensors without a stated type
  std::map<std::string, ElementType> types_;
  std::vector<std::string> conventions_, left_out_, parameter_texts_;
  std::vector<Uncounted> uncounted_;
  std::optional<Count> parameters_;
};

}  // namespace einflow::python
