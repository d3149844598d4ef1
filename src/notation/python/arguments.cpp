#include "notation/python/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::python {

namespace {

struct Parameter {
  std::string name;
  std::optional<std::string> otherwise;  ///< as written
};

/// "input, weight, bias=None, *operands"
std::vector<Parameter> parameters_of(std::string_view signature) {
  std::vector<Parameter> parameters;
  while (!signature.empty()) {
    const std::size_t comma = std::min(signature.find(", "), signature.size());
    const std::string_view one = signature.substr(0, comma);
    signature.remove_prefix(std::min(comma + 2, signature.size()));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) {
      parameters.push_back({std::string(one), std::nullopt});
    } else {
      parameters.push_back({std::string(one.substr(0, equals)), std::string(one.substr(equals + 1))});
    }
  }
  return parameters;
}

std::optional<std::size_t> position_of(const std::vector<Parameter>& parameters, std::string_view name) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].name == name) return i;
  }
  return std::nullopt;
}

/// numpy's names for PyTorch's arguments, which PyTorch takes too.
std::string_view usual_name(std::string_view name) {
  if (name == "axis") return "dim";
  if (name == "keepdims") return "keepdim";
  if (name == "x" || name == "a" || name == "self") return "input";
  return name;
}

Value default_value(const std::string& text) {
  Value value;
  if (text == "None") return value;
  if (text == "True" || text == "False") {
    value.kind = Value::Kind::boolean;
    value.integer = text == "True" ? 1 : 0;
  } else if (text.front() == '\'') {
    value.kind = Value::Kind::text;
    value.text = text.substr(1, text.size() - 2);
  } else if (text.find('.') != std::string::npos || text.find('e') != std::string::npos) {
    value.kind = Value::Kind::real;
    value.text = text;
  } else {
    value.kind = Value::Kind::integer;
    value.integer = static_cast<std::int64_t>(parse_count(text).value_or(Count(0)).value());
  }
  return value;
}

}  // namespace

std::optional<std::vector<std::optional<Value>>> arguments_in_order(const std::string& operation,
                                                                    const std::string& signature,
                                                                    const Arguments& arguments,
                                                                    std::vector<Value>& rest, Lowering& lowering) {
  std::vector<Parameter> parameters = parameters_of(signature);
  const bool takes_rest = !parameters.empty() && parameters.back().name.front() == '*';
  if (takes_rest) parameters.pop_back();
  std::vector<std::optional<Value>> bound(parameters.size());
  std::vector<std::string> names;
  for (const Parameter& parameter : parameters) names.push_back(parameter.name);
  bool good = true;
  std::size_t next = 0;
  bool keywords = false;
  for (const Value& value : arguments.values) {
    std::optional<std::size_t> at;
    if (value.keyword.empty()) {
      if (keywords && !takes_rest) {
        lowering.error(value.place, "a positional argument stands behind named ones");
        return std::nullopt;
      }
      if (takes_rest && (next >= parameters.size() || parameters[next].otherwise)) {
        rest.push_back(value);
        continue;
      }
      at = next++;
      if (*at >= parameters.size()) {
        lowering.error(value.place,
                       fmt::format("{} takes {} argument{}, this is number {}", operation, parameters.size(),
                                   parameters.size() == 1 ? "" : "s", *at + 1),
                       names.empty() ? "" : "arguments: " + signature);
        return std::nullopt;
      }
    } else {
      keywords = true;
      at = position_of(parameters, value.keyword);
      if (!at) at = position_of(parameters, usual_name(value.keyword));
      if (!at && takes_rest) {
        rest.push_back(value);
        continue;
      }
      if (!at) {
        lowering.error(value.keyword_place, fmt::format("{} has no argument {}", operation, in_quotes(value.keyword)),
                       name_hint(value.keyword, names, "arguments"));
        good = false;
        continue;
      }
    }
    if (bound[*at]) {
      lowering.error(value.place, fmt::format("the argument {} is given twice", in_quotes(names[*at])));
      good = false;
    }
    bound[*at] = value;
  }
  for (std::size_t i = 0; good && i < parameters.size(); ++i) {
    if (bound[i] || parameters[i].otherwise) continue;
    lowering.error(arguments.place, fmt::format("{} needs the argument {}", operation, in_quotes(names[i])),
                   "arguments: " + signature);
    good = false;
  }
  if (!good) return std::nullopt;
  return bound;
}

