// Numbers with units, read exactly: "64 GB/s", "512 KiB", "8 pJ/B". kB, MB, GB are powers of ten; KiB, MiB,
// GiB powers of two.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.hpp"
#include "base/ratio.hpp"

namespace einflow {

/// What a unit measures, and so the unit in which Quantity::value counts.
enum class Measure {
  size,                 ///< bits: "512 KiB"
  frequency,            ///< Hz: "1.83 GHz"
  bytes_per_cycle,      ///< "128 B/cycle"
  bytes_per_second,     ///< "3.35 TB/s"
  picojoules_per_byte,  ///< "8 pJ/B"
  picojoules_per_element,
  picojoules_per_access,
  picojoules_per_operation,  ///< "0.5 pJ", "0.5 pJ/op", "0.3 pJ/FLOP" (an operation is one MAC, two FLOPs)
  operations_per_cycle,      ///< "1 op/cycle", "1024 FLOP/cycle" (= 512)
  operations_per_second,     ///< "990 TFLOP/s"
  seconds,                   ///< "1 us", "500 ns", "2 ms"
};

struct Quantity {
  Ratio value;
  Measure measure = Measure::size;
  bool operator==(const Quantity&) const = default;
};

/// Reads `text` as a quantity >= 0 of one of the measures. Errors, whose spans count from line 1, column 1 of
/// `text`: no number, no unit, unknown unit (with the nearest valid or all of them), or too large.
Result<Quantity> parse_quantity(std::string_view text, const std::vector<Measure>& measures);

/// "B, kB, MB": the commonest units of the measures, for messages.
std::string units_of(const std::vector<Measure>& measures);

/// A plain exact share: "8193/16384", "0.5" or "50%". Nothing where it is none.
std::optional<Ratio> parse_share(std::string_view text);

}  // namespace einflow
