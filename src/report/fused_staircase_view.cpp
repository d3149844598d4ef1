#include "report/fused_staircase_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "report/problem_view.hpp"

namespace einflow {

namespace {

Ratio bytes(Count bits) { return Ratio(bits, Count(8)); }

/// The last step that a buffer of this many bits affords; nullptr where it is below the first.
template <typename Step>
const Step* affordable(const std::vector<Step>& steps, Count buffer_bits) {
  const Step* found = nullptr;
  for (const Step& step : steps) {
    if (step.buffer_bits <= buffer_bits) found = &step;
  }
  return found;
}

/// A storage below the outermost, taken as one buffer of all its instances.
struct Placed {
  std::string level;
  Count instances;
  Count usable_bits;
};

std::vector<Placed> placed_storages(const Machine& machine) {
  std::vector<Placed> placed;
  Count instances = 1;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    if (const Mesh* mesh = machine.mesh(static_cast<int>(i))) instances *= Count(mesh->size());
    const Storage* storage = machine.storage(static_cast<int>(i));
    if (i == 0 || storage == nullptr || !storage->capacity_bits) continue;
    const Count bits = *storage->capacity_bits * instances;
    placed.push_back({storage->name, instances, storage->double_buffered ? Count(bits.value() / 2) : bits});
  }
  return placed;
}

std::string space_text(const FusedReport& report) {
  std::string text = report.space.shared_tile
                         ? "all held tensors share the place where the einsums part, one loop per rank outside it"
                         : "each tensor is held at a place of its own";
  text += report.space.bypass ? "; a tensor may bypass the buffer" : "; no tensor bypasses the buffer";
  const auto list = [&](const char* title, const std::vector<std::string>& ranks) {
    if (!ranks.empty()) text += fmt::format("; {}: {}", title, comma_list(ranks));
  };
  list("whole in the buffer", report.space.whole);
  list("not cut by common loops", report.space.uncut);
  if (report.space.once_per_step) text += "; in a common step every tensor comes once";
  if (report.space.separate_rooms) text += "; each einsum's tensors keep their room while the other one runs";
  return text;
}

const std::string& name_of(const FusedChain& chain, const ChainTensor& at) {
  return chain.einsums[static_cast<std::size_t>(at.einsum)].tensors[static_cast<std::size_t>(at.tensor)].name;
}

/// "q64 t1".
std::string tile_text(const FusedReport& report, const FusedStep& step) {
  const std::vector<Rank> ranks = report.chain.common_ranks();
  std::string text;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (step.tile[r] == 1) continue;
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", ranks[r].name, step.tile[r]);
  }
  return text.empty() ? "1" : text;
}

std::string names_text(const FusedReport& report, const std::vector<int>& tensors) {
  const std::vector<ChainTensor> all = moved_tensors(report.chain);
  std::string text;
  for (const int tensor : tensors) {
    text += (text.empty() ? "" : " ") + name_of(report.chain, all[static_cast<std::size_t>(tensor)]);
  }
  return text;
}

/// "Q O; K | V": between the common loops; in the first branch | in the second.
std::string held_text(const FusedReport& report, const FusedStep& step) {
  const std::string common = names_text(report, step.common_order);
  const std::string first = names_text(report, step.branch_order[0]), second = names_text(report, step.branch_order[1]);
  if (first.empty() && second.empty()) return common;
  return fmt::format("{}{}{} | {}", common, common.empty() ? "" : "; ", first.empty() ? "-" : first,
                     second.empty() ? "-" : second);
}

/// Whether the next step lies beyond the next power of two, so that this one is the last below it.
bool is_shown(const std::vector<FusedStep>& steps, std::size_t i) {
  if (i == 0 || i + 1 == steps.size()) return true;
  Count power = 1;
  while (power < steps[i].buffer_bits) power *= 2;
  return power < steps[i + 1].buffer_bits;
}

std::string quotient(Count fused, Count unfused) {
  return fmt::format("{:.2f}", fused.to_double() / unfused.to_double());
}

std::vector<std::string> row(const FusedReport& report, const FusedStep& step) {
  const UnfusedStep* other = affordable(report.unfused, step.buffer_bits);
  return {grouped(bytes(step.buffer_bits)),
          grouped(bytes(step.traffic_bits)),
          other == nullptr ? "" : grouped(bytes(other->traffic_bits)),
          other == nullptr ? "" : quotient(step.traffic_bits, other->traffic_bits),
          tile_text(report, step),
          held_text(report, step)};
}

std::string pays_text(const FusedReport& report) {
  const auto from = fusing_pays_from(report.staircase.steps, report.unfused);
  if (!from) return "fused nests never move less than the two einsums one after the other";
  const FusedStep* fused = affordable(report.staircase.steps, *from);
  const UnfusedStep* unfused = affordable(report.unfused, *from);
  std::string text = fmt::format("fusing pays from a buffer of {} B on: {} B are moved there", grouped(bytes(*from)),
                                 grouped(bytes(fused->traffic_bits)));
  if (unfused != nullptr) text += fmt::format(", against {} B", grouped(bytes(unfused->traffic_bits)));
  return text;
}