Value Call::argument(std::string_view name) const {
  const auto search = [&](const std::string& signature,
                          const std::vector<std::optional<Value>>& values) -> std::optional<Value> {
    const std::vector<Parameter> parameters = parameters_of(signature);
    const auto at = position_of(parameters, name);
    if (!at || *at >= values.size()) return std::nullopt;
    if (values[*at]) return values[*at];
    Value value = default_value(parameters[*at].otherwise.value_or("None"));
    value.place = place;
    return value;
  };
  const bool module = !operation.forward.empty();
  if (auto found = search(module ? operation.forward : operation.signature, called)) return *found;
  if (auto found = search(operation.signature, constructed)) return *found;
  Value none;
  none.place = place;
  return none;
}

bool Call::given(std::string_view name) const {
  const auto search = [&](const std::string& signature, const std::vector<std::optional<Value>>& values) {
    const auto at = position_of(parameters_of(signature), name);
    return at && *at < values.size() && values[*at];
  };
  const bool module = !operation.forward.empty();
  return search(module ? operation.forward : operation.signature, called) || search(operation.signature, constructed);
}

std::nullopt_t Call::error_at(std::string_view name, std::string message, std::string hint) {
  return lowering.error(argument(name).place, std::move(message), std::move(hint));
}

std::nullopt_t Call::error(std::string message, std::string hint) {
  return lowering.error(place, std::move(message), std::move(hint));
}

bool Call::only_default(std::string_view name, const std::string& because) {
  if (!given(name)) return true;
  const Value value = argument(name);
  const bool module = !operation.forward.empty();
  for (const std::string* signature : {&operation.signature, &operation.forward}) {
    const std::vector<Parameter> parameters = parameters_of(*signature);
    const auto at = position_of(parameters, name);
    if (!at) continue;
    const Value otherwise = default_value(parameters[*at].otherwise.value_or("None"));
    if (otherwise.kind == value.kind && otherwise.integer == value.integer && otherwise.text == value.text) return true;
    if (!module) break;
  }
  error_at(name, fmt::format("{}={} is not counted: {}", name, describe(value), because));
  return false;
}

std::optional<std::vector<std::int64_t>> shape_of(const Value& value) {
  if (value.kind != Value::Kind::sequence) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const Value& item : value.items) {
    if (item.kind != Value::Kind::integer) return std::nullopt;
    shape.push_back(item.integer);
  }
  return shape;
}

std::optional<TensorValue> Call::optional_tensor(std::string_view name) {
  if (argument(name).kind == Value::Kind::none) return std::nullopt;
  return tensor(name);
}

std::optional<TensorValue> Call::tensor(std::string_view name) {
  const Value value = argument(name);
  if (value.kind == Value::Kind::tensor) return value.tensor;
  const auto shape = shape_of(value);
  if (!shape) {
    return error_at(name, fmt::format("'{}' is {}, expected a tensor", name, describe(value)),
                    "a tensor is written by its type and shape, bf16[4, 5], or by its shape, (4, 5)");
  }
  for (const std::int64_t size : *shape) {
    if (size < 1 || size > kLargestSize) {
      return error_at(name, fmt::format("a size of {}; sizes are from 1 to {}", size, kLargestSize));
    }
  }
  return tensor_of(*shape, std::nullopt);
}

