// What the executor refuses, and the functions that it computes with.
#include <gtest/gtest.h>

#include <cmath>

#include "cluster/devices/hand_programs.hpp"

namespace einflow::cluster {
namespace {

using namespace testing;

std::string error_of(const Program& program, const Tensors& inputs) {
  const auto run = devices::run(program, {inputs, {}});
  return run ? std::string() : run.error().front().message;
}

/// Y[m] += X[m,k] with k on two devices, and its all-reduce.
HandProgram row_sums() {
  HandProgram hand(mesh_of({{"p", 2}}), {{"m", 3}, {"k", 4}});
  hand.program.inputs = {{"X", {{S("k")}}}};
  hand.program.outputs = {{"Y", {{R()}}}};
  hand.program.forward = {hand.local("Y[m] += X[m,k]", {{"k", "p"}}, {{{S("k")}}, {{P()}}}),
                          hand.change(Kind::all_reduce, "Y[m]", 0, {{P()}}, {{R()}})};
  return hand;
}

TEST(Devices, ProgramsThatDoNotFitAreErrors) {
  const Tensors inputs{{"X", whole_numbers(12, 1)}};
  EXPECT_EQ(error_of(row_sums().program, inputs), "");
  EXPECT_EQ(error_of(row_sums().program, {}), "tensor 'X' is not there in placement p: S(k)");
  EXPECT_EQ(error_of(row_sums().program, {{"X", {1, 2}}}), "input 'X': expected 12 values, found 2");
  EXPECT_EQ(error_of(row_sums().program, {{"Z", {1, 2}}}), "the program has no input 'Z'");

  HandProgram dropped = row_sums();
  dropped.program.forward.insert(dropped.program.forward.begin() + 1, Release{"Y", {{P()}}});
  EXPECT_EQ(error_of(dropped.program, inputs), "tensor 'Y' is not there in placement p: P(+)");

  HandProgram missing = row_sums();
  missing.program.outputs["Y"] = {{S("m")}};
  EXPECT_EQ(error_of(missing.program, inputs), "tensor 'Y' is not there in placement p: S(m)");

  HandProgram wide = row_sums();
  std::get<LocalEinsum>(wide.program.forward[0]).work.par.clear();
  EXPECT_EQ(error_of(wide.program, inputs),
            "Y[m] += X[m,k]: a device has not all elements of 'X' that its share of the loops touches");

  HandProgram short_of_states = row_sums();
  short_of_states.program.inputs["X"] = {};
  EXPECT_EQ(error_of(short_of_states.program, inputs), "tensor 'X': one state for each axis of the mesh");

  HandProgram unknown = row_sums();
  std::get<LocalEinsum>(unknown.program.forward[0]).work.einsum.map = "gello";
  EXPECT_EQ(error_of(unknown.program, inputs), "no function 'gello' is known to the executor");

  HandProgram window(mesh_of({{"p", 2}}), {{"q", 3}, {"r", 2}});
  window.program.inputs = {{"X", {{R()}}}};
  window.program.forward = {window.local("Y[q] += X[q+r]", {}, {{{R()}}, {{R()}}})};
  EXPECT_EQ(error_of(window.program, {{"X", whole_numbers(4, 1)}}),
            "X[q+r]: axis 'q+r' is not a single rank; devices compute on tensors whose axes are ranks");
}

TEST(Devices, ReplicasThatDifferAreSeen) {
  // The sum over k is called replicated though every device has summed its own k only.
  HandProgram hand = row_sums();
  hand.program.forward.pop_back();
  std::get<LocalEinsum>(hand.program.forward[0]).placements[1] = {{R()}};
  EXPECT_EQ(error_of(hand.program, {{"X", {1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1}}}),
            "tensor 'Y': device 1 has 3 where another has 2");
}

TEST(Devices, PartialOutputsAreJoined) {
  HandProgram hand = row_sums();
  hand.program.forward.pop_back();
  hand.program.outputs["Y"] = {{P()}};
  const auto run = devices::run(hand.program, {{{"X", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}}, {}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->microbatch.front().at("Y"), (Values{10, 26, 42}));
  EXPECT_EQ(run->forward.total_sent(), 0);
}

TEST(Devices, PeakIsOfAllCopiesAtOnce) {
  // X 6 of 12, then Y's term 3, then its sum 3.
  const auto run = devices::run(row_sums().program, {{{"X", whole_numbers(12, 1)}}, {}});
  ASSERT_TRUE(run);
  EXPECT_EQ(run->peak, (std::vector<std::int64_t>{12, 12}));
}

TEST(DevicesOperators, DerivativesAreThoseOfTheFunctions) {
  for (const std::string& name : devices::function_names()) {
    const devices::Function function = *devices::function_named(name);
    const devices::Function derivative = *devices::function_named(name + "'");
    for (const double x : {0.3, 0.9, 2.1}) {
      const double step = 1e-5;
      EXPECT_NEAR(derivative(x), (function(x + step) - function(x - step)) / (2 * step), 1e-7) << name << " " << x;
    }
  }
  EXPECT_FALSE(devices::function_named("gelu''"));
}

TEST(DevicesOperators, FunctionsHaveTheirValues) {
  // Tables of the normal distribution: Phi(1) = 0.8413447461.
  EXPECT_NEAR((*devices::function_named("gelu"))(1), 0.8413447461, 1e-10);
  EXPECT_NEAR((*devices::function_named("silu"))(1), 1 / (1 + std::exp(-1.0)), 1e-15);
  EXPECT_EQ((*devices::function_named("rsqrt"))(4), 0.5);
  EXPECT_EQ((*devices::function_named("relu"))(-3), 0);
}

}  // namespace
}  // namespace einflow::cluster
