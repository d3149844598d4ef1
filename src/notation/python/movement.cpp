// What only moves data or names it anew: views and gathers; and tensors made of shapes.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

const char* const kView = "a view or a copy, without arithmetic";

std::string last_word(const std::string& name) { return name.substr(name.rfind('.') + 1); }

/// Axes that change places.
Value view(Call& call, const TensorValue& tensor, const std::vector<int>& order) {
  call.lowering.uncounted(last_word(call.operation.name), kView);
  return call.result(permuted(tensor, order));
}

std::vector<int> all_axes(const TensorValue& tensor) {
  std::vector<int> order;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) order.push_back(static_cast<int>(axis));
  return order;
}

std::optional<Value> transpose(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  const auto first = call.axis("dim0", tensor->shape.size()), second = call.axis("dim1", tensor->shape.size());
  if (!first || !second) return std::nullopt;
  std::vector<int> order = all_axes(*tensor);
  std::swap(order[*first], order[*second]);
  return view(call, *tensor, order);
}

std::optional<Value> permute(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  std::vector<std::int64_t> dims;
  for (const Value& value : call.rest) {
    if (value.kind == Value::Kind::integer) {
      dims.push_back(value.integer);
    } else if (const auto several = shape_of(value); several && call.rest.size() == 1) {
      dims = *several;
    } else {
      return call.lowering.error(value.place, fmt::format("found {}, expected the number of an axis", describe(value)));
    }
  }
  const auto axes = static_cast<std::int64_t>(tensor->shape.size());
  std::vector<int> order;
  for (const std::int64_t dim : dims) {
    const std::int64_t axis = dim < 0 ? dim + axes : dim;
    if (axis < 0 || axis >= axes || std::find(order.begin(), order.end(), static_cast<int>(axis)) != order.end()) {
      return call.error(fmt::format("permute needs each of the {} axes once, found {}", axes, shape_text(dims)));
    }
    order.push_back(static_cast<int>(axis));
  }
  if (order.size() != tensor->shape.size()) {
    return call.error(fmt::format("permute needs each of the {} axes once, found {}", axes, shape_text(dims)));
  }
  return view(call, *tensor, order);
}

std::optional<Value> transposed_matrix(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  const bool last_two = last_word(call.operation.name) == "mT";
  const std::size_t axes = tensor->shape.size();
  if (last_two && axes < 2) return call.error(".mT needs at least 2 axes");
  std::vector<int> order = all_axes(*tensor);
  if (last_two) {
    std::swap(order[axes - 1], order[axes - 2]);
  } else {
    std::reverse(order.begin(), order.end());
  }
  return view(call, *tensor, order);
}

/// The same elements in another shape; `shape` may have one -1.
std::optional<Value> reshaped(Call& call, const TensorValue& tensor, std::vector<std::int64_t> shape) {
  const Count elements = elements_of(tensor.shape);
  Count known = 1;
  std::size_t open = shape.size();
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == -1 && open == shape.size()) {
      open = axis;
    } else if (shape[axis] < 1 || shape[axis] > kLargestSize) {
      return call.error(fmt::format("a shape of {}: sizes are at least 1, one of them may be -1", shape_text(shape)));
    } else {
      known *= Count(shape[axis]);
    }
  }
  if (elements.overflowed() || known.overflowed()) return call.error("more elements than 127 bits count");
  const bool fits = open == shape.size() ? elements == known : elements.value() % known.value() == 0;
  const auto rest = fits && open < shape.size() ? Count(elements.value() / known.value()).to_int64() : std::nullopt;
  if (!fits || (open < shape.size() && !rest)) {
    return call.error(fmt::format("a shape of {} does not hold the {} elements of {}", shape_text(shape),
                                  elements.str(), shape_text(tensor.shape)));
  }
  if (open < shape.size()) shape[open] = *rest;
  call.lowering.uncounted(last_word(call.operation.name), kView);
  TensorValue made = tensor_of(std::move(shape), tensor.type);
  made.name = tensor.name;
  return call.result(std::move(made));
}

std::optional<Value> reshape(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (const Value& value : call.rest) {
    if (value.kind == Value::Kind::integer) {
      shape.push_back(value.integer);
    } else if (const auto several = shape_of(value); several && call.rest.size() == 1) {
      shape = *several;
    } else {
      return call.lowering.error(value.place, fmt::format("found {}, expected a size", describe(value)));
    }
  }
  return reshaped(call, *tensor, shape);
}

std::optional<Value> flatten(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  const std::size_t axes = std::max<std::size_t>(1, tensor->shape.size());
  const auto first = call.axis("start_dim", axes);
  const bool from_end = !call.given("end_dim");
  const auto last = from_end ? std::optional(axes - 1) : call.axis("end_dim", axes);
  if (!first || !last) return std::nullopt;
  if (*first > *last) return call.error("start_dim lies behind end_dim");
  std::vector<std::int64_t> shape;
  Count merged = 1;
  for (std::size_t axis = 0; axis < tensor->shape.size(); ++axis) {
    if (axis >= *first && axis <= *last) merged *= Count(tensor->shape[axis]);
    if (axis < *first || axis > *last) shape.push_back(tensor->shape[axis]);
    if (axis == *last) {
      const auto size = merged.overflowed() ? std::nullopt : merged.to_int64();
      if (!size || *size > kLargestSize) return call.error("an axis beyond 2^40");
      shape.push_back(*size);
    }
  }
  if (tensor->shape.empty()) shape.push_back(1);
  return reshaped(call, *tensor, shape);
}

