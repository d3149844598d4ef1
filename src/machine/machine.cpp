#include "machine/machine.hpp"

namespace einflow {

std::int64_t Mesh::size() const {
  std::int64_t product = 1;
  for (const MeshAxis& axis : axes) product *= axis.size;  // the reader bounds the product of all meshes
  return product;
}

const std::string& Machine::level_name(int level) const {
  return std::visit([](const auto& kind) -> const std::string& { return kind.name; },
                    levels[static_cast<std::size_t>(level)]);
}

int Machine::level_named(std::string_view wanted) const {
  for (int level = 0; level < static_cast<int>(levels.size()); ++level) {
    if (level_name(level) == wanted) return level;
  }
  return -1;
}

Count Machine::compute_instances() const {
  Count instances = 1;
  for (const Level& level : levels) {
    const Mesh* mesh_level = std::get_if<Mesh>(&level);
    if (mesh_level == nullptr) continue;
    for (const MeshAxis& axis : mesh_level->axes) instances *= Count(axis.size);
  }
  return instances;
}

}  // namespace einflow