std::optional<std::int64_t> Call::integer(std::string_view name, std::int64_t minimum) {
  const Value value = argument(name);
  if (value.kind != Value::Kind::integer) {
    return error_at(name, fmt::format("'{}' is {}, expected a whole number", name, describe(value)));
  }
  if (value.integer < minimum || value.integer > kLargestSize) {
    return error_at(
        name, fmt::format("'{}' is {}, expected a number from {} to {}", name, value.integer, minimum, kLargestSize));
  }
  return value.integer;
}

std::optional<bool> Call::flag(std::string_view name) {
  const Value value = argument(name);
  if (value.kind != Value::Kind::boolean) {
    return error_at(name, fmt::format("'{}' is {}, expected True or False", name, describe(value)));
  }
  return value.integer != 0;
}

std::optional<std::vector<std::int64_t>> Call::numbers(std::string_view name, std::size_t count, std::int64_t minimum) {
  const Value value = argument(name);
  std::vector<std::int64_t> numbers;
  if (value.kind == Value::Kind::integer) {
    numbers.assign(count, value.integer);
  } else if (const auto shape = shape_of(value); shape && (shape->size() == count || shape->size() == 1)) {
    numbers = shape->size() == 1 ? std::vector<std::int64_t>(count, shape->front()) : *shape;
  } else {
    return error_at(name, fmt::format("'{}' is {}, expected a number{}", name, describe(value),
                                      count == 1 ? "" : fmt::format(" or {} of them", count)));
  }
  for (const std::int64_t number : numbers) {
    if (number >= minimum && number <= kLargestSize) continue;
    return error_at(
        name, fmt::format("'{}' is {}; numbers are from {} to {} there", name, describe(value), minimum, kLargestSize));
  }
  return numbers;
}

std::optional<std::size_t> Call::axis(std::string_view name, std::size_t rank) {
  const Value value = argument(name);
  const auto size = static_cast<std::int64_t>(rank);
  if (value.kind != Value::Kind::integer) {
    return error_at(name, fmt::format("'{}' is {}, expected the number of an axis", name, describe(value)));
  }
  if (value.integer < -size || value.integer >= size) {
    return error_at(name, rank == 0 ? "the tensor has no axes"
                                    : fmt::format("the tensor has no axis {}: its {} are {} to {}", value.integer,
                                                  rank == 1 ? "axis" : "axes", -size, size - 1));
  }
  return static_cast<std::size_t>(value.integer < 0 ? value.integer + size : value.integer);
}

std::optional<std::vector<std::size_t>> Call::axes(std::string_view name, std::size_t rank) {
  const Value value = argument(name);
  std::vector<std::size_t> axes;
  if (value.kind == Value::Kind::none || (value.kind == Value::Kind::sequence && value.items.empty())) {
    for (std::size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
    return axes;
  }
  const auto size = static_cast<std::int64_t>(rank);
  std::vector<std::int64_t> numbers;
  if (value.kind == Value::Kind::integer) {
    numbers.push_back(value.integer);
  } else if (const auto shape = shape_of(value)) {
    numbers = *shape;
  } else {
    return error_at(name, fmt::format("'{}' is {}, expected the number of an axis, or several", name, describe(value)));
  }
  for (const std::int64_t number : numbers) {
    if (number < -size || number >= size) {
      return error_at(name, rank == 0 ? "the tensor has no axes"
                                      : fmt::format("the tensor has no axis {}: its {} are {} to {}", number,
                                                    rank == 1 ? "axis" : "axes", -size, size - 1));
    }
    const auto axis = static_cast<std::size_t>(number < 0 ? number + size : number);
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) {
      return error_at(name, fmt::format("axis {} occurs twice", number));
    }
    axes.push_back(axis);
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::optional<std::string> Call::text(std::string_view name) {
  const Value value = argument(name);
  if (value.kind != Value::Kind::text) {
    return error_at(name, fmt::format("'{}' is {}, expected a text in quotes", name, describe(value)));
  }
  return value.text;
}

}  // namespace einflow::python
