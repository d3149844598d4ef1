// Parallel schemes against their execution: on random schemes the generated program gives what the unsplit einsums
// give, gradients and updated weights too, and every device sends what the closed forms say.
// EINFLOW_CLUSTER_CASES and EINFLOW_CLUSTER_SEED choose how many cases and the first seed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>

#include "cluster/program.hpp"
#include "support/for_random_specs.hpp"
#include "support/random_scheme.hpp"
#include "support/scheme_check.hpp"

namespace einflow::cluster {
namespace {

using testing::SchemeCase;

/// Cases in which every feature must occur.
constexpr int kCases = 300;
#ifdef __SANITIZE_ADDRESS__
constexpr int kDefaultCases = 15;
#else
constexpr int kDefaultCases = kCases;
#endif

TEST(ClusterProperty, ProgramsComputeTheEinsumsAndSendWhatIsSaid) {
  const int cases = static_cast<int>(testing::from_environment("EINFLOW_CLUSTER_CASES", kDefaultCases));
  const std::uint64_t first = testing::from_environment("EINFLOW_CLUSTER_SEED", 1);
  const int most_failures = static_cast<int>(testing::from_environment("EINFLOW_CLUSTER_FAILURES", 5));
  std::map<std::string, int> seen;
  std::int64_t collectives = 0;
  int tried = 0;
  int trained = 0;
  int streamed = 0;
  int failed = 0;
  for (std::uint64_t seed = first; seed < first + static_cast<std::uint64_t>(cases) && failed < most_failures; ++seed) {
    const SchemeCase scheme_case = testing::random_scheme(seed);
    ++tried;
    for (const std::string& feature : testing::scheme_features(scheme_case)) ++seen[feature];
    Outcome outcome = try_program(scheme_case, forward_program(scheme_case.scheme), seed, false);
    std::string faults = outcome.faults.empty() ? "" : "forward: " + outcome.faults;
    if (scheme_case.trains) {
      outcome = try_program(scheme_case, training_program(scheme_case.scheme), seed, true);
      if (!outcome.faults.empty()) faults += "training: " + outcome.faults;
      ++trained;
    }
    streamed += outcome.streamed ? 1 : 0;
    collectives += outcome.collectives;
    if (faults.empty()) continue;
    ++failed;
    ADD_FAILURE() << "EINFLOW_CLUSTER_SEED=" << seed << " EINFLOW_CLUSTER_CASES=1\n"
                  << testing::to_text(scheme_case) << faults;
  }
  std::cout << fmt::format("Of {} cases, {} trained, {} with einsums in pieces; {} collectives:\n", tried, trained,
                           streamed, collectives);
  for (const std::string& feature : testing::all_scheme_features()) {
    std::cout << fmt::format("{:>6}  {}\n", seen[feature], feature);
    EXPECT_TRUE(seen[feature] > 0 || cases < kCases || failed > 0) << "never generated: " << feature;
  }
  EXPECT_EQ(seen.size(), testing::all_scheme_features().size()) << "a feature is missing in the list";
}

}  // namespace
}  // namespace einflow::cluster
