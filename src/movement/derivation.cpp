#include "movement/derivation.hpp"

#include <fmt/format.h>

#include "movement/crossing.hpp"
#include "movement/movement.hpp"

namespace einflow {
namespace {

const Loop& loop_at(const Spec& spec, int index) { return spec.mapping.loops[static_cast<std::size_t>(index)]; }

const std::string& rank_name(const Spec& spec, int rank) {
  return spec.einsum.ranks[static_cast<std::size_t>(rank)].name;
}

std::string loop_name(const Spec& spec, int index) {
  const Loop& loop = loop_at(spec, index);
  return fmt::format("{} {} by {}", loop.spatial ? "par" : "for", rank_name(spec, loop.rank), loop.tile);
}

std::string group_name(const Spec& spec, const Group& group) {
  std::string name;
  for (const Term& term : group.terms) name += (name.empty() ? "" : "+") + rank_name(spec, term.rank);
  return name.empty() ? "1" : name;
}

/// A formula in two voices: names and values, built in step.
struct Text {
  std::string names;
  std::string values;

  void times(const std::string& name, Count value) {
    const char* joint = values.empty() ? "" : " * ";
    names += joint + name;
    values += joint + value.str();
  }
  bool empty() const { return values.empty(); }
};

Text one_if_empty(Text text) {
  if (text.empty()) text = {"1", "1"};
  return text;
}

Text in_brackets(const Text& text) {
  if (text.values.find(' ') == std::string::npos) return text;
  return {"(" + text.names + ")", "(" + text.values + ")"};
}

Text minus(Text a, const Text& b) {
  a.names += " - " + b.names;
  a.values += " - " + b.values;
  return a;
}

/// Product of a row of per-group numbers; ones are left out.
Text product(const Spec& spec, const std::vector<Group>& groups, const Factors& factors, const std::string& verb) {
  Text text;
  for (std::size_t g = 0; g < factors.factors.size(); ++g) {
    if (factors.factors[g] == Count(1)) continue;
    text.times(fmt::format("{}({})", verb, group_name(spec, groups[g])), factors.factors[g]);
  }
  return one_if_empty(text);
}

/// The product form of the law as it stands: everything present at each step, less what each change leaves.
Text general_form(const Spec& spec, const std::vector<Group>& groups, const Transfer& transfer) {
  Text text = product(spec, groups, transfer.sizes, "all");
  for (const Factors& kept : transfer.kept) {
    if (kept.product() == Count(0)) continue;
    Text part = product(spec, groups, kept, "stay");
    part.names += fmt::format(" at [{}]", loop_name(spec, kept.loop));
    text = minus(std::move(text), in_brackets(part));
  }
  return text;
}

/// Sizes of the tile at one position (siblings together where merged), per group.
Text tile_form(const Spec& spec, const View& view) {
  Text text;
  for (const Group& group : groups_of(spec.einsum, view.tensor)) {
    if (!group.indexed) continue;
    const Count size = group_tile(view, group).value_or(Count::overflow());
    if (size != Count(1)) text.times(fmt::format("tile({})", group_name(spec, group)), size);
  }
  return one_if_empty(text);
}

/// The textbook rule: tile size x trips of all temporal loops from the outermost in to the innermost that moves
/// the tensor x the coordinates counted by themselves. It holds where tiles divide and no window slides; the caller
/// compares its value with the law's.
struct Textbook {
  Text text;
  Count value;
};
Textbook textbook(const Spec& spec, const View& view, bool forgets) {
  int moving = 0;
  for (int i = 0; i < view.depth; ++i) {
    const Loop& loop = loop_at(spec, i);
    if (!loop.spatial && loop.trips > 1 && spec.einsum.has_rank(view.tensor, loop.rank)) moving = i + 1;
  }
  if (forgets) moving = view.depth;
  Textbook result;
  result.value = largest_tile(view).value_or(Count::overflow());
  Text tile = tile_form(spec, view);
  if (tile.values != "1") result.text = in_brackets(tile);
  for (int i = 0; i < view.depth; ++i) {
    const Loop& loop = loop_at(spec, i);
    const bool counted = loop.spatial ? view.join[static_cast<std::size_t>(i)] == Join::separate : i < moving;
    if (!counted || loop.trips == 1) continue;
    result.text.times(fmt::format("[{}]", loop_name(spec, i)), Count(loop.trips));
    result.value *= Count(loop.trips);
  }
  result.text = one_if_empty(result.text);
  return result;
}

/// A transfer's total as a formula.
struct Formula {
  Text text;
  Count value;
};
std::optional<Formula> formula_for(const Crossing& crossing, const View& view, Keep keep) {
  const auto moved = transfer(view, keep);
  if (!moved) return std::nullopt;
  const Count value = moved->total();
  const Spec& spec = *crossing.spec;
  if (keep != Keep::forwarded) {
    Textbook simple = textbook(spec, view, keep == Keep::nothing);
    if (simple.value == value) return Formula{simple.text, value};
  }
  return Formula{general_form(spec, groups_of(spec.einsum, view.tensor), *moved), value};
}

class Deriver {
 public:
  Deriver(const Spec& spec, std::vector<Derivation>& out) : spec_(spec), out_(out) {}

