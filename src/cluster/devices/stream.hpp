// An einsum with a time loop: pieces of operands come, and pieces of the output go, while it computes.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/devices/collectives.hpp"
#include "cluster/devices/local_einsum.hpp"

namespace einflow::cluster::devices {

/// A collective that goes piece by piece with an einsum's operand or output.
struct Stream {
  const Collective* collective = nullptr;
  std::size_t tensor = 0;          ///< of the einsum
  const Spread* stored = nullptr;  ///< of an operand: the pieces at rest, in the collective's `from`
  Spread result;                   ///< of the output: the sums, in the collective's `to`
  Tally tally;                     ///< what it moved
};

/// Whether all streams go in the same pieces of the einsum's time rank at the same time: as many steps, more than one,
/// and on every device the same interval in each.
bool go_together(const LocalEinsum& step, const DeviceMesh& mesh, const std::vector<Stream>& streams);

/// Executes the einsum piece by piece. In step t of a broadcast all devices of an axis have piece t; in step t of a
/// shift the device of coordinate c has piece c - t (c - 1 - t where sums of the output travel, so that they end where
/// they rest). Requires go_together(). `operands` has null where a stream brings the operand; `output` is the array
/// that the terms are added to, null where a stream takes them away. `buffers` is, by device, what the pieces take of
/// room, in elements.
Result<void> compute_streamed(const LocalEinsum& step, const DeviceMesh& mesh,
                              const std::vector<const Spread*>& operands, Spread* output, std::vector<Stream>& streams,
                              std::vector<std::int64_t>& buffers);

}  // namespace einflow::cluster::devices
