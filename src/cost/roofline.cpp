#include "cost/roofline.hpp"

#include <algorithm>

#include "cost/figures.hpp"

namespace einflow {

namespace {

/// Bytes that a level moves per cycle, all instances, when it reads and writes in the given proportion.
std::optional<double> bandwidth_at_mix(const Storage& storage, const LevelCost& level) {
  const double read = level.bytes_read.to_double();
  const double written = level.bytes_written.to_double();
  const double instances = level.instances.to_double();
  if (storage.shared_port) {
    if (!storage.read_bandwidth) return std::nullopt;
    return storage.read_bandwidth->to_double() * instances;
  }
  double cycles = 0;
  double moved = 0;
  if (storage.read_bandwidth) {
    cycles = read / storage.read_bandwidth->to_double();
    moved += read;
  }
  if (storage.write_bandwidth) {
    cycles = std::max(cycles, written / storage.write_bandwidth->to_double());
    moved += written;
  }
  if (cycles <= 0) return std::nullopt;
  return moved / cycles * instances;
}

/// Bytes of all tensors, each once.
Ratio compulsory_bytes(const Spec& spec, const Counts& counts) {
  Count bits;
  for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
    bits += counts_of(counts, tensor, 0).tile_elements * element_bits(spec, tensor);
  }
  return bytes_of_bits(bits);
}

}  // namespace

std::optional<Count> executed_flops(const Einsum& einsum) {
  if (!einsum.is_mac()) return std::nullopt;
  return einsum.executed_operations() * 2;
}

std::optional<RooflineCost> roofline_cost(const Spec& spec, const Counts& counts,
                                          const std::vector<LevelCost>& levels) {
  const std::optional<Ratio> peak = peak_rate(spec);
  if (!peak) return std::nullopt;
  for (const LevelCost& level : levels) {
    const Storage& storage = *spec.machine.storage(level.level);
    if (!storage.read_bandwidth && !storage.write_bandwidth) continue;
    const std::optional<double> bandwidth = bandwidth_at_mix(storage, level);
    const double moved = level.bytes_read.to_double() + level.bytes_written.to_double();
    if (!bandwidth || moved <= 0) return std::nullopt;

    RooflineCost roofline;
    roofline.level = level.level;
    roofline.in_flops = spec.einsum.is_mac();
    const double per_operation = roofline.in_flops ? 2 : 1;
    const double work = per_operation * spec.einsum.executed_operations().to_double();
    roofline.intensity = work / moved;
    const double compulsory = compulsory_bytes(spec, counts).to_double();
    if (compulsory > 0) roofline.ideal_intensity = work / compulsory;
    roofline.peak = per_operation * peak->to_double();
    roofline.bandwidth = *bandwidth;
    roofline.ridge = roofline.peak / roofline.bandwidth;
    roofline.attainable = std::min(roofline.peak, roofline.intensity * roofline.bandwidth);
    if (spec.machine.clock_stated) roofline.hertz = spec.machine.clock_hz.to_double();
    return roofline;
  }
  return std::nullopt;
}

}  // namespace einflow
