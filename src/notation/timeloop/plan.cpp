#include "notation/timeloop/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::timeloop {

namespace {

class Planner {
 public:
  Planner(const Spec& spec, bool mapped, std::vector<std::string>& left_out)
      : spec_(spec), mapped_(mapped), left_out_(left_out) {}

  Result<Plan> plan() {
    check_machine();
    if (mapped_) {
      check_holds();
      check_tiles();
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    push_level(0);
    if (mapped_) lay_out_loops();
    pass_to(spec_.machine.compute_level() - 1);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(plan_);
  }

 private:
  struct Item {
    PlannedLoop loop;
    int mesh = -1;
    std::string line;  // as the nest has it, for messages
  };

  void error(std::string message, std::string hint = {}) {
    errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }

  const std::string& rank_name(int rank) const { return spec_.einsum.ranks[static_cast<std::size_t>(rank)].name; }

  void check_machine() {
    for (const Level& level : spec_.machine.levels) {
      const auto* mesh = std::get_if<Mesh>(&level);
      if (mesh == nullptr) continue;
      const auto wide =
          std::count_if(mesh->axes.begin(), mesh->axes.end(), [](const MeshAxis& a) { return a.size > 1; });
      if (wide > 2) error(fmt::format("the mesh {} has {} axes; Timeloop's have X and Y", in_quotes(mesh->name), wide));
      if (!mesh->multicast || !mesh->reduction) {
        error(fmt::format("the mesh {} has no {}; Timeloop's networks always have it", in_quotes(mesh->name),
                          mesh->multicast ? "reduction" : "multicast"));
      }
      if (mesh->forwarding) {
        error(fmt::format("the mesh {} forwards; Timeloop's files do not say whether neighbours hand words on",
                          in_quotes(mesh->name)));
      }
      if (mesh->systolic != SystolicTiming::none) {
        error(fmt::format("the mesh {} has systolic timing; Timeloop has none", in_quotes(mesh->name)));
      }
    }
  }

  /// A storage of Timeloop holds all its tensors at one place of the nest.
  void check_holds() {
    depths_.assign(spec_.machine.levels.size(), -1);
    for (std::size_t t = 0; t < spec_.mapping.holds.size(); ++t) {
      for (const Hold& hold : spec_.mapping.holds[t]) {
        int& depth = depths_[static_cast<std::size_t>(hold.level)];
        if (depth >= 0 && depth != hold.depth) {
          error(fmt::format("{} holds tensors at two places of the nest; in Timeloop a level has one",
                            in_quotes(spec_.machine.level_name(hold.level))),
                "put the tensors into one 'at' line");
          return;
        }
        depth = hold.depth;
      }
    }
  }

  /// Timeloop multiplies factors: all rounds but the last are full, so a tile is a multiple of the next one inside.
  void check_tiles() {
    std::vector<std::int64_t> around(spec_.einsum.ranks.size(), 0);
    for (const Loop& loop : spec_.mapping.loops) {
      std::int64_t& outer = around[static_cast<std::size_t>(loop.rank)];
      if (outer > 0 && outer % loop.tile != 0) {
        error(fmt::format(
            "the tile {} of {} is no multiple of the tile {} inside it; in Timeloop only the last round of a "
            "dimension has a remainder",
            outer, in_quotes(rank_name(loop.rank)), loop.tile));
      }
      outer = loop.tile;
    }
  }

  /// The loops with factors and residuals: what is left of a rank in its last round is cut on and on.
  std::vector<Item> items() {
    std::vector<std::int64_t> tile, last;
    for (const Rank& rank : spec_.einsum.ranks) {
      tile.push_back(rank.extent);
      last.push_back(rank.extent);
    }
    std::vector<Item> items;
    bool outermost_cut = false;
    for (const Loop& loop : spec_.mapping.loops) {
      const auto r = static_cast<std::size_t>(loop.rank);
      Item item;
      item.loop.rank = loop.rank;
      item.loop.bound = loop.trips;
      item.loop.residual = 1 + (last[r] - 1) / loop.tile;
      last[r] -= (item.loop.residual - 1) * loop.tile;
      tile[r] = loop.tile;
      item.line = fmt::format("{} {} by {}", loop.spatial ? "par" : "for", rank_name(loop.rank), loop.tile);
      if (loop.spatial) {
        item.mesh = loop.mesh;
        const Mesh& mesh = *spec_.machine.mesh(loop.mesh);
        item.loop.y = is_y(mesh, loop.axis);
      }
      plan_.remainders = plan_.remainders || item.loop.residual != item.loop.bound;
      outermost_cut = outermost_cut || loop.trips == 1;
      items.push_back(std::move(item));
    }
    if (outermost_cut) left_out_.push_back("loops of a single iteration");
    return items;
  }

  /// The axis named y, or else the second of those with more than one instance.
  static bool is_y(const Mesh& mesh, int axis) {
    const auto wide = [](const MeshAxis& a) { return a.size > 1; };
    const auto at = static_cast<std::size_t>(axis);
    const bool named = std::all_of(mesh.axes.begin(), mesh.axes.end(),
                                   [](const MeshAxis& a) { return a.size == 1 || a.name == "x" || a.name == "y"; });
    if (named) return mesh.axes[at].name == "y";
    return std::any_of(mesh.axes.begin(), mesh.axes.begin() + axis, wide);
  }

  void push_level(int level) {
    if (const Storage* storage = spec_.machine.storage(level)) {
      PlannedStorage stage{storage, {}, std::vector<bool>(spec_.einsum.tensors.size(), !mapped_)};
      for (std::size_t t = 0; t < spec_.mapping.holds.size() && mapped_; ++t) {
        for (const Hold& hold : spec_.mapping.holds[t]) {
          if (hold.level == level) stage.keeps[t] = true;
        }
      }
      plan_.stages.emplace_back(std::move(stage));
    } else if (const Mesh* mesh = spec_.machine.mesh(level)) {
      push_mesh(*mesh);
    }
  }

  void push_mesh(const Mesh& mesh) {
    PlannedMesh stage{&mesh, 1, 1, {}};
    std::vector<std::string> order;
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      const MeshAxis& found = mesh.axes[axis];
      if (found.size == 1) {
        left_out_.push_back(fmt::format("{}.{}: an axis of one instance", mesh.name, found.name));
        continue;
      }
      const bool y = is_y(mesh, static_cast<int>(axis));
      (y ? stage.y : stage.x) = found.size;
      if (found.name != (y ? "y" : "x")) {
        left_out_.push_back(
            fmt::format("{}.{}: the name of the axis, {} in Timeloop", mesh.name, found.name, y ? "Y" : "X"));
      }
      order.push_back(y ? "y" : "x");
    }
    if (order == std::vector<std::string>{"y", "x"}) {
      left_out_.push_back(fmt::format("{}: the order of its axes", mesh.name));
    }
    if (mesh.hop_energy) {
      left_out_.push_back(fmt::format("{}: its energy per hop; Timeloop counts other hops", mesh.name));
    }
    plan_.stages.emplace_back(std::move(stage));
    if (order.empty()) {
      left_out_.push_back(fmt::format("{}: a mesh of one instance", mesh.name));
      plan_.stages.pop_back();
    }
  }

