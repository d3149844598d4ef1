// Tangram's form: what is written reads back as the same spec with the same counts, for random schedules; a spec that
// is no schedule is refused, never written as another one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>

#include "base/message.hpp"
#include "movement/movement.hpp"
#include "notation/spec_reader.hpp"
#include "notation/spec_writer.hpp"
#include "notation/tangram/schedule.hpp"
#include "notation/tangram/tangram.hpp"
#include "support/counts_text.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

using namespace tangram;  // NOLINT: the words of this notation
using testing::from_environment;

using Random = std::mt19937_64;

std::int64_t up_to(Random& random, std::int64_t most) {
  return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

bool one_in(Random& random, int n) { return random() % static_cast<std::uint64_t>(n) == 0; }

std::int64_t divisor(Random& random, std::int64_t number) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= number; ++d) {
    if (number % d == 0) divisors.push_back(d);
  }
  return divisors[random() % divisors.size()];
}

/// A schedule of small sizes; its factors multiply to the passes, as nn_dataflow's searches enumerate them.
Schedule random_schedule(Random& random) {
  Schedule schedule;
  schedule.name = one_in(random, 5) ? "layer 1" : "conv1";
  Layer& layer = schedule.layer;
  layer.type = static_cast<LayerType>(random() % 4);
  layer.nofm = up_to(random, 12);
  layer.batch = up_to(random, 6);
  if (layer.has_filter()) layer.nifm = up_to(random, 12);
  if (layer.type != LayerType::fc) layer.sofm = {up_to(random, 9), up_to(random, 6)};
  if (layer.type != LayerType::eltwise) layer.sfil = {up_to(random, 5), up_to(random, 4)};
  if (layer.type == LayerType::conv || layer.type == LayerType::pool) layer.strd = {up_to(random, 3), up_to(random, 3)};
  if (layer.type == LayerType::eltwise) layer.nreg = up_to(random, 3);

  Resource& resource = schedule.resource;
  resource.array = {up_to(random, 8), up_to(random, 6)};
  if (one_in(random, 2)) resource.size_gbuf = up_to(random, 5000);
  if (one_in(random, 2)) resource.size_regf = up_to(random, 500);
  if (one_in(random, 3)) resource.word = static_cast<int>(std::array<int, 4>{8, 12, 32, 64}[random() % 4]);
  if (one_in(random, 2)) {
    for (std::size_t kind = 0; kind < 4; ++kind) {
      if (kind == kInpp && !layer.has_filter()) continue;
      schedule.parts[kind] = {up_to(random, 2), one_in(random, 3) ? up_to(random, 3) : 1};
      resource.nodes.h *= schedule.parts[kind].h;
      resource.nodes.w *= schedule.parts[kind].w;
    }
    std::shuffle(schedule.part_order.begin(), schedule.part_order.end(), random);
    resource.access_forwarding = resource.nodes != Extent{} && one_in(random, 2);
  }

  const Layer node = node_layer(schedule);
  const auto passes = processing_passes(schedule);
  schedule.pass = passes[random() % passes.size()];
  const auto layout = row_stationary(node.sfil, node.sofm.h, resource.array);
  const std::array<std::int64_t, 3> counts{layer.has_filter() ? 1 + (node.nifm - 1) / schedule.pass->ifms : 1,
                                           1 + (node.nofm - 1) / schedule.pass->ofms, node.batch * layout.fold_maps};
  for (std::size_t loop = 0; loop < 3; ++loop) {
    schedule.factors[0][loop] = divisor(random, counts[loop]);
    schedule.factors[1][loop] = divisor(random, counts[loop] / schedule.factors[0][loop]);
    schedule.factors[2][loop] = counts[loop] / schedule.factors[0][loop] / schedule.factors[1][loop];
  }
  for (auto& order : schedule.orders) std::shuffle(order.begin(), order.end(), random);
  for (bool& bypass : schedule.bypass) bypass = !one_in(random, 3);
  return schedule;
}

