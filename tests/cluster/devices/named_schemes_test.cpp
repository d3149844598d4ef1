// Every scheme that has a name, executed forward and, where it trains, backward and with the update.
#include <gtest/gtest.h>

#include <algorithm>

#include "cluster/schemes.hpp"
#include "support/scheme_check.hpp"

namespace einflow::cluster {
namespace {

void expect_faultless(const NamedScheme& named, const SchemeSizes& sizes) {
  SCOPED_TRACE(named.name);
  auto scheme = build_scheme(named, sizes_for(named, sizes));
  ASSERT_TRUE(scheme) << render(scheme.error(), SourceText{});
  testing::SchemeCase scheme_case;
  scheme_case.scheme = std::move(*scheme);
  const std::vector<ShardedEinsum>& einsums = scheme_case.scheme.forward;
  const bool timed = std::any_of(einsums.begin(), einsums.end(), [](const auto& e) { return e.time.has_value(); });
  const Outcome forward = try_program(scheme_case, forward_program(scheme_case.scheme), 1, false);
  EXPECT_EQ(forward.faults, "") << testing::to_text(scheme_case);
  EXPECT_EQ(forward.streamed, timed);
  if (!named.training) return;
  const Outcome training = try_program(scheme_case, training_program(scheme_case.scheme), 1, true);
  EXPECT_EQ(training.faults, "") << testing::to_text(scheme_case);
}

TEST(NamedSchemes, ComputeTheEinsumsAndSendWhatIsSaid) {
  SchemeSizes sizes;
  sizes.ranks = {{"b", 4}, {"s", 8}, {"h", 16}, {"f", 16}, {"a", 8}, {"v", 16}, {"m", 8}, {"k", 8}, {"n", 8}};
  for (const NamedScheme& named : named_schemes()) expect_faultless(named, sizes);
}

TEST(NamedSchemes, ComputeTheEinsumsOnPiecesOfUnequalSize) {
  SchemeSizes sizes;
  sizes.ranks = {{"b", 3}, {"s", 7},  {"h", 10}, {"f", 11}, {"a", 10},
                 {"g", 5}, {"v", 13}, {"m", 9},  {"k", 7},  {"n", 5}};
  for (const NamedScheme& named : named_schemes()) expect_faultless(named, sizes);
}

}  // namespace
}  // namespace einflow::cluster
