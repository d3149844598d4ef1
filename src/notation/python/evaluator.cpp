#include "notation/python/evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/message.hpp"
#include "notation/python/operations.hpp"

namespace einflow::python {

namespace {

constexpr std::size_t kMostCalls = 10'000;

/// Usual short names of modules, longest first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kAliases{{
    {"tensorflow.keras.", "keras."},
    {"tensorflow.", "tf."},
    {"tf.keras.", "keras."},
    {"jax.numpy.", "np."},
    {"numpy.", "np."},
    {"jnp.", "np."},
    {"torch.nn.functional.", "torch.nn.functional."},
    {"nn.functional.", "torch.nn.functional."},
    {"layers.", "keras.layers."},
    {"nn.", "torch.nn."},
    {"F.", "torch.nn.functional."},
}};

bool is_module_name(const std::string& name) {
  constexpr std::array<std::string_view, 13> kModules{"torch", "nn",         "F",     "np",     "numpy",  "jnp", "jax",
                                                      "tf",    "tensorflow", "keras", "einops", "layers", "math"};
  return std::find(kModules.begin(), kModules.end(), name) != kModules.end();
}

/// "torch.nn.Conv2d" of nested attributes whose root is a name; nothing where it is another thing.
std::optional<std::string> path_of(const Expression& expression) {
  if (expression.kind == Expression::Kind::name) return expression.text;
  if (expression.kind != Expression::Kind::attribute) return std::nullopt;
  const auto outer = path_of(expression.parts.front());
  if (!outer) return std::nullopt;
  return *outer + "." + expression.text;
}

const Expression& root_of(const Expression& expression) {
  const Expression* root = &expression;
  while (root->kind == Expression::Kind::attribute) root = &root->parts.front();
  return *root;
}

Value integer_value(std::int64_t number, const Place& place) {
  Value value;
  value.kind = Value::Kind::integer;
  value.integer = number;
  value.place = place;
  return value;
}

/// jnp.ones and its like without a dtype: 32 bits, or 64 where JAX is set so.
bool makes_of_unstated_type(const std::string& path, const std::vector<Value>& values) {
  if (!path.starts_with("jnp.") && !path.starts_with("jax.numpy.")) return false;
  const std::string name = path.substr(path.rfind('.') + 1);
  if (name != "ones" && name != "zeros" && name != "empty") return false;
  return std::none_of(values.begin(), values.end(),
                      [](const Value& value) { return value.keyword == "dtype" || value.kind == Value::Kind::type; });
}

const Operation* operation_of(const std::string& path) {
  if (const Operation* operation = find_operation(full_name(path))) return operation;
  // Functions of one element that all libraries have.
  const std::string name = path.substr(path.rfind('.') + 1);
  for (const std::string_view prefix : {"tf.nn.", "tf.math.", "tf.", "jax.nn.", "jax.numpy."}) {
    if (full_name(path) != std::string(prefix) + name && path != std::string(prefix) + name) continue;
    if (is_elementwise(name)) return find_operation("torch." + name);
    if (prefix == "jax.nn.") return find_operation("torch.nn.functional." + name);
  }
  return nullptr;
}

}  // namespace

std::string full_name(const std::string& name) {
  for (const auto& [alias, full] : kAliases) {
    if (name.compare(0, alias.size(), alias) == 0) return std::string(full) + name.substr(alias.size());
  }
  return name;
}

void Evaluator::run(const std::vector<Statement>& statements) {
  for (const Statement& statement : statements) {
    run(statement);
    if (lowering_.failed()) return;  // later statements would only repeat what is wrong
  }
}

