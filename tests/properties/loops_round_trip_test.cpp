// Nests written as loops read back as the same spec, on its own machine and on the one that the text describes.
// EINFLOW_PROPERTY_CASES and EINFLOW_PROPERTY_SEED choose how many specs and which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "mapping/stationarity.hpp"
#include "movement/movement.hpp"
#include "notation/loops/loops.hpp"
#include "notation/spec_reader.hpp"
#include "support/counts_text.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_spec.hpp"

namespace einflow {
namespace {

using testing::expect_for_random_specs;
using testing::from_environment;

Document document_with(const Spec& spec) { return document_of(ReadSpec{spec, {}}); }

std::string loop_names(const Spec& spec) {
  std::string text;
  for (const Loop& loop : spec.mapping.loops) text += to_text(loop, spec.einsum, spec.machine) + "\n";
  return text;
}

std::string hold_names(const Spec& spec) {
  std::string text;
  for (const auto& holds : spec.mapping.holds) {
    for (const Hold& hold : holds) {
      const bool compute = hold.level == spec.machine.compute_level();
      text += fmt::format("{} {}, ", compute ? "compute" : spec.machine.level_name(hold.level), hold.depth);
    }
  }
  return text;
}

/// The spec that the text is read as; throws where it is not.
Spec read_back(const std::string& text, const ReadOptions& options) {
  const SourceText source{"nest.txt", text};
  if (is_loops(source) != (text.find("for ") != std::string::npos))
    throw std::runtime_error("not recognised:\n" + text);
  const auto document = read_loops({source}, options);
  if (!document) throw std::runtime_error(render(document.error(), source) + text);
  const auto spec = spec_of(document->layers.at(0));
  if (!spec) throw std::runtime_error("no spec");
  return *spec;
}

std::string compare(const Spec& found, const Spec& spec) {
  if (found.einsum != spec.einsum) return "another einsum: " + to_text(found.einsum);
  if (!(found.machine == spec.machine)) return "another machine";
  if (!(found.mapping == spec.mapping))
    return "another mapping:\n" + to_text(found.mapping, found.einsum, found.machine);
  const auto counts = count_movement(spec);
  const auto again = count_movement(found);
  if (!counts || !again) return "not counted";
  return testing::difference(*again, *counts, spec);
}

TEST(LoopsProperty, WhatIsWrittenReadsBackOnTheSameMachine) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  std::map<std::string, int> seen;
  expect_for_random_specs("loops_round_trip", cases, [&](const Spec& spec) -> std::string {
    const auto writing = write_loops(document_with(spec));
    if (!writing) return render(writing.error(), {});
    for (const std::string& feature : testing::features(spec)) ++seen[feature];
    if (writing->text.find("atomic-for") != std::string::npos) ++seen["atomic-for"];
    if (writing->text.find("min(") != std::string::npos) ++seen["remainder"];
    if (writing->text.find("ceil(") != std::string::npos) ++seen["remainder of tiles"];
    if (writing->text.find("stationary)") != std::string::npos) ++seen["stationary"];
    if (writing->text.find("shapes:") != std::string::npos) ++seen["shapes"];
    if (writing->text.find("for ") == std::string::npos) ++seen["no loop"];
    ReadOptions options;
    options.machine = spec.machine;
    try {
      const std::string wrong = compare(read_back(writing->text, options), spec);
      return wrong.empty() ? "" : wrong + "\n" + writing->text;
    } catch (const std::exception& failure) {
      return failure.what();
    }
  });
  for (const std::string& feature : testing::all_features()) {
    // Those of the counts, not of the spec, are left to law_property_test.cpp.
    if (seen[feature] > 0) std::cout << fmt::format("{:>8}  {}\n", seen[feature], feature);
  }
  for (const char* feature :
       {"atomic-for", "remainder", "remainder of tiles", "stationary", "shapes", "uneven holds", "bypass",
        "several par loops on a mesh axis", "imperfect spatial tiles", "reduce max", "map by a function", "3 meshes",
        "loop of one trip", "no loop", "several loops over a rank"}) {
    EXPECT_TRUE(seen[feature] > 0 || cases < 2000) << "never generated: " << feature;
  }
}

TEST(LoopsProperty, WithoutAMachineTheCountsAreTheSame) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  expect_for_random_specs("loops_without_machine", cases, [](const Spec& spec) -> std::string {
    const auto writing = write_loops(document_with(spec));
    if (!writing) return render(writing.error(), {});
    try {
      const Spec found = read_back(writing->text, {});
      if (found.einsum != spec.einsum) return "another einsum: " + to_text(found.einsum);
      if (loop_names(found) != loop_names(spec)) return "other loops:\n" + loop_names(found) + writing->text;
      if (hold_names(found) != hold_names(spec)) return "other holds: " + hold_names(found) + "\n" + writing->text;
      const auto counts = count_movement(spec);
      const auto again = count_movement(found);
      if (!counts || !again) return "not counted";
      const std::string wrong = testing::difference(*again, *counts, spec);
      return wrong.empty() ? "" : wrong + "\n" + writing->text;
    } catch (const std::exception& failure) {
      return failure.what();
    }
  });
}

