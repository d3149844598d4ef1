#include "notation/python/lowering.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "problem/einsum_check.hpp"

namespace einflow::python {

namespace {

constexpr std::size_t kMostEinsums = 4096;
constexpr std::size_t kMostTensors = 64;  ///< of an einsum, as in einflow's own specs; so are ranks
constexpr std::size_t kMostRanks = 64;

}  // namespace

std::nullopt_t Lowering::error(const Place& place, std::string message, std::string hint) {
  const Span span = span_of(text_, place);
  const bool told = std::any_of(errors_.begin(), errors_.end(),
                                [&](const Diagnostic& e) { return e.span == span && e.message == message; });
  if (!told) add_error(errors_, span, std::move(message), std::move(hint));
  return std::nullopt;
}

std::string Lowering::rank(const std::string& base, std::int64_t extent, std::set<std::string>& taken) {
  for (std::size_t number = 1;; ++number) {
    const std::string name = number == 1 ? base : fmt::format("{}{}", base, number);
    if (taken.count(name) != 0) continue;
    const auto known = extents_.emplace(name, extent).first;
    if (known->second != extent) continue;
    taken.insert(name);
    return name;
  }
}

std::string Lowering::rank_of(const TensorValue& tensor, std::size_t axis, const std::string& base,
                              std::set<std::string>& taken) {
  const std::string& known = tensor.ranks[axis];
  if (!known.empty() && taken.count(known) == 0) return rank(known, tensor.shape[axis], taken);
  return rank(base, tensor.shape[axis], taken);
}

Operand Lowering::operand(TensorValue& tensor, const std::string& default_name, const std::vector<std::string>& ranks) {
  std::vector<NamedAxis> stored(tensor.shape.size());
  std::vector<bool> kept(tensor.shape.size(), true);
  for (std::size_t axis = 0; axis < ranks.size(); ++axis) {
    const auto place = static_cast<std::size_t>(tensor.stored_at[axis]);
    if (ranks[axis].empty()) {
      kept[place] = false;
    } else {
      stored[place].terms = {{ranks[axis], 1}};
    }
  }
  Operand made{&tensor, default_name, {}};
  for (std::size_t place = 0; place < stored.size(); ++place) {
    if (kept[place]) made.axes.push_back(std::move(stored[place]));
  }
  return made;
}

std::string Lowering::tensor_name(const std::string& base) {
  if (tensors_.insert(base).second) return base;
  int& number = last_number_[base];
  for (number = std::max(number, 2);; ++number) {
    const std::string name = fmt::format("{}_{}", base, number);
    if (tensors_.insert(name).second) return name;
  }
}

std::string Lowering::einsum_name(const std::string& base) {
  if (einsum_names_.insert(base).second) return base;
  int& number = last_number_["einsum " + base];
  for (number = std::max(number, 2);; ++number) {
    const std::string name = fmt::format("{}_{}", base, number);
    if (einsum_names_.insert(name).second) return name;
  }
}

bool Lowering::rename_tensor(const std::string& from, const std::string& to) {
  if (from == to) return true;
  if (!tensors_.insert(to).second) return false;
  tensors_.erase(from);
  for (Einsum& einsum : einsums_) {
    for (Tensor& tensor : einsum.tensors) {
      if (tensor.name == from) tensor.name = to;
    }
  }
  if (const auto type = types_.find(from); type != types_.end()) {
    const ElementType same = type->second;
    types_.erase(type);
    types_[to] = same;
  }
  if (untyped_.erase(from) != 0) untyped_.insert(to);
  return true;
}

void Lowering::set_type(const std::string& name, const ElementType& type) {
  types_[name] = type;
  untyped_.erase(name);
  for (Einsum& einsum : einsums_) {
    for (Tensor& tensor : einsum.tensors) {
      if (tensor.name == name) tensor.type = type;
    }
  }
}

bool Lowering::settle_types(const Place& place, Einsum& einsum, const std::vector<TensorValue*>& inputs) {
  std::vector<ElementType> stated;
  std::vector<std::string> stated_by;
  for (const TensorValue* input : inputs) {
    const auto known = types_.find(input->name);
    std::optional<ElementType> type = known != types_.end() ? std::optional(known->second) : input->type;
    if (!type || std::find(stated.begin(), stated.end(), *type) != stated.end()) continue;
    stated.push_back(*type);
    stated_by.push_back(fmt::format("{} is {}", input->name, type->name));
  }
  if (stated.size() > 1 && !stated_type) {
    error(place, fmt::format("the operands have different types: {}", comma_list(stated_by)),
          "state the type of the result: Y: fp32 = ...");
    return false;
  }
  const ElementType otherwise = stated.empty() ? ElementType{} : stated.front();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = inputs[i]->name;
    if (types_.count(name) == 0) {
      types_[name] = inputs[i]->type.value_or(otherwise);
      if (!inputs[i]->type && stated.empty()) untyped_.insert(name);
    }
    einsum.tensors[i].type = types_[name];
  }
  const ElementType result = stated.size() > 1 ? *stated_type : otherwise;
  einsum.tensors.back().type = result;
  types_[einsum.tensors.back().name] = result;
  return true;
}

bool Lowering::checked(const Place& place, const Einsum& einsum) {
  if (einsums_.size() == kMostEinsums) {
    error(place, fmt::format("more than {} einsums", kMostEinsums));
    return false;
  }
  if (einsum.tensors.size() > kMostTensors || einsum.ranks.size() > kMostRanks) {
    error(place, fmt::format("an einsum of {} tensors and {} ranks; at most {} and {} are read", einsum.tensors.size(),
                             einsum.ranks.size(), kMostTensors, kMostRanks));
    return false;
  }
  bool good = true;
  const auto report = [&](std::vector<EinsumFault> faults) {
    for (EinsumFault& fault : faults) {
      error(place, std::move(fault.message), std::move(fault.hint));
      good = false;
    }
  };
  report(check_form(einsum));
  if (good) report(check_sizes(einsum));
  return good;
}