void Evaluator::run(const Statement& statement) {
  std::optional<Value> annotation;
  if (!statement.annotation.empty()) {
    annotation = evaluate(statement.annotation.front());
    if (!annotation) return;
    if (annotation->kind != Value::Kind::tensor && annotation->kind != Value::Kind::type) {
      lowering_.error(annotation->place,
                      fmt::format("found {}, expected a type or a type with a shape", describe(*annotation)),
                      "for example: X: bf16[4, 5]");
      return;
    }
    lowering_.stated_type = annotation->kind == Value::Kind::type ? annotation->type : annotation->tensor.type;
  }
  std::optional<Value> value = annotation;
  if (!statement.value.empty()) value = evaluate(statement.value.front());
  const auto stated = std::exchange(lowering_.stated_type, std::nullopt);
  if (!value) return;
  if (value->kind == Value::Kind::sequence && !statement.target.empty()) {
    // X = (4, 5): a shape stands for a tensor, also where a name is given to it.
    Operation shape;
    shape.signature = "input";
    Call call(shape, {{}, value->place, value->place}, lowering_);
    call.called = {*value};
    const auto tensor = call.tensor("input");
    if (!tensor) return;
    value = value_of(*tensor, value->place);
  }
  if (value->kind == Value::Kind::tensor && !statement.value.empty() && annotation) {
    TensorValue& tensor = value->tensor;
    if (annotation->kind == Value::Kind::tensor && annotation->tensor.shape != tensor.shape) {
      lowering_.error(annotation->place, fmt::format("the annotation says {}, the value has the shape {}",
                                                     shape_text(annotation->tensor.shape), shape_text(tensor.shape)));
      return;
    }
    tensor.type = stated;
    if (!tensor.name.empty()) lowering_.set_type(tensor.name, *stated);
  }
  if (!statement.target.empty()) {
    if (is_module_name(statement.target) && statement.target.size() > 1) {
      lowering_.error(statement.target_place, fmt::format("{} is the name of a library", in_quotes(statement.target)));
      return;
    }
    if (value->kind == Value::Kind::tensor) {
      TensorValue& tensor = value->tensor;
      // Another name for a tensor that has one, or a view of it, changes nothing.
      const bool same =
          !tensor.name.empty() && std::any_of(variables_.begin(), variables_.end(), [&](const auto& entry) {
            return entry.second.kind == Value::Kind::tensor && entry.second.tensor.name == tensor.name;
          });
      const bool named = variables_.count(statement.target) == 0 &&
                         (same || (tensor.name.empty() ? lowering_.tensor_name(statement.target) == statement.target
                                                       : lowering_.rename_tensor(tensor.name, statement.target)));
      if (!named) {
        lowering_.error(statement.target_place,
                        fmt::format("a tensor named {} is there already", in_quotes(statement.target)),
                        "every tensor has a name of its own");
        return;
      }
      if (!same) tensor.name = statement.target;
    }
    variables_[statement.target] = *value;
  }
  const bool computed = !statement.value.empty() && statement.value.front().kind != Expression::Kind::subscript;
  if (value->kind == Value::Kind::tensor && computed) result_ = value->tensor;
  if (value->kind == Value::Kind::module && statement.target.empty()) {
    lowering_.error(value->place, "a module that is not applied to a tensor",
                    "torch.nn.Linear(64, 32)(bf16[8, 64]), or with a shape: torch.nn.Linear(64, 32)((8, 64))");
  }
}

std::optional<Value> Evaluator::evaluate(const Expression& expression) {
  switch (expression.kind) {
    case Expression::Kind::number:
      return evaluate_number(expression);
    case Expression::Kind::text: {
      Value value;
      value.kind = Value::Kind::text;
      value.text = expression.text;
      value.place = expression.place;
      return value;
    }
    case Expression::Kind::name:
      return evaluate_name(expression);
    case Expression::Kind::sequence:
      return evaluate_sequence(expression);
    case Expression::Kind::call:
      return evaluate_call(expression);
    case Expression::Kind::attribute:
      return evaluate_attribute(expression);
    case Expression::Kind::subscript:
      return evaluate_subscript(expression);
    case Expression::Kind::binary:
      return evaluate_binary(expression);
    case Expression::Kind::negative:
      return evaluate_negative(expression);
  }
  return std::nullopt;
}

std::optional<Value> Evaluator::evaluate_number(const Expression& expression) {
  Value value;
  value.place = expression.place;
  std::string digits = expression.text;
  digits.erase(std::remove(digits.begin(), digits.end(), '_'), digits.end());
  if (digits.find_first_not_of("0123456789") != std::string::npos) {
    value.kind = Value::Kind::real;
    value.text = digits;
    return value;
  }
  const auto count = parse_count(digits);
  const auto number = count ? count->to_int64() : std::nullopt;
  if (!number) return lowering_.error(expression.place, fmt::format("{} does not fit in 64 bits", in_quotes(digits)));
  return integer_value(*number, expression.place);
}

