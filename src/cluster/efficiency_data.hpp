// Which shares of its stated figures a device reaches, and what a launch costs, from measured kernels and training
// runs. The only place that holds them; docs/decisions/efficiency.md has their errors.
#pragma once

#include <span>
#include <string_view>

namespace einflow::cluster {

/// All shares are of the device's stated figure, above 0 and at most 1.
struct OperationEfficiency {
  std::string_view device;         ///< the library's name of the machine
  std::string_view source;         ///< of the measurements
  double product_compute = 1;      ///< share of the dense peak that a product reaches which is bound by arithmetic
  double product_memory = 1;       ///< share of the bandwidth that a product reaches which is bound by memory
  double attention_compute = 1;    ///< share of the peak in attention that keeps scores on the chip, forward
  double attention_backward = 1;   ///< the same backward
  double elementwise_memory = 1;   ///< share of the bandwidth: function, gate, sum, dropout, embedding, loss, ...
  double norm_memory = 1;          ///< norms
  double softmax_memory = 1;       ///< softmax over keys
  double optimizer_memory = 1;     ///< the optimizer's step
  double launch_seconds = 0;       ///< of a kernel, before and after its work
};

/// All devices that were measured.
std::span<const OperationEfficiency> operation_efficiencies();

/// The device's own, else those of a100-sxm-80gb: shares change less between devices than figures do. `device` of the
/// result says whose they are.
const OperationEfficiency& efficiency_of(std::string_view device);

}  // namespace einflow::cluster
