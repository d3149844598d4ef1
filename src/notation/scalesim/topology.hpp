// SCALE-Sim's topology, a CSV file: one layer a row, a convolution or a matrix product.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow::scalesim {

/// N of every M weights are stored and multiplied.
struct Sparsity {
  std::int64_t stored = 1;
  std::int64_t of = 1;
};

/// A convolution without padding and with one input image, or a product of m x k and k x n.
struct Row {
  std::string name;
  int line = 0;
  bool product = false;
  std::int64_t m = 1, n = 1, k = 1;    ///< of a product
  std::int64_t height = 1, width = 1;  ///< of the input
  std::int64_t filter_height = 1, filter_width = 1;
  std::int64_t channels = 1, filters = 1;
  std::int64_t stride_height = 1, stride_width = 1;
  std::int64_t repeat = 1;  ///< a depthwise row is as many layers of one channel
  Sparsity sparsity;
  Span sparsity_span;

  /// ceil((height - filter_height + stride) / stride), as SCALE-Sim rounds: the last window may reach past the input.
  std::int64_t output_height() const { return 1 + ceil(height - filter_height, stride_height); }
  std::int64_t output_width() const { return 1 + ceil(width - filter_width, stride_width); }

 private:
  static std::int64_t ceil(std::int64_t a, std::int64_t b) { return a / b + (a % b == 0 ? 0 : 1); }
};

struct Topology {
  std::vector<Row> rows;
  std::vector<std::string> left_out;  ///< columns that SCALE-Sim has no word for
};

/// Reads at most 100,000 layers. Errors carry the source's name.
Result<Topology> read_topology(const SourceText& source);

}  // namespace einflow::scalesim
