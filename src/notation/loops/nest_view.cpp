#include "notation/loops/nest_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "mapping/stationarity.hpp"

namespace einflow::loops {

namespace {

bool ends_in_digit(const std::string& name) { return name.back() >= '0' && name.back() <= '9'; }

/// The rank that a reader takes a variable for: the one of its name, or of its stem; -1 where there is none.
int rank_of_variable(const Einsum& einsum, const std::string& variable) {
  const int exact = einsum.rank_named(variable);
  if (exact >= 0 || !ends_in_digit(variable)) return exact;
  std::size_t end = variable.size();
  while (end > 0 && variable[end - 1] >= '0' && variable[end - 1] <= '9') --end;
  if (end > 1 && variable[end - 1] == '_') --end;
  return einsum.rank_named(variable.substr(0, end));
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  }
  return text;
}

class ViewBuilder {
 public:
  ViewBuilder(const Spec& spec, const std::set<std::string>& taken) : spec_(spec), taken_(taken) {}

  Result<NestView> build() {
    view_.tilings.resize(spec_.einsum.ranks.size());
    for (std::size_t r = 0; r < view_.tilings.size(); ++r) view_.tilings[r].extent = spec_.einsum.ranks[r].extent;
    add_loops();
    if (!name_loops()) return tl::unexpected(std::move(errors_));
    add_holds();
    return std::move(view_);
  }

 private:
  void add_loop(WrittenLoop::Kind kind, int rank, std::int64_t tile) {
    Tiling& tiling = view_.tilings[static_cast<std::size_t>(rank)];
    tiling.loops.push_back(static_cast<int>(view_.loops.size()));
    tiling.tiles.push_back(tile);
    ShownLoop loop;
    loop.kind = kind;
    loop.rank = rank;
    loop.bound = trip_bound(tiling, tiling.loops.size() - 1);
    view_.loops.push_back(std::move(loop));
  }

  void add_loops() {
    const std::vector<Loop>& loops = spec_.mapping.loops;
    for (std::size_t i = 0; i < loops.size(); ++i) {
      add_loop(loops[i].spatial ? WrittenLoop::Kind::spatial : WrittenLoop::Kind::temporal, loops[i].rank,
               loops[i].tile);
      ShownLoop& shown = view_.loops.back();
      shown.note = loops[i].spatial ? spatial_note(loops[i]) : temporal_note(i);
      if (!loops[i].spatial) continue;
      const Mesh& mesh = *spec_.machine.mesh(loops[i].mesh);
      shown.axis = mesh.name + "." + mesh.axes[static_cast<std::size_t>(loops[i].axis)].name;
    }
    view_.mapped = static_cast<int>(loops.size());
    for (std::size_t rank = 0; rank < view_.tilings.size(); ++rank) {
      const Tiling& tiling = view_.tilings[rank];
      if (tiling.left(tiling.loops.size()) == 1) continue;
      add_loop(WrittenLoop::Kind::atomic, static_cast<int>(rank), 1);
      view_.loops.back().note = "one operation of " + spec_.machine.compute().name;
    }
  }

  const std::string& tensor_name(std::size_t tensor) const { return spec_.einsum.tensors[tensor].name; }

  /// docs/law.md section 5, as the next hold inside the loop sees it.
  std::string temporal_note(std::size_t index) const {
    const Loop& loop = spec_.mapping.loops[index];
    if (loop.trips == 1) return {};
    std::vector<std::string> stationary;
    std::vector<std::string> refetched;
    for (std::size_t tensor = 0; tensor < spec_.einsum.tensors.size(); ++tensor) {
      const int number = static_cast<int>(tensor);
      if (spec_.einsum.has_rank(number, loop.rank)) continue;
      const std::vector<Hold>& holds = spec_.mapping.holds[tensor];
      const auto inside = std::find_if(holds.begin(), holds.end(),
                                       [&](const Hold& hold) { return hold.depth > static_cast<int>(index); });
      bool moved = false;
      for (std::size_t j = index + 1; static_cast<int>(j) < inside->depth && !moved; ++j) {
        const Loop& between = spec_.mapping.loops[j];
        moved = !between.spatial && between.trips > 1 && spec_.einsum.has_rank(number, between.rank);
      }
      (moved ? refetched : stationary).push_back(tensor_name(tensor));
    }
    std::string note = stationary.empty() ? "" : joined(stationary) + " stationary";
    if (!refetched.empty()) note += (note.empty() ? "" : ", ") + joined(refetched) + " refetched";
    return note;
  }

  std::string spatial_note(const Loop& loop) const {
    std::map<SpatialRole, std::vector<std::string>> by_role;
    for (std::size_t tensor = 0; tensor < spec_.einsum.tensors.size(); ++tensor) {
      by_role[spatial_role(spec_.einsum, loop, static_cast<int>(tensor))].push_back(tensor_name(tensor));
    }
    std::string note;
    for (const auto& [role, names] : by_role) {
      note += note.empty() ? "" : ", ";
      note +=
          role == SpatialRole::partial_sums ? "partial sums of " + joined(names) : joined(names) + " " + to_text(role);
    }
    return note;
  }

  bool name_loops() {
    for (std::size_t rank = 0; rank < view_.tilings.size(); ++rank) {
      const std::vector<int>& loops = view_.tilings[rank].loops;
      for (std::size_t i = 0; i < loops.size(); ++i) {
        const std::string& name = spec_.einsum.ranks[rank].name;
        const auto variable = variable_of(static_cast<int>(rank), loops.size(), loops.size() - 1 - i);
        if (!variable) {
          errors_.push_back({{},
                             fmt::format("the loops of rank {} cannot be named so that they differ from other names",
                                         in_quotes(name)),
                             "rename the rank",
                             {}});
          return false;
        }
        taken_.insert(*variable);
        view_.loops[static_cast<std::size_t>(loops[i])].variable = *variable;
      }
    }
    return true;
  }

