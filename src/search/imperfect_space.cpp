#include "search/imperfect_space.hpp"

#include <algorithm>
#include <limits>

#include "movement/runs.hpp"

namespace einflow::imperfect {
namespace {

constexpr std::size_t kMostRuns = 100'000;

/// Size of the exact image of the group's ranks, each of its length. Never too large: where the runs are too many, 1.
std::int64_t image_size(const Group& group, const Lengths& lengths) {
  std::int64_t width = 1;
  bool interval = true;
  for (const Term& term : group.terms) {
    const std::int64_t length = lengths[static_cast<std::size_t>(term.rank)];
    if (length == 1) continue;
    interval = interval && term.coefficient <= width;
    width += term.coefficient * (length - 1);
  }
  if (interval) return width;
  std::vector<Progression> progressions;
  for (const Term& term : group.terms) {
    progressions.push_back({term.coefficient, 0, lengths[static_cast<std::size_t>(term.rank)]});
  }
  Runs runs;
  return sum_of_progressions(progressions.data(), progressions.size(), kMostRuns, runs) ? measure(runs) : 1;
}

std::int64_t touched_size(const Group& group, const Lengths& extents) {
  if (!group.stored) return image_size(group, extents);
  std::vector<Progression> progressions;
  for (const Term& term : group.terms) {
    progressions.push_back({term.coefficient, 0, extents[static_cast<std::size_t>(term.rank)]});
  }
  Runs runs;
  if (!sum_of_progressions(progressions.data(), progressions.size(), kMostRuns, runs)) return 0;
  clip(runs, *group.stored);
  return measure(runs);
}

template <typename T>
T entry(const std::vector<T>& values, int index, T otherwise) {
  return values.empty() ? otherwise : values[static_cast<std::size_t>(index)];
}

}  // namespace

Space::Space(const MapRequest& asked)
    : request(asked),
      einsum(asked.einsum),
      machine(asked.machine),
      ranks(static_cast<int>(asked.einsum.ranks.size())),
      tensors(static_cast<int>(asked.einsum.tensors.size())),
      forgets(!asked.machine.compute().operand_latches),
      layouts_(atomic_layouts(asked.einsum, asked.machine.compute())) {
  has_.assign(static_cast<std::size_t>(tensors * ranks), false);
  alone_ = has_;
  for (int tensor = 0; tensor < tensors; ++tensor) add_tensor(tensor);
  add_blocks();
  for (const Level& level : machine.levels) {
    const auto* mesh = std::get_if<Mesh>(&level);
    if (mesh != nullptr && mesh->systolic != SystolicTiming::none) systolic = true;
  }
  atomic_.assign(static_cast<std::size_t>(ranks), 1);
  for (const auto& layout : layouts_) {
    for (const AtomicRole& role : layout) {
      for (const int rank : role.ranks) {
        std::int64_t& most = atomic_[static_cast<std::size_t>(rank)];
        most = std::max(most, role.extent);
      }
    }
  }
  for (int block = 1; block < last(); ++block) any_stationary = any_stationary || stationary(block) >= 0;
}

void Space::add_tensor(int tensor) {
  Lengths extents;
  for (const Rank& rank : einsum.ranks) extents.push_back(rank.extent);
  groups_.emplace_back();
  padded_.push_back(false);
  double touched = 1;
  for (const Group& group : groups_of(einsum, tensor)) {
    if (!group.indexed) continue;
    groups_.back().push_back(group);
    touched *= static_cast<double>(touched_size(group, extents));
    if (group.stored) padded_.back() = true;
    for (const Term& term : group.terms) {
      has_[index(tensor, term.rank)] = true;
      alone_[index(tensor, term.rank)] = group.terms.size() == 1;
    }
  }
  touched_.push_back(touched);
}

void Space::add_blocks() {
  Block block;
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    if (const Mesh* mesh = machine.mesh(level)) {
      for (int axis = 0; axis < static_cast<int>(mesh->axes.size()); ++axis) {
        block.axes.push_back({level, axis, mesh->axes[static_cast<std::size_t>(axis)].size});
      }
      continue;
    }
    block.level = level;
    block.end = machine.storage(level) == nullptr;
    blocks.push_back(std::move(block));
    block = {};
  }
}

int Space::loops_per_rank() const {
  int loops = 0;
  for (const Block& block : blocks) loops += 1 + static_cast<int>(block.axes.size());
  return loops;
}

