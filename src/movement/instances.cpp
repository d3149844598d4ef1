// What single instances, single meshes and single accesses see: the same law, looked at more closely.
#include <algorithm>
#include <set>

#include "movement/crossing.hpp"
#include "movement/movement.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMostInstances = 20'000;

tl::unexpected<Diagnostics> too_many_positions() {
  return fail("the nest has too many different tile positions to be counted instance by instance");
}

/// Outermost level to innermost: the depth at which a level's instances are told apart (its first hold), or -1.
int depth_of_level(const Spec& spec, int level) {
  int depth = -1;
  for (const auto& holds : spec.mapping.holds) {
    for (const Hold& hold : holds) {
      if (hold.level == level && (depth < 0 || hold.depth < depth)) depth = hold.depth;
    }
  }
  return depth;
}

bool padded(const Spec& spec, int rank) {
  for (int tensor = 0; tensor < static_cast<int>(spec.einsum.tensors.size()); ++tensor) {
    for (const Group& group : groups_of(spec.einsum, tensor)) {
      if (!group.stored) continue;
      for (const Term& term : group.terms) {
        if (term.rank == rank) return true;
      }
    }
  }
  return false;
}

/// Coordinates of a spatial loop among which the busiest must be: one of each run of coordinates whose tiles are
/// alike, or every coordinate where padding may make each of them different.
std::vector<std::int64_t> candidate_coordinates(const Spec& spec, int index) {
  const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(index)];
  std::set<std::int64_t> coordinates;
  if (padded(spec, loop.rank)) {
    for (std::int64_t c = 0; c < loop.trips && c < static_cast<std::int64_t>(kMostInstances) + 1; ++c)
      coordinates.insert(c);
    return {coordinates.begin(), coordinates.end()};
  }
  // All lengths that reach the loop: whole tiles and remainders of the loops outside it.
  std::set<std::int64_t> lengths{spec.einsum.ranks[static_cast<std::size_t>(loop.rank)].extent};
  for (int i = 0; i < index; ++i) {
    const Loop& outer = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (outer.rank != loop.rank) continue;
    std::set<std::int64_t> inner;
    for (std::int64_t length : lengths) {
      if (length >= outer.tile) inner.insert(outer.tile);
      if (length % outer.tile != 0) inner.insert(length % outer.tile);
    }
    lengths = std::move(inner);
  }
  coordinates.insert(0);
  for (std::int64_t length : lengths) {
    for (std::int64_t c : {length / loop.tile - 1, length / loop.tile, length / loop.tile + 1}) {
      if (c >= 0 && c < loop.trips) coordinates.insert(c);
    }
  }
  return {coordinates.begin(), coordinates.end()};
}

/// Bits that one instance of a level reads and writes.
struct Traffic {
  Count read = 0;
  Count written = 0;
};

class InstanceTraffic {
 public:
  InstanceTraffic(const Spec& spec, int level, int depth) : spec_(spec), level_(level), depth_(depth) {}

  std::optional<Traffic> at(const std::vector<std::int64_t>& coordinates) {
    Traffic traffic;
    for (int tensor = 0; tensor < static_cast<int>(spec_.einsum.tensors.size()); ++tensor) {
      const auto& holds = spec_.mapping.holds[static_cast<std::size_t>(tensor)];
      const Count bits = spec_.einsum.tensors[static_cast<std::size_t>(tensor)].type.bits;
      for (int hold = 0; hold < static_cast<int>(holds.size()); ++hold) {
        if (holds[static_cast<std::size_t>(hold)].level != level_) continue;
        Traffic own;
        if (!add_hold(tensor, hold, coordinates, own)) return std::nullopt;
        traffic.read += own.read * bits;
        traffic.written += own.written * bits;
      }
    }
    return traffic;
  }