  std::optional<std::string> variable_of(int rank, std::size_t loops, std::size_t number) const {
    const std::string& name = spec_.einsum.ranks[static_cast<std::size_t>(rank)].name;
    std::vector<std::string> candidates;
    if (loops == 1) candidates.push_back(name);
    if (!ends_in_digit(name)) candidates.push_back(fmt::format("{}{}", name, number));
    candidates.push_back(fmt::format("{}_{}", name, number));
    for (const int far : {100, 1000}) candidates.push_back(fmt::format("{}_{}", name, far + static_cast<int>(number)));
    for (const std::string& candidate : candidates) {
      if (!taken_.contains(candidate) && rank_of_variable(spec_.einsum, candidate) == rank) return candidate;
    }
    return std::nullopt;
  }

  void add_holds() {
    view_.holds.resize(view_.loops.size() + 1);
    for (const MovementOrder& order : movement_orders(spec_)) {
      if (order.level == spec_.machine.compute_level()) continue;
      ShownHold hold;
      hold.level = spec_.machine.level_name(order.level);
      for (const int tensor : order.tensors) {
        hold.tensors += (hold.tensors.empty() ? "" : " ") + tensor_name(static_cast<std::size_t>(tensor));
      }
      if (!order.loops.empty() && order.loops.front().stationary.size() == 1) {
        hold.note = stationary_name(spec_.einsum, order.loops.front().stationary.front());
      }
      view_.holds[static_cast<std::size_t>(order.depth)].push_back(std::move(hold));
    }
  }

  const Spec& spec_;
  std::set<std::string> taken_;
  NestView view_;
  Diagnostics errors_;
};

std::string machine_line(const Machine& machine) {
  std::string text;
  for (const Level& level : machine.levels) {
    text += text.empty() ? "" : " > ";
    const auto* mesh = std::get_if<Mesh>(&level);
    text += std::visit([](const auto& kind) { return kind.name; }, level);
    for (std::size_t a = 0; mesh != nullptr && a < mesh->axes.size(); ++a) {
      text += fmt::format("{} {} {}", a == 0 ? "" : ",", mesh->axes[a].name, mesh->axes[a].size);
    }
  }
  return text;
}

}  // namespace

Result<NestView> view_nest(const Spec& spec, const std::set<std::string>& taken) {
  return ViewBuilder(spec, taken).build();
}

std::string index_text(const NestView& view, int rank, std::size_t loops) {
  const Tiling& tiling = view.tilings[static_cast<std::size_t>(rank)];
  std::string text;
  for (std::size_t i = 0; i < std::min(loops, tiling.loops.size()); ++i) {
    text += (text.empty() ? "" : "+") + view.loops[static_cast<std::size_t>(tiling.loops[i])].variable;
    if (tiling.tiles[i] != 1) text += fmt::format("*{}", tiling.tiles[i]);
  }
  return text;
}

std::string index_text(const NestView& view, int rank) {
  return index_text(view, rank, view.tilings[static_cast<std::size_t>(rank)].loops.size());
}

std::string index_text(const NestView& view, const Axis& axis) {
  std::string text;
  for (const Term& term : axis.terms) {
    const std::string index = index_text(view, term.rank);
    if (index.empty()) continue;
    if (!text.empty()) text += "+";
    const bool several = index.find('+') != std::string::npos;
    if (term.coefficient == 1) {
      text += index;
    } else {
      text += fmt::format("{}*{}", term.coefficient, several ? "(" + index + ")" : index);
    }
  }
  if (text.empty()) return std::to_string(axis.constant);
  if (axis.constant != 0) text += fmt::format("{:+}", axis.constant);
  return text;
}

std::string term_text(const NestView& view, const Affine& term) {
  std::string text = term.constant.str();
  for (const auto& [loop, factor] : term.terms) {
    const std::string& variable = view.loops[static_cast<std::size_t>(loop)].variable;
    const Count size = Count(0) - factor;
    text += size == Count(1) ? " - " + variable : fmt::format(" - {}*{}", size.str(), variable);
  }
  return text;
}

std::vector<std::string> description(const Spec& spec) {
  std::vector<std::string> lines;
  const Einsum& einsum = spec.einsum;
  if (!einsum.name.empty()) lines.push_back(printable(einsum.name, 200));
  lines.push_back(to_text(einsum));
  std::string sizes;
  for (const Rank& rank : einsum.ranks)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", rank.name, rank.extent);
  lines.push_back(sizes);
  const std::string name = spec.machine.name.empty() ? "" : printable(spec.machine.name, 200) + ", ";
  lines.push_back("on " + name + machine_line(spec.machine));
  return lines;
}

Result<Spec> spec_to_write(const Document& document) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  auto spec = spec_of(**layer);
  if (!spec) return tl::unexpected(spec.error());
  if (spec->mapping.holds.empty()) {
    return fail("there is no mapping, so there is no nest to write",
                "a spec's `mapping`, or --mapping FILE, gives one");
  }
  return spec;
}

std::vector<std::string> beside_the_spec(const Document& document) {
  std::vector<std::string> left_out;
  const DocumentLayer& layer = document.layers.front();
  if (layer.repeat != 1) left_out.push_back(fmt::format("the layer occurs {} times", layer.repeat));
  if (layer.parameters) left_out.push_back(fmt::format("its {} parameters", layer.parameters->str()));
  for (const DocumentFigure& figure : document.figures) {
    left_out.push_back(fmt::format("{}: {} {}", figure.name, figure.value.str(), figure.unit));
  }
  return left_out;
}

}  // namespace einflow::loops
