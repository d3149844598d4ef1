// The names of both communities, from which tensors a rank indexes (the list of docs/law.md section 5).
#include "report/words.hpp"

#include <gtest/gtest.h>

#include "support/worked_example.hpp"

namespace einflow {
namespace {

Loop over(const Spec& spec, const std::string& rank) {
  Loop loop = spec.mapping.loops[4];  // par n by 8 on array.x
  loop.rank = spec.einsum.rank_named(rank);
  return loop;
}

TEST(Words, ShardingByTheTensorsThatARankIndexes) {
  const Spec spec = testing::read(testing::worked_example_text());
  EXPECT_EQ(sharding_words(spec.einsum, over(spec, "n")).substr(0, 15), "column parallel")
      << "the weights' output rank";
  EXPECT_EQ(sharding_words(spec.einsum, over(spec, "k")).substr(0, 12), "row parallel") << "a reduction rank";
  EXPECT_EQ(sharding_words(spec.einsum, over(spec, "m")).substr(0, 13), "data parallel") << "the weights are copied";
}

TEST(Words, StationaryNames) {
  const Spec spec = testing::read(testing::worked_example_text());
  EXPECT_EQ(stationary_name(spec.einsum, 0), "input stationary");
  EXPECT_EQ(stationary_name(spec.einsum, 1), "weight stationary");
  EXPECT_EQ(stationary_name(spec.einsum, 2), "output stationary");
  Einsum unnamed = spec.einsum;
  unnamed.tensors[0].name = "A";
  unnamed.tensors[1].name = "B";
  EXPECT_EQ(stationary_name(unnamed, 1), "stationary B") << "nothing says that B holds weights";
}

}  // namespace
}  // namespace einflow
