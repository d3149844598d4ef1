#include <fmt/format.h>

#include "cost/energy.hpp"
#include "cost/figures.hpp"
#include "report/derivation_text.hpp"
#include "report/nest_text.hpp"
#include "report/report.hpp"

namespace einflow {

namespace {

const std::string& tensor_name(const Spec& spec, int tensor) {
  return spec.einsum.tensors[static_cast<std::size_t>(tensor)].name;
}

std::string problem_text(const Report& report, const TextStyle& style) {
  const Einsum& einsum = report.spec.einsum;
  std::string title = to_text(einsum);
  if (!einsum.name.empty()) title = einsum.name + ": " + title;
  std::string out = heading(title, style);
  std::string ranks;
  for (const Rank& rank : einsum.ranks) {
    ranks += fmt::format("{}{} = {}", ranks.empty() ? "" : ", ", rank.name, grouped(Count(rank.extent)));
  }
  out += wrapped(ranks, style.width, "  ", "  ");
  const Count executed = einsum.executed_operations();
  std::string work;
  if (!(executed == einsum.operations()))
    work = fmt::format("{} operations, of which are executed: ", grouped(einsum.operations()));
  work += grouped(executed) + (einsum.is_mac() ? " MACs" : " operations");
  if (einsum.is_mac()) work += fmt::format(" = {} FLOPs", grouped(executed * 2));
  out += wrapped(work, style.width, "  ", "  ");
  for (int tensor = 0; tensor <= einsum.output(); ++tensor) {
    const Count elements = counts_of(report.counts, tensor, 0).tile_elements;
    const Ratio bytes = bytes_of_bits(elements * element_bits(report.spec, tensor));
    out += wrapped(fmt::format("{}: {} of {}, {}", tensor_name(report.spec, tensor), grouped(elements),
                               einsum.tensors[static_cast<std::size_t>(tensor)].type.name, bytes_text(bytes)),
                   style.width, "  ", "    ");
  }
  return out + wrapped(machine_line(report.spec.machine), style.width, "", "  ");
}

std::string holds_text(const Report& report, const TextStyle& style) {
  const Einsum& einsum = report.spec.einsum;
  Table inputs({"level", "of", "used", "tile", "fills", "parent reads", "forwarded"}, 2);
  Table outputs({"level", "used", "tile", "drains", "parent updates", "rmw reads"}, 1);
  for (const HoldCounts& hold : report.counts.holds) {
    const Hold& place =
        report.spec.mapping.holds[static_cast<std::size_t>(hold.tensor)][static_cast<std::size_t>(hold.hold)];
    const bool output = einsum.is_output(hold.tensor);
    const bool outermost = hold.hold == 0;
    std::vector<std::string> row = {report.spec.machine.level_name(place.level)};
    if (!output) row.push_back(tensor_name(report.spec, hold.tensor));
    row.push_back(grouped(hold.instances));
    row.push_back(grouped(hold.tile_elements));
    for (Count count : {output ? hold.drains : hold.fills, output ? hold.parent_updates : hold.parent_reads,
                        output ? hold.parent_rmw_reads : hold.forwarded}) {
      row.push_back(outermost ? "" : grouped(count));
    }
    (output ? outputs : inputs).add(std::move(row));
  }
  std::string out = section("Holds of the inputs", style) + inputs.str(style);
  out += section("Holds of the output " + tensor_name(report.spec, einsum.output()), style) + outputs.str(style);
  return out + wrapped("elements, totals over the instances used; tile: the largest of one instance", style.width, "  ",
                       "  ");
}

std::string levels_text(const Report& report, const TextStyle& style) {
  const Machine& machine = report.spec.machine;
  Table traffic({"level", "tensor", "reads", "writes", "bytes read", "bytes written"}, 2);
  Table figures({"level", "there are", "held B", "room B", "used", "cycles", "energy", "FLOP/B"}, 1);
  for (const LevelCost& level : report.cost.levels) {
    const std::string& name = machine.level_name(level.level);
    for (const TensorTraffic& tensor : level.tensors) {
      const Count bits = element_bits(report.spec, tensor.tensor);
      traffic.add({name, tensor_name(report.spec, tensor.tensor), grouped(tensor.reads), grouped(tensor.writes),
                   grouped(bytes_of_bits(tensor.reads * bits)), grouped(bytes_of_bits(tensor.writes * bits))});
    }
    if (level.tensors.empty()) continue;  // nothing passes through it
    if (level.tensors.size() > 1) {
      traffic.add({name, "all", grouped(level.reads), grouped(level.writes), grouped(level.bytes_read),
                   grouped(level.bytes_written)});
    }
    const auto& room = level.capacity_bytes;
    const bool has_room = room && Count(0) < room->numerator();
    figures.add({name, grouped(level.instances), grouped(level.occupancy_bytes), room ? grouped(*room) : "",
                 has_room ? percent(level.occupancy_bytes.to_double() / room->to_double()) : "",
                 level.cycles ? grouped(*level.cycles) : "",
                 level.energy_picojoules ? scaled(*level.energy_picojoules * 1e-12, "J") : "",
                 level.flop_per_byte ? rounded(*level.flop_per_byte) : ""});
  }
  return section("Levels: elements and bytes, all instances", style) + traffic.str(style) +
         section("Levels: held and room of one instance, cycles of the busiest", style) + figures.str(style);
}

std::string networks_text(const Report& report, const TextStyle& style) {
  Table table({"network", "tensor", "injected", "delivered", "forwarded", "reduced", "energy"}, 2);
  for (const NetworkCost& network : report.cost.networks) {
    const NetworkCounts& counts = network.counts;
    const bool output = report.spec.einsum.is_output(counts.tensor);
    table.add({report.spec.machine.level_name(counts.mesh), tensor_name(report.spec, counts.tensor),
               grouped(output ? counts.collected : counts.injected), grouped(counts.delivered),
               output ? "" : grouped(counts.forwarded), output ? grouped(counts.reduced) : "",
               network.energy_picojoules ? scaled(*network.energy_picojoules * 1e-12, "J") : ""});
  }
  if (table.empty()) return {};
  return section("Networks: elements", style) + table.str(style);
}

std::string time_text(const Report& report, const TextStyle& style) {
  const TimeCost& time = report.cost.time;
  Table table({"", "cycles", ""}, 1);
  const auto add = [&](const std::string& name, const std::optional<Count>& cycles) {
    if (cycles) table.add({name, grouped(*cycles), time.limited_by == name ? "<- limits" : ""});
  };
  table.add({"steps", grouped(time.steps)});
  add("compute", time.compute);
  add("systolic", time.systolic);
  for (const LevelCost& level : report.cost.levels) add(report.spec.machine.level_name(level.level), level.cycles);
  std::string out = section("Time", style) + table.str(style);
  if (!time.overlapped) return out;
  std::string line = "cycles (overlapped): " + grouped(*time.overlapped);
  if (time.seconds) line += " = " + scaled(*time.seconds, "s");
  line += ", limited by " + time.limited_by;
  if (time.utilization) line += "; utilization " + percent(*time.utilization);
  return out + wrapped(line, style.width, "  ", "    ");
}

std::string energy_text(const Report& report, const TextStyle& style) {
  const EnergyCost& energy = report.cost.energy;
  if (!energy.total) return {};
  Table table({"", "", ""}, 1);
  const Machine& machine = report.spec.machine;
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    const std::optional<double> part = energy_of_level(machine, report.cost, level);
    if (!part) continue;
    table.add({machine.level_name(level), scaled(*part * 1e-12, "J"),
               *energy.total > 0 ? percent(*part / *energy.total) : ""});
  }
  table.add({"total", scaled(*energy.total * 1e-12, "J"), ""});
  std::string out = section("Energy", style) + table.str(style);
  if (energy.energy_delay) out += fmt::format("  energy x delay: {}\n", scaled(*energy.energy_delay, "J s"));
  return out;
}

std::string roofline_text(const Report& report, const TextStyle& style) {
  if (!report.cost.roofline) return {};
  const RooflineCost& roofline = *report.cost.roofline;
  const char* work = roofline.in_flops ? "FLOP" : "op";
  const auto rate = [&](double per_cycle, const char* unit) {
    if (roofline.hertz) return scaled(per_cycle * *roofline.hertz, std::string(unit) + "/s");
    return rounded(per_cycle) + " " + unit + "/cycle";
  };
  std::string out = section("Roofline at " + report.spec.machine.level_name(roofline.level), style);
  out += wrapped(fmt::format("intensity {} {}/B {} the ridge at {} {}/B: {}-bound, were nothing else to limit it",
                             rounded(roofline.intensity), work, roofline.memory_bound() ? "is below" : "is not below",
                             rounded(roofline.ridge), work,
                             roofline.memory_bound() ? report.spec.machine.level_name(roofline.level) : "compute"),
                 style.width, "  ", "    ");
  out += wrapped(fmt::format("attainable {} of a peak of {} at {}", rate(roofline.attainable, work),
                             rate(roofline.peak, work), rate(roofline.bandwidth, "B")),
                 style.width, "  ", "    ");
  return out + wrapped(fmt::format("every tensor moved once: {} {}/B", rounded(roofline.ideal_intensity), work),
                       style.width, "  ", "    ");
}

std::string list_text(const char* title, const std::vector<std::string>& lines, const TextStyle& style) {
  std::string out = section(title, style);
  for (const std::string& line : lines) out += wrapped(line, style.width, "  - ", "    ");
  return out;
}

}  // namespace

std::string to_text(const Report& report, const TextStyle& style) {
  std::string out = problem_text(report, style);
  out += section("Mapping", style) + nest_text(report.spec, style);
  out += holds_text(report, style);
  if (!report.derivations.empty())
    out += derivations_text(report.spec, report.derivations, report.level_derivations, style);
  out += levels_text(report, style);
  out += networks_text(report, style);
  out += time_text(report, style);
  out += energy_text(report, style);
  out += roofline_text(report, style);
  out += list_text("Conventions", report.conventions, style);
  out += list_text("Not counted", report.cost.uncounted, style);
  return out;
}

}  // namespace einflow