std::optional<Value> Evaluator::evaluate_name(const Expression& expression) {
  const std::string& name = expression.text;
  Value value;
  value.place = expression.place;
  if (name == "None") return value;
  if (name == "True" || name == "False") {
    value.kind = Value::Kind::boolean;
    value.integer = name == "True" ? 1 : 0;
    return value;
  }
  if (const auto variable = variables_.find(name); variable != variables_.end()) {
    value = variable->second;
    value.place = expression.place;
    value.keyword.clear();
    return value;
  }
  if (const auto size = sizes_.find(name); size != sizes_.end()) {
    used_sizes_.insert(name);
    return integer_value(size->second, expression.place);
  }
  if (const auto type = type_named(name)) {
    value.kind = Value::Kind::type;
    value.type = *type;
    return value;
  }
  std::vector<std::string> names;
  for (const auto& variable : variables_) names.push_back(variable.first);
  for (const ElementType& type : element_types()) names.push_back(type.name);
  const std::string nearest = nearest_name(name, names);
  return lowering_.error(expression.place, fmt::format("{} is not known here", in_quotes(name)),
                         nearest.empty() ? fmt::format("a tensor: {} = bf16[4, 5]; a size: -r {}=64", name, name)
                                         : fmt::format("did you mean {}?", in_quotes(nearest)));
}

std::optional<Value> Evaluator::evaluate_sequence(const Expression& expression) {
  Value value;
  value.kind = Value::Kind::sequence;
  value.place = expression.place;
  for (const Expression& part : expression.parts) {
    auto item = evaluate(part);
    if (!item) return std::nullopt;
    value.items.push_back(std::move(*item));
  }
  return value;
}

std::optional<Value> Evaluator::evaluate_attribute(const Expression& expression) {
  const Expression& root = root_of(expression);
  const bool library = root.kind == Expression::Kind::name && variables_.count(root.text) == 0;
  if (library) {
    const std::string path = *path_of(expression);
    const std::string last = path.substr(path.rfind('.') + 1);
    if (is_module_name(root.text)) {
      if (const auto type = type_named(last)) {
        Value value;
        value.kind = Value::Kind::type;
        value.type = *type;
        value.place = expression.place;
        return value;
      }
    }
    if (operation_of(path) != nullptr) {
      return lowering_.error(expression.place, fmt::format("{} is not called", path), fmt::format("{}(...)", path));
    }
    return no_such_operation(path, expression.place);
  }
  auto value = evaluate(expression.parts.front());
  if (!value) return std::nullopt;
  if (expression.text != "T" && expression.text != "mT") {
    return lowering_.error(
        expression.place,
        fmt::format("{} has no attribute {} that is read", describe(*value), in_quotes(expression.text)),
        ".T, .mT, and calls such as .sum(dim=1)");
  }
  return apply(*find_operation("torch." + expression.text), {{*value}, expression.place, expression.place});
}

std::optional<Value> Evaluator::evaluate_subscript(const Expression& expression) {
  auto base = evaluate(expression.parts.front());
  if (!base) return std::nullopt;
  if (base->kind != Value::Kind::type) {
    return lowering_.error(expression.place, fmt::format("a part of {} is not read", describe(*base)),
                           "give the shape of the part as a tensor of its own");
  }
  std::vector<std::int64_t> shape;
  std::vector<const Expression*> parts;
  const auto add = [&](const Expression& part) { parts.push_back(&part); };
  for (std::size_t i = 1; i < expression.parts.size(); ++i) {
    const Expression& part = expression.parts[i];
    if (part.kind == Expression::Kind::sequence && expression.parts.size() == 2) {
      for (const Expression& item : part.parts) add(item);
    } else {
      add(part);
    }
  }
  for (const Expression* part : parts) {
    const auto size = evaluate(*part);
    if (!size) return std::nullopt;
    if (size->kind != Value::Kind::integer || size->integer < 1 || size->integer > kLargestSize) {
      return lowering_.error(part->place,
                             fmt::format("found {}, expected a size from 1 to {}", describe(*size), kLargestSize));
    }
    shape.push_back(size->integer);
  }
  if (shape.size() > 64) return lowering_.error(expression.place, "more than 64 axes");
  return value_of(tensor_of(std::move(shape), base->type), expression.place);
}