/// What the figures rest on and leave out.
std::vector<std::string> conventions_of(const FusedReport& report) {
  const FusedChain& chain = report.chain;
  const std::string& made = chain.intermediate().name;
  std::vector<std::string> common;
  for (const Rank& rank : chain.common_ranks()) {
    const std::vector<std::string>& uncut = report.space.uncut;
    if (std::find(uncut.begin(), uncut.end(), rank.name) == uncut.end()) common.push_back(rank.name);
  }
  std::vector<std::string> texts;
  texts.push_back(fmt::format(
      "fused: common loops over {}, inside them first a tile of {} is made, then it is used up. The tile stays in the "
      "buffer; no element of {} is made twice, none goes to the backing store",
      comma_list(common), made, made));
  if (!report.space.shared_tile) {
    texts.push_back("what one of the einsums holds inside the common loops comes anew at each of their steps" +
                    std::string(report.space.separate_rooms ? "" : ", and leaves its room to the other one"));
  }
  texts.push_back(fmt::format(
      "unfused: one einsum after the other, each with the whole buffer; {} is written and read again", made));
  const Tensor& taken = chain.einsums[1].tensors[static_cast<std::size_t>(chain.taken)];
  if (taken.type.bits != chain.intermediate().type.bits) {
    texts.push_back(fmt::format("fused, the tile takes the room of the wider of {} and {}", made, taken.name));
  }
  if (!chain.between.empty()) {
    texts.push_back(
        fmt::format("{} between them: done on the elements of {} where they are; they move nothing, fused "
                    "or unfused, and take no room",
                    comma_list(chain.between), made));
  }
  if (!chain.rows.empty()) {
    texts.push_back(fmt::format(
        "{}: one value a row, kept and moved nowhere in these figures. Where common loops cut a row they are running "
        "values, by which what is already summed up is scaled again; --uncut RANK allows whole rows only",
        comma_list(chain.rows)));
  }
  return texts;
}

std::string machine_text(const FusedReport& report, const TextStyle& style) {
  std::string out = section("Where the storages of " + report.machine->name + " stand", style);
  Table levels({"level", "instances", "room B", "fused B", "unfused B"}, 1);
  for (const Placed& placed : placed_storages(*report.machine)) {
    const FusedStep* fused = affordable(report.staircase.steps, placed.usable_bits);
    const UnfusedStep* unfused = affordable(report.unfused, placed.usable_bits);
    levels.add({placed.level, grouped(placed.instances), grouped(bytes(placed.usable_bits)),
                fused == nullptr ? "" : grouped(bytes(fused->traffic_bits)),
                unfused == nullptr ? "" : grouped(bytes(unfused->traffic_bits))});
  }
  out += levels.empty() ? "  none states a capacity\n" : levels.str(style);
  return out + wrapped("room: all instances as one buffer, half of it where double-buffered", style.width, "  ", "  ");
}

Json holds_json(const FusedReport& report, const FusedStep& step) {
  const std::vector<ChainTensor> tensors = moved_tensors(report.chain);
  Json holds = Json::array();
  const auto add = [&](int tensor, const char* place) {
    const ChainTensor& at = tensors[static_cast<std::size_t>(tensor)];
    const Einsum& einsum = report.chain.einsums[static_cast<std::size_t>(at.einsum)];
    const BufferHold& hold = step.holds[static_cast<std::size_t>(tensor)].hold;
    Json tile = Json::object();
    for (std::size_t r = 0; r < einsum.ranks.size(); ++r) tile.set(einsum.ranks[r].name, Count(hold.tile[r]));
    Json entry = Json::object();
    entry.set("tensor", name_of(report.chain, at)).set("place", place).set("tile", std::move(tile));
    holds.push(entry.set("elements", hold.elements));
  };
  for (const int tensor : step.common_order) add(tensor, "common");
  for (const int tensor : step.branch_order[0]) add(tensor, "first");
  for (const int tensor : step.branch_order[1]) add(tensor, "second");
  return holds;
}

Json step_json(const FusedReport& report, const FusedStep& step) {
  const std::vector<ChainTensor> tensors = moved_tensors(report.chain);
  const std::vector<Rank> ranks = report.chain.common_ranks();
  Json tile = Json::object(), traffic = Json::object();
  for (std::size_t r = 0; r < ranks.size(); ++r) tile.set(ranks[r].name, Count(step.tile[r]));
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    traffic.set(name_of(report.chain, tensors[t]), step.holds[t].hold.traffic);
  }
  Json entry = Json::object();
  entry.set("buffer_bytes", bytes(step.buffer_bits)).set("traffic_bytes", bytes(step.traffic_bits));
  entry.set("intermediate_tile", std::move(tile)).set("intermediate_elements", step.tile_elements);
  return entry.set("holds", holds_json(report, step)).set("traffic_elements", std::move(traffic));
}

