#include "report/staircase_view.hpp"

#include <fmt/format.h>

#include "report/problem_view.hpp"

namespace einflow {

namespace {

Ratio bytes(Count bits) { return Ratio(bits, Count(8)); }

/// "Y m128 n64": the tile of a hold, axis by axis, without axes of one position.
std::string hold_text(const Einsum& einsum, int tensor, const BufferHold& hold) {
  const Tensor& held = einsum.tensors[static_cast<std::size_t>(tensor)];
  std::string sizes;
  for (const Axis& axis : held.axes) {
    std::int64_t size = 1;
    for (const Term& term : axis.terms) {
      const std::int64_t tile = hold.tile[static_cast<std::size_t>(term.rank)];
      size += (axis.terms.size() > 1 ? term.coefficient : 1) * (tile - 1);
    }
    if (size == 1) continue;
    sizes += fmt::format(" {}{}", einsum.ranks[static_cast<std::size_t>(axis.terms.front().rank)].name, size);
  }
  return held.name + (sizes.empty() ? " 1" : sizes);
}

std::string holds_text(const Einsum& einsum, const StaircaseStep& step) {
  std::string text;
  for (const int tensor : step.hold_order) {
    text += (text.empty() ? "" : ", ") + hold_text(einsum, tensor, step.holds[static_cast<std::size_t>(tensor)]);
  }
  return text.empty() ? "nothing" : text;
}

std::string space_text(const StaircaseReport& report) {
  std::string text = report.space.shared_tile
                         ? "all held tensors share one place of the nest, one loop per rank outside it"
                         : "each tensor is held at a place of its own";
  text += report.space.bypass ? "; a tensor may bypass the buffer" : "; no tensor bypasses the buffer";
  if (!report.space.whole.empty()) {
    text += "; whole in the buffer:";
    for (const int rank : report.space.whole) text += " " + report.einsum.ranks[static_cast<std::size_t>(rank)].name;
  }
  return text;
}

/// A storage below the outermost, taken as one buffer of all its instances.
struct Placed {
  std::string level;
  Count instances;
  Count usable_bits;
  bool double_buffered = false;
};

std::vector<Placed> placed_storages(const Machine& machine) {
  std::vector<Placed> placed;
  Count instances = 1;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    if (const Mesh* mesh = machine.mesh(static_cast<int>(i))) instances *= Count(mesh->size());
    const Storage* storage = machine.storage(static_cast<int>(i));
    if (i == 0 || storage == nullptr || !storage->capacity_bits) continue;
    const Count bits = *storage->capacity_bits * instances;
    placed.push_back({storage->name, instances, storage->double_buffered ? Count(bits.value() / 2) : bits,
                      storage->double_buffered});
  }
  return placed;
}

double times_compulsory(const StaircaseReport& report, Count traffic_bits) {
  return traffic_bits.to_double() / report.staircase.compulsory_bits.to_double();
}

std::string factor(double value) { return fmt::format("{:.2f}", value); }

/// Whether the next step lies beyond the next power of two, so that this one is the last below it.
bool is_shown(const std::vector<StaircaseStep>& steps, std::size_t i) {
  if (i == 0 || i + 1 == steps.size()) return true;
  Count power = 1;
  while (power < steps[i].buffer_bits) power *= 2;
  return power < steps[i + 1].buffer_bits;
}

}  // namespace

const StaircaseStep* affordable(const Staircase& staircase, Count buffer_bits) {
  const StaircaseStep* found = nullptr;
  for (const StaircaseStep& step : staircase.steps) {
    if (step.buffer_bits <= buffer_bits) found = &step;
  }
  return found;
}

