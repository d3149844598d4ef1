// Which ranks of an einsum the compute level's atomic shape takes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "machine/machine.hpp"
#include "problem/einsum.hpp"

namespace einflow {

/// One extent of the atomic shape and the ranks that share it: what is left of them at the end of the nest may
/// multiply to at most `extent`.
struct AtomicRole {
  std::string name;  ///< as the machine writes it
  std::int64_t extent = 1;
  std::vector<int> ranks;
};

/// The ways in which the shape can be laid over the einsum; one suffices.
///
/// A shape of m, n and k over two inputs is a matrix product whatever the ranks are called: m takes the ranks that
/// the output shares with one input only, n those that it shares with the other only, k the reduction ranks of
/// both. (A convolution on an MMA: m is batch and pixels, n output channels, k input channels and window.) Both
/// orders of the inputs are possible. Any other shape takes the ranks of the same names.
std::vector<std::vector<AtomicRole>> atomic_layouts(const Einsum& einsum, const Compute& compute);

/// Whether the compute level executes the einsum's operation: a matrix shape multiplies and adds, nothing else.
bool executes(const Compute& compute, const Einsum& einsum);

}  // namespace einflow
