#include "notation/python/values.hpp"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

#include "base/message.hpp"

namespace einflow::python {

const char* name_of(Dialect dialect) {
  switch (dialect) {
    case Dialect::numpy:
      return "NumPy";
    case Dialect::torch:
      return "PyTorch";
    case Dialect::tensorflow:
      return "TensorFlow";
    case Dialect::einops:
      return "einops";
  }
  return "";
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::none:
      return "None";
    case Value::Kind::boolean:
      return value.integer != 0 ? "True" : "False";
    case Value::Kind::integer:
      return fmt::format("{}", value.integer);
    case Value::Kind::real:
      return value.text;
    case Value::Kind::text:
      return in_quotes(value.text);
    case Value::Kind::sequence: {
      if (value.items.empty()) return "()";
      std::string items;
      for (std::size_t i = 0; i < value.items.size() && i < 8; ++i) {
        items += (i == 0 ? "" : ", ") + describe(value.items[i]);
      }
      return fmt::format("({}{})", items, value.items.size() > 8 ? ", ..." : "");
    }
    case Value::Kind::tensor:
      return "a tensor of shape " + shape_text(value.tensor.shape);
    case Value::Kind::module:
      return "a module that is not applied to a tensor yet";
    case Value::Kind::type:
      return "the type " + value.type.name;
  }
  return "";
}

TensorValue tensor_of(std::vector<std::int64_t> shape, std::optional<ElementType> type) {
  TensorValue tensor;
  tensor.ranks.resize(shape.size());
  tensor.stored_at.resize(shape.size());
  std::iota(tensor.stored_at.begin(), tensor.stored_at.end(), 0);
  tensor.shape = std::move(shape);
  tensor.type = std::move(type);
  return tensor;
}

TensorValue permuted(const TensorValue& tensor, const std::vector<int>& order) {
  TensorValue view = tensor;
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    const auto old = static_cast<std::size_t>(order[axis]);
    view.shape[axis] = tensor.shape[old];
    view.ranks[axis] = tensor.ranks[old];
    view.stored_at[axis] = tensor.stored_at[old];
  }
  return view;
}

Value value_of(TensorValue tensor, const Place& place) {
  Value value;
  value.kind = Value::Kind::tensor;
  value.place = place;
  value.tensor = std::move(tensor);
  return value;
}

std::optional<ElementType> type_named(const std::string& name) {
  // torch.dtype, numpy.dtype and the short names that JAX prints.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kOtherNames{{
      {"float64", "fp64"},  {"double", "fp64"},        {"f64", "fp64"},         {"float32", "fp32"},
      {"f32", "fp32"},      {"float16", "fp16"},       {"half", "fp16"},        {"f16", "fp16"},
      {"bfloat16", "bf16"}, {"i64", "int64"},          {"s64", "int64"},        {"i32", "int32"},
      {"s32", "int32"},     {"i16", "int16"},          {"s16", "int16"},        {"i8", "int8"},
      {"s8", "int8"},       {"u64", "uint64"},         {"u32", "uint32"},       {"u16", "uint16"},
      {"u8", "uint8"},      {"float8_e4m3fn", "e4m3"}, {"float8_e5m2", "e5m2"}, {"pred", "bool"},
  }};
  for (const auto& [other, own] : kOtherNames) {
    if (name == other) return find_element_type(std::string(own));
  }
  if (name.size() > 4 && name.compare(0, 4, "bits") == 0) return find_element_type(name.substr(4) + "-bit");
  if (name.find('-') != std::string::npos) return std::nullopt;
  return find_element_type(name);
}

std::string type_text(const ElementType& type) {
  const std::size_t dash = type.name.find('-');
  return dash == std::string::npos ? type.name : "bits" + type.name.substr(0, dash);
}

}  // namespace einflow::python
