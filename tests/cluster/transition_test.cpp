#include <gtest/gtest.h>

#include "cluster/program.hpp"
#include "cluster/traffic.hpp"

namespace einflow::cluster {
namespace {

const ElementType kType{"bf16", 16};

std::vector<Collective> way(const std::vector<Rank>& ranks, const Placement& from, const Placement& to,
                            const DeviceMesh& mesh) {
  const auto found = transition("T", ranks, kType, from, to, mesh);
  EXPECT_TRUE(found) << (found ? "" : found.error().front().message);
  return found ? *found : std::vector<Collective>{};
}

/// Elements that arrive, on average, at a device.
double arriving(const std::vector<Collective>& collectives, const DeviceMesh& mesh) {
  Count all = 0;
  for (const Collective& collective : collectives) all += traffic_of(collective, mesh).total;
  return all.to_double() / static_cast<double>(mesh.devices());
}

TEST(Placement, PiecesAreCeiledTheLastOnesSmallerOrEmpty) {
  // 5 elements on 4 devices, as `par r into 4` cuts them: 2, 2, 1, 0.
  const DeviceMesh mesh{{{"p", 4}}};
  const Placement placement{{split("r")}};
  const std::vector<Rank> ranks{{"r", 5}};
  EXPECT_EQ(piece(ranks, placement, mesh, 0).front(), (Interval{0, 2}));
  EXPECT_EQ(piece(ranks, placement, mesh, 2).front(), (Interval{4, 5}));
  EXPECT_EQ(piece_elements(ranks, placement, mesh, 3), Count(0));
  EXPECT_EQ(largest_piece(ranks, placement, mesh), Count(2));
}

TEST(Placement, DepthSaysWhichAxisCutsFirst) {
  const DeviceMesh mesh{{{"i", 2}, {"j", 2}}};
  const std::vector<Rank> ranks{{"r", 8}};
  const Placement j_first{{split("r", 1), split("r", 0)}};
  // Device (i, j) = (0, 1): j takes the upper half, i its lower quarter.
  EXPECT_EQ(piece(ranks, j_first, mesh, 1).front(), (Interval{4, 6}));
  EXPECT_EQ(to_text(j_first, mesh), "i: S(r), j: S(r); r cut by j, then i");
}

TEST(Placement, WhatDoesNotFitIsNamed) {
  const DeviceMesh mesh{{{"tp", 2}}};
  const auto wrong = check(Placement{{split("n")}}, mesh, {{"m", 4}, {"k", 4}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().front().message, "axis tp splits rank 'n', which the tensor does not have");
}

TEST(Transition, EachChangeOfStateIsItsCollective) {
  const DeviceMesh mesh{{{"p", 4}}};
  const std::vector<Rank> ranks{{"m", 8}, {"n", 8}};
  struct Case {
    State from;
    State to;
    CollectiveKind kind;
    int sent;  ///< by a device, of 64 elements: 2 x 3/4, 3/4, 3/4, 3/4 of a quarter, nothing
  };
  for (const Case& c : {Case{partial(), replicated(), CollectiveKind::all_reduce, 96},
                        Case{partial(), split("m"), CollectiveKind::reduce_scatter, 48},
                        Case{split("m"), replicated(), CollectiveKind::all_gather, 48},
                        Case{split("m"), split("n"), CollectiveKind::all_to_all, 12},
                        Case{replicated(), split("n"), CollectiveKind::slice, 0}}) {
    const auto steps = way(ranks, {{c.from}}, {{c.to}}, mesh);
    ASSERT_EQ(steps.size(), 1U);
    EXPECT_EQ(steps.front().kind, c.kind);
    EXPECT_EQ(traffic_of(steps.front(), mesh).busiest, Count(c.sent));
    EXPECT_EQ(traffic_of(steps.front(), mesh).total, Count(4 * c.sent));
  }
}

TEST(Transition, OfTwoAxesTheCheapestOrderIsTaken) {
  // pytorch issue 157585: N words on a 2 x 2 mesh, split by X, then by Y.
  const DeviceMesh mesh{{{"X", 2}, {"Y", 2}}};
  const std::vector<Rank> ranks{{"n", 1000}};
  const Placement both{{split("n", 0), split("n", 1)}};
  // Copied over Y: each device lacks one quarter.
  EXPECT_DOUBLE_EQ(arriving(way(ranks, both, {{split("n"), replicated()}}, mesh), mesh), 250);
  // Split by Y: two devices lack one quarter, two lack both. Two gathers and a slice would bring 0.75 N.
  EXPECT_DOUBLE_EQ(arriving(way(ranks, both, {{replicated(), split("n")}}, mesh), mesh), 375);
}

TEST(Transition, APartialOfTwoAxesIsReducedOnceAndGatheredOnce) {
  // 2 (p - 1) / p n over p = 6 devices: reduce-scatter over both axes, then all-gather; two all-reduces send more.
  const DeviceMesh mesh{{{"i", 2}, {"j", 3}}};
  const std::vector<Rank> ranks{{"n", 36}};
  const auto steps = way(ranks, {{partial(), partial()}}, everywhere(mesh), mesh);
  EXPECT_DOUBLE_EQ(arriving(steps, mesh), 2.0 * 5 / 6 * 36);
}

TEST(Traffic, UnevenPiecesAddUpToTheWhole) {
  // A ring gather moves each of 7 elements to the other 2 devices; the busiest sends all but its neighbour's piece.
  const DeviceMesh mesh{{{"p", 3}}};
  const auto steps = way({{"n", 7}}, {{split("n")}}, {{replicated()}}, mesh);
  EXPECT_EQ(traffic_of(steps.front(), mesh).total, Count(14));
  EXPECT_EQ(traffic_of(steps.front(), mesh).busiest, Count(7 - 1));
  EXPECT_EQ(traffic_of(steps.front(), mesh).steps, Count(2));
}

TEST(Traffic, UlyssesSendsAnEighthOfSequenceParallelism) {
  // deepspeed issue 4217: 32768 tokens of 4096 in bf16 on 8 devices. Two gathers and two scatters of the whole, or an
  // all-to-all of each of four tensors that are split.
  const DeviceMesh mesh{{{"p", 8}}};
  const std::vector<Rank> ranks{{"s", 32768}, {"a", 32}, {"d", 128}};
  const Traffic gather = traffic_of(way(ranks, {{split("s")}}, {{replicated()}}, mesh).front(), mesh);
  const Traffic scatter = traffic_of(way(ranks, {{partial()}}, {{split("s")}}, mesh).front(), mesh);
  const Traffic exchange = traffic_of(way(ranks, {{split("s")}}, {{split("a")}}, mesh).front(), mesh);
  EXPECT_EQ(bytes_of(gather.busiest * Count(2) + scatter.busiest * Count(2), kType), Count(939524096));
  EXPECT_EQ(bytes_of(exchange.busiest * Count(4), kType), Count(117440512));
}

}  // namespace
}  // namespace einflow::cluster
