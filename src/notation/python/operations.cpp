#include "notation/python/operations.hpp"

#include <algorithm>
#include <map>

namespace einflow::python {

namespace {

const std::map<std::string, Operation>& all_operations() {
  static const std::map<std::string, Operation> operations = [] {
    std::vector<Operation> listed;
    list_products(listed);
    list_elementwise(listed);
    list_reductions(listed);
    list_normalisations(listed);
    list_convolutions(listed);
    list_tensorflow_convolutions(listed);
    list_pooling(listed);
    list_attention(listed);
    list_patterns(listed);
    list_movement(listed);
    std::map<std::string, Operation> by_name;
    for (Operation& operation : listed) by_name.emplace(operation.name, std::move(operation));
    return by_name;
  }();
  return operations;
}

}  // namespace

const Operation* find_operation(const std::string& name) {
  const auto found = all_operations().find(name);
  return found == all_operations().end() ? nullptr : &found->second;
}

std::vector<std::string> operation_names() {
  std::vector<std::string> names;
  for (const auto& entry : all_operations()) names.push_back(entry.first);
  return names;
}

}  // namespace einflow::python