/// The spec with names that are words of the notation, end in digits or differ little; with a name, types and a share.
Spec renamed(Spec spec, std::size_t turn) {
  static const std::vector<std::string> kRanks{"m",  "m1", "m_1", "m10",  "in", "to",  "on",   "range", "min", "do",
                                               "x0", "x",  "for", "step", "p_", "and", "ceil", "int",   "_",   "k_0"};
  static const std::vector<std::string> kTensors{"m",    "and", "I_0",  "level", "one", "W", "min", "parallel", "by",
                                                 "type", "in",  "name", "max",   "of",  "a", "int", "range",    "inf"};
  for (std::size_t r = 0; r < spec.einsum.ranks.size(); ++r) {
    const std::string name = kRanks[(turn * 3 + r * (1 + turn % 5)) % kRanks.size()];
    if (spec.einsum.rank_named(name) >= 0) continue;
    for (Level& level : spec.machine.levels) {
      auto* const compute = std::get_if<Compute>(&level);
      if (compute == nullptr) continue;
      for (auto& [rank, extent] : compute->atomic) {
        if (rank == spec.einsum.ranks[r].name) rank = name;
      }
    }
    spec.einsum.ranks[r].name = name;
  }
  for (std::size_t t = 0; t < spec.einsum.tensors.size(); ++t) {
    const std::string name = kTensors[(turn * 5 + t * (1 + turn % 7)) % kTensors.size()];
    if (spec.einsum.tensor_named(name) < 0) spec.einsum.tensors[t].name = name;
    spec.einsum.tensors[t].type = find_element_type(std::to_string(1 + turn % 31) + "-bit").value();
  }
  static const std::vector<std::string> kLevels{"level", "on", "Buffer-2", "X", "one", "m", "array"};
  for (std::size_t l = 0; l < spec.machine.levels.size(); ++l) {
    const std::string name = kLevels[(turn + l) % kLevels.size()];
    if (spec.machine.level_named(name) >= 0) continue;
    std::visit([&](auto& level) { level.name = name; }, spec.machine.levels[l]);
  }
  spec.einsum.name = "layer \"" + std::to_string(turn) + "\" // of: \\ net\n";
  if (turn % 3 == 0) spec.einsum.executed = {Ratio(Count(turn % 5), Count(5)), "a \"mask\" # of some kind"};
  return spec;
}

TEST(LoopsProperty, AwkwardNamesReadBackOrAreRefused) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  std::size_t turn = 0;
  int refused = 0;
  expect_for_random_specs("loops_names", cases, [&](const Spec& random) -> std::string {
    const Spec spec = renamed(random, turn++);
    // A matrix shape takes its ranks by their roles, another one by their names: renaming may change what fits.
    const auto valid = parse_mapping(to_text(spec.mapping, spec.einsum, spec.machine), spec.einsum, spec.machine);
    const auto writing = write_loops(document_with(spec));
    if (!writing) {
      ++refused;
      return writing.error().front().message.empty() ? "refused without a reason" : "";
    }
    if (!valid) return "";
    ReadOptions options;
    options.machine = spec.machine;
    const SourceText source{"nest.txt", writing->text};
    const auto document = read_loops({source}, options);
    if (!document) return render(document.error(), source) + writing->text;
    const std::string wrong = compare(spec_of(document->layers.at(0)).value(), spec);
    return wrong.empty() ? "" : wrong + "\n" + writing->text;
  });
  std::cout << fmt::format("{} of {} refused\n", refused, turn);
  EXPECT_LE(refused, cases / 4);
}

// Programs are compiled and run by tests/commands/test_loops.py; here: each spec gives one, or a reason.
TEST(LoopsProperty, ProgramsAreWrittenOrRefusedWithAReason) {
  const int cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000)) / 5;
  int refused = 0;
  expect_for_random_specs("loops_programs", cases, [&](const Spec& spec) -> std::string {
    for (const auto write : {write_c, write_numpy}) {
      const auto writing = write(document_with(spec));
      if (writing && writing->text.empty()) return "an empty program";
      if (writing) continue;
      ++refused;
      if (writing.error().empty() || writing.error().front().message.empty()) return "refused without a reason";
    }
    return "";
  });
  EXPECT_LE(refused, cases / 100) << "programs of small nests are within reach";
}

}  // namespace
}  // namespace einflow
