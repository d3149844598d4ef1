// The library's clusters: every file loads, every figure has a source, sizes and bandwidths as published.
#include "cluster/cluster.hpp"

#include <gtest/gtest.h>

#include "notation/cluster_reader.hpp"
#include "notation/library.hpp"

namespace einflow::cluster {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Cluster load(const std::string& text) {
  auto cluster = load_cluster(kLibrary, text);
  if (!cluster) {
    ADD_FAILURE() << text << ": " << cluster.error().front().message;
    return {};
  }
  return *cluster;
}

ElementType bf16() { return *find_element_type("bf16"); }

TEST(ClusterLibrary, EveryClusterLoadsAndSaysWhereItsFiguresAreFrom) {
  const std::vector<std::string> names = cluster_names(kLibrary);
  EXPECT_EQ(names,
            (std::vector<std::string>{"dgx-a100", "dgx-a100-superpod", "dgx-h100", "dgx-h100-superpod", "gb200-nvl72",
                                      "mi300x-cluster", "mi300x-node", "tpu-v4-pod", "tpu-v5e-pod", "tpu-v5p-pod"}));
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const Cluster cluster = load(name);
    EXPECT_EQ(cluster.name, name);
    EXPECT_FALSE(cluster.source.empty());
    EXPECT_TRUE(cluster.memory_bytes());
    EXPECT_TRUE(cluster.memory_bandwidth());
    EXPECT_TRUE(cluster.peak_flops(bf16()));
    for (const Network& network : cluster.networks) {
      EXPECT_FALSE(network.source.empty()) << network.name;
      EXPECT_LT(Ratio(Count(0)), network.bandwidth);
      EXPECT_LT(Ratio(Count(0)), network.latency);
    }
  }
}

struct Published {
  const char* cluster;
  std::int64_t devices;
  double memory;     ///< bytes of a device
  double bandwidth;  ///< of its memory, B/s
  double peak;       ///< FLOP/s of bf16, dense
  double innermost;  ///< B/s of the innermost network: a port, or one link
};

// Data sheets of A100 80 GB, H100, GB200, MI300X; Google's pages of TPU v4, v5e, v5p; NVLink 3, 4, 5 and xGMI per
// direction by the ml-engineering tables; ICI links: 1200 and 400 GB/s a chip over 6 x 2 and 4 x 2 directed links.
const Published kPublished[] = {
    {"dgx-a100", 8, 80e9, 2039e9, 312e12, 300e9},
    {"dgx-a100-superpod", 160, 80e9, 2039e9, 312e12, 300e9},
    {"dgx-h100", 8, 80e9, 3350e9, 989.4e12, 450e9},
    {"dgx-h100-superpod", 256, 80e9, 3350e9, 989.4e12, 450e9},
    {"gb200-nvl72", 72, 186e9, 8000e9, 2500e12, 900e9},
    {"mi300x-node", 8, 192e9, 5300e9, 1307.4e12, 64e9},
    {"tpu-v4-pod", 4096, 34359738368.0, 1200e9, 275e12, 50e9},
    {"tpu-v5p-pod", 8960, 102005473280.0, 2765e9, 459e12, 1200e9 / 12},
    {"tpu-v5e-pod", 256, 16e9, 819e9, 197e12, 400e9 / 8},
};

TEST(ClusterLibrary, SizesAndPeaksAsPublished) {
  for (const Published& published : kPublished) {
    SCOPED_TRACE(published.cluster);
    const Cluster cluster = load(published.cluster);
    EXPECT_EQ(cluster.devices(), published.devices);
    EXPECT_EQ(cluster.memory_bytes()->to_double(), published.memory);
    EXPECT_NEAR(cluster.memory_bandwidth()->to_double(), published.bandwidth, 1);
    EXPECT_NEAR(cluster.peak_flops(bf16())->to_double(), published.peak, 0.003 * published.peak);
    EXPECT_EQ(cluster.networks.back().bandwidth.to_double(), published.innermost);
  }
}

// 132 SMs x 4 tensor cores x 512 MACs x 2 x 1.83 GHz; fp8 doubles it; Ampere has no fp8.
TEST(Cluster, PeaksAreOfAWholeDevice) {
  EXPECT_EQ(load("dgx-h100").peak_flops(bf16()), Ratio(Count(989429760000000)));
  EXPECT_EQ(load("dgx-h100").peak_flops(*find_element_type("fp8")), Ratio(Count(2) * Count(989429760000000)));
  EXPECT_EQ(load("dgx-a100").peak_flops(*find_element_type("fp8")), std::nullopt);
}

TEST(Cluster, WithoutFiguresThereAreNone) {
  Cluster cluster;
  EXPECT_EQ(cluster.devices(), 1);
  EXPECT_EQ(cluster.memory_bytes(), std::nullopt);
  EXPECT_EQ(cluster.memory_bandwidth(), std::nullopt);
  EXPECT_EQ(cluster.peak_flops(bf16()), std::nullopt);
}

TEST(Cluster, NamesMayCarrySizes) {
  EXPECT_EQ(load("dgx-h100-superpod:node=128").devices(), 1024);
  EXPECT_EQ(load("gb200-nvl72:rack=8").devices(), 576);
  const Cluster slice = load("tpu-v5p-pod:x=4,y=4,z=8");
  EXPECT_EQ(slice.devices(), 128);
  EXPECT_EQ(slice.networks[0].axes[2].size, 8);
  EXPECT_EQ(slice.name, "tpu-v5p-pod");
}

TEST(Cluster, ClustersAreNoMachinesAndMachinesNoClusters) {
  for (const std::string& name : machine_names(kLibrary)) {
    EXPECT_TRUE(machine_named(name, kLibrary)) << name;
    EXPECT_FALSE(cluster_named(name, kLibrary)) << name;
  }
  const auto machine = machine_named("dgx-h100", kLibrary);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error()[0].message, "'dgx-h100' is a cluster, not a machine");
  EXPECT_EQ(machine.error()[0].hint, "its devices are 'h100-sxm'");
}

}  // namespace
}  // namespace einflow::cluster
