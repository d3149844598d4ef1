#include "movement/crossing.hpp"

#include <algorithm>

namespace einflow {

const Hold& Crossing::child() const {
  return spec->mapping.holds[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(hold)];
}

const Hold& Crossing::parent() const {
  return spec->mapping.holds[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(std::max(hold - 1, 0))];
}

bool Crossing::forwards() const {
  if (is_output() || is_compute()) return false;
  bool divided = false;
  for (int i = parent().depth; i < child().depth; ++i) {
    const Loop& loop = spec->mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial || loop.trips == 1) continue;
    divided = true;
    const Mesh& mesh = *spec->machine.mesh(loop.mesh);
    if (!mesh.forwarding || !mesh.multicast) return false;
  }
  return divided;
}

Keep Crossing::keep() const {
  if (forgets()) return Keep::nothing;
  return is_output() ? Keep::leaving : Keep::arriving;
}

View Crossing::alone() const {
  View view;
  view.spec = spec;
  view.cache = cache;
  view.tensor = tensor;
  view.depth = child().depth;
  view.join.assign(static_cast<std::size_t>(view.depth), Join::separate);
  return view;
}

View Crossing::joined(int from) const {
  View view = alone();
  for (int i = parent().depth; i < child().depth; ++i) {
    const Loop& loop = spec->mapping.loops[static_cast<std::size_t>(i)];
    if (loop.spatial && loop.mesh > from && shares(*spec->machine.mesh(loop.mesh))) {
      view.join[static_cast<std::size_t>(i)] = Join::merged;
    }
  }
  return view;
}

void fix_outside(View& view, int depth, const std::vector<std::int64_t>& coordinates) {
  for (int i = 0; i < std::min(depth, view.depth); ++i) {
    if (!view.spec->mapping.loops[static_cast<std::size_t>(i)].spatial) continue;
    view.join[static_cast<std::size_t>(i)] = Join::fixed;
  }
  view.fixed_at = coordinates;
}

}  // namespace einflow
