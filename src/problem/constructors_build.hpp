// Small pieces that the constructors share; private to problem/constructors*.cpp.
#pragma once

#include <initializer_list>
#include <string_view>
#include <utility>

#include "problem/einsum.hpp"

namespace einflow {

/// An axis that is one rank.
inline Axis axis_of(const Einsum& einsum, std::string_view rank) {
  Axis axis;
  axis.terms.push_back({einsum.rank_named(rank), 1});
  return axis;
}

/// A tensor whose axes are single ranks; names that the einsum lacks are left out.
inline Tensor indexed_by(const Einsum& einsum, std::string name, std::initializer_list<std::string_view> ranks) {
  Tensor tensor;
  tensor.name = std::move(name);
  for (std::string_view rank : ranks)
    if (einsum.rank_named(rank) >= 0) tensor.axes.push_back(axis_of(einsum, rank));
  return tensor;
}

}  // namespace einflow