  /// Everything of the machine up to a level, in order.
  void pass_to(int level) {
    while (passed_ < level) push_level(++passed_);
  }

  void lay_out_loops() {
    std::vector<Item> all = items();
    std::size_t next = 0;
    const auto count = static_cast<int>(all.size());
    for (int depth = 0; depth <= count; ++depth) {
      for (int level = passed_ + 1; level < spec_.machine.compute_level(); ++level) {
        if (depths_[static_cast<std::size_t>(level)] == depth) pass_to(level);
      }
      if (depth == count) break;
      if (static_cast<std::size_t>(depth) < next) continue;
      // Neighbouring spatial loops are in space together: their order among each other is Timeloop's.
      next = static_cast<std::size_t>(depth) + 1;
      if (all[static_cast<std::size_t>(depth)].mesh < 0) {
        place(all[static_cast<std::size_t>(depth)]);
        continue;
      }
      while (next < all.size() && all[next].mesh >= 0 && !holds_at(static_cast<int>(next))) ++next;
      place_together({all.begin() + depth, all.begin() + static_cast<std::ptrdiff_t>(next)});
    }
  }

  bool holds_at(int depth) const {
    for (int level = 0; level < spec_.machine.compute_level(); ++level) {
      if (depths_[static_cast<std::size_t>(level)] == depth) return true;
    }
    return false;
  }

