// Bytes between devices, counted outside einflow by executing each case (tests/reference/parallelism).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cluster/devices/devices.hpp"
#include "cluster/pipeline.hpp"
#include "cluster/schemes.hpp"
#include "cluster/traffic.hpp"
#include "support/random_scheme.hpp"

namespace einflow::cluster {
namespace {

using nlohmann::json;

std::vector<json> golden_cases() {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/parallelism/golden.jsonl");
  std::vector<json> cases;
  for (std::string line; std::getline(file, line);) cases.push_back(json::parse(line));
  return cases;
}

Result<Scheme> scheme_of(const json& golden) {
  SchemeSizes sizes;
  sizes.devices = golden.at("devices").get<std::vector<std::int64_t>>();
  if (golden.contains("sizes")) sizes.ranks = golden.at("sizes").get<std::map<std::string, std::int64_t>>();
  if (golden.contains("microbatches")) sizes.microbatches = golden.at("microbatches").get<std::int64_t>();
  const auto term = find_scheme(golden.at("scheme").get<std::string>());
  if (!term) return tl::unexpected(term.error());
  auto scheme = build_scheme(*term->scheme, sizes);
  if (scheme && golden.contains("constant")) {
    for (const auto& tensor : golden.at("constant")) scheme->constant.insert(tensor.get<std::string>());
  }
  return scheme;
}

using devices::Section;

bool is_counted(const json& golden, Section section, const Step& step) {
  const auto* const collective = std::get_if<Collective>(&step);
  if (collective == nullptr) return false;
  if (golden.contains("tensor") && collective->tensor != golden.at("tensor")) return false;
  const std::string counted = golden.at("counted");
  return counted == "step" || (counted == "forward" && section == Section::forward) ||
         (counted == "backward" && section == Section::backward);
}

const std::vector<Step>& steps_of(const Program& program, Section section) {
  if (section == Section::forward) return program.forward;
  return section == Section::backward ? program.backward : program.finish;
}

/// The collectives that the case counts, those of a microbatch as often as there are microbatches.
std::vector<Step> counted_steps(const json& golden, const Program& program) {
  std::vector<Step> steps;
  for (const Section section : {Section::forward, Section::backward, Section::finish}) {
    const std::int64_t times = section == Section::finish ? 1 : program.microbatches;
    for (std::int64_t time = 0; time < times; ++time) {
      for (const Step& step : steps_of(program, section)) {
        if (is_counted(golden, section, step)) steps.push_back(step);
      }
    }
  }
  return steps;
}

TEST(Golden, HasAllCases) { EXPECT_EQ(golden_cases().size(), 43U); }

TEST(Golden, BytesThatEachDeviceSends) {
  int compared = 0;
  for (const json& golden : golden_cases()) {
    if (!golden.contains("bytes_per_device")) continue;
    SCOPED_TRACE(golden.dump());
    const auto scheme = scheme_of(golden);
    ASSERT_TRUE(scheme) << scheme.error().front().message;
    const auto program = training_program(*scheme);
    ASSERT_TRUE(program) << program.error().front().message;
    const ElementType type = scheme->forward.front().einsum.tensors.front().type;
    const Traffic traffic = traffic_of(counted_steps(golden, *program), scheme->mesh);
    const Count expected = golden.at("bytes_per_device").get<std::int64_t>();
    EXPECT_EQ(bytes_of(traffic.busiest, type).str(), expected.str());
    EXPECT_EQ(bytes_of(traffic.total, type).str(), (expected * Count(scheme->mesh.devices())).str());
    ++compared;
  }
  EXPECT_EQ(compared, 31);
}

TEST(Golden, BytesThatEachDeviceSendsWhenItIsExecuted) {
  int compared = 0;
  for (const json& golden : golden_cases()) {
    if (!golden.contains("bytes_per_device")) continue;
    SCOPED_TRACE(golden.dump());
    testing::SchemeCase scheme_case;
    scheme_case.scheme = *scheme_of(golden);
    const auto program = training_program(scheme_case.scheme);
    ASSERT_TRUE(program);
    const auto run = devices::run(*program, testing::random_inputs(scheme_case, 1, true));
    ASSERT_TRUE(run) << run.error().front().message;
    std::vector<std::int64_t> sent(static_cast<std::size_t>(scheme_case.scheme.mesh.devices()));
    for (const devices::Exchange& exchange : run->exchanges) {
      if (!is_counted(golden, exchange.section, steps_of(*program, exchange.section)[exchange.step])) continue;
      for (std::size_t device = 0; device < sent.size(); ++device) sent[device] += exchange.tally.sent[device];
    }
    const std::int64_t bytes = golden.at("bytes_per_device").get<std::int64_t>();
    EXPECT_EQ(sent, std::vector<std::int64_t>(sent.size(), bytes / 2));
    ++compared;
  }
  EXPECT_EQ(compared, 31);
}

// Forward and backward of a microbatch take as long on every device; with several chunks each is a share of that.
TEST(Golden, BubblesOfPipelines) {
  int compared = 0;
  for (const json& golden : golden_cases()) {
    if (!golden.contains("schedule")) continue;
    SCOPED_TRACE(golden.dump());
    const auto scheme = scheme_of(golden);
    ASSERT_TRUE(scheme) << scheme.error().front().message;
    const auto schedule = parse_schedule(golden.at("schedule").get<std::string>());
    ASSERT_TRUE(schedule);
    PipelineShape shape;
    shape.schedule = *schedule;
    shape.devices = scheme->mesh.devices();
    shape.microbatches = scheme->microbatches;
    shape.chunks = golden.at("chunks").get<std::int64_t>();
    const std::vector<StageTimes<std::int64_t>> stages(static_cast<std::size_t>(shape.devices * shape.chunks),
                                                       StageTimes<std::int64_t>{5, 10, 0});
    const auto run = run_pipeline<std::int64_t>(shape, stages, 0);
    ASSERT_TRUE(run) << run.error().front().message;
    const std::int64_t bubble = run->total - run->ideal;
    const auto& of_ideal = golden.at("bubble_over_ideal");
    const auto& of_total = golden.at("bubble_over_total");
    EXPECT_EQ(bubble * of_ideal[1].get<std::int64_t>(), run->ideal * of_ideal[0].get<std::int64_t>());
    EXPECT_EQ(bubble * of_total[1].get<std::int64_t>(), run->total * of_total[0].get<std::int64_t>());
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

}  // namespace
}  // namespace einflow::cluster
