// Times of collectives: known answers by hand, from users' cases and from others' tools.
#include "cluster/collective_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "notation/cluster_reader.hpp"

namespace einflow::cluster {
namespace {

using enum Communication;

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Ratio ratio(std::int64_t numerator, std::int64_t denominator) { return {Count(numerator), Count(denominator)}; }

/// Of one network, without a device.
Cluster network(Topology topology, std::vector<MeshAxis> axes, std::int64_t bytes_per_second, Ratio latency) {
  Cluster cluster;
  cluster.name = "made-up";
  Network only;
  only.name = "links";
  only.axes = std::move(axes);
  only.topology = topology;
  only.bandwidth = Ratio(Count(bytes_per_second));
  only.latency = latency;
  cluster.networks.push_back(only);
  return cluster;
}

/// Nodes of `gpus` behind a switch each, one port of 1 GB/s and 1 us a GPU outside; inside 10 GB/s and 0.1 us.
Cluster two_levels(std::int64_t nodes, std::int64_t gpus) {
  Cluster cluster = network(Topology::switched, {{"node", nodes}}, 1000000000, ratio(1, 1000000));
  Network inside = cluster.networks[0];
  inside.name = "node";
  inside.axes = {{"gpu", gpus}};
  inside.bandwidth = Ratio(Count(10000000000));
  inside.latency = ratio(1, 10000000);
  cluster.networks.push_back(inside);
  return cluster;
}

Group group(std::vector<GroupAxis> axes, std::int64_t sharing = 1) { return {std::move(axes), sharing}; }

CollectiveTime time_of(const Cluster& cluster, Communication communication, Count bytes, const Group& devices,
                       std::optional<Algorithm> algorithm = std::nullopt, Efficiency efficiency = Efficiency::stated) {
  auto time = collective_time(cluster, communication, bytes, devices, efficiency, algorithm);
  if (!time) {
    ADD_FAILURE() << time.error().front().message;
    return {};
  }
  return *time;
}

std::string error_of(const Cluster& cluster, Communication communication, const Group& devices,
                     std::optional<Algorithm> algorithm = std::nullopt) {
  const auto time = collective_time(cluster, communication, Count(1000), devices, Efficiency::stated, algorithm);
  return time ? "none" : time.error().front().message;
}

// A user's case: 8 nodes on one non-blocking switch, a full-duplex port of 50 GB/s each, 10 ns a link, 2 links a
// message; all-reduce of 100 MB. Ring: 14 steps, 3500.28 us; direct: 2 steps, 3500.04 us.
TEST(CollectiveTime, AllReduceOfEightNodesOnASwitch) {
  const Cluster cluster = network(Topology::switched, {{"node", 8}}, 50000000000, ratio(20, 1000000000));
  const CollectiveTime ring = time_of(cluster, all_reduce, 100000000, group({{"node", 8}}), Algorithm::ring);
  EXPECT_EQ(ring.steps, Count(14));
  EXPECT_EQ(ring.networks.at(0).bytes, Ratio(Count(175000000)));
  EXPECT_NEAR(ring.seconds * 1e6, 3500.28, 1e-9);
  EXPECT_EQ(ring.formula, "2 x 7/8 x 100000000 B = 175000000 B / 50 GB/s + 14 x 20 ns = 3.50028 ms");
  const CollectiveTime direct = time_of(cluster, all_reduce, 100000000, group({{"node", 8}}), Algorithm::direct);
  EXPECT_EQ(direct.steps, Count(2));
  EXPECT_NEAR(direct.seconds * 1e6, 3500.04, 1e-9);
  EXPECT_EQ(time_of(cluster, all_reduce, 100000000, group({{"node", 8}})).algorithm, Algorithm::direct);
}

// A user's case: 16 GPUs in 2 nodes of 8, a port of B each, transfers inside a node free; all-to-all of S a GPU. Half
// of the destinations are in the other node: S / 2 through the port, bus bandwidth (S / t) x 15/16 = 1.875 B.
TEST(CollectiveTime, AllToAllOverTwoNodes) {
  Cluster cluster = two_levels(2, 8);
  cluster.networks[0].latency = cluster.networks[1].latency = Ratio(Count(0));
  cluster.networks[1].bandwidth = Ratio(Count(1) * Count(1000000000000000000));
  const CollectiveTime time =
      time_of(cluster, all_to_all, 16000000, group({{"node", 2}, {"gpu", 8}}), Algorithm::direct);
  EXPECT_EQ(time.networks.at(0).bytes, Ratio(Count(8000000)));
  EXPECT_EQ(time.networks.at(1).bytes, Ratio(Count(7000000)));
  const double bus = 16e6 / time.seconds * bus_factor(all_to_all, 16).to_double();
  EXPECT_NEAR(bus / 1e9, 1.875, 1e-12);
}

// nccl-tests, doc/PERFORMANCE.md.
TEST(CollectiveTime, BusFactors) {
  EXPECT_EQ(bus_factor(all_reduce, 2), Ratio(Count(1)));
  EXPECT_EQ(bus_factor(all_reduce, 8), ratio(7, 4));
  EXPECT_EQ(bus_factor(all_gather, 8), ratio(7, 8));
  EXPECT_EQ(bus_factor(reduce_scatter, 4), ratio(3, 4));
  EXPECT_EQ(bus_factor(all_to_all, 16), ratio(15, 16));
  EXPECT_EQ(bus_factor(broadcast, 8), Ratio(Count(1)));
  EXPECT_EQ(bus_factor(send_receive, 2), Ratio(Count(1)));
}

struct OnASwitch {
  Communication communication;
  Algorithm algorithm;
  Ratio share;  ///< of n that a device sends
  std::int64_t steps;
};

// The textbook, p = 8: ring and halving-doubling (Thakur, Rabenseifner, Gropp 2005), Bruck's all-to-all (half of n in
// each of log2 p rounds), two trees with half of n each (Sanders, Speck, Traff 2009), the switch that adds
// ((p + 1) / p: a device's shares in, its own share out and in again).
TEST(CollectiveTime, SharesAndStepsOnASwitchOfEight) {
  Cluster cluster = network(Topology::switched, {{"node", 8}}, 1000000000, ratio(1, 1000000));
  cluster.networks[0].in_network_reduction = true;
  using enum Algorithm;
  const OnASwitch cases[] = {
      {all_reduce, ring, ratio(7, 4), 14},
      {reduce_scatter, ring, ratio(7, 8), 7},
      {all_gather, ring, ratio(7, 8), 7},
      {broadcast, ring, ratio(1, 1), 7},
      {all_reduce, direct, ratio(7, 4), 2},
      {all_gather, direct, ratio(7, 8), 1},
      {reduce_scatter, direct, ratio(7, 8), 1},
      {all_to_all, direct, ratio(7, 8), 1},
      {send_receive, direct, ratio(1, 1), 1},
      {all_reduce, recursive_doubling, ratio(7, 4), 6},
      {all_gather, recursive_doubling, ratio(7, 8), 3},
      {all_to_all, recursive_doubling, ratio(3, 2), 3},
      {all_reduce, tree, ratio(2, 1), 6},
      {broadcast, tree, ratio(1, 1), 3},
      {all_reduce, in_network, ratio(9, 8), 2},
      {all_gather, in_network, ratio(7, 8), 1},
  };
  for (const OnASwitch& each : cases) {
    SCOPED_TRACE(to_text(each.communication) + " " + to_text(each.algorithm));
    const CollectiveTime time = time_of(cluster, each.communication, 1000000, group({{"node", 8}}), each.algorithm);
    EXPECT_EQ(time.networks.at(0).bytes, each.share * Ratio(Count(1000000)));
    EXPECT_EQ(time.steps, Count(each.steps));
    EXPECT_NEAR(time.seconds, 1e-3 * each.share.to_double() + 1e-6 * static_cast<double>(each.steps), 1e-15);
  }
  // An ideal tree of switches sends each byte once.
  cluster.networks[0].topology = Topology::fat_tree;
  EXPECT_EQ(time_of(cluster, all_reduce, 1000000, group({{"node", 8}}), in_network).networks.at(0).bytes,
            Ratio(Count(1000000)));
}

TEST(CollectiveTime, SmallMessagesWantFewStepsLargeOnesFewBytes) {
  Cluster cluster = network(Topology::switched, {{"node", 8}}, 1000000000, ratio(1, 1000000));
  cluster.networks[0].in_network_reduction = true;
  EXPECT_EQ(time_of(cluster, all_reduce, 1, group({{"node", 8}})).steps, Count(2));
  const CollectiveTime large = time_of(cluster, all_reduce, 1000000000, group({{"node", 8}}));
  EXPECT_EQ(large.algorithm, Algorithm::in_network);
  EXPECT_EQ(
      large.choice,
      "the least of ring 1.75001 s, direct 1.75 s, recursive doubling 1.75001 s, tree 2.00001 s, in-network 1.125 s");
}

// Between MI300X each pair has a link of its own: two GPUs use one link, eight use seven.
TEST(CollectiveTime, FullyConnectedDevicesUseAllLinks) {
  const Cluster cluster = network(Topology::fully_connected, {{"gpu", 8}}, 64000000000, Ratio(Count(0)));
  const Count n = 448000000;
  EXPECT_NEAR(time_of(cluster, all_gather, n, group({{"gpu", 8}}), Algorithm::direct).seconds, 448e6 / 8 / 64e9, 1e-15);
  EXPECT_NEAR(time_of(cluster, all_gather, n, group({{"gpu", 8}}), Algorithm::ring).seconds, 448e6 / 8 / 64e9, 1e-15);
  EXPECT_NEAR(time_of(cluster, all_gather, n, group({{"gpu", 2}})).seconds, 224e6 / 64e9, 1e-15);
  EXPECT_NEAR(time_of(cluster, send_receive, n, group({{"gpu", 8}})).seconds, 448e6 / 64e9, 1e-15);
  // K4 has no three directed rings without a common link (Tillson 1980).
  EXPECT_NEAR(time_of(cluster, all_gather, n, group({{"gpu", 4}}), Algorithm::ring).seconds, 336e6 / 2 / 64e9, 1e-15);
  EXPECT_NEAR(time_of(cluster, all_gather, n, group({{"gpu", 4}}), Algorithm::direct).seconds, 336e6 / 3 / 64e9, 1e-15);
}

// github.com/jax-ml/scaling-book, sharding.md, question 2 (TPU v4p 4 x 4 x 4, bf16[1024, 4096], 45 GB/s a link): one
// axis 2 B D / 9e10 (its formula leaves (p - 1) / p out), two axes twice the bandwidth; question 3: two hops, 2 us.
TEST(CollectiveTime, ToriUseBothDirectionsOfEveryAxis) {
  const Cluster cluster = network(Topology::torus, {{"x", 4}, {"y", 4}, {"z", 4}}, 45000000000, ratio(1, 1000000));
  const Count n = 2 * 1024 * 4096;
  const CollectiveTime one = time_of(cluster, all_gather, n, group({{"x", 4}}));
  EXPECT_NEAR(one.networks[0].transfer_seconds, 8388608 / 9e10 * 3 / 4, 1e-12);
  EXPECT_EQ(one.steps, Count(2));
  const CollectiveTime two = time_of(cluster, all_gather, n, group({{"x", 4}, {"y", 4}}));
  EXPECT_NEAR(two.networks[0].transfer_seconds, 8388608 / 18e10 * 15 / 16, 1e-12);
  EXPECT_EQ(two.networks[0].bytes, Ratio(Count(8388608 / 16 * 15)));
  const CollectiveTime all = time_of(cluster, all_reduce, n, group({{"x", 4}, {"y", 4}, {"z", 4}}));
  EXPECT_NEAR(all.networks[0].transfer_seconds, 2 * 8388608 / 27e10 * 63 / 64, 1e-12);
}

// The same book, question of a v5e 4 x 4 slice inside a pod of 16: a part of an axis is a line, one link, three hops.
TEST(CollectiveTime, PartOfATorusAxisIsALine) {
  const Cluster cluster = network(Topology::torus, {{"x", 16}, {"y", 16}}, 45000000000, ratio(1, 1000000));
  const CollectiveTime time = time_of(cluster, all_gather, 33554432, group({{"x", 4}}));
  EXPECT_NEAR(time.networks[0].transfer_seconds, 3 * 8388608 / 45e9, 1e-12) << "560 us in the book";
  EXPECT_EQ(time.steps, Count(3));
}

/// Messages of an all-to-all over the busiest directed link of a ring (or line) of p, along shortest ways; at equal
/// distance half of the message goes each way.
double busiest_link(std::int64_t p, bool closed) {
  std::vector<double> right(static_cast<std::size_t>(p)), left(static_cast<std::size_t>(p));
  for (std::int64_t from = 0; from < p; ++from) {
    for (std::int64_t to = 0; to < p; ++to) {
      const std::int64_t up = (to - from + p) % p;
      const std::int64_t down = p - up;
      const double share = !closed ? (to > from ? 1 : 0) : up < down ? 1 : up == down ? 0.5 : 0;
      if (to == from) continue;
      for (std::int64_t i = 0; i < (closed ? up : to - from); ++i)
        right[static_cast<std::size_t>((from + i) % p)] += share;
      for (std::int64_t i = 0; i < (closed ? down : from - to); ++i) {
        left[static_cast<std::size_t>((from - i + p) % p)] += 1 - share;
      }
    }
  }
  return std::max(*std::max_element(right.begin(), right.end()), *std::max_element(left.begin(), left.end()));
}

TEST(CollectiveTime, AllToAllOnRingsAndLinesByRouting) {
  for (std::int64_t p = 2; p <= 12; ++p) {
    const Cluster ring = network(Topology::ring, {{"x", p}}, 1000000000, Ratio(Count(0)));
    const Cluster line = network(Topology::ring, {{"x", p + 1}}, 1000000000, Ratio(Count(0)));
    const Count n = Count(p) * Count(1000);
    EXPECT_NEAR(time_of(ring, all_to_all, n, group({{"x", p}})).networks[0].link_bytes.to_double(),
                1000 * busiest_link(p, p > 2), 1e-9)
        << p;
    EXPECT_NEAR(time_of(line, all_to_all, n, group({{"x", p}})).networks[0].link_bytes.to_double(),
                1000 * busiest_link(p, false), 1e-9)
        << p;
  }
}

// Two mesh axes on one torus axis: the outer one's rings of stride 4 lie four over each other on the same links.
TEST(CollectiveTime, StridedGroupsShareLinks) {
  const Cluster cluster = network(Topology::torus, {{"x", 16}}, 1000000000, Ratio(Count(0)));
  const auto groups = groups_of(cluster, {{"dp", 4}, {"tp", 4}});
  ASSERT_TRUE(groups);
  EXPECT_EQ((*groups)[0].axes, (std::vector<GroupAxis>{{"x", 4, 4}}));
  EXPECT_EQ((*groups)[1].axes, (std::vector<GroupAxis>{{"x", 4, 1}}));
  const double near = time_of(cluster, all_gather, 1000000, (*groups)[1]).seconds;
  const double far = time_of(cluster, all_gather, 1000000, (*groups)[0]).seconds;
  EXPECT_NEAR(near, 0.75e-3, 1e-12);
  EXPECT_NEAR(far, 4 * near, 1e-12);
  // Behind a switch they do not.
  const Cluster switched = network(Topology::switched, {{"x", 16}}, 1000000000, Ratio(Count(0)));
  EXPECT_NEAR(time_of(switched, all_gather, 1000000, (*groups)[0]).seconds, near, 1e-12);
}

TEST(CollectiveTime, SharedPortsAndOversubscriptionDivideTheBandwidth) {
  Cluster cluster = network(Topology::fat_tree, {{"node", 4}}, 1000000000, Ratio(Count(0)));
  const double alone = time_of(cluster, all_gather, 4000000, group({{"node", 4}})).seconds;
  EXPECT_NEAR(alone, 3e-3, 1e-12);
  EXPECT_NEAR(time_of(cluster, all_gather, 4000000, group({{"node", 4}}, 2)).seconds, 2 * alone, 1e-12);
  cluster.networks[0].oversubscription = Ratio(Count(3), Count(2));
  EXPECT_NEAR(time_of(cluster, all_gather, 4000000, group({{"node", 4}})).seconds, 1.5 * alone, 1e-12);
}

// 4 nodes of 8, n = 32 MB. Ring through all, one of eight through each port: 2 x 31/32 n x 1/8 outside, x 7/8 inside,
// at once; a piece passes 2 x 4 links between nodes and 2 x 27 inside. Network by network: 2 x 7/8 n inside, then 2 x
// 3/4 n/8 outside.
TEST(CollectiveTime, AllReduceOverTwoNetworks) {
  const Cluster cluster = two_levels(4, 8);
  const Group all = group({{"node", 4}, {"gpu", 8}});
  const Count n = 32000000;
  const CollectiveTime ring = time_of(cluster, all_reduce, n, all, Algorithm::ring);
  EXPECT_EQ(ring.networks.at(0).bytes, Ratio(Count(7750000)));
  EXPECT_EQ(ring.networks.at(1).bytes, Ratio(Count(54250000)));
  EXPECT_EQ(ring.networks.at(0).steps, Count(8));
  EXPECT_EQ(ring.networks.at(1).steps, Count(54));
  EXPECT_NEAR(ring.seconds, 7.75e-3 + 8e-6 + 5.4e-6, 1e-12);
  const CollectiveTime phases = time_of(cluster, all_reduce, n, all, Algorithm::hierarchical);
  EXPECT_EQ(phases.networks.at(0).bytes, Ratio(Count(6000000)));
  EXPECT_EQ(phases.networks.at(1).bytes, Ratio(Count(56000000)));
  EXPECT_NEAR(phases.networks.at(0).transfer_seconds, 6e-3, 1e-12);
  EXPECT_NEAR(phases.networks.at(1).transfer_seconds, 5.6e-3, 1e-12);
  // Halving inside first, then outside: the same bytes and log2 steps.
  const CollectiveTime doubling = time_of(cluster, all_reduce, n, all, Algorithm::recursive_doubling);
  EXPECT_EQ(doubling.networks.at(0).bytes, Ratio(Count(6000000)));
  EXPECT_EQ(doubling.networks.at(1).bytes, Ratio(Count(56000000)));
  EXPECT_EQ(doubling.steps, Count(10));
  EXPECT_EQ(time_of(cluster, all_reduce, n, all).algorithm, Algorithm::ring);
}

// What a device sends in all is the same whatever networks the ring goes through.
TEST(CollectiveTime, RingsThroughSeveralNetworksSendTheSameBytes) {
  Cluster cluster = two_levels(3, 4);
  Network rack = cluster.networks[0];
  rack.name = "rack";
  rack.axes = {{"rack", 2}};
  cluster.networks.insert(cluster.networks.begin(), rack);
  for (const Communication communication : {all_reduce, all_gather, reduce_scatter}) {
    const CollectiveTime time =
        time_of(cluster, communication, 24000, group({{"rack", 2}, {"node", 3}, {"gpu", 4}}), Algorithm::ring);
    Ratio sent;
    for (const NetworkTime& each : time.networks) sent = sent + each.bytes;
    EXPECT_EQ(sent, bus_factor(communication, 24) * Ratio(Count(24000)));
    EXPECT_EQ(time.steps, Count(communication == all_reduce ? 46 : 23));
  }
}

TEST(CollectiveTime, GroupsOfAMeshLieRowByRow) {
  const Cluster cluster = *load_cluster(kLibrary, "dgx-h100-superpod");
  const auto groups = groups_of(cluster, {{"pp", 4}, {"dp", 4}, {"tp", 16}});
  ASSERT_TRUE(groups);
  EXPECT_EQ((*groups)[2].axes, (std::vector<GroupAxis>{{"node", 2, 1}, {"gpu", 8, 1}}));
  EXPECT_EQ((*groups)[1].axes, (std::vector<GroupAxis>{{"node", 4, 2}}));
  EXPECT_EQ((*groups)[0].axes, (std::vector<GroupAxis>{{"node", 4, 8}}));
  EXPECT_EQ((*groups)[0].size(), 4);
  const auto within = groups_of(cluster, {{"dp", 3}, {"cp", 2}, {"tp", 4}});
  ASSERT_TRUE(within);
  EXPECT_EQ((*within)[1].axes, (std::vector<GroupAxis>{{"gpu", 2, 4}}));
  EXPECT_EQ((*within)[0].axes, (std::vector<GroupAxis>{{"node", 3, 1}}));
  EXPECT_TRUE(groups_of(cluster, {{"tp", 6}})) << "six of a node's eight";
  EXPECT_FALSE(groups_of(cluster, {{"dp", 2}, {"tp", 6}})) << "the second six would lie in two nodes";
  EXPECT_FALSE(groups_of(cluster, {{"tp", 12}}));
  EXPECT_FALSE(groups_of(cluster, {{"dp", 64}, {"tp", 8}})) << "512 of 256";
}

/// Every device's group by brute force: those with its coordinates on all other axes of the mesh, as cluster places.
TEST(CollectiveTime, GroupsAreThoseOfTheNumbering) {
  const Cluster cluster = two_levels(6, 4);
  for (const auto& sizes :
       std::vector<std::vector<std::int64_t>>{{2, 3, 4}, {3, 4, 2}, {6, 2, 2}, {1, 12, 2}, {3, 8, 1}}) {
    const std::vector<MeshAxis> mesh{{"a", sizes[0]}, {"b", sizes[1]}, {"c", sizes[2]}};
    const auto groups = groups_of(cluster, mesh);
    ASSERT_TRUE(groups);
    const DeviceMesh numbering{mesh};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      std::set<std::int64_t> expected;
      for (std::int64_t value = 0; value < sizes[axis]; ++value) {
        std::vector<std::int64_t> at(3, 0);
        at[axis] = value;
        expected.insert((at[0] * sizes[1] + at[1]) * sizes[2] + at[2]);
      }
      std::set<std::int64_t> found{0};
      for (const GroupAxis& part : (*groups)[axis].axes) {
        std::set<std::int64_t> more;
        for (const std::int64_t device : found) {
          for (std::int64_t i = 0; i < part.size; ++i) {
            more.insert(device + i * part.stride * (part.axis == "node" ? 4 : 1));
          }
        }
        found = more;
      }
      EXPECT_EQ(found, expected) << sizes[0] << " " << sizes[1] << " " << sizes[2] << " axis " << axis;
    }
  }
}

TEST(CollectiveTime, OneDeviceTakesNoTime) {
  const CollectiveTime time = time_of(two_levels(2, 8), all_reduce, 1000, group({{"gpu", 1}}));
  EXPECT_EQ(time.seconds, 0);
  EXPECT_TRUE(time.networks.empty());
}

TEST(CollectiveTime, SendToTheNextCrossesTheOutermostNetwork) {
  const Cluster cluster = two_levels(4, 8);
  EXPECT_NEAR(time_of(cluster, send_receive, 1000000, group({{"node", 4}})).seconds, 1.001e-3, 1e-12);
  EXPECT_NEAR(time_of(cluster, send_receive, 1000000, group({{"gpu", 8}})).seconds, 0.1e-3 + 0.1e-6, 1e-12);
  EXPECT_NEAR(time_of(cluster, send_receive, 1000000, group({{"node", 4}, {"gpu", 8}})).seconds, 1.001e-3, 1e-12);
}

TEST(CollectiveTime, SaysWhyNot) {
  const Cluster cluster = two_levels(3, 8);
  EXPECT_EQ(error_of(cluster, all_reduce, group({{"nodes", 2}})), "the cluster 'made-up' has no axis 'nodes'");
  EXPECT_EQ(error_of(cluster, all_reduce, group({{"gpu", 4, 4}})),
            "4 devices, each 4 from the next, do not fit on the axis 'gpu' of 8");
  EXPECT_EQ(error_of(cluster, all_reduce, group({{"gpu", 2}, {"gpu", 2}})), "the group names the axis 'gpu' twice");
  EXPECT_EQ(error_of(cluster, all_reduce, group({{"node", 3}}), Algorithm::recursive_doubling),
            "no recursive doubling all-reduce here: 3 devices are not a power of two");
  EXPECT_EQ(error_of(cluster, all_reduce, group({{"gpu", 8}}), Algorithm::in_network),
            "no in-network all-reduce here: the network 'node' does not add");
  EXPECT_EQ(error_of(cluster, all_gather, group({{"gpu", 8}}), Algorithm::tree),
            "no tree all-gather here: there is none of all-gather on this network");
  EXPECT_EQ(error_of(cluster, all_gather, group({{"gpu", 8}}), Algorithm::hierarchical),
            "no hierarchical all-gather here: it needs a group in several networks");
}

TEST(CollectiveTime, BytesBeyondReasonAreAnError) {
  const Cluster cluster = two_levels(3, 8);
  for (const Count bytes : {Count(-1), Count(Count::Int{1} << 65), Count::overflow()}) {
    EXPECT_FALSE(collective_time(cluster, all_reduce, bytes, group({{"gpu", 8}})));
  }
  EXPECT_EQ(time_of(cluster, all_reduce, 0, group({{"gpu", 8}}), Algorithm::direct).networks[0].transfer_seconds, 0);
}

TEST(CollectiveTime, EveryCommunicationHasATimeOnEveryClusterOfTheLibrary) {
  for (const char* name : {"dgx-a100", "dgx-a100-superpod", "dgx-h100-superpod", "gb200-nvl72", "mi300x-cluster",
                           "tpu-v4-pod", "tpu-v5e-pod", "tpu-v5p-pod"}) {
    const Cluster cluster = *load_cluster(kLibrary, name);
    Group all;
    for (const Network& each : cluster.networks) {
      for (const MeshAxis& axis : each.axes) all.axes.push_back({axis.name, axis.size});
    }
    for (const Communication communication :
         {all_reduce, reduce_scatter, all_gather, all_to_all, broadcast, send_receive}) {
      for (const Efficiency efficiency : {Efficiency::stated, Efficiency::measured}) {
        double before = 0;
        for (const std::int64_t bytes : {1LL, 1000LL, 1048575LL, 1048576LL, 1000000000LL}) {
          const CollectiveTime time = time_of(cluster, communication, bytes, all, std::nullopt, efficiency);
          EXPECT_TRUE(std::isfinite(time.seconds) && time.seconds > 0) << name << " " << to_text(communication);
          EXPECT_GE(time.seconds, before * 0.5) << name << " " << to_text(communication) << " " << bytes;
          EXPECT_FALSE(time.formula.empty());
          EXPECT_EQ(collective_seconds(cluster, communication, bytes, all, efficiency), time.seconds);
          before = time.seconds;
        }
      }
    }
  }
}

}  // namespace
}  // namespace einflow::cluster
