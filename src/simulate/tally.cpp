#include "simulate/tally.hpp"

#include <algorithm>
#include <map>

namespace einflow::execution {

namespace {

Count whole_accesses(Count elements, Count bits, Count width) { return ceil_div(elements * bits, width); }

Count bits_of(const Spec& spec, int tensor) { return spec.einsum.tensors[static_cast<std::size_t>(tensor)].type.bits; }

}  // namespace

Tally::Tally(const Spec& spec) : spec_(spec), traffic_(spec.machine.levels.size()) {
  for (int t = 0; t <= spec.einsum.output(); ++t) {
    crossings_.emplace_back();
    const int holds = static_cast<int>(spec.mapping.holds[static_cast<std::size_t>(t)].size());
    for (int h = 0; h < holds; ++h) crossings_.back().push_back(h == 0 ? Crossing{} : crossing_of(spec, t, h));
  }
}

Tally::Crossing Tally::crossing_of(const Spec& spec, int tensor, int hold) const {
  const auto& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
  const Hold& here = holds[static_cast<std::size_t>(hold)];
  const Hold& parent = holds[static_cast<std::size_t>(hold) - 1];
  Crossing crossing;
  for (int level = parent.level + 1; level < here.level; ++level) {
    if (spec.machine.mesh(level) != nullptr) crossing.meshes.push_back(level);
  }
  const bool output = spec.einsum.is_output(tensor);
  for (std::size_t m = 0; m + 1 < crossing.meshes.size(); ++m) {
    // Coordinates in mixed radix; a loop over a mesh further in that shares does not tell them apart.
    std::vector<std::int64_t> group{0};
    for (int l = 0; l < here.depth; ++l) {
      const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(l)];
      if (!loop.spatial) continue;
      const Mesh& mesh = *spec.machine.mesh(loop.mesh);
      const bool one =
          l >= parent.depth && loop.mesh > crossing.meshes[m] && (output ? mesh.reduction : mesh.multicast);
      std::vector<std::int64_t> inner;
      for (std::int64_t outer : group) {
        for (std::int64_t index = 0; index < loop.trips; ++index)
          inner.push_back(outer * loop.trips + (one ? 0 : index));
      }
      group = std::move(inner);
    }
    crossing.groups.push_back(std::move(group));
  }
  crossing.crossed.assign(crossing.groups.size(), Count(0));
  return crossing;
}

Count Tally::width_of(int level) const {
  const Storage* storage = spec_.machine.storage(level);
  return storage != nullptr && storage->access_bits ? *storage->access_bits : Count(1);
}

void Tally::read(int level, std::int64_t instance, Count bits) {
  auto& instances = traffic_[static_cast<std::size_t>(level)];
  if (instances.size() <= static_cast<std::size_t>(instance)) instances.resize(static_cast<std::size_t>(instance) + 1);
  instances[static_cast<std::size_t>(instance)].first += bits;
}

void Tally::written(int level, std::int64_t instance, Count bits) {
  read(level, instance, 0);
  traffic_[static_cast<std::size_t>(level)][static_cast<std::size_t>(instance)].second += bits;
}

void Tally::change(const Residence& residence, const std::vector<Crossed>& crossed) {
  if (crossed.empty()) return;
  Crossing& crossing = crossings_[static_cast<std::size_t>(residence.tensor)][static_cast<std::size_t>(residence.hold)];
  for (std::size_t m = 0; m < crossing.groups.size(); ++m) {
    std::vector<std::pair<std::int64_t, Element>> pairs;
    for (const Crossed& c : crossed) {
      pairs.emplace_back(crossing.groups[m][static_cast<std::size_t>(c.coordinate)], c.element);
    }
    std::sort(pairs.begin(), pairs.end());
    crossing.crossed[m] += Count(std::unique(pairs.begin(), pairs.end()) - pairs.begin());
  }
  const auto& holds = spec_.mapping.holds[static_cast<std::size_t>(residence.tensor)];
  const Count bits = bits_of(spec_, residence.tensor);
  const Count own_width = width_of(residence.level);
  const Count parent_width = width_of(holds[static_cast<std::size_t>(residence.hold) - 1].level);
  if (own_width == Count(1) && parent_width == Count(1)) return;
  std::map<std::int64_t, int> by_coordinate;
  std::map<std::pair<std::int64_t, Element>, bool> shared;  // and whether a sibling has it
  for (const Crossed& c : crossed) {
    ++by_coordinate[c.coordinate];
    shared[{c.group, c.element}] = c.from_sibling;
  }
  for (const auto& [coordinate, elements] : by_coordinate) {
    crossing.own_accesses += whole_accesses(elements, bits, own_width);
  }
  std::map<std::int64_t, std::pair<int, int>> by_group;  // elements in all, and those not forwarded
  for (const auto& [key, forwarded] : shared) {
    ++by_group[key.first].first;
    if (!forwarded) ++by_group[key.first].second;
  }
  for (const auto& [group, elements] : by_group) {
    crossing.parent_accesses += whole_accesses(elements.second, bits, parent_width);
    crossing.shared_accesses += whole_accesses(elements.first, bits, own_width);
    crossing.unforwarded_accesses += whole_accesses(elements.second, bits, own_width);
  }
}