  bool hold(const HoldCounts& counts, Count parent_residencies) {
    const Crossing crossing{&spec_, counts.tensor, counts.hold};
    tensor_ = counts.tensor;
    hold_ = counts.hold;
    add("tile_elements", counts.tile_elements, tile_form(spec_, crossing.alone()),
        "elements of the largest tile of one instance");
    add("instances", counts.instances, instances_form(crossing, counts.instances),
        "coordinates of the mesh that are used");
    if (counts.hold == 0) return true;
    return crossing.is_output() ? output(crossing, counts, parent_residencies) : input(crossing, counts);
  }

 private:
  void add(const char* quantity, Count value, const Text& text, const char* meaning) {
    out_.push_back({tensor_, hold_, quantity, value, text.names, text.values, meaning});
  }

  Text instances_form(const Crossing& crossing, Count value) const {
    Text text;
    Count product = 1;
    for (int i = 0; i < crossing.child().depth; ++i) {
      const Loop& loop = loop_at(spec_, i);
      if (!loop.spatial || loop.trips == 1) continue;
      text.times(fmt::format("[{}]", loop_name(spec_, i)), Count(loop.trips));
      product *= Count(loop.trips);
    }
    if (product == value) return one_if_empty(text);
    return {"coordinates with work (uneven tiles leave others idle throughout)", value.str()};
  }

  bool input(const Crossing& crossing, const HoldCounts& counts) {
    const auto fills = formula_for(crossing, crossing.alone(), crossing.keep());
    const auto joined = formula_for(crossing, crossing.joined(), crossing.keep());
    if (!fills || !joined) return false;
    add("fills", counts.fills, fills->text, "elements written into the hold, over all instances");
    if (!crossing.forwards()) {
      add("parent_reads", counts.parent_reads, joined->text,
          "elements read from the parent; a multicast read counts once");
      add("forwarded", counts.forwarded, {"none", "0"}, "elements taken from siblings: no mesh forwards here");
      return true;
    }
    const auto read = formula_for(crossing, crossing.joined(), Keep::forwarded);
    if (!read) return false;
    add("parent_reads", counts.parent_reads, read->text,
        "elements read from the parent that no sibling held the step before");
    add("forwarded", counts.forwarded, minus(in_brackets(joined->text), in_brackets(read->text)),
        "elements taken from siblings: multicast reads less the reads that are left");
    return true;
  }

  bool output(const Crossing& crossing, const HoldCounts& counts, Count parent_residencies) {
    const auto drains = formula_for(crossing, crossing.alone(), crossing.keep());
    const auto updates = formula_for(crossing, crossing.joined(), crossing.keep());
    if (!drains || !updates) return false;
    add("drains", counts.drains, drains->text, "elements read out of the hold when they leave it, over all instances");
    add("parent_updates", counts.parent_updates, updates->text,
        "elements that arrive at the parent; merged ones count once");
    const Text residencies{"residencies at the parent", parent_residencies.str()};
    add("parent_rmw_reads", counts.parent_rmw_reads, minus(in_brackets(updates->text), residencies),
        "updates that find an earlier sum: all but the first of each residency at the parent");
    return true;
  }

  const Spec& spec_;
  std::vector<Derivation>& out_;
  int tensor_ = 0;
  int hold_ = 0;
};

}  // namespace

std::string to_text(LoopRole::Role role) {
  switch (role) {
    case LoopRole::Role::moves:
      return "moves";
    case LoopRole::Role::stationary:
      return "stationary under";
    case LoopRole::Role::refetches:
      return "refetches";
    case LoopRole::Role::split:
      return "split";
    case LoopRole::Role::replicated:
      return "replicated";
    case LoopRole::Role::partial_sums:
      return "partial sums";
  }
  return "";
}

std::vector<LoopRole> loop_roles(const Spec& spec, int tensor, int hold) {
  const Crossing crossing{&spec, tensor, hold};
  const int depth = crossing.child().depth;
  std::vector<LoopRole> roles;
  // Where nothing survives a step, every step brings the operands anew: no loop leaves them in place.
  bool moved_inside = crossing.forgets();
  for (int i = depth - 1; i >= 0; --i) {
    const Loop& loop = loop_at(spec, i);
    if (loop.trips == 1) continue;
    const bool own = spec.einsum.has_rank(tensor, loop.rank);
    LoopRole role{i, LoopRole::Role::moves};
    if (loop.spatial) {
      role.role = own                             ? LoopRole::Role::split
                  : spec.einsum.is_output(tensor) ? LoopRole::Role::partial_sums
                                                  : LoopRole::Role::replicated;
    } else if (!own) {
      role.role = moved_inside ? LoopRole::Role::refetches : LoopRole::Role::stationary;
    } else {
      moved_inside = true;
    }
    roles.insert(roles.begin(), role);
  }
  return roles;
}

Result<std::vector<Derivation>> derive(const Spec& spec) {
  const auto counts = count_movement(spec);
  if (!counts) return tl::unexpected(counts.error());
  std::vector<Derivation> result;
  Deriver deriver(spec, result);
  Count residencies = 0;
  for (const HoldCounts& hold : counts->holds) {
    if (!deriver.hold(hold, residencies)) return fail("the nest has too many different tile positions to be derived");
    residencies = hold.hold == 0 ? hold.tile_elements : hold.drains;
  }
  return result;
}

}  // namespace einflow
