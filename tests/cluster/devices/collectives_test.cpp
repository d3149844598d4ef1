// Collectives on pieces of unequal size, counted by hand.
#include <gtest/gtest.h>

#include <limits>

#include "cluster/devices/collectives.hpp"
#include "cluster/devices/hand_programs.hpp"

namespace einflow::cluster {
namespace {

using namespace testing;
using Elements = std::vector<std::int64_t>;

/// A tensor that goes through collectives, and is whole at the end.
struct Journey {
  std::vector<Elements> sent;
  std::vector<Elements> received;
  Values whole;
};

Journey travel(const DeviceMesh& mesh, const std::vector<Rank>& ranks, const Values& values,
               const std::vector<std::tuple<Kind, int, Placement>>& changes, const Placement& start,
               const std::optional<TimeLoop>& time = {}) {
  Program program;
  program.mesh = mesh;
  program.inputs["T"] = start;
  Placement from = start;
  for (const auto& [kind, axis, to] : changes) {
    program.forward.push_back(Collective{kind, "T", ranks, {}, axis, from, to, time});
    from = to;
  }
  program.outputs["T"] = from;
  Journey journey;
  const auto run = devices::run(program, {{{"T", values}}, {}});
  if (!run) {
    ADD_FAILURE() << messages(run.error());
    return journey;
  }
  for (const devices::Exchange& exchange : run->exchanges) {
    journey.sent.push_back(exchange.tally.sent);
    journey.received.push_back(exchange.tally.received);
  }
  journey.whole = run->microbatch.front().at("T");
  return journey;
}

const DeviceMesh kFour{{{"p", 4}}};
/// 5 rows on 4 devices are pieces of 2, 2, 1 and 0 rows; 3 columns are 1, 1, 1 and 0.
const std::vector<Rank> kFive{{"r", 5}, {"c", 3}};

TEST(DevicesCollectives, GatherOfFiveRowsOnFourDevices) {
  const Values values = whole_numbers(15, 1);
  for (const std::optional<TimeLoop>& time : {std::optional<TimeLoop>{}, std::optional(TimeLoop{"r", Delivery::shift}),
                                              std::optional(TimeLoop{"r", Delivery::broadcast})}) {
    const Journey journey = travel(kFour, kFive, values, {{Kind::all_gather, 0, {{R()}}}}, {{S("r")}}, time);
    EXPECT_EQ(journey.whole, values);
    // All but the next device's piece goes out, all but the own comes in.
    EXPECT_EQ(journey.sent.at(0), (Elements{9, 12, 15, 9}));
    EXPECT_EQ(journey.received.at(0), (Elements{9, 9, 12, 15}));
  }
}

TEST(DevicesCollectives, ScatterOfFiveRowsOnFourDevices) {
  const Values values = whole_numbers(15, 1);
  for (const std::optional<TimeLoop>& time : {std::optional<TimeLoop>{}, std::optional(TimeLoop{"r", Delivery::shift}),
                                              std::optional(TimeLoop{"r", Delivery::broadcast})}) {
    const Journey journey = travel(kFour, kFive, values, {{Kind::reduce_scatter, 0, {{S("r")}}}}, {{P()}}, time);
    EXPECT_EQ(journey.whole, values);
    // All but the own piece's sum is passed on to the next device, which gets all but its neighbour's.
    EXPECT_EQ(journey.sent.at(0), (Elements{9, 9, 12, 15}));
    EXPECT_EQ(journey.received.at(0), (Elements{15, 9, 9, 12}));
  }
}

TEST(DevicesCollectives, ReductionOfSevenElementsOnFourDevices) {
  // Flat chunks of 2, 2, 2 and 1: 7 less the own chunk, then 7 less the next device's.
  const Values values = whole_numbers(7, 1);
  const Journey journey = travel(kFour, {{"r", 7}}, values, {{Kind::all_reduce, 0, {{R()}}}}, {{P()}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), (Elements{10, 10, 11, 11}));
  EXPECT_EQ(journey.received.at(0), (Elements{11, 10, 10, 11}));
}

TEST(DevicesCollectives, RowsBecomeColumns) {
  // Device 0 has 2 rows and keeps one column of them: 2 x 3 - 2 x 1.
  const Values values = whole_numbers(15, 1);
  const Journey journey = travel(kFour, kFive, values, {{Kind::all_to_all, 0, {{S("c")}}}}, {{S("r")}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), (Elements{4, 4, 2, 0}));
  EXPECT_EQ(journey.received.at(0), (Elements{3, 3, 4, 0}));
}

TEST(DevicesCollectives, ThreeRowsOnFourDevices) {
  const Values values = whole_numbers(3, 1);
  const Journey journey = travel(kFour, {{"r", 3}}, values,
                                 {{Kind::reduce_scatter, 0, {{S("r")}}}, {Kind::all_gather, 0, {{R()}}}}, {{P()}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), (Elements{2, 2, 2, 3}));
  EXPECT_EQ(journey.sent.at(1), (Elements{2, 2, 3, 2}));
}

TEST(DevicesCollectives, InnerPiecesOfUnequalOuterOnes) {
  // 5 rows: 3 and 2 by i, then 2, 1 and 1, 1 by j. Along j each device sends its own piece.
  const DeviceMesh grid{{{"i", 2}, {"j", 2}}};
  const Values values = whole_numbers(5, 1);
  const Journey journey =
      travel(grid, {{"r", 5}}, values, {{Kind::all_gather, 1, {{S("r"), R()}}}, {Kind::all_gather, 0, {{R(), R()}}}},
             {{S("r"), S("r", 1)}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), (Elements{2, 1, 1, 1}));
  EXPECT_EQ(journey.sent.at(1), (Elements{3, 3, 2, 2}));
}

TEST(DevicesCollectives, OtherOrderOfTheAxesThatCutARank) {
  // Of 4 rows, devices (0,1) and (1,0) have rows 1 and 2, and want each other's.
  const DeviceMesh grid{{{"i", 2}, {"j", 2}}};
  const Values values = whole_numbers(4, 1);
  const Journey journey =
      travel(grid, {{"r", 4}}, values, {{Kind::redistribute, 0, {{S("r", 1), S("r")}}}}, {{S("r"), S("r", 1)}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), (Elements{0, 1, 1, 0}));
  EXPECT_EQ(journey.received.at(0), (Elements{0, 1, 1, 0}));
}

TEST(DevicesCollectives, SlicesMoveNothing) {
  const Values values = whole_numbers(15, 1);
  const Journey journey =
      travel(kFour, kFive, values,
             {{Kind::slice, 0, {{P("max")}}}, {Kind::all_reduce, 0, {{R()}}}, {Kind::slice, 0, {{S("c")}}}}, {{R()}});
  EXPECT_EQ(journey.whole, values);
  EXPECT_EQ(journey.sent.at(0), Elements(4, 0));
  EXPECT_EQ(journey.sent.at(2), Elements(4, 0));
}

TEST(DevicesCollectives, MaximumOfTermsOneOfWhichIsEmpty) {
  // 3 indices of k on 4 devices: the last has the identity only.
  HandProgram hand(kFour, {{"m", 5}, {"k", 3}});
  hand.program.inputs = {{"X", {{S("k")}}}};
  hand.program.outputs = {{"Y", {{S("m")}}}};
  hand.program.forward = {hand.local("Y[m] max= X[m,k]", {{"k", "p"}}, {{{S("k")}}, {{P("max")}}}),
                          hand.change(Kind::reduce_scatter, "Y[m]", 0, {{P("max")}}, {{S("m")}})};
  Values x = whole_numbers(15, 1);
  for (double& value : x) value -= 100;  // below 0, which a wrong identity would beat
  const auto run = devices::run(hand.program, {{{"X", x}}, {}});
  ASSERT_TRUE(run) << messages(run.error());
  EXPECT_EQ(run->microbatch.front().at("Y"), devices::evaluate(hand.einsums, {{"X", x}})->at("Y"));
}

TEST(DevicesCollectives, StatesThatTheKindDoesNotChangeAreErrors) {
  const auto error_of = [](const Collective& collective) {
    const auto result = devices::check_states(collective, kFour);
    return result ? std::string() : result.error().front().message;
  };
  const Collective good{Kind::all_gather, "T", kFive, {}, 0, {{S("r")}}, {{R()}}, {}};
  EXPECT_EQ(error_of(good), "");
  Collective wrong = good;
  wrong.kind = Kind::all_reduce;
  EXPECT_EQ(error_of(wrong), "a collective of tensor 'T': its states are not those that its kind changes");
  wrong = good;
  wrong.from = {{S("z")}};
  EXPECT_EQ(error_of(wrong), "a collective of tensor 'T': it has no rank z");
  wrong = good;
  wrong.axis = 1;
  EXPECT_EQ(error_of(wrong), "a collective of tensor 'T': no such axis of the mesh");
}

TEST(DevicesCollectives, OuterPiecesCannotBeJoinedFirst) {
  const DeviceMesh grid{{{"i", 2}, {"j", 2}}};
  Program program;
  program.mesh = grid;
  program.inputs["T"] = {{S("r"), S("r", 1)}};
  program.forward = {
      Collective{Kind::all_gather, "T", {{"r", 8}}, {}, 0, {{S("r"), S("r", 1)}}, {{R(), S("r", 1)}}, {}}};
  const auto run = devices::run(program, {{{"T", whole_numbers(8, 1)}}, {}});
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().front().message,
            "a collective of tensor 'T': on its axis it does not make or join the innermost pieces");
}

}  // namespace
}  // namespace einflow::cluster
