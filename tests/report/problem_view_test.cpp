// A layer printed as a part of a spec reads back to the same einsum.
#include "report/problem_view.hpp"

#include <gtest/gtest.h>

#include "notation/spec_reader.hpp"
#include "notation/spec_writer.hpp"
#include "report/mapping_skeleton.hpp"
#include "support/builders.hpp"
#include "support/worked_example.hpp"

namespace einflow {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Einsum read_back(const std::string& fragment) {
  const SourceText source{"fragment", fragment + "machine: toy\n"};
  const Result<ReadSpec> read = read_spec(source, kLibrary, MappingPart::optional);
  if (!read) throw std::runtime_error(render(read.error(), source));
  return read->spec.einsum;
}

TEST(SpecFragment, ReadsBackToTheSameProblem) {
  for (const char* path : {"resnet50/conv1", "resnet50/layer1.0.conv2", "llama3-8b-prefill/scores"}) {
    const Result<ChosenProblem> chosen = choose_problem(path, kLibrary);
    ASSERT_TRUE(chosen) << path;
    const Einsum again = read_back(problem_text(chosen->einsum));
    EXPECT_EQ(to_text(again), to_text(chosen->einsum));
    // Ranks come in the order of first use, not in the constructor's.
    ASSERT_EQ(again.ranks.size(), chosen->einsum.ranks.size());
    for (const Rank& rank : again.ranks) {
      const int index = chosen->einsum.rank_named(rank.name);
      ASSERT_GE(index, 0);
      EXPECT_EQ(rank, chosen->einsum.ranks[static_cast<std::size_t>(index)]);
    }
    EXPECT_EQ(again.executed, chosen->einsum.executed);
    EXPECT_EQ(again.name, chosen->einsum.name);
    // A size that cuts nothing off may be stated where it was not; the elements are the same.
    ASSERT_EQ(again.tensors.size(), chosen->einsum.tensors.size());
    for (std::size_t t = 0; t < again.tensors.size(); ++t) {
      EXPECT_EQ(again.tensors[t].type, chosen->einsum.tensors[t].type);
      for (std::size_t a = 0; a < again.tensors[t].axes.size(); ++a) {
        const auto& size = chosen->einsum.tensors[t].axes[a].stored_size;
        if (size) {
          EXPECT_EQ(again.tensors[t].axes[a].stored_size, size);
        }
      }
    }
  }
}

TEST(MappingSkeleton, NamesEveryLevelAndRank) {
  const Spec spec = testing::read(testing::worked_example_text());
  EXPECT_EQ(mapping_skeleton(spec.einsum, spec.machine),
            "at DRAM: X W Y\n"
            "for m n k by TILE\n"
            "at Buffer: X W Y\n"
            "par m by TILE on array.x  # at most 16 tiles\n"
            "par n by TILE on array.y  # at most 16 tiles\n"
            "for m n k by TILE\n"
            "at RF: X W Y\n"
            "for m by 1\nfor n by 1\nfor k by 1\n");
}

}  // namespace
}  // namespace einflow
