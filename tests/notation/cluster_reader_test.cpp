// What a cluster's text means, and what is refused, with its place.
#include "notation/cluster_reader.hpp"

#include <gtest/gtest.h>

#include "notation/library.hpp"

namespace einflow {
namespace {

using cluster::Cluster;
using cluster::Topology;

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

const std::string kText =
    "name: two-racks\n"
    "source: \"made up\"\n"
    "device: toy\n"
    "networks:\n"
    "  - {network: spine, axes: {rack: 2, node: 4}, topology: fat tree, bandwidth: 400 Gbit/s, latency: 2.5 us,\n"
    "     oversubscription: 1.5, source: \"made up\"}\n"
    "  - {network: links, axes: {gpu: 8}, topology: fully connected, bandwidth: 64 GB/s, latency: 500 ns}\n"
    "notes: [\"a note\"]\n";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

Cluster read(const std::string& text) {
  const SourceText source{"c.yaml", text};
  auto cluster = read_cluster_text(source, kLibrary);
  EXPECT_TRUE(cluster) << (cluster ? "" : render(cluster.error(), source));
  return cluster ? *cluster : Cluster{};
}

/// The first error of the text in which `from` became `to`: "line:column message; hint".
std::string error_of(const std::string& from, const std::string& to) {
  const auto cluster = read_cluster_text({"c.yaml", replaced(kText, from, to)}, kLibrary);
  if (cluster) return "none";
  const Diagnostic& error = cluster.error().front();
  EXPECT_EQ(error.source, "c.yaml");
  const std::string hint = error.hint.empty() ? "" : "; " + error.hint;
  return std::to_string(error.span.line) + ":" + std::to_string(error.span.column) + " " + error.message + hint;
}

TEST(ReadCluster, ReadsEveryKey) {
  const Cluster cluster = read(kText);
  EXPECT_EQ(cluster.name, "two-racks");
  EXPECT_EQ(cluster.device.name, "toy");
  EXPECT_EQ(cluster.devices(), 64);
  EXPECT_EQ(cluster.notes, std::vector<std::string>{"a note"});
  ASSERT_EQ(cluster.networks.size(), 2u);
  const cluster::Network& spine = cluster.networks[0];
  EXPECT_EQ(spine.axes, (std::vector<MeshAxis>{{"rack", 2}, {"node", 4}}));
  EXPECT_EQ(spine.topology, Topology::fat_tree);
  EXPECT_EQ(spine.bandwidth, Ratio(Count(50000000000))) << "400 Gbit/s";
  EXPECT_EQ(spine.latency, Ratio(Count(25), Count(10000000))) << "2.5 us";
  EXPECT_EQ(spine.oversubscription, Ratio(Count(3), Count(2)));
  EXPECT_FALSE(spine.in_network_reduction);
  const cluster::Network& links = cluster.networks[1];
  EXPECT_EQ(links.topology, Topology::fully_connected);
  EXPECT_EQ(links.latency, Ratio(Count(1), Count(2000000)));
  EXPECT_EQ(links.oversubscription, Ratio(Count(1)));
}

TEST(ReadCluster, TheDeviceMayStandInPlace) {
  const Cluster cluster = read(
      replaced(kText, "device: toy", "device: {name: own, levels: [{storage: HBM, capacity: 1 GB}, {compute: MAC}]}"));
  EXPECT_EQ(cluster.device.name, "own");
  EXPECT_EQ(cluster.memory_bytes(), Count(1000000000));
}

TEST(ReadCluster, RefusesWithPlaceAndHint) {
  EXPECT_EQ(error_of("device: toy", "device: h100-smx"), "3:9 unknown machine 'h100-smx'; did you mean 'h100-sxm'?");
  EXPECT_EQ(error_of("device: toy", "device: dgx-h100"),
            "3:9 'dgx-h100' is a cluster, not a machine; its devices are 'h100-sxm'");
  EXPECT_EQ(error_of("topology: fat tree", "topology: fat-tree"),
            "5:58 unknown topology 'fat-tree'; did you mean 'fat tree'?");
  EXPECT_EQ(error_of("400 Gbit/s", "400 Gbit"),
            "5:83 the unit 'Gbit' is not one that is expected here; did you mean 'Gbit/s'? units: MB/s, GB/s, TB/s, "
            "GiB/s, Gbit/s");
  EXPECT_EQ(error_of("latency: 2.5 us", "latency: 2.5"), "5:100 '2.5' has no unit; units: s, ms, us, ns");
  EXPECT_EQ(error_of("latency: 500 ns", "latencies: 500 ns"),
            "7:85 unknown key 'latencies' in network 'links'; did you mean 'latency'?");
  EXPECT_EQ(error_of("axes: {gpu: 8}", "axes: {node: 8}"),
            "7:29 an axis 'node' was already given on line 5; axes need names of their own, over all networks");
  EXPECT_EQ(error_of("network: links", "network: spine"),
            "7:15 a network 'spine' was already given on line 5; networks need names of their own");
  EXPECT_EQ(error_of("oversubscription: 1.5", "oversubscription: 0.5"),
            "6:24 found '0.5', expected a number of at least 1 for 'oversubscription'; 1 is a full tree, 2 has half of "
            "the bandwidth above");
  EXPECT_EQ(error_of("latency: 500 ns", "latency: 500 ns, oversubscription: 2"),
            "7:120 only a fat tree has an oversubscription");
  EXPECT_EQ(error_of("latency: 500 ns", "latency: 500 ns, in_network_reduction: true"),
            "7:124 only a switch or a fat tree can add in the network");
  EXPECT_EQ(error_of("gpu: 8", "gpu: 0"), "7:34 found '0', expected a whole number of at least 1 for the axis 'gpu'");
  EXPECT_EQ(error_of("rack: 2", "rack: 4000000000000000000"), "5:3 the cluster has more than 2^40 devices");
}

TEST(ReadCluster, TellsWhatIsMissing) {
  const auto cluster = read_cluster_text({"c.yaml", "name: x\nnetworks: [{network: a}]\n"}, kLibrary);
  ASSERT_FALSE(cluster);
  EXPECT_EQ(cluster.error().size(), 5u) << "device; axes, topology, bandwidth, latency";
  EXPECT_FALSE(read_cluster_text({"c.yaml", "networks: []\ndevice: toy\n"}, kLibrary));
  EXPECT_FALSE(read_cluster_text({"c.yaml", "[1, 2]"}, kLibrary));
  EXPECT_FALSE(read_cluster_text({"c.yaml", "{"}, kLibrary));
}

TEST(LoadCluster, RefusesWrongSizes) {
  const auto message = [](const std::string& text) {
    const auto cluster = load_cluster(kLibrary, text);
    return cluster ? "none" : cluster.error()[0].message + "; " + cluster.error()[0].hint;
  };
  EXPECT_EQ(message("dgx-h100-superpod:nodes=4"),
            "the cluster 'dgx-h100-superpod' has no axis 'nodes'; did you mean 'node'?");
  EXPECT_EQ(message("dgx-h100-superpod:node=0"), "'node=0' is not the size of an axis; AXIS=SIZE, as node=128");
  EXPECT_EQ(message("dgx-h100-superpod:node"), "'node' is not the size of an axis; AXIS=SIZE, as node=128");
  EXPECT_EQ(message("dgx-h100-superpod:"), "'dgx-h100-superpod:' names no axis; NAME:AXIS=SIZE");
  EXPECT_EQ(message("dgx-h100-superpod:node=2,node=3"), "two sizes are given for the axis 'node'; ");
  EXPECT_EQ(message("dgx-h100-superpod:node=2,"), "'node=2,' ends with a comma; AXIS=SIZE, as node=128");
  EXPECT_EQ(message("dgx-h100-superpods"), "unknown cluster 'dgx-h100-superpods'; did you mean 'dgx-h100-superpod'?");
  EXPECT_EQ(message("dgx-h100-superpod:node=9999999999999"), "the cluster has more than 2^40 devices; ");
}

}  // namespace
}  // namespace einflow
