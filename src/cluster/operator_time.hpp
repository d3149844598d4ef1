// How long an operation takes on one device: a roofline with stated shares of its figures.
#pragma once

#include <string>

#include "cluster/efficiency_data.hpp"
#include "cluster/model.hpp"

namespace einflow::cluster {

/// What an operation does on one device, forward or backward.
struct OperationWork {
  OperationKind kind = OperationKind::product;
  bool backward = false;
  double flops = 0;  ///< of products and attention (forward_flops, backward_flops + repeated_flops); 0 of others
  double bytes = 0;  ///< read and written, each tensor once for each kernel
  int kernels = 1;   ///< launched one after the other: 2 for the backward of a product, 0 if part of another's kernel
};

/// The operation of a model, its FLOPs and bytes divided among devices by the caller: kind, kernels. A sum that adds
/// what a dropout has just written is part of the dropout's kernel (kernels = 0): the caller gives it the bytes of its
/// other operand alone (`after` is the operation before it, or nullptr).
OperationWork forward_work(const Operation& operation, double flops, double bytes);
OperationWork backward_work(const Operation& operation, double flops, double bytes);
/// Whether `operation` is a sum that runs in the kernel of `before`, a dropout whose result it adds.
bool runs_in_kernel_of(const Operation& operation, const Operation& before);

/// The stated figures of a device.
struct DeviceFigures {
  double flops_per_second = 0;  ///< dense peak with the operands' type
  double bytes_per_second = 0;  ///< of the outermost storage
};

/// Seconds, and what they are made of. `formula` has the values put in.
struct OperationTime {
  double seconds = 0;
  double compute_seconds = 0;  ///< flops / (share x peak)
  double memory_seconds = 0;   ///< bytes / (share x bandwidth)
  double launch_seconds = 0;
  std::string formula;
};

/// launches + sqrt(compute^2 + memory^2): close to the larger of the two, 41 % above it where both are equal, as
/// measured products are. An operation without FLOPs and bytes takes nothing.
double operation_seconds(const OperationWork& work, const DeviceFigures& device, const OperationEfficiency& efficiency);
/// The same with its parts and its formula.
OperationTime operation_time(const OperationWork& work, const DeviceFigures& device,
                             const OperationEfficiency& efficiency);

/// Which share of the bandwidth an operation of this kind reaches.
double memory_share(OperationKind kind, const OperationEfficiency& efficiency);

}  // namespace einflow::cluster
