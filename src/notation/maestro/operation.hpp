// MAESTRO's operations as einsums of the library's constructors, with its dimensions as ranks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/diagnostic.hpp"
#include "problem/einsum.hpp"

namespace einflow::maestro {

enum class Type { conv, dsconv, ngconv, gemm };

/// A layer's sizes; of a convolution y and x are the input's. Those that the type lacks stay 1.
struct Shape {
  Type type = Type::conv;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t c = 1;
  std::int64_t g = 1;
  std::int64_t r = 1;
  std::int64_t s = 1;
  std::int64_t y = 1;
  std::int64_t x = 1;
  std::int64_t m = 1;
  std::int64_t stride_y = 1;
  std::int64_t stride_x = 1;
};

/// conv2d, depthwise_conv2d or matmul of elements of one byte. Errors: no output, sizes beyond 64 bits.
Result<Einsum> einsum_of(const Shape& shape);

/// What a dimension of a directive is.
struct Dimension {
  enum class Kind {
    none,     ///< extent 1, without a rank (K of DSCONV, G of one group)
    plain,    ///< indices of a rank
    rows,     ///< Y, X: input positions under a window
    outputs,  ///< Y', X': output positions
    taps,     ///< R, S
  };
  Kind kind = Kind::none;
  int rank = -1;            ///< of rows: that of the outputs
  int partner = -1;         ///< of rows and outputs the taps' rank; of taps the outputs'
  std::int64_t stride = 1;  ///< of rows, outputs and taps
};

/// The dimension of that name, one of N K C G R S Y X Y' X' M.
Dimension dimension_of(std::string_view name, const Einsum& einsum, const Shape& shape);

}  // namespace einflow::maestro
