#include "cluster/devices/local_array.hpp"

#include <algorithm>
#include <limits>

namespace einflow::cluster::devices {

LocalArray filled(Box box, double value) {
  const auto count = static_cast<std::size_t>(elements_of(box));
  return {std::move(box), Values(count, value)};
}

Values copy_out(const LocalArray& array, const Box& part) {
  Values values;
  for (const std::size_t offset : offsets(array.box, part)) values.push_back(array.values[offset]);
  return values;
}

void copy_in(LocalArray& array, const Box& part, const Values& values) {
  std::size_t next = 0;
  for (const std::size_t offset : offsets(array.box, part)) array.values[offset] = values[next++];
}

bool is_reduction(const std::string& op) { return op == "+" || op == "*" || op == "max" || op == "min"; }

double identity_of(const std::string& op) {
  if (op == "*") return 1;
  if (op == "max") return -std::numeric_limits<double>::infinity();
  if (op == "min") return std::numeric_limits<double>::infinity();
  return 0;
}

double combine(const std::string& op, double a, double b) {
  if (op == "*") return a * b;
  if (op == "max") return std::max(a, b);
  if (op == "min") return std::min(a, b);
  return a + b;
}

Values combine(const std::string& op, const Values& a, const Values& b) {
  Values result = a;
  for (std::size_t i = 0; i < b.size(); ++i) result[i] = combine(op, a[i], b[i]);
  return result;
}

}  // namespace einflow::cluster::devices