 private:
  bool add_hold(int tensor, int hold, const std::vector<std::int64_t>& coordinates, Traffic& own) {
    const Crossing above{&spec_, tensor, hold};
    const Crossing below{&spec_, tensor, hold + 1};
    const auto residencies = hold == 0 ? largest_tile(fixed(above.alone(), coordinates))
                                       : transferred(fixed(above.alone(), coordinates), above.keep());
    const auto exchanged =
        transferred(fixed(below.joined(), coordinates), below.forwards() ? Keep::forwarded : below.keep());
    if (!residencies || !exchanged) return false;
    own.read = *exchanged;
    if (above.is_output()) {
      own.read -= *residencies;  // read-modify-writes
      own.written = *exchanged;
      if (hold > 0) own.read += *residencies;  // drains
      return true;
    }
    if (hold == 0) return true;
    own.written = *residencies;
    return add_forwarded(above, own);
  }

  // Elements handed to siblings are spread over the level: the law does not say which sibling gives.
  bool add_forwarded(const Crossing& above, Traffic& own) {
    if (!above.forwards()) return true;
    const auto joined = transferred(above.joined(), above.keep());
    const auto read = transferred(above.joined(), Keep::forwarded);
    if (!joined || !read) return false;
    Count instances = 1;
    for (int i = 0; i < depth_; ++i) {
      const Loop& loop = spec_.mapping.loops[static_cast<std::size_t>(i)];
      if (loop.spatial) instances *= Count(loop.trips);
    }
    own.read += ceil_div(*joined - *read, instances);
    return true;
  }

  View fixed(View view, const std::vector<std::int64_t>& coordinates) const {
    fix_outside(view, depth_, coordinates);
    return view;
  }

  const Spec& spec_;
  int level_;
  int depth_;
};

/// Calls visit(coordinates) for every combination of candidate coordinates of the spatial loops outside `depth`.
template <typename Visit>
bool for_each_candidate(const Spec& spec, int depth, Visit&& visit) {
  std::vector<int> loops;
  std::vector<std::vector<std::int64_t>> candidates;
  std::size_t combinations = 1;
  for (int i = 0; i < depth; ++i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial || loop.trips == 1) continue;
    loops.push_back(i);
    candidates.push_back(candidate_coordinates(spec, i));
    combinations *= candidates.back().size();
    if (combinations > kMostInstances) return false;
  }
  std::vector<std::int64_t> coordinates(spec.mapping.loops.size(), 0);
  std::vector<std::size_t> at(loops.size(), 0);
  while (true) {
    for (std::size_t k = 0; k < loops.size(); ++k)
      coordinates[static_cast<std::size_t>(loops[k])] = candidates[k][at[k]];
    if (!visit(coordinates)) return false;
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == candidates[k].size()) at[k++] = 0;
    if (k == at.size()) return true;
  }
}

}  // namespace

Result<std::vector<BusiestInstance>> busiest_instances(const Spec& spec) {
  std::vector<BusiestInstance> result;
  for (int level = 0; level < static_cast<int>(spec.machine.levels.size()); ++level) {
    if (spec.machine.storage(level) == nullptr) continue;
    BusiestInstance busiest;
    busiest.level = level;
    const int depth = depth_of_level(spec, level);
    if (depth >= 0) {
      InstanceTraffic instances(spec, level, depth);
      const bool done = for_each_candidate(spec, depth, [&](const std::vector<std::int64_t>& coordinates) {
        const auto traffic = instances.at(coordinates);
        if (!traffic) return false;
        busiest.read_bits = std::max(busiest.read_bits, traffic->read);
        busiest.written_bits = std::max(busiest.written_bits, traffic->written);
        busiest.moved_bits = std::max(busiest.moved_bits, traffic->read + traffic->written);
        return true;
      });
      if (!done) return too_many_positions();
    }
    if (busiest.read_bits.overflowed() || busiest.written_bits.overflowed() || busiest.moved_bits.overflowed()) {
      return fail("a count leaves 128 bits (about 1.7e38)");
    }
    result.push_back(busiest);
  }
  return result;
}