std::vector<std::string> features_of(const Schedule& schedule, const Spec& spec) {
  std::vector<std::string> found;
  const Layer node = node_layer(schedule);
  const auto layout = row_stationary(node.sfil, node.sofm.h, schedule.resource.array);
  const auto note = [&](bool holds, const char* what) {
    if (holds) found.emplace_back(what);
  };
  found.emplace_back(std::array<const char*, 4>{"conv", "fc", "pool", "eltwise"}[static_cast<std::size_t>(node.type)]);
  for (std::size_t kind = 0; kind < 4; ++kind) {
    note(schedule.parts[kind].h > 1 && schedule.parts[kind].w > 1,
         std::array<const char*, 4>{"OUTP", "OFMP", "BATP", "INPP"}[kind]);
  }
  note(schedule.resource.access_forwarding, "access forwarding");
  note(layout.fold_filter > 1, "folded filters");
  note(layout.fold_maps > 1, "slices of maps");
  note(layout.stacked > 1, "stacked slices");
  note(layout.replicas.h > 1 && layout.replicas.w > 1, "replicas along both axes");
  note(schedule.pass->ifms > 1, "replicas for input channels");
  const auto split = batch_factors({schedule.factors[0][kBat], schedule.factors[1][kBat], schedule.factors[2][kBat]},
                                   node.batch, layout.fold_maps);
  note(split.slices[2] > 1, "slices inside REGF");
  note(split.slices[1] > 1 && split.images[1] > 1, "images and slices at one level");
  note(node.nofm % schedule.pass->ofms != 0, "a last pass that is not full");
  for (std::size_t level = 0; level < 3; ++level) {
    const auto& factors = schedule.factors[level];
    note(std::count_if(factors.begin(), factors.end(), [](auto f) { return f > 1; }) > 1,
         std::array<const char*, 3>{"loops DRAM to GBUF", "loops GBUF to REGF", "loops inside REGF"}[level]);
  }
  bool held = false;
  bool skipped = false;
  for (int data = 0; data < 3; ++data) {
    const bool reuse = fetches(schedule, data, 0) < fetches(schedule, data, 1);
    held = held || (reuse && schedule.bypass[static_cast<std::size_t>(data)]);
    skipped = skipped || (!reuse && schedule.bypass[static_cast<std::size_t>(data)]);
  }
  note(held, "held in GBUF for reuse");
  note(skipped, "GBUF skipped");
  int depths = 0;
  int outermost = static_cast<int>(spec.mapping.loops.size());
  const int regf = spec.machine.level_named("REGF");
  for (const auto& holds : spec.mapping.holds) {
    for (const Hold& hold : holds) {
      if (hold.level == regf) outermost = std::min(outermost, hold.depth);
    }
  }
  for (std::size_t t = 0; t < spec.mapping.holds.size(); ++t) {
    if (spec.einsum.tensors[t].name == "FIL") continue;
    for (const Hold& hold : spec.mapping.holds[t]) depths += hold.level == regf && hold.depth == outermost ? 1 : 0;
  }
  note(depths == 1 && schedule.layer.has_filter(), "whole rows in REGF");
  return found;
}

const std::vector<std::string>& all_features() {
  static const std::vector<std::string> all{"conv",
                                            "fc",
                                            "pool",
                                            "eltwise",
                                            "OUTP",
                                            "OFMP",
                                            "BATP",
                                            "INPP",
                                            "access forwarding",
                                            "folded filters",
                                            "slices of maps",
                                            "stacked slices",
                                            "replicas along both axes",
                                            "replicas for input channels",
                                            "slices inside REGF",
                                            "images and slices at one level",
                                            "a last pass that is not full",
                                            "loops DRAM to GBUF",
                                            "loops GBUF to REGF",
                                            "loops inside REGF",
                                            "held in GBUF for reuse",
                                            "GBUF skipped",
                                            "whole rows in REGF"};
  return all;
}

Document document_with(const Spec& spec) {
  Document document;
  DocumentLayer layer;
  layer.name = spec.einsum.name;
  layer.cascade.einsums.push_back(spec.einsum);
  layer.machine = spec.machine;
  layer.mapping = spec.mapping;
  document.layers.push_back(std::move(layer));
  return document;
}

/// The spec that the form's text reads back as; throws where it does not.
Spec read_back(const std::string& text) {
  const auto read = read_tangram({{"written", text}}, {});
  if (!read) throw std::runtime_error(render(read.error(), {"written", text}) + text);
  const auto spec = spec_of(read->layers.at(0));
  if (!spec) throw std::runtime_error("no spec");
  return *spec;
}