Json to_json(const StaircaseReport& report) {
  const Einsum& einsum = report.einsum;
  Json steps = Json::array();
  for (const StaircaseStep& step : report.staircase.steps) {
    Json holds = Json::array();
    for (const int tensor : step.hold_order) {
      const BufferHold& hold = step.holds[static_cast<std::size_t>(tensor)];
      Json tile = Json::object();
      for (std::size_t r = 0; r < einsum.ranks.size(); ++r) tile.set(einsum.ranks[r].name, Count(hold.tile[r]));
      Json entry = Json::object();
      entry.set("tensor", einsum.tensors[static_cast<std::size_t>(tensor)].name).set("tile", std::move(tile));
      holds.push(entry.set("elements", hold.elements));
    }
    Json traffic = Json::object();
    for (std::size_t t = 0; t < step.holds.size(); ++t) traffic.set(einsum.tensors[t].name, step.holds[t].traffic);
    Json entry = Json::object();
    entry.set("buffer_bytes", bytes(step.buffer_bits)).set("traffic_bytes", bytes(step.traffic_bits));
    steps.push(entry.set("holds", std::move(holds)).set("traffic_elements", std::move(traffic)));
  }
  Json document = Json::object();
  document.set("format", "einflow-bound-1").set("problem", einsum_json(einsum)).set("space", space_text(report));
  document.set("tile_shapes", report.staircase.tile_shapes);
  document.set("compulsory_bytes", bytes(report.staircase.compulsory_bits)).set("steps", std::move(steps));
  if (report.machine) {
    Json levels = Json::array();
    for (const Placed& placed : placed_storages(*report.machine)) {
      const StaircaseStep* step = affordable(report.staircase, placed.usable_bits);
      Json entry = Json::object();
      entry.set("level", placed.level).set("instances", placed.instances);
      entry.set("usable_bytes", bytes(placed.usable_bits));
      if (step != nullptr) entry.set("traffic_bytes", bytes(step->traffic_bits));
      levels.push(std::move(entry));
    }
    document.set("machine", report.machine->name).set("levels", std::move(levels));
  }
  return document.set("conventions", Json::array_of(report.conventions));
}

std::string to_text(const StaircaseReport& report, bool all, const TextStyle& style) {
  const Einsum& einsum = report.einsum;
  const std::vector<StaircaseStep>& steps = report.staircase.steps;
  std::string out = heading(to_text(einsum), style);
  std::string sizes;
  for (const Rank& rank : einsum.ranks)
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", rank.name, rank.extent);
  out += wrapped(sizes, style.width, "  ", "  ");
  out += wrapped(fmt::format("compulsory: {} B, every tensor once", grouped(bytes(report.staircase.compulsory_bits))),
                 style.width, "  ", "    ");
  out += section("Least traffic of the backing store for each buffer size", style);
  out += wrapped("over nests of dividing tiles; " + space_text(report), style.width, "  ", "    ");
  Table table({"buffer B", "moved B", "x compulsory", "held, outermost first"}, 0);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!all && !is_shown(steps, i)) continue;
    ++shown;
    table.add({grouped(bytes(steps[i].buffer_bits)), grouped(bytes(steps[i].traffic_bits)),
               factor(times_compulsory(report, steps[i].traffic_bits)), holds_text(einsum, steps[i])});
  }
  out += table.str(style);
  if (shown < steps.size()) {
    out += wrapped(
        fmt::format("{} of {} steps: the last below each power of two; --all prints every one", shown, steps.size()),
        style.width, "  ", "  ");
  }
  if (report.machine) {
    out += section("Where the storages of " + report.machine->name + " stand", style);
    Table levels({"level", "instances", "room B", "least moved B", "x compulsory"}, 1);
    for (const Placed& placed : placed_storages(*report.machine)) {
      const StaircaseStep* step = affordable(report.staircase, placed.usable_bits);
      levels.add({placed.level, grouped(placed.instances), grouped(bytes(placed.usable_bits)),
                  step == nullptr ? "" : grouped(bytes(step->traffic_bits)),
                  step == nullptr ? "" : factor(times_compulsory(report, step->traffic_bits))});
    }
    out += levels.empty() ? "  none states a capacity\n" : levels.str(style);
    out += wrapped("room: all instances as one buffer, half of it where double-buffered; moved: by the storage outside",
                   style.width, "  ", "  ");
  }
  out += section("What this rests on", style);
  const StaircaseStep& last = steps.back();
  out += wrapped(
      fmt::format("exact over those nests between two storages ({} tile shapes). Tiles that do not divide can move "
                  "less, above all where sizes have few divisors",
                  grouped(report.staircase.tile_shapes)),
      style.width, "  - ", "    ");
  out += wrapped(
      "moved: elements read and written by the backing store, in bytes; an output's partial sums are written "
      "and read back",
      style.width, "  - ", "    ");
  out += wrapped(fmt::format("a buffer above {} B moves no less in this space", grouped(bytes(last.buffer_bits))),
                 style.width, "  - ", "    ");
  for (const std::string& convention : report.conventions) out += wrapped(convention, style.width, "  - ", "    ");
  return out;
}

}  // namespace einflow
