// The simulator against counts by direct enumeration (tests/reference/law/README.md).
#include <gtest/gtest.h>

#include "simulate/simulate.hpp"
#include "support/counts_text.hpp"
#include "support/law_cases.hpp"

namespace einflow {
namespace {

TEST(SimulatorLawCases, AgreeInEveryCountAndComputeTheEinsum) {
  const std::vector<testing::LawCase> cases = testing::law_cases();
  ASSERT_EQ(cases.size(), 200U);
  for (const testing::LawCase& law_case : cases) {
    const Result<Simulation> simulation = simulate(law_case.spec);
    ASSERT_TRUE(simulation) << law_case.text;
    EXPECT_EQ(testing::difference(simulation->counts, law_case.expected, law_case.spec), "") << law_case.text;
    EXPECT_TRUE(simulation->result_matches) << law_case.text << "\n" << simulation->first_mismatch;
  }
}

}  // namespace
}  // namespace einflow