void Lowering::unique_operands(Einsum& einsum) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i + 1 < einsum.tensors.size(); ++i) {
    Tensor& tensor = einsum.tensors[i];
    if (seen.insert(tensor.name).second) continue;
    const std::string again = tensor_name(tensor.name);
    convention(fmt::format("{} is an operand twice: the second reading is named {} and counted by itself", tensor.name,
                           again));
    tensor.name = again;
    seen.insert(again);
  }
}

std::optional<TensorValue> Lowering::add(const Place& place, const Body& body, std::vector<Operand> inputs,
                                         const std::vector<std::string>& output_ranks, const std::string& output_name) {
  Einsum einsum;
  einsum.map = body.map;
  einsum.executed = body.executed;
  const auto index_of = [&](const std::string& name) {
    int index = einsum.rank_named(name);
    if (index < 0) {
      index = static_cast<int>(einsum.ranks.size());
      einsum.ranks.push_back({name, extents_.at(name)});
    }
    return index;
  };
  Tensor output;
  std::vector<std::int64_t> shape;
  for (const std::string& rank : output_ranks) {
    Axis axis;
    axis.terms.push_back({index_of(rank), 1});
    output.axes.push_back(std::move(axis));
    shape.push_back(extents_.at(rank));
  }
  std::vector<TensorValue*> values;
  for (Operand& input : inputs) {
    Tensor tensor;
    if (input.tensor->name.empty()) input.tensor->name = tensor_name(input.default_name);
    tensor.name = input.tensor->name;
    for (const NamedAxis& named : input.axes) {
      Axis axis;
      for (const auto& [rank, coefficient] : named.terms) axis.terms.push_back({index_of(rank), coefficient});
      axis.constant = named.constant;
      axis.stored_size = named.stored_size;
      tensor.axes.push_back(std::move(axis));
    }
    einsum.tensors.push_back(std::move(tensor));
    values.push_back(input.tensor);
  }
  const bool reduces = einsum.ranks.size() > output.axes.size();
  einsum.reduce = reduces ? (body.reduce.empty() ? "+" : body.reduce) : "";
  output.name = tensor_name(output_name);
  einsum.tensors.push_back(output);
  if (!settle_types(place, einsum, values)) return std::nullopt;
  unique_operands(einsum);
  if (!checked(place, einsum)) return std::nullopt;
  einsum.name = einsum_name(body.name);
  einsums_.push_back(std::move(einsum));
  TensorValue made = tensor_of(std::move(shape), einsums_.back().tensors.back().type);
  made.name = output.name;
  made.ranks = output_ranks;
  return made;
}

bool Lowering::adopt(const Place& place, std::vector<Einsum> einsums,
                     const std::map<std::string, TensorValue*>& tensors) {
  std::map<std::string, std::string> new_names;
  for (Einsum& einsum : einsums) {
    std::set<std::string> taken;
    for (Rank& rank : einsum.ranks) rank.name = this->rank(rank.name, rank.extent, taken);
    std::vector<TensorValue*> values;
    for (Tensor& tensor : einsum.tensors) {
      const auto value = tensors.find(tensor.name);
      if (value == tensors.end()) {
        std::string& name = new_names[tensor.name];
        if (name.empty()) name = tensor_name(tensor.name);
        tensor.name = name;
        continue;
      }
      if (value->second->name.empty()) value->second->name = tensor_name(tensor.name);
      tensor.name = value->second->name;
      values.push_back(value->second);
    }
    if (!settle_types(place, einsum, values)) return false;
    unique_operands(einsum);
    if (!checked(place, einsum)) return false;
    einsum.name = einsum_name(einsum.name);
    einsums_.push_back(std::move(einsum));
  }
  return true;
}

void Lowering::convention(std::string text) {
  if (std::find(conventions_.begin(), conventions_.end(), text) == conventions_.end()) {
    conventions_.push_back(std::move(text));
  }
}

void Lowering::left_out(std::string text) { left_out_.push_back(std::move(text)); }

void Lowering::uncounted(std::string operation, std::string because) {
  uncounted_.push_back({"", std::move(operation), 1, std::move(because)});
}

void Lowering::parameters(Count count, const std::string& what) {
  parameters_ = parameters_.value_or(Count(0)) + count;
  parameter_texts_.push_back(what);
}

void Lowering::finish(Document& document) {
  document.conventions.insert(document.conventions.end(), conventions_.begin(), conventions_.end());
  if (parameters_) {
    document.conventions.push_back(
        fmt::format("parameters: {} = {}", parameters_->str(), fmt::join(parameter_texts_, " + ")));
  }
  if (!untyped_.empty()) {
    document.conventions.push_back(fmt::format("types that the text does not state are bf16: {}",
                                               comma_list(std::vector<std::string>(untyped_.begin(), untyped_.end()))));
  }
  document.left_out = left_out_;
  document.uncounted = uncounted_;
  if (einsums_.empty()) return;
  DocumentLayer layer;
  layer.name = document.name;
  layer.cascade.name = document.name;
  layer.cascade.einsums = einsums_;
  layer.parameters = parameters_;
  document.layers.push_back(std::move(layer));
}

}  // namespace einflow::python