  void place_together(std::vector<Item> run) {
    std::vector<Item> sorted = run;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Item& a, const Item& b) {
      return a.mesh != b.mesh ? a.mesh < b.mesh : a.loop.y && !b.loop.y;
    });
    bool same = true;
    for (std::size_t i = 0; i < run.size(); ++i) same = same && run[i].line == sorted[i].line;
    if (!same) {
      for (int rank = 0; rank < static_cast<int>(spec_.einsum.ranks.size()); ++rank) {
        std::vector<std::string> before, after;
        for (const Item& item : run)
          if (item.loop.rank == rank) before.push_back(item.line);
        for (const Item& item : sorted)
          if (item.loop.rank == rank) after.push_back(item.line);
        if (before == after) continue;
        error(fmt::format(
            "'{}' stands outside '{}'; Timeloop has spatial loops along Y outside those along X, and meshes "
            "in the machine's order",
            before.front(), before.back()));
        return;
      }
      left_out_.push_back(fmt::format("the order of par lines around '{}': Y stands outside X", run.front().line));
    }
    for (const Item& item : sorted) place(item);
  }

  /// Loops are placed from outside in; what has no place at a level of the machine gets a dummy storage.
  void place(const Item& item) {
    if (item.loop.bound == 1) return;
    if (item.mesh < 0) {
      auto* storage = std::get_if<PlannedStorage>(&plan_.stages.back());
      if (storage == nullptr || has_rank(storage->loops, item.loop.rank)) {
        plan_.stages.emplace_back(PlannedStorage{nullptr, {}, std::vector<bool>(spec_.einsum.tensors.size(), false)});
        storage = std::get_if<PlannedStorage>(&plan_.stages.back());
      }
      storage->loops.push_back(item.loop);
      return;
    }
    pass_to(item.mesh);
    const Mesh* mesh = spec_.machine.mesh(item.mesh);
    auto* last = std::get_if<PlannedMesh>(&plan_.stages.back());
    if (last == nullptr || last->mesh != mesh) {
      error(fmt::format(
          "'{}' on {} stands inside loops of levels further in; in Timeloop all spatial loops of a mesh are "
          "at one place",
          item.line, in_quotes(mesh->name)));
    } else if (has_rank(last->loops, item.loop.rank)) {
      error(fmt::format("two spatial loops over {} on {}; Timeloop has one factor of a dimension there",
                        in_quotes(rank_name(item.loop.rank)), in_quotes(mesh->name)));
    } else {
      last->loops.push_back(item.loop);
    }
  }

  static bool has_rank(const std::vector<PlannedLoop>& loops, int rank) {
    return std::any_of(loops.begin(), loops.end(), [&](const PlannedLoop& loop) { return loop.rank == rank; });
  }

  const Spec& spec_;
  const bool mapped_;
  std::vector<std::string>& left_out_;
  Diagnostics errors_;
  Plan plan_;
  std::vector<int> depths_;  // of each level's holds; -1 where it holds nothing
  int passed_ = 0;           // the innermost level that the plan has reached
};

}  // namespace

Result<Plan> plan_of(const Spec& spec, bool mapped, std::vector<std::string>& left_out) {
  return Planner(spec, mapped, left_out).plan();
}

}  // namespace einflow::timeloop