std::optional<std::vector<Value>> Evaluator::evaluate_arguments(const Expression& call) {
  std::vector<Value> values;
  for (std::size_t i = 1; i < call.parts.size(); ++i) {
    auto value = evaluate(call.parts[i]);
    if (!value) return std::nullopt;
    value->keyword = call.parts[i].keyword;
    value->keyword_place = call.parts[i].keyword_place;
    values.push_back(std::move(*value));
  }
  return values;
}

std::optional<Value> Evaluator::no_such_operation(const std::string& name, const Place& place) {
  const std::string full = full_name(name);
  std::vector<std::string> names = operation_names();
  std::string nearest = nearest_name(full, names);
  if (nearest.empty()) {
    // The last word may be right, the library wrong.
    std::vector<std::string> last_words;
    for (const std::string& known : names) last_words.push_back(known.substr(known.rfind('.') + 1));
    const std::string word = nearest_name(full.substr(full.rfind('.') + 1), last_words);
    for (const std::string& known : names) {
      if (!word.empty() && known.substr(known.rfind('.') + 1) == word) nearest = known;
    }
  }
  return lowering_.error(place, fmt::format("no operation {} is read", in_quotes(name)),
                         nearest.empty() ? "docs/notations/python.md lists what is read"
                                         : fmt::format("did you mean {}?", in_quotes(nearest)));
}

std::optional<Value> Evaluator::evaluate_call(const Expression& expression) {
  const Expression& callee = expression.parts.front();
  const Expression& root = root_of(callee);
  const bool is_path =
      root.kind == Expression::Kind::name && variables_.count(root.text) == 0 && path_of(callee).has_value();
  if (is_path && !(callee.kind == Expression::Kind::attribute && type_named(root.text) && !is_module_name(root.text))) {
    const std::string path = *path_of(callee);
    const Operation* operation = operation_of(path);
    if (operation == nullptr) return no_such_operation(path, callee.place);
    auto values = evaluate_arguments(expression);
    if (!values) return std::nullopt;
    if (makes_of_unstated_type(path, *values)) {
      return lowering_.error(callee.place, "JAX's default type depends on its settings", "state it: dtype=jnp.float32");
    }
    return apply(*operation, {std::move(*values), expression.place, callee.place});
  }
  if (callee.kind == Expression::Kind::attribute) {
    // A method: the tensor is the function's first argument.
    auto object = evaluate(callee.parts.front());
    if (!object) return std::nullopt;
    if (object->kind == Value::Kind::tensor) {
      const Operation* operation = find_operation("torch." + callee.text);
      if (operation == nullptr || callee.text == "einsum" || !operation->forward.empty()) {
        return no_such_operation("torch." + callee.text, callee.place);
      }
      auto values = evaluate_arguments(expression);
      if (!values) return std::nullopt;
      object->keyword.clear();
      values->insert(values->begin(), *object);
      return apply(*operation, {std::move(*values), expression.place, callee.place});
    }
    return lowering_.error(callee.place, fmt::format("{} has no method {}", describe(*object), in_quotes(callee.text)));
  }
  auto called = evaluate(callee);
  if (!called) return std::nullopt;
  if (called->kind != Value::Kind::module) {
    return lowering_.error(callee.place, fmt::format("{} cannot be called", describe(*called)));
  }
  auto values = evaluate_arguments(expression);
  if (!values) return std::nullopt;
  return apply(*called->module, {std::move(*values), expression.place, callee.place});
}

bool Evaluator::too_many(const Place& place) {
  if (++applied_ <= kMostCalls) return false;
  lowering_.error(place, fmt::format("more than {} calls", kMostCalls));
  return true;
}

std::optional<Value> Evaluator::apply(const Operation& operation, const Arguments& arguments) {
  if (too_many(arguments.place)) return std::nullopt;
  Call call(operation, arguments, lowering_);
  auto bound = arguments_in_order(operation.name, operation.signature, arguments, call.rest, lowering_);
  if (!bound) return std::nullopt;
  if (!operation.forward.empty()) {
    auto module = std::make_shared<Module>();
    module->operation = &operation;
    module->arguments = std::move(*bound);
    module->rest = std::move(call.rest);
    Value value;
    value.kind = Value::Kind::module;
    value.place = arguments.place;
    value.module = std::move(module);
    return value;
  }
  call.called = std::move(*bound);
  dialect_ = operation.dialect;
  operation_ = operation.name.substr(operation.name.rfind('.') + 1);
  return operation.evaluate(call);
}

