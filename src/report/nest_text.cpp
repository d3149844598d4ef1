#include "report/nest_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mapping/stationarity.hpp"

namespace einflow {

namespace {

/// "moves X W, leaves Y" for a temporal loop, "split W Y, replicated X" for a spatial one.
std::string what_it_does(const Spec& spec, const Loop& loop) {
  const Einsum& einsum = spec.einsum;
  std::vector<int> indexed;
  std::vector<int> inputs;
  std::vector<int> outputs;
  for (int tensor = 0; tensor <= einsum.output(); ++tensor) {
    if (einsum.has_rank(tensor, loop.rank)) {
      indexed.push_back(tensor);
    } else {
      (einsum.is_output(tensor) ? outputs : inputs).push_back(tensor);
    }
  }
  std::string text;
  const auto say = [&](const char* words, const std::vector<int>& tensors) {
    if (!tensors.empty()) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", words, names_text(einsum, tensors));
  };
  say(loop.spatial ? "split" : "moves", indexed);
  if (!loop.spatial) inputs.insert(inputs.end(), outputs.begin(), outputs.end());
  say(loop.spatial ? "replicated" : "leaves", inputs);
  if (loop.spatial) say("partial sums", outputs);
  return text;
}

std::string hold_line(const Spec& spec, const MovementOrder& place) {
  return fmt::format("at {}: {}", spec.machine.level_name(place.level), names_text(spec.einsum, place.tensors));
}

}  // namespace

std::string names_text(const Einsum& einsum, const std::vector<int>& tensors) {
  std::string text;
  for (int tensor : tensors) {
    text += (text.empty() ? "" : " ") + einsum.tensors[static_cast<std::size_t>(tensor)].name;
  }
  return text;
}

std::string nest_text(const Spec& spec, const TextStyle& style) {
  const std::vector<MovementOrder> places = movement_orders(spec);
  std::vector<std::vector<std::string>> rows;
  std::size_t nest_width = 4;
  std::size_t trips_width = 5;
  const int depths = static_cast<int>(spec.mapping.loops.size());
  for (int depth = 0; depth <= depths; ++depth) {
    for (const MovementOrder& place : places) {
      if (place.depth == depth && place.level != spec.machine.compute_level()) rows.push_back({hold_line(spec, place)});
    }
    if (depth == depths) break;
    const Loop& loop = spec.mapping.loops[static_cast<std::size_t>(depth)];
    rows.push_back({to_text(loop, spec.einsum, spec.machine), grouped(Count(loop.trips)), what_it_does(spec, loop)});
  }
  for (const auto& row : rows) {
    if (row.size() == 1) continue;
    nest_width = std::max(nest_width, row[0].size());
    trips_width = std::max(trips_width, row[1].size());
  }
  // Where long names leave no room beside them, what a loop does goes below it.
  const bool beside = 6 + nest_width + trips_width + 20 <= style.width;
  std::string out;
  if (beside) out = fmt::format("  {:<{}}  {:>{}}\n", "nest", nest_width, "trips", trips_width);
  for (const auto& row : rows) {
    if (row.size() == 1) {
      out += wrapped(row[0], style.width, "  ", "      ");
    } else if (beside) {
      const std::string start = fmt::format("  {:<{}}  {:>{}}  ", row[0], nest_width, row[1], trips_width);
      out += wrapped(row[2], style.width, start, std::string(start.size(), ' '));
    } else {
      out += wrapped(row[0] + ", trips " + row[1], style.width, "  ", "      ");
      out += wrapped(row[2], style.width, "      ", "      ");
    }
  }
  return out;
}

std::string machine_line(const Machine& machine) {
  std::string text = machine.name.empty() ? "machine" : machine.name;
  if (machine.clock_stated) text += " at " + scaled(machine.clock_hz.to_double(), "Hz");
  text += ":";
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    text += (level == 0 ? " " : " > ") + machine.level_name(static_cast<int>(level));
    if (const Mesh* mesh = machine.mesh(static_cast<int>(level))) {
      std::string axes;
      for (const MeshAxis& axis : mesh->axes)
        axes += fmt::format("{}{} {}", axes.empty() ? "" : ", ", axis.name, axis.size);
      text += " (" + axes + ")";
    }
  }
  return text;
}

}  // namespace einflow
