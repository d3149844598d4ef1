#include "machine/machine.hpp"

#include <gtest/gtest.h>

#include "support/builders.hpp"

namespace einflow {
namespace {

TEST(Machine, CountsInstancesOverAllMeshes) {
  const Machine cluster =
      testing::machine({testing::storage("Pool"), testing::mesh("nodes", 4, {}), testing::storage("HBM"),
                        testing::mesh("array", 16, 8, {}), testing::compute("MAC")});
  EXPECT_EQ(cluster.compute_instances(), Count(4 * 16 * 8));
  EXPECT_EQ(cluster.mesh(3)->size(), 128);
}

TEST(Machine, FindsLevelsByName) {
  const Machine machine = testing::array_machine(4, 4, {});
  EXPECT_EQ(machine.level_named("Buffer"), 1);
  EXPECT_EQ(machine.level_named("L2"), -1);
  EXPECT_EQ(machine.level_name(machine.compute_level()), "MAC");
  EXPECT_EQ(machine.storage(2), nullptr) << "the mesh is no storage";
}

TEST(FigureFor, PrefersTheTypesOwn) {
  const PerType<int> figures{{"", 1}, {"fp8", 2}};
  EXPECT_EQ(figure_for(figures, "fp8"), 2);
  EXPECT_EQ(figure_for(figures, "bf16"), 1);
  EXPECT_EQ(figure_for(PerType<int>{{"fp8", 2}}, "bf16"), std::nullopt);
}

}  // namespace
}  // namespace einflow