Json levels_json(const FusedReport& report) {
  Json levels = Json::array();
  for (const Placed& placed : placed_storages(*report.machine)) {
    const FusedStep* fused = affordable(report.staircase.steps, placed.usable_bits);
    const UnfusedStep* unfused = affordable(report.unfused, placed.usable_bits);
    Json entry = Json::object();
    entry.set("level", placed.level).set("instances", placed.instances);
    entry.set("usable_bytes", bytes(placed.usable_bits));
    if (fused != nullptr) entry.set("traffic_bytes", bytes(fused->traffic_bits));
    if (unfused != nullptr) entry.set("unfused_traffic_bytes", bytes(unfused->traffic_bits));
    levels.push(std::move(entry));
  }
  return levels;
}

}  // namespace

Json to_json(const FusedReport& report) {
  Json einsums = Json::array(), steps = Json::array(), unfused = Json::array();
  for (const Einsum& einsum : report.chain.einsums) einsums.push(einsum_json(einsum));
  for (const FusedStep& step : report.staircase.steps) steps.push(step_json(report, step));
  for (const UnfusedStep& step : report.unfused) {
    Json each = Json::array();
    for (const Count traffic : step.of_einsum) each.push(bytes(traffic));
    Json entry = Json::object();
    entry.set("buffer_bytes", bytes(step.buffer_bits)).set("traffic_bytes", bytes(step.traffic_bits));
    unfused.push(entry.set("einsum_traffic_bytes", std::move(each)));
  }
  Json document = Json::object();
  document.set("format", "einflow-fused-bound-1").set("einsums", std::move(einsums));
  document.set("intermediate", report.chain.intermediate().name);
  document.set("between", Json::array_of(report.chain.between)).set("space", space_text(report));
  document.set("tile_shapes", report.staircase.tile_shapes);
  document.set("compulsory_bytes", bytes(report.staircase.compulsory_bits)).set("steps", std::move(steps));
  document.set("unfused", std::move(unfused));
  if (const auto from = fusing_pays_from(report.staircase.steps, report.unfused)) {
    document.set("fusing_pays_from_bytes", bytes(*from));
  }
  if (report.machine) document.set("machine", report.machine->name).set("levels", levels_json(report));
  std::vector<std::string> conventions = conventions_of(report);
  conventions.insert(conventions.end(), report.conventions.begin(), report.conventions.end());
  return document.set("conventions", Json::array_of(conventions));
}

std::string to_text(const FusedReport& report, bool all, const TextStyle& style) {
  const std::vector<FusedStep>& steps = report.staircase.steps;
  const std::string& made = report.chain.intermediate().name;
  std::string out;
  for (const Einsum& einsum : report.chain.einsums) {
    out += heading(to_text(einsum), style);
    std::string sizes;
    for (const Rank& rank : einsum.ranks) {
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", rank.name, rank.extent);
    }
    out += wrapped(sizes, style.width, "  ", "  ");
  }
  out += wrapped(
      fmt::format("compulsory: {} B, every tensor but {} once", grouped(bytes(report.staircase.compulsory_bits)), made),
      style.width, "  ", "    ");
  out += section("Least traffic of the backing store for each buffer size", style);
  out += wrapped("over fused nests of dividing tiles; " + space_text(report), style.width, "  ", "    ");
  Table table({"buffer B", "fused B", "unfused B", "ratio", made + " tile", "held"}, 0);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!all && !is_shown(steps, i)) continue;
    ++shown;
    table.add(row(report, steps[i]));
  }
  out += table.str(style);
  if (shown < steps.size()) {
    out += wrapped(
        fmt::format("{} of {} steps: the last below each power of two; --all prints every one", shown, steps.size()),
        style.width, "  ", "  ");
  }
  out += wrapped("held: between the common loops; inside them by the first einsum | by the second", style.width, "  ",
                 "    ");
  out += wrapped(pays_text(report), style.width, "  ", "  ");
  if (report.machine) out += machine_text(report, style);
  out += section("What this rests on", style);
  const auto convention = [&](const std::string& text) { out += wrapped(text, style.width, "  - ", "    "); };
  convention(
      fmt::format("exact over those nests between two storages ({} tile shapes of {}). Tiles that do not divide "
                  "can move less, above all where sizes have few divisors",
                  grouped(report.staircase.tile_shapes), made));
  convention(
      "moved: elements read and written by the backing store, in bytes; an output's partial sums are written and read "
      "back");
  for (const std::string& text : conventions_of(report)) convention(text);
  convention(fmt::format("a buffer above {} B moves no less in this space", grouped(bytes(steps.back().buffer_bits))));
  for (const std::string& text : report.conventions) convention(text);
  return out;
}

}  // namespace einflow