Result<std::vector<NetworkCounts>> network_counts(const Spec& spec) {
  std::vector<NetworkCounts> result;
  for (int tensor = 0; tensor < static_cast<int>(spec.einsum.tensors.size()); ++tensor) {
    const auto& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
    for (int hold = 1; hold < static_cast<int>(holds.size()); ++hold) {
      const Crossing crossing{&spec, tensor, hold};
      std::vector<int> meshes;
      for (int level = crossing.parent().level + 1; level < crossing.child().level; ++level) {
        if (spec.machine.mesh(level) != nullptr) meshes.push_back(level);
      }
      Count forwarded = 0;
      if (crossing.forwards()) {
        const auto joined = transferred(crossing.joined(), crossing.keep());
        const auto read = transferred(crossing.joined(), Keep::forwarded);
        if (!joined || !read) return too_many_positions();
        forwarded = *joined - *read;
      }
      bool outermost = true;
      for (int mesh : meshes) {
        // Elements on the mesh's outer side: its siblings together, and those of all meshes inside it.
        const auto outside = transferred(crossing.joined(mesh - 1), crossing.keep());
        const auto inside = transferred(crossing.joined(mesh), crossing.keep());
        if (!outside || !inside) return too_many_positions();
        NetworkCounts counts;
        counts.mesh = mesh;
        counts.tensor = tensor;
        counts.hold = hold;
        if (crossing.is_output()) {
          counts.collected = *inside;
          counts.delivered = *outside;
          counts.reduced = *inside - *outside;
        } else {
          counts.delivered = *inside;
          counts.forwarded = outermost ? forwarded : Count(0);
          counts.injected = *outside - counts.forwarded;
        }
        outermost = false;
        result.push_back(counts);
      }
    }
  }
  return result;
}

namespace {

/// Accesses of `width` bits, each transfer rounded up by itself.
std::optional<Count> accesses(const View& view, Keep keep, Count bits, Count width) {
  const auto classes = bursts(view, keep);
  if (!classes) return std::nullopt;
  Count sum = 0;
  for (const Burst& burst : *classes) sum += burst.times * ceil_div(burst.elements * bits, width);
  return sum;
}

}  // namespace

Result<std::vector<AccessCounts>> access_counts(const Spec& spec) {
  std::vector<AccessCounts> result;
  for (int tensor = 0; tensor < static_cast<int>(spec.einsum.tensors.size()); ++tensor) {
    const auto& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
    const Count bits = spec.einsum.tensors[static_cast<std::size_t>(tensor)].type.bits;
    for (int hold = 0; hold + 1 < static_cast<int>(holds.size()); ++hold) {
      const Storage& storage = *spec.machine.storage(holds[static_cast<std::size_t>(hold)].level);
      if (!storage.access_bits) continue;
      const Count width = *storage.access_bits;
      const Crossing above{&spec, tensor, hold};
      const Crossing below{&spec, tensor, hold + 1};
      AccessCounts counts{holds[static_cast<std::size_t>(hold)].level, tensor, 0, 0};
      const auto exchanged = accesses(below.joined(), below.forwards() ? Keep::forwarded : below.keep(), bits, width);
      if (!exchanged) return too_many_positions();
      counts.reads = *exchanged;
      const auto own = hold == 0 ? std::optional<Count>(0) : accesses(above.alone(), above.keep(), bits, width);
      if (!own) return too_many_positions();
      if (above.is_output()) {
        // An update reads what it adds to, but for the first of each residency; accesses are taken whole, in the
        // same proportion of transfers as elements.
        const auto updates = transferred(below.joined(), below.keep());
        const auto residencies = hold == 0 ? largest_tile(above.alone()) : transferred(above.alone(), above.keep());
        if (!updates || !residencies) return too_many_positions();
        counts.writes = *exchanged;
        counts.reads = ceil_div((*updates - *residencies) * *exchanged, *updates) + *own;
      } else {
        counts.writes = *own;
        if (above.forwards()) {
          const auto joined = accesses(above.joined(), above.keep(), bits, width);
          const auto read = accesses(above.joined(), Keep::forwarded, bits, width);
          if (!joined || !read) return too_many_positions();
          counts.reads += std::max(*joined - *read, Count(0));
        }
      }
      if (counts.reads.overflowed() || counts.writes.overflowed())
        return fail("a count leaves 128 bits (about 1.7e38)");
      result.push_back(counts);
    }
  }
  return result;
}

}  // namespace einflow
