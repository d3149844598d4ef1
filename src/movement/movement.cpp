#include "movement/movement.hpp"

#include <algorithm>

#include "movement/crossing.hpp"
#include "movement/uniform.hpp"

namespace einflow {
namespace {

tl::unexpected<Diagnostics> too_many_positions() {
  return fail("the nest has too many different tile positions to be counted in closed form",
              "padding that is wider than thousands of tiles, or a strided axis cut into very many uneven tiles");
}

/// Number of a rank's own temporal positions (all = false) or coordinates (all = true) that are ever active.
Count rank_count(const Spec& spec, int rank, int depth, bool coordinates) {
  View view;
  view.spec = &spec;
  view.depth = depth;
  view.join.assign(static_cast<std::size_t>(depth), coordinates ? Join::separate : Join::fixed);
  view.fixed_at.assign(spec.mapping.loops.size(), 0);
  // The first position of every temporal loop has the largest interval, so that every coordinate that is ever
  // active is active there; coordinate 0 is active at every step.
  const Group plain{false, {{rank, 1}}, std::nullopt};
  const int outer = coordinates ? 0 : temporal_loops(view, rank);
  const auto positions = rank_positions(view, rank, plain, {outer, false});
  Count total = 0;
  for (const Position& position : positions->positions) {
    for (std::size_t k = 0; k < position.cells; ++k) {
      if (positions->cell(position, k).now_length != 0) total += position.times;
    }
  }
  return total;
}

Count over_ranks(const Spec& spec, int depth, bool coordinates) {
  Count product = 1;
  for (int rank = 0; rank < static_cast<int>(spec.einsum.ranks.size()); ++rank) {
    product *= rank_count(spec, rank, depth, coordinates);
  }
  return product;
}

/// Fills in the counts of one hold below the outermost.
bool count_crossing(const Crossing& crossing, Count parent_residencies, HoldCounts& counts, Count& residencies) {
  const Keep keep = crossing.keep();
  const View alone_view = crossing.alone();
  const View joined_view = crossing.joined();
  const auto alone = transfer(alone_view, keep);
  if (!alone) return false;
  counts.tile_elements = alone->tile;
  residencies = alone->total();
  // Where no mesh joins siblings, both views are one.
  const auto joined =
      joined_view.join == alone_view.join ? std::optional<Count>(residencies) : transferred(joined_view, keep);
  if (!joined) return false;
  if (crossing.is_output()) {
    counts.drains = residencies;
    counts.parent_updates = *joined;
    counts.parent_rmw_reads = *joined - parent_residencies;
    return true;
  }
  counts.fills = residencies;
  counts.parent_reads = *joined;
  if (crossing.forwards()) {
    const auto read = transferred(joined_view, Keep::forwarded);
    if (!read) return false;
    counts.parent_reads = *read;
    counts.forwarded = *joined - *read;
  }
  return true;
}

bool overflowed(const HoldCounts& c) {
  return c.instances.overflowed() || c.tile_elements.overflowed() || c.fills.overflowed() ||
         c.parent_reads.overflowed() || c.forwarded.overflowed() || c.drains.overflowed() ||
         c.parent_updates.overflowed() || c.parent_rmw_reads.overflowed();
}

Result<Counts> checked(Counts counts) {
  bool bad = counts.operations.overflowed() || counts.steps.overflowed();
  for (const HoldCounts& hold : counts.holds) bad = bad || overflowed(hold);
  if (bad) return fail("a count leaves 128 bits (about 1.7e38)");
  return counts;
}

}  // namespace

Result<Counts> count_movement_general(const Spec& spec) {
  Counts counts;
  counts.operations = spec.einsum.operations();
  counts.steps = over_ranks(spec, static_cast<int>(spec.mapping.loops.size()), false);
  PositionCache cache;
  std::vector<std::optional<Count>> instances_at(spec.mapping.loops.size() + 1);
  for (int tensor = 0; tensor < static_cast<int>(spec.einsum.tensors.size()); ++tensor) {
    Count residencies = 0;
    const auto& holds = spec.mapping.holds[static_cast<std::size_t>(tensor)];
    for (int hold = 0; hold < static_cast<int>(holds.size()); ++hold) {
      const Crossing crossing{&spec, tensor, hold, &cache};
      HoldCounts entry;
      entry.tensor = tensor;
      entry.hold = hold;
      auto& instances = instances_at[static_cast<std::size_t>(crossing.child().depth)];
      if (!instances) instances = over_ranks(spec, crossing.child().depth, true);
      entry.instances = *instances;
      if (hold == 0) {
        const auto tile = largest_tile(crossing.alone());
        if (!tile) return too_many_positions();
        entry.tile_elements = residencies = *tile;
      } else if (!count_crossing(crossing, residencies, entry, residencies)) {
        return too_many_positions();
      }
      counts.holds.push_back(entry);
    }
  }
  return checked(std::move(counts));
}

Result<Counts> count_movement(const Spec& spec) {
  Counts counts;
  if (UniformLaw(spec.einsum, spec.machine).count(spec.mapping, counts)) return checked(std::move(counts));
  return count_movement_general(spec);
}

Result<Count> tile_changes(const Spec& spec, int tensor, int hold) {
  const Crossing crossing{&spec, tensor, hold};
  // Steps through the innermost loop outside the hold that moves the tensor; the loops inside that one leave it.
  int depth = 0;
  for (int i = 0; i < crossing.child().depth; ++i) {
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(i)];
    if (!loop.spatial && loop.trips > 1 && spec.einsum.has_rank(tensor, loop.rank)) depth = i + 1;
  }
  const Count steps = over_ranks(spec, depth, false);
  if (steps.overflowed()) return fail("a count leaves 128 bits (about 1.7e38)");
  return steps;
}

}  // namespace einflow