std::optional<Value> unsqueeze(Call& call) {
  const auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  const auto axis = call.axis("dim", tensor->shape.size() + 1);
  if (!axis) return std::nullopt;
  std::vector<std::int64_t> shape = tensor->shape;
  shape.insert(shape.begin() + static_cast<long>(*axis), 1);
  return reshaped(call, *tensor, shape);
}

std::optional<Value> identity(Call& call) {
  auto tensor = call.tensor("input");
  if (!tensor) return std::nullopt;
  const std::string word = last_word(call.operation.name);
  if (word.find("ropout") != std::string::npos) {
    call.lowering.left_out(fmt::format("{} does nothing in eval mode and is not counted", word));
  }
  return call.result(std::move(*tensor));
}

/// A table of vectors from which rows are gathered.
std::optional<Value> embedding(Call& call) {
  const auto input = call.tensor("input");
  if (!input) return std::nullopt;
  std::vector<std::int64_t> shape = input->shape;
  std::vector<std::int64_t> table;
  if (call.operation.forward.empty()) {
    const auto weight = call.tensor("weight");
    if (!weight) return std::nullopt;
    if (weight->shape.size() != 2) return call.error_at("weight", "expected a table [rows, size]");
    table = weight->shape;
  } else {
    const auto rows = call.integer("num_embeddings", 1), size = call.integer("embedding_dim", 1);
    if (!rows || !size) return std::nullopt;
    table = {*rows, *size};
  }
  shape.push_back(table.back());
  call.lowering.parameters(elements_of(table), "table " + product_text(table));
  call.lowering.uncounted("embedding", "a gather: which rows are read depends on the data");
  return call.result(tensor_of(std::move(shape), std::nullopt));
}

/// torch.randn(4, 5), np.zeros((4, 5)): a tensor of that shape.
std::optional<Value> created(Call& call) {
  std::vector<std::int64_t> shape;
  Value stated = call.argument("dtype");
  for (const Value& value : call.rest) {
    if (value.kind == Value::Kind::integer) {
      shape.push_back(value.integer);
    } else if (const auto several = shape_of(value); several && &value == &call.rest.front()) {
      shape = *several;
    } else if (value.kind == Value::Kind::type && &value == &call.rest.back()) {
      stated = value;
    } else {
      return call.lowering.error(value.place, fmt::format("found {}, expected a size", describe(value)));
    }
  }
  if (std::any_of(shape.begin(), shape.end(), [](auto size) { return size < 1 || size > kLargestSize; })) {
    return call.error(fmt::format("a shape of {}; sizes are from 1 to {}", shape_text(shape), kLargestSize));
  }
  const bool numpy = call.operation.dialect == Dialect::numpy;
  std::optional<ElementType> type = find_element_type(numpy ? "fp64" : "fp32");  // the libraries' defaults
  if (stated.kind == Value::Kind::type) {
    type = stated.type;
  } else if (stated.kind != Value::Kind::none) {
    return call.error_at("dtype", fmt::format("'dtype' is {}, expected a type", describe(stated)));
  }
  return call.result(tensor_of(std::move(shape), type));
}

}  // namespace

void list_movement(std::vector<Operation>& operations) {
  operations.push_back({"torch.transpose", "input, dim0, dim1", "", transpose, Dialect::torch});
  operations.push_back({"torch.swapaxes", "input, dim0, dim1", "", transpose, Dialect::torch});
  operations.push_back({"torch.permute", "input, *dims", "", permute, Dialect::torch});
  operations.push_back({"torch.t", "input", "", transposed_matrix, Dialect::torch});
  operations.push_back({"torch.T", "input", "", transposed_matrix, Dialect::torch});
  operations.push_back({"torch.mT", "input", "", transposed_matrix, Dialect::torch});
  operations.push_back({"torch.reshape", "input, *shape", "", reshape, Dialect::torch});
  operations.push_back({"torch.view", "input, *shape", "", reshape, Dialect::torch});
  operations.push_back({"torch.flatten", "input, start_dim=0, end_dim=None", "", flatten, Dialect::torch});
  operations.push_back({"torch.nn.Flatten", "start_dim=1, end_dim=None", "input", flatten, Dialect::torch});
  operations.push_back({"torch.unsqueeze", "input, dim", "", unsqueeze, Dialect::torch});
  operations.push_back({"torch.contiguous", "input", "", identity, Dialect::torch});
  operations.push_back({"torch.nn.Identity", "", "input", identity, Dialect::torch});
  operations.push_back({"torch.nn.Dropout", "p=0.5, inplace=False", "input", identity, Dialect::torch});
  operations.push_back(
      {"torch.nn.functional.dropout", "input, p=0.5, training=True, inplace=False", "", identity, Dialect::torch});
  operations.push_back({"torch.nn.Sequential", "*modules", "input", nullptr, Dialect::torch});
  operations.push_back(
      {"torch.nn.Embedding", "num_embeddings, embedding_dim, padding_idx=None", "input", embedding, Dialect::torch});
  operations.push_back({"torch.nn.functional.embedding", "input, weight", "", embedding, Dialect::torch});
  for (const char* name : {"randn", "rand", "zeros", "ones", "empty"}) {
    operations.push_back({std::string("torch.") + name, "dtype=None, device=None, requires_grad=False, *size", "",
                          created, Dialect::torch});
  }
  for (const char* name : {"zeros", "ones", "empty"}) {
    operations.push_back({std::string("np.") + name, "dtype=None, *shape", "", created, Dialect::numpy});
  }
}

}  // namespace einflow::python