TEST(TangramProperty, WhatIsWrittenReadsBackAsTheSameSpec) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  std::map<std::string, int> seen;
  for (int number = 0; number < cases; ++number) {
    Random random(from_environment("EINFLOW_PROPERTY_SEED", 1) * 1000000 + static_cast<std::uint64_t>(number));
    const Schedule schedule = random_schedule(random);
    const auto spec = tangram::spec_of(schedule);
    ASSERT_TRUE(spec) << number << ": " << render(spec.error(), {});
    for (const std::string& feature : features_of(schedule, *spec)) ++seen[feature];
    const auto written = write_tangram(document_with(*spec));
    ASSERT_TRUE(written) << number << ": " << render(written.error(), {}) << spec_text(*spec).value_or("");
    EXPECT_EQ(written->left_out, std::vector<std::string>{}) << number;
    EXPECT_TRUE(is_tangram({"", written->text}));
    const Spec back = read_back(written->text);
    ASSERT_TRUE(back.einsum == spec->einsum) << number << "\n" << written->text;
    ASSERT_TRUE(back.machine == spec->machine) << number << "\n" << written->text;
    ASSERT_TRUE(back.mapping == spec->mapping) << number << "\n" << written->text << spec_text(*spec).value_or("");
    const auto counts = count_movement(*spec);
    const auto counts_back = count_movement(back);
    ASSERT_TRUE(counts && counts_back) << number;
    ASSERT_EQ(testing::difference(*counts_back, *counts, *spec), "") << number;
  }
  std::cout << "Of " << cases << " schedules:\n";
  for (const std::string& feature : all_features()) {
    std::cout << fmt::format("{:>8}  {}\n", seen[feature], feature);
    EXPECT_TRUE(seen[feature] > 0 || cases < 2000) << "never generated: " << feature;
  }
  EXPECT_EQ(seen.size(), all_features().size()) << "a feature is missing in all_features()";
}

/// Counts of the holds of the output, and of the inputs in any order.
std::vector<std::string> counts_of(const Spec& spec) {
  std::vector<std::string> lines;
  const auto counts = count_movement(spec);
  if (!counts) throw std::runtime_error(render(counts.error(), {}));
  for (const HoldCounts& hold : counts->holds) {
    lines.push_back(fmt::format("{} {} {} {} {} {} {} {} {}", spec.einsum.is_output(hold.tensor), hold.hold,
                                hold.tile_elements.str(), hold.fills.str(), hold.parent_reads.str(),
                                hold.forwarded.str(), hold.drains.str(), hold.parent_updates.str(),
                                hold.parent_rmw_reads.str()));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

TEST(TangramProperty, ANestThatIsNoScheduleIsRefusedAndNeverWrittenAsAnother) {
  // Nests of schedules with two neighbouring lines exchanged, a line left out or a tile changed: some of these are
  // other schedules, most are none.
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  int refused = 0;
  int written = 0;
  for (int number = 0; number < cases; ++number) {
    Random random(from_environment("EINFLOW_PROPERTY_SEED", 1) * 2000000 + static_cast<std::uint64_t>(number));
    const auto original = tangram::spec_of(random_schedule(random));
    ASSERT_TRUE(original);
    std::vector<std::string> lines;
    const std::string nest = to_text(original->mapping, original->einsum, original->machine);
    for (std::size_t begin = 0; begin < nest.size(); begin = nest.find('\n', begin) + 1) {
      lines.push_back(nest.substr(begin, nest.find('\n', begin) - begin));
    }
    const std::size_t at = random() % lines.size();
    if (one_in(random, 3)) {
      lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (one_in(random, 2) && lines[at].find(" by ") != std::string::npos) {
      const std::size_t tile = lines[at].find(" by ") + 4;
      lines[at].replace(tile, lines[at].find_first_of(" ", tile) - tile, std::to_string(up_to(random, 6)));
    } else {
      std::swap(lines[at], lines[(at + 1) % lines.size()]);
    }
    std::string changed;
    for (const std::string& line : lines) changed += line + "\n";
    const auto mapping = parse_mapping(changed, original->einsum, original->machine);
    if (!mapping) continue;
    const Spec spec{original->einsum, original->machine, *mapping};
    const auto writing = write_tangram(document_with(spec));
    if (!writing) {
      ASSERT_FALSE(writing.error().front().message.empty());
      ++refused;
      continue;
    }
    ++written;
    const Spec back = read_back(writing->text);
    ASSERT_EQ(counts_of(back), counts_of(spec)) << number << "\n" << changed << "\n" << writing->text;
    const bool one_trip = std::any_of(spec.mapping.loops.begin(), spec.mapping.loops.end(),
                                      [](const Loop& loop) { return loop.trips == 1; });
    ASSERT_TRUE(one_trip || back.mapping == spec.mapping) << number << "\n" << changed << "\n" << writing->text;
  }
  std::cout << fmt::format("Of {} changed nests {} are no schedules, {} are.\n", cases, refused, written);
  EXPECT_TRUE((refused > 100 && written > 100) || cases < 2000);
}

TEST(TangramProperty, AnySpecIsRefusedOrReadsBackWithItsCounts) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  testing::expect_for_random_specs("tangram_round_trip", cases, [](const Spec& spec) -> std::string {
    const auto writing = write_tangram(document_with(spec));
    if (!writing) return writing.error().front().message.empty() ? "refused without a reason" : "";
    return counts_of(read_back(writing->text)) == counts_of(spec) ? "" : "written as another: " + writing->text;
  });
}

}  // namespace
}  // namespace einflow
