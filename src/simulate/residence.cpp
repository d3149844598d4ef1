#include "simulate/residence.hpp"

#include <algorithm>

namespace einflow::execution {

std::ptrdiff_t Buffer::find(Element element) const {
  const auto place = std::lower_bound(elements.begin(), elements.end(), element);
  return place != elements.end() && *place == element ? place - elements.begin() : -1;
}

void Buffer::clear() {
  elements.clear();
  values.clear();
  written.clear();
}

namespace {

/// By coordinate at `depth`: its number when only the par loops that `counts_for` accepts tell coordinates apart.
template <typename Accept>
std::vector<std::int64_t> told_apart_by(const std::vector<Loop>& loops, int depth, Accept accept) {
  std::vector<std::int64_t> group{0};
  for (int l = 0; l < depth; ++l) {
    const Loop& loop = loops[static_cast<std::size_t>(l)];
    if (!loop.spatial) continue;
    std::vector<std::int64_t> inner;
    for (std::int64_t outer : group) {
      for (std::int64_t index = 0; index < loop.trips; ++index) {
        inner.push_back(accept(l, loop) ? outer * loop.trips + index : outer);
      }
    }
    group = std::move(inner);
  }
  return group;
}

}  // namespace

Residence make_residence(const Spec& spec, int tensor, int hold) {
  const std::vector<Loop>& loops = spec.mapping.loops;
  const std::vector<Hold>& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
  const Hold& here = holds[static_cast<std::size_t>(hold)];
  const int parent_depth = hold == 0 ? 0 : holds[static_cast<std::size_t>(hold - 1)].depth;

  Residence residence;
  residence.tensor = tensor;
  residence.hold = hold;
  residence.level = here.level;
  residence.depth = here.depth;
  residence.compute = here.level == spec.machine.compute_level();
  residence.remembers = !residence.compute || spec.machine.compute().operand_latches;
  residence.counts.tensor = tensor;
  residence.counts.hold = hold;

  // Siblings that only a mesh without the ability tells apart count as if each had a parent of its own.
  const auto is_outside = [&](int l, const Loop&) { return l < parent_depth; };
  const auto without = [&](auto ability) {
    return [&spec, parent_depth, ability](int l, const Loop& loop) {
      return l < parent_depth || !(spec.machine.mesh(loop.mesh)->*ability);
    };
  };
  residence.parent_of = told_apart_by(loops, here.depth, is_outside);
  residence.read_group = told_apart_by(loops, here.depth, without(&Mesh::multicast));
  residence.update_group = told_apart_by(loops, here.depth, without(&Mesh::reduction));

  residence.forwarding = !residence.compute;
  for (int l = parent_depth; l < here.depth; ++l) {
    const Loop& loop = loops[static_cast<std::size_t>(l)];
    if (!loop.spatial || loop.trips == 1) continue;
    const Mesh& mesh = *spec.machine.mesh(loop.mesh);
    if (!mesh.forwarding || !mesh.multicast) residence.forwarding = false;
  }

  const std::size_t coordinates = residence.parent_of.size();
  residence.now.resize(coordinates);
  residence.next.resize(coordinates);
  residence.ever_active.assign(coordinates, 0);
  return residence;
}

}  // namespace einflow::execution