std::vector<BusiestInstance> Tally::busiest(const std::vector<std::vector<Residence>>& residences) const {
  std::vector<BusiestInstance> result;
  for (int level = 0; level < static_cast<int>(spec_.machine.levels.size()); ++level) {
    if (spec_.machine.storage(level) == nullptr) continue;
    // What siblings hand on is spread over the level's instances, in whole elements (docs/law.md section 6).
    Count handed_on = 0;
    for (const auto& holds : residences) {
      for (const Residence& residence : holds) {
        if (residence.level != level || residence.hold == 0) continue;
        handed_on +=
            ceil_div(residence.counts.forwarded, Count(residence.coordinates())) * bits_of(spec_, residence.tensor);
      }
    }
    BusiestInstance busiest;
    busiest.level = level;
    for (const auto& [read, written] : traffic_[static_cast<std::size_t>(level)]) {
      busiest.read_bits = std::max(busiest.read_bits, read + handed_on);
      busiest.written_bits = std::max(busiest.written_bits, written);
      busiest.moved_bits = std::max(busiest.moved_bits, read + handed_on + written);
    }
    result.push_back(busiest);
  }
  return result;
}

std::vector<NetworkCounts> Tally::networks(const std::vector<std::vector<Residence>>& residences) const {
  std::vector<NetworkCounts> result;
  for (const auto& holds : residences) {
    for (const Residence& residence : holds) {
      const Crossing& crossing =
          crossings_[static_cast<std::size_t>(residence.tensor)][static_cast<std::size_t>(residence.hold)];
      const bool output = spec_.einsum.is_output(residence.tensor);
      const HoldCounts& counts = residence.counts;
      for (std::size_t m = 0; m < crossing.meshes.size(); ++m) {
        const Count outside = m > 0    ? crossing.crossed[m - 1]
                              : output ? counts.parent_updates
                                       : counts.parent_reads + counts.forwarded;
        const Count inside = m + 1 < crossing.meshes.size() ? crossing.crossed[m]
                             : output                       ? counts.drains
                                                            : counts.fills;
        NetworkCounts network;
        network.mesh = crossing.meshes[m];
        network.tensor = residence.tensor;
        network.hold = residence.hold;
        network.delivered = output ? outside : inside;
        if (output) {
          network.collected = inside;
          network.reduced = inside - outside;
        } else {
          network.forwarded = m == 0 ? counts.forwarded : Count(0);
          network.injected = outside - network.forwarded;
        }
        result.push_back(network);
      }
    }
  }
  return result;
}

std::vector<AccessCounts> Tally::accesses(const std::vector<std::vector<Residence>>& residences) const {
  std::vector<AccessCounts> result;
  for (const auto& holds : residences) {
    for (std::size_t h = 0; h + 1 < holds.size(); ++h) {
      const Storage* storage = spec_.machine.storage(holds[h].level);
      if (storage == nullptr || !storage->access_bits) continue;
      const auto tensor = static_cast<std::size_t>(holds[h].tensor);
      const Crossing& above = crossings_[tensor][h];
      const Crossing& below = crossings_[tensor][h + 1];
      AccessCounts counts{holds[h].level, holds[h].tensor, below.parent_accesses, above.own_accesses};
      if (spec_.einsum.is_output(holds[h].tensor)) {
        // Updates that find an earlier sum read it: accesses in the proportion of elements, rounded up.
        const HoldCounts& updates = holds[h + 1].counts;
        counts.writes = below.parent_accesses;
        counts.reads = ceil_div(updates.parent_rmw_reads * below.parent_accesses, updates.parent_updates);
        counts.reads += above.own_accesses;
      } else {
        counts.reads += std::max(above.shared_accesses - above.unforwarded_accesses, Count(0));
      }
      result.push_back(counts);
    }
  }
  return result;
}

}  // namespace einflow::execution
