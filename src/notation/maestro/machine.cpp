#include "notation/maestro/machine.hpp"

#include <fmt/format.h>

namespace einflow::maestro {

Machine machine_of(std::int64_t pes, const std::vector<MachinePart>& parts, const Hardware& hardware) {
  constexpr std::int64_t kElementBits = 8;
  Machine machine;
  machine.name = fmt::format("maestro-{}", pes);
  Storage l2;
  l2.name = "L2";
  if (hardware.noc_bandwidth) l2.read_bandwidth = l2.write_bandwidth = Ratio(Count(*hardware.noc_bandwidth));
  machine.levels.emplace_back(l2);
  int meshes = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    for (const std::int64_t units : parts[part].meshes) {
      Mesh mesh;
      mesh.name = fmt::format("array{}", meshes++);
      mesh.axes = {{"unit", units}};
      mesh.multicast = true;
      mesh.reduction = true;
      machine.levels.emplace_back(mesh);
    }
    Storage storage = l2;
    storage.double_buffered = true;
    if (part + 1 == parts.size()) {
      storage.name = "L1";
      storage.read_bandwidth = storage.write_bandwidth = std::nullopt;
      if (hardware.l1_elements) storage.capacity_bits = Count(*hardware.l1_elements) * Count(kElementBits);
    } else {
      storage.name = fmt::format("C{}", part + 1);
    }
    machine.levels.emplace_back(storage);
  }
  Compute compute;
  compute.name = "MAC";
  compute.rate[""] = Ratio(Count(1));
  machine.levels.emplace_back(compute);
  return machine;
}

}  // namespace einflow::maestro