std::optional<Value> Evaluator::apply(const Module& module, Arguments arguments) {
  if (too_many(arguments.place)) return std::nullopt;
  const Operation& operation = *module.operation;
  // Conv2d(...)(1, 64, 56, 56): a shape without its brackets.
  const bool numbers = !arguments.values.empty() &&
                       std::all_of(arguments.values.begin(), arguments.values.end(), [](const Value& value) {
                         return value.kind == Value::Kind::integer && value.keyword.empty();
                       });
  if (numbers) {
    Value shape;
    shape.kind = Value::Kind::sequence;
    shape.place = {arguments.values.front().place.begin, arguments.values.back().place.end};
    shape.items = std::move(arguments.values);
    arguments.values = {std::move(shape)};
  }
  if (operation.evaluate == nullptr) {  // Sequential
    std::optional<Value> value;
    if (arguments.values.size() != 1) {
      return lowering_.error(arguments.place, "a sequence of modules takes one tensor");
    }
    value = arguments.values.front();
    for (const Value& part : module.rest) {
      if (part.kind != Value::Kind::module) {
        return lowering_.error(part.place, fmt::format("found {}, expected a module", describe(part)));
      }
      value = apply(*part.module, {{*value}, part.place, part.place});
      if (!value) return std::nullopt;
    }
    return value;
  }
  Call call(operation, arguments, lowering_);
  call.constructed = module.arguments;
  auto bound = arguments_in_order(operation.name + "(...)", operation.forward, arguments, call.rest, lowering_);
  if (!bound) return std::nullopt;
  call.called = std::move(*bound);
  dialect_ = operation.dialect;
  operation_ = operation.name.substr(operation.name.rfind('.') + 1);
  return operation.evaluate(call);
}

std::optional<Value> Evaluator::evaluate_binary(const Expression& expression) {
  auto left = evaluate(expression.parts[0]);
  if (!left) return std::nullopt;
  auto right = evaluate(expression.parts[1]);
  if (!right) return std::nullopt;
  const std::string& sign = expression.text;
  if (left->kind == Value::Kind::integer && right->kind == Value::Kind::integer) {
    const Count a = left->integer, b = right->integer;
    Count result = 0;
    if (sign == "+") result = a + b;
    if (sign == "-") result = a - b;
    if (sign == "*") result = a * b;
    const bool quotient = sign == "/" || sign == "//";
    if (sign == "@" || (quotient && (b < Count(1) || a < Count(0) || (sign == "/" && a.value() % b.value() != 0)))) {
      return lowering_.error(expression.place, fmt::format("{} {} {} is no whole number that is read", left->integer,
                                                           sign, right->integer));
    }
    if (quotient) result = Count(a.value() / b.value());
    const auto number = result.to_int64();
    if (!number) return lowering_.error(expression.place, "the number does not fit in 64 bits");
    return integer_value(*number, expression.place);
  }
  const char* const name = sign == "@"   ? "torch.matmul"
                           : sign == "+" ? "torch.add"
                           : sign == "-" ? "torch.sub"
                           : sign == "*" ? "torch.mul"
                           : sign == "/" ? "torch.div"
                                         : nullptr;
  if (name == nullptr) {
    return lowering_.error(expression.place, fmt::format("the operator {} is not read for tensors", in_quotes(sign)),
                           "operators: + - * / @");
  }
  left->keyword.clear();
  right->keyword.clear();
  return apply(*find_operation(name), {{*left, *right}, expression.place, expression.place});
}

std::optional<Value> Evaluator::evaluate_negative(const Expression& expression) {
  auto value = evaluate(expression.parts.front());
  if (!value) return std::nullopt;
  if (value->kind == Value::Kind::integer && value->integer > INT64_MIN) {
    return integer_value(-value->integer, expression.place);
  }
  if (value->kind == Value::Kind::real) {
    value->text = "-" + value->text;
    value->place = expression.place;
    return value;
  }
  return apply(*find_operation("torch.neg"), {{*value}, expression.place, expression.place});
}

}  // namespace einflow::python
