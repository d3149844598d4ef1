#include "notation/maestro/operation.hpp"

#include "problem/constructors.hpp"
#include "problem/einsum_check.hpp"

namespace einflow::maestro {

Result<Einsum> einsum_of(const Shape& shape) {
  Result<Einsum> einsum;
  if (shape.type == Type::gemm) {
    einsum = matmul(shape.m, shape.n, shape.k);
  } else {
    Convolution convolution;
    convolution.batch = shape.n;
    convolution.axes.resize(2);
    convolution.axes[0] = {shape.y, shape.r, shape.stride_y};
    convolution.axes[1] = {shape.x, shape.s, shape.stride_x};
    const auto in = (Count(shape.g) * Count(shape.c)).to_int64();
    const auto out = (Count(shape.g) * Count(shape.k)).to_int64();
    if (!in || !out) return fail("G x C or G x K is beyond 64 bits");
    convolution.in_channels = *in;
    convolution.out_channels = shape.type == Type::dsconv ? shape.c : *out;
    convolution.groups = shape.g;
    einsum = shape.type == Type::dsconv ? depthwise_convolution(convolution) : einflow::convolution(convolution);
  }
  if (!einsum) return einsum;
  for (Tensor& tensor : einsum->tensors) tensor.type = {"int8", 8};
  const std::vector<EinsumFault> faults = check_sizes(*einsum);
  if (!faults.empty()) return fail(faults.front().message, faults.front().hint);
  return einsum;
}

Dimension dimension_of(std::string_view name, const Einsum& einsum, const Shape& shape) {
  const auto windowed = [&](Dimension::Kind kind, const char* output, const char* tap, std::int64_t stride) {
    const int p = einsum.rank_named(output);
    const int r = einsum.rank_named(tap);
    return kind == Dimension::Kind::taps ? Dimension{kind, r, p, stride} : Dimension{kind, p, r, stride};
  };
  if (shape.type != Type::gemm) {
    if (name == "Y") return windowed(Dimension::Kind::rows, "p", "r", shape.stride_y);
    if (name == "Y'") return windowed(Dimension::Kind::outputs, "p", "r", shape.stride_y);
    if (name == "R") return windowed(Dimension::Kind::taps, "p", "r", shape.stride_y);
    if (name == "X") return windowed(Dimension::Kind::rows, "q", "s", shape.stride_x);
    if (name == "X'") return windowed(Dimension::Kind::outputs, "q", "s", shape.stride_x);
    if (name == "S") return windowed(Dimension::Kind::taps, "q", "s", shape.stride_x);
  }
  std::string lower;
  for (const char c : name) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  const int rank = einsum.rank_named(lower);
  return rank < 0 ? Dimension{} : Dimension{Dimension::Kind::plain, rank, -1, 1};
}

}  // namespace einflow::maestro
