// Real values over a box: what one device has of a tensor.
#pragma once

#include <string>
#include <vector>

#include "cluster/devices/box.hpp"

namespace einflow::cluster::devices {

/// Values of a box's elements, row by row.
using Values = std::vector<double>;

struct LocalArray {
  Box box;
  Values values;
  bool operator==(const LocalArray&) const = default;
};

/// An array of that value everywhere.
LocalArray filled(Box box, double value);
/// The values of a part of it. Requires that its box contains the part.
Values copy_out(const LocalArray& array, const Box& part);
/// Writes the values of a part. Requires that its box contains the part.
void copy_in(LocalArray& array, const Box& part, const Values& values);

/// Whether it is one of the operators of partial tensors and reductions: "+", "*", "max", "min".
bool is_reduction(const std::string& op);
/// combine(op, identity_of(op), x) == x.
double identity_of(const std::string& op);
double combine(const std::string& op, double a, double b);
Values combine(const std::string& op, const Values& a, const Values& b);

}  // namespace einflow::cluster::devices
