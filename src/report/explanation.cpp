#include "report/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/holds_json.hpp"
#include "report/nest_text.hpp"
#include "report/words.hpp"

namespace einflow {

namespace {

const Loop& loop_at(const Spec& spec, int index) { return spec.mapping.loops[static_cast<std::size_t>(index)]; }

const std::string& tensor_name(const Spec& spec, int tensor) {
  return spec.einsum.tensors[static_cast<std::size_t>(tensor)].name;
}

bool contains(const std::vector<int>& values, int value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

/// Spatial loops with more than one coordinate, outermost first.
std::vector<int> spatial_loops(const Spec& spec) {
  std::vector<int> loops;
  for (int index = 0; index < static_cast<int>(spec.mapping.loops.size()); ++index) {
    if (loop_at(spec, index).spatial && loop_at(spec, index).trips > 1) loops.push_back(index);
  }
  return loops;
}

/// The familiar name of a place: that of the tensor which its innermost loop leaves alone in place. Empty where
/// that loop leaves none or several.
std::string familiar_name(const Spec& spec, const MovementOrder& order) {
  if (order.loops.empty() || order.loops.front().stationary.size() != 1) return {};
  return stationary_name(spec.einsum, order.loops.front().stationary.front());
}

std::string listed(const Spec& spec, const std::vector<int>& tensors) {
  std::string text;
  for (int tensor : tensors) text += (text.empty() ? "" : ", ") + tensor_name(spec, tensor);
  return text;
}

/// The tensors that every loop moves.
std::vector<int> always_moved(const MovementOrder& order, const std::vector<std::vector<int>>& groups) {
  std::vector<int> rest;
  if (order.loops.empty()) return rest;
  for (int tensor : order.tensors) {
    const bool placed = std::any_of(groups.begin(), groups.end(), [&](const auto& g) { return contains(g, tensor); });
    if (!placed) rest.push_back(tensor);
  }
  return rest;
}

std::string group_title(std::size_t group) {
  if (group == 0) return "primary";
  if (group == 1) return "secondary";
  if (group == 2) return "third";
  return fmt::format("{}th", group + 1);
}

/// Steps of the temporal loops inside a place: how long one tile there is worked on.
Count steps_inside(const Spec& spec, int depth) {
  Count steps = 1;
  for (std::size_t index = static_cast<std::size_t>(depth); index < spec.mapping.loops.size(); ++index) {
    if (!spec.mapping.loops[index].spatial) steps *= spec.mapping.loops[index].trips;
  }
  return steps;
}

/// Whether some temporal loop inside has a last tile smaller than the others, so that tiles differ in their steps.
bool uneven_inside(const Spec& spec, int depth) {
  std::vector<std::int64_t> left;
  for (const Rank& rank : spec.einsum.ranks) left.push_back(rank.extent);
  std::vector<bool> uneven(left.size(), false);
  for (std::size_t index = 0; index < spec.mapping.loops.size(); ++index) {
    const Loop& loop = spec.mapping.loops[index];
    const auto rank = static_cast<std::size_t>(loop.rank);
    if (left[rank] % loop.tile != 0) uneven[rank] = true;
    left[rank] = loop.tile;
    // Loops of a rank that some loop, here or further out, cuts unevenly.
    if (index >= static_cast<std::size_t>(depth) && !loop.spatial && loop.trips > 1 && uneven[rank]) return true;
  }
  return false;
}

std::string place_text(const Spec& spec, const MovementOrder& order, const TextStyle& style) {
  const bool compute = order.level == spec.machine.compute_level();
  std::string title = fmt::format("{} {} {}", spec.machine.level_name(order.level), compute ? "works on" : "holds",
                                  names_text(spec.einsum, order.tensors));
  const std::string name = familiar_name(spec, order);
  if (!name.empty()) title += ": " + name;
  std::string out = section(title, style);
  if (!compute) {
    out += wrapped(
        fmt::format("each tile serves {}{} steps of the loops inside it",
                    uneven_inside(spec, order.depth) ? "at most " : "", grouped(steps_inside(spec, order.depth))),
        style.width, "  ", "  ");
  }
  if (order.loops.empty()) {
    return out + wrapped("no temporal loop outside it: everything stays from start to end", style.width, "  ", "  ");
  }
  std::vector<int> moved;  // by a loop further in
  for (const SeenLoop& seen : order.loops) {
    const Loop& loop = loop_at(spec, seen.loop);
    std::vector<int> stay, refetched;
    for (int tensor : seen.stationary) (contains(moved, tensor) ? refetched : stay).push_back(tensor);
    std::string line;
    const auto say = [&](const char* verb, const std::vector<int>& tensors) {
      if (!tensors.empty()) line += fmt::format("{}{} {}", line.empty() ? "" : ", ", verb, listed(spec, tensors));
    };
    say("keeps", stay);
    say("moves", seen.moves);
    say("refetches", refetched);
    line = fmt::format("{}, {} trips: {}", to_text(loop, spec.einsum, spec.machine), grouped(Count(loop.trips)), line);
    moved.insert(moved.end(), seen.moves.begin(), seen.moves.end());
    out += wrapped(line, style.width, "  ", "      ");
  }
  const std::vector<std::vector<int>> groups = stationary_groups(order);
  for (std::size_t group = 0; group < groups.size(); ++group) {
    std::string line = group_title(group) + " stationary: ";
    for (std::size_t i = 0; i < groups[group].size(); ++i) {
      const int tensor = groups[group][i];
      const Count steps = steps_in_place(spec, order, tensor);
      line += fmt::format("{}{} ({})", i == 0 ? "" : ", ", tensor_name(spec, tensor),
                          Count(1) < steps ? "the same tile for " + grouped(steps) + " steps"
                                           : "but a loop further in moves it, so it is fetched again");
    }
    out += wrapped(line, style.width, "  > ", "      ");
  }
  const std::vector<int> rest = always_moved(order, groups);
  if (!rest.empty()) out += wrapped("moved by every loop: " + listed(spec, rest), style.width, "  > ", "      ");
  return out;
}

std::string spatial_text(const Spec& spec, int index, const TextStyle& style) {
  const Loop& loop = loop_at(spec, index);
  std::string out =
      section(fmt::format("{}, {} ways", to_text(loop, spec.einsum, spec.machine), grouped(Count(loop.trips))), style);
  for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
    std::string line =
        fmt::format("{}: {}", tensor_name(spec, tensor), to_text(spatial_role(spec.einsum, loop, tensor)));
    const std::string words = network_words(spec, loop, tensor);
    if (!words.empty()) line += "; " + words;
    out += wrapped(line, style.width, "  ", "      ");
  }
  return out + wrapped(sharding_words(spec.einsum, loop), style.width, "  > ", "      ");
}

}  // namespace

Json stationarity_json(const Spec& spec, const std::vector<MovementOrder>& orders) {
  Json list = Json::array();
  for (const MovementOrder& order : orders) {
    Json loops = Json::array();
    for (const SeenLoop& seen : order.loops) {
      const Loop& loop = loop_at(spec, seen.loop);
      Json entry = Json::object();
      entry.set("loop", to_text(loop, spec.einsum, spec.machine)).set("trips", Count(loop.trips));
      entry.set("moves", names_json(spec.einsum, seen.moves));
      entry.set("stationary", names_json(spec.einsum, seen.stationary));
      loops.push(std::move(entry));
    }
    const std::vector<std::vector<int>> groups = stationary_groups(order);
    Json groups_list = Json::array();
    for (const std::vector<int>& group : groups) groups_list.push(names_json(spec.einsum, group));
    Json entry = Json::object();
    entry.set("level", spec.machine.level_name(order.level)).set("tensors", names_json(spec.einsum, order.tensors));
    const std::string name = familiar_name(spec, order);
    if (!name.empty()) entry.set("name", name);
    entry.set("order", std::move(loops)).set("stationary_groups", std::move(groups_list));
    entry.set("always_moved", names_json(spec.einsum, always_moved(order, groups)));
    list.push(std::move(entry));
  }
  return list;
}

Json explanation_json(const Spec& spec) {
  Json spatial = Json::array();
  for (int index : spatial_loops(spec)) {
    const Loop& loop = loop_at(spec, index);
    Json tensors = Json::array();
    for (int tensor = 0; tensor <= spec.einsum.output(); ++tensor) {
      Json entry = Json::object();
      entry.set("tensor", tensor_name(spec, tensor)).set("role", to_text(spatial_role(spec.einsum, loop, tensor)));
      const std::string words = network_words(spec, loop, tensor);
      if (!words.empty()) entry.set("network", words);
      tensors.push(std::move(entry));
    }
    Json entry = Json::object();
    entry.set("loop", to_text(loop, spec.einsum, spec.machine)).set("mesh", spec.machine.level_name(loop.mesh));
    entry.set("ways", Count(loop.trips)).set("tensors", std::move(tensors));
    spatial.push(entry.set("sharding", sharding_words(spec.einsum, loop)));
  }
  Json document = Json::object();
  document.set("format", "einflow-explanation-1").set("einsum", to_text(spec.einsum));
  document.set("machine", spec.machine.name);
  document.set("mapping", to_text(spec.mapping, spec.einsum, spec.machine));
  document.set("stationarity", stationarity_json(spec, movement_orders(spec)));
  return document.set("spatial", std::move(spatial));
}

std::string explanation_text(const Spec& spec, const TextStyle& style) {
  std::string out = heading(to_text(spec.einsum), style) + wrapped(machine_line(spec.machine), style.width, "", "  ");
  out += section("Mapping", style) + nest_text(spec, style);
  out += '\n';
  out += wrapped(
      "In time: the loops outside each place, the innermost first. A loop keeps a tensor's tile, moves on to "
      "another, or refetches the tiles that loops further in went through. The first tensor kept gives the "
      "dataflow its familiar name.",
      style.width, "", "");
  for (const MovementOrder& order : movement_orders(spec)) out += place_text(spec, order, style);
  const std::vector<int> spatial = spatial_loops(spec);
  if (spatial.empty()) return out + "\nIn space: nothing is spread over a mesh.\n";
  out += "\nIn space: each loop over a mesh, outermost first.\n";
  for (int index : spatial) out += spatial_text(spec, index, style);
  return out;
}

}  // namespace einflow
