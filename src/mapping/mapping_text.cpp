#include <fmt/format.h>

#include <map>

#include "mapping/mapping.hpp"

namespace einflow {
namespace {

std::string loop_text(const Loop& loop, const Einsum& einsum, const Machine& machine) {
  const std::string& rank = einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
  if (!loop.spatial) return fmt::format("for {} by {}\n", rank, loop.tile);
  const Mesh& mesh = *machine.mesh(loop.mesh);
  return fmt::format("par {} by {} on {}.{}\n", rank, loop.tile, mesh.name,
                     mesh.axes[static_cast<std::size_t>(loop.axis)].name);
}

}  // namespace

std::string to_text(const Mapping& mapping, const Einsum& einsum, const Machine& machine) {
  // Tensors held at each (depth, level): what stands between two loops is printed in the machine's order.
  std::map<std::pair<int, int>, std::string> held;
  for (std::size_t t = 0; t < mapping.holds.size(); ++t) {
    for (const Hold& hold : mapping.holds[t]) {
      if (hold.level == machine.compute_level()) continue;
      held[{hold.depth, hold.level}] += " " + einsum.tensors[t].name;
    }
  }
  std::string text;
  auto next = held.begin();
  for (int depth = 0; depth <= static_cast<int>(mapping.loops.size()); ++depth) {
    for (; next != held.end() && next->first.first == depth; ++next) {
      text += fmt::format("at {}:{}\n", machine.level_name(next->first.second), next->second);
    }
    if (depth < static_cast<int>(mapping.loops.size())) {
      text += loop_text(mapping.loops[static_cast<std::size_t>(depth)], einsum, machine);
    }
  }
  return text;
}

}  // namespace einflow
