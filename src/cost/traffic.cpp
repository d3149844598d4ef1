#include "cost/traffic.hpp"

#include "cost/figures.hpp"

namespace einflow {

namespace {

/// A hold's own movement and what the next hold further in asks of it.
TensorTraffic traffic_at(const Counts& counts, int tensor, int hold) {
  const HoldCounts& own = counts_of(counts, tensor, hold);
  const HoldCounts& child = counts_of(counts, tensor, hold + 1);
  TensorTraffic traffic;
  traffic.tensor = tensor;
  traffic.reads = child.parent_reads + child.parent_rmw_reads + own.forwarded + own.drains;
  traffic.writes = own.fills + child.parent_updates;
  traffic.exchanged_below = child.parent_reads + child.parent_rmw_reads + child.parent_updates;
  return traffic;
}

}  // namespace

std::vector<LevelCost> level_traffic(const Spec& spec, const Counts& counts) {
  std::vector<LevelCost> levels;
  for (int level : storage_levels(spec.machine)) {
    const Storage& storage = *spec.machine.storage(level);
    LevelCost cost;
    cost.level = level;
    cost.instances = instances_of(spec.machine, level);
    Count bits_read;
    Count bits_written;
    Count bits_below;
    Count bits_held;
    for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
      const int hold = hold_at(spec.mapping, tensor, level);
      if (hold < 0) continue;
      const TensorTraffic traffic = traffic_at(counts, tensor, hold);
      const Count bits = element_bits(spec, tensor);
      cost.reads += traffic.reads;
      cost.writes += traffic.writes;
      bits_read += traffic.reads * bits;
      bits_written += traffic.writes * bits;
      bits_below += traffic.exchanged_below * bits;
      bits_held += counts_of(counts, tensor, hold).tile_elements * bits;
      cost.tensors.push_back(traffic);
    }
    cost.bytes_read = bytes_of_bits(bits_read);
    cost.bytes_written = bytes_of_bits(bits_written);
    cost.bytes_exchanged_below = bytes_of_bits(bits_below);
    cost.occupancy_bytes = bytes_of_bits(storage.double_buffered ? bits_held * 2 : bits_held);
    if (storage.capacity_bits) cost.capacity_bytes = bytes_of_bits(*storage.capacity_bits);
    levels.push_back(std::move(cost));
  }
  return levels;
}

}  // namespace einflow