double Space::elements(int tensor, const Lengths& lengths) const {
  double product = 1;
  for (const Group& group : groups_[static_cast<std::size_t>(tensor)]) {
    product *= static_cast<double>(image_size(group, lengths));
  }
  return product;
}

double Space::room_needed(int block, unsigned held, const Lengths& lengths) const {
  double need = 0;
  for (int tensor = 0; tensor < tensors; ++tensor) {
    if ((held >> tensor & 1U) != 0 && !padded(tensor)) need += bits(tensor) * elements(tensor, lengths);
  }
  return machine.storage(blocks[static_cast<std::size_t>(block)].level)->double_buffered ? 2 * need : need;
}

double Space::room(int block) const {
  const auto& capacity = machine.storage(blocks[static_cast<std::size_t>(block)].level)->capacity_bits;
  return capacity ? capacity->to_double() : std::numeric_limits<double>::infinity();
}

double Space::most_elements(int block, int tensor) const {
  const bool twice = machine.storage(blocks[static_cast<std::size_t>(block)].level)->double_buffered;
  return room(block) / (twice ? 2 : 1) / bits(tensor);
}

Holding Space::holding(int block, int tensor) const {
  if (stationary(block) == tensor) return Holding::held;
  const int level = blocks[static_cast<std::size_t>(block)].level;
  return entry(entry(request.constraints.holding, level, {}), tensor, Holding::free);
}

std::int64_t Space::tile_given(int block, int rank) const {
  const Block& at = blocks[static_cast<std::size_t>(block)];
  if (at.end) return 0;
  return entry<std::int64_t>(entry(request.constraints.tile, at.level, {}), rank, 0);
}

std::int64_t Space::trips_given(const MeshPlace& axis, int rank) const {
  return entry<std::int64_t>(entry(entry(request.constraints.spread, axis.mesh, {}), axis.axis, {}), rank, 0);
}

int Space::stationary(int block) const {
  const Block& at = blocks[static_cast<std::size_t>(block)];
  return at.end ? -1 : entry(request.constraints.stationary, at.level, -1);
}

std::vector<unsigned> Space::hold_choices(int block) const {
  std::vector<unsigned> choices;
  const int level = blocks[static_cast<std::size_t>(block)].level;
  for (unsigned held = 0; held < 1U << tensors; ++held) {
    bool allowed = true;
    for (int tensor = 0; tensor < tensors; ++tensor) {
      const bool is_held = (held >> tensor & 1U) != 0;
      const Holding given = holding(block, tensor);
      const Holding said = entry(entry(request.constraints.holding, level, {}), tensor, Holding::free);
      if (is_held ? said == Holding::bypassed : given == Holding::held) allowed = false;
    }
    if (allowed) choices.push_back(held);
  }
  return choices;
}

std::int64_t Space::most_left(int block, int rank) const {
  const auto r = static_cast<std::size_t>(rank);
  if (blocks[static_cast<std::size_t>(block)].end) return std::min(extent(rank), atomic_[r]);
  const std::int64_t given = tile_given(block, rank);
  return given > 0 ? std::min(given, extent(rank)) : extent(rank);
}

bool Space::may_end(const Lengths& left) const {
  const auto is_one = [](std::int64_t length) { return length == 1; };
  if (layouts_.empty()) return std::all_of(left.begin(), left.end(), is_one);
  return std::any_of(layouts_.begin(), layouts_.end(), [&](const std::vector<AtomicRole>& layout) {
    std::vector<bool> taken(left.size(), false);
    for (const AtomicRole& role : layout) {
      std::int64_t room = role.extent;
      for (const int rank : role.ranks) {
        const auto r = static_cast<std::size_t>(rank);
        taken[r] = true;
        if (left[r] > room) return false;
        room /= left[r];
      }
    }
    for (std::size_t r = 0; r < left.size(); ++r) {
      if (!taken[r] && left[r] > 1) return false;
    }
    return true;
  });
}

bool Space::spread_inside(int block, int rank) const {
  for (int inner = block + 1; inner <= last(); ++inner) {
    for (const MeshPlace& axis : blocks[static_cast<std::size_t>(inner)].axes) {
      if (axis.size > 1 && trips_given(axis, rank) != 1) return true;
    }
  }
  return false;
}

double Space::mesh_inside(int block) const {
  double product = 1;
  for (int inner = block + 1; inner <= last(); ++inner) {
    for (const MeshPlace& axis : blocks[static_cast<std::size_t>(inner)].axes) {
      product *= static_cast<double>(axis.size);
    }
  }
  return product;
}

}  // namespace einflow::imperfect
