#include "cluster/cluster.hpp"

namespace einflow::cluster {

namespace {

/// The figure per cycle of one instance of the level, for the whole device and a second.
Ratio per_second(const Machine& device, const Ratio& per_cycle) { return per_cycle * device.clock_hz; }

}  // namespace

std::int64_t Network::size() const {
  std::int64_t devices = 1;
  for (const MeshAxis& axis : axes) devices *= axis.size;
  return devices;
}

std::int64_t Cluster::devices() const {
  std::int64_t product = 1;
  for (const Network& network : networks) product *= network.size();
  return product;
}

std::optional<Count> Cluster::memory_bytes() const {
  const Storage* memory = device.levels.empty() ? nullptr : device.storage(0);
  if (memory == nullptr || !memory->capacity_bits) return std::nullopt;
  return Count(memory->capacity_bits->value() / 8);
}

std::optional<Ratio> Cluster::memory_bandwidth() const {
  const Storage* memory = device.levels.empty() ? nullptr : device.storage(0);
  if (memory == nullptr || !memory->read_bandwidth || !device.clock_stated) return std::nullopt;
  return per_second(device, *memory->read_bandwidth);
}

std::optional<Ratio> Cluster::peak_flops(const ElementType& type) const {
  if (device.levels.empty() || !device.clock_stated) return std::nullopt;
  const auto rate = figure_for(device.compute().rate, type.name);
  if (!rate) return std::nullopt;
  return per_second(device, *rate) * Ratio(device.compute_instances() * Count(2));
}

}  // namespace einflow::cluster
