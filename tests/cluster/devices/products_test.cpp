// Products split over devices, with the bytes that PARALLELISM says. Bytes are of two-byte elements and sent by each
// device; the figures come from a numpy execution of the same schemes (parallelism_golden), B 4, S 8, K 16, N 24.
#include <gtest/gtest.h>

#include "cluster/devices/hand_programs.hpp"

namespace einflow::cluster {
namespace {

using namespace testing;

const std::vector<Rank> kRanks{{"b", 4}, {"s", 8}, {"k", 16}, {"n", 24}, {"m", 32}, {"h", 16}, {"f", 32}};

void expect_each_sends(const devices::Tally& tally, std::int64_t bytes) {
  for (std::size_t device = 0; device < tally.sent.size(); ++device) {
    EXPECT_EQ(2 * tally.sent[device], bytes) << "device " << device;
    EXPECT_EQ(2 * tally.received[device], bytes) << "device " << device;
  }
}

/// Runs both ways; every output is what the einsums give on one device.
devices::Run expect_unsplit(const HandProgram& hand, const Tensors& inputs) {
  const auto unsplit = devices::evaluate(hand.einsums, inputs);
  EXPECT_TRUE(unsplit) << messages(unsplit.error());
  const auto whole = devices::run(hand.program, {inputs, {}}, Timed::whole);
  const auto pieces = devices::run(hand.program, {inputs, {}}, Timed::in_pieces);
  if (!whole || !pieces) {
    ADD_FAILURE() << messages((whole ? pieces : whole).error());
    return {};
  }
  for (const auto& [name, placement] : hand.program.outputs) {
    EXPECT_EQ(whole->microbatch.front().at(name), unsplit->at(name)) << name;
    EXPECT_EQ(pieces->microbatch.front().at(name), unsplit->at(name)) << name;
  }
  EXPECT_EQ(whole->forward, pieces->forward);
  EXPECT_EQ(whole->backward, pieces->backward);
  return *pieces;
}

/// Y[b,s,n] += X[b,s,k] * W[k,n] with one axis on one rank, forward and backward; what is partial is reduced.
devices::Run one_axis(const std::string& rank, std::int64_t p) {
  HandProgram hand(mesh_of({{"p", p}}), kRanks);
  const std::vector<ParLoop> par{{rank, "p"}};
  const auto state = [&](const std::string& ranks) {
    return Placement{{ranks.find(rank) != std::string::npos ? S(rank) : P()}};
  };
  const auto operand = [&](const std::string& ranks) {
    return Placement{{ranks.find(rank) != std::string::npos ? S(rank) : R()}};
  };
  const auto finish = [&](std::vector<Step>& steps, const std::string& tensor, const std::string& ranks) {
    Placement rest = state(ranks);
    if (rest == Placement{{P()}}) {
      steps.push_back(hand.change(Kind::all_reduce, tensor, 0, {{P()}}, {{R()}}));
      rest = {{R()}};
    }
    hand.program.outputs[tensor.substr(0, tensor.find('['))] = rest;
  };
  hand.program.inputs = {{"X", operand("bsk")}, {"W", operand("kn")}, {"dY", operand("bsn")}};
  hand.program.forward.push_back(
      hand.local("Y[b,s,n] += X[b,s,k] * W[k,n]", par, {operand("bsk"), operand("kn"), state("bsn")}));
  finish(hand.program.forward, "Y[b,s,n]", "bsn");
  hand.program.backward.push_back(
      hand.local("dX[b,s,k] += dY[b,s,n] * W[k,n]", par, {operand("bsn"), operand("kn"), state("bsk")}));
  finish(hand.program.backward, "dX[b,s,k]", "bsk");
  hand.program.backward.push_back(
      hand.local("dW[k,n] += X[b,s,k] * dY[b,s,n]", par, {operand("bsk"), operand("bsn"), state("kn")}));
  finish(hand.program.backward, "dW[k,n]", "kn");
  return expect_unsplit(hand,
                        {{"X", whole_numbers(512, 1)}, {"W", whole_numbers(384, 2)}, {"dY", whole_numbers(768, 3)}});
}

TEST(DevicesProducts, OneAxisOnEachRank) {
  struct Row {
    const char* rank;
    std::int64_t p, forward, backward;
  };
  // Axis on B or S: backward all-reduces W's gradient. On N (column): X's. On K (row): forward all-reduces Y.
  for (const Row& row : {Row{"b", 2, 0, 768}, Row{"s", 2, 0, 768}, Row{"n", 2, 0, 1024}, Row{"k", 2, 1536, 0},
                         Row{"b", 4, 0, 1152}, Row{"s", 4, 0, 1152}, Row{"n", 4, 0, 1536}, Row{"k", 4, 2304, 0}}) {
    SCOPED_TRACE(std::string(row.rank) + " on " + std::to_string(row.p));
    const devices::Run run = one_axis(row.rank, row.p);
    expect_each_sends(run.forward, row.forward);
    expect_each_sends(run.backward, row.backward);
  }
}

const TimeLoop kPanels{"k", Delivery::broadcast};

/// X and W on a grid of q by q devices; panels of k come along the axes, Y stays.
HandProgram summa(std::int64_t q) {
  HandProgram hand(mesh_of({{"i", q}, {"j", q}}), kRanks);
  const Placement x{{S("m"), S("k")}};
  const Placement w{{S("k"), S("n")}};
  const Placement y{{S("m"), S("n")}};
  hand.program.inputs = {{"X", x}, {"W", w}};
  hand.program.outputs = {{"Y", y}};
  hand.program.forward = {
      hand.change(Kind::all_gather, "X[m,k]", 1, x, {{S("m"), R()}}, kPanels),
      hand.change(Kind::all_gather, "W[k,n]", 0, w, {{R(), S("n")}}, kPanels),
      hand.local("Y[m,n] += X[m,k] * W[k,n]", {{"m", "i"}, {"n", "j"}}, {{{S("m"), R()}}, {{R(), S("n")}}, y}, kPanels),
      Release{"X", {{S("m"), R()}}},
      Release{"W", {{R(), S("n")}}},
  };
  return hand;
}

TEST(DevicesProducts, Summa) {
  for (const auto& [q, bytes] : {std::pair{2L, 448}, std::pair{4L, 336}}) {
    const HandProgram hand = summa(q);
    const Tensors inputs{{"X", whole_numbers(512, 1)}, {"W", whole_numbers(384, 2)}};
    const devices::Run run = expect_unsplit(hand, inputs);
    expect_each_sends(run.forward, bytes);
    EXPECT_EQ(run.streamed, 1);
    // A device holds its pieces of X, W and Y, and one panel of X and W; not the q panels that a gather makes.
    const std::int64_t p = q * q;
    const std::int64_t rest = (512 + 384 + 768) / p;
    EXPECT_EQ(run.peak, std::vector<std::int64_t>(static_cast<std::size_t>(p), rest + (512 + 384) / p));
    const devices::Run whole = devices::run(hand.program, {inputs, {}}, Timed::whole).value();
    EXPECT_EQ(whole.streamed, 0);
    EXPECT_EQ(whole.peak, std::vector<std::int64_t>(static_cast<std::size_t>(p), rest + (512 + 384) / q));
  }
}

TEST(DevicesProducts, SummaGradient) {
  for (const auto& [q, bytes] : {std::pair{2, 448}, std::pair{4, 336}}) {
    HandProgram hand(mesh_of({{"i", q}, {"j", q}}), kRanks);
    const Placement x{{S("m"), S("k")}};
    const Placement w{{S("k"), S("n")}};
    const Placement y{{S("m"), S("n")}};
    hand.program.inputs = {{"dY", y}, {"W", w}};
    hand.program.outputs = {{"dX", x}};
    hand.program.forward = {
        hand.change(Kind::all_gather, "W[k,n]", 0, w, {{R(), S("n")}}, kPanels),
        hand.local("dX[m,k] += dY[m,n] * W[k,n]", {{"m", "i"}, {"n", "j"}}, {y, {{R(), S("n")}}, {{S("m"), P()}}},
                   kPanels),
        Release{"W", {{R(), S("n")}}},
        hand.change(Kind::reduce_scatter, "dX[m,k]", 1, {{S("m"), P()}}, x, kPanels),
        Release{"dX", {{S("m"), P()}}},
    };
    const devices::Run run = expect_unsplit(hand, {{"dY", whole_numbers(768, 1)}, {"W", whole_numbers(384, 2)}});
    expect_each_sends(run.forward, bytes);
    EXPECT_EQ(run.streamed, 1);
  }
}

TEST(DevicesProducts, ShiftsOfAnOperandAndOfSumsAgreeWithGathers) {
  // 7 indices of k on 3 devices: pieces of 3, 3 and 1; every device sends all but its neighbour's piece of 5 x k.
  const TimeLoop ring{"k", Delivery::shift};
  HandProgram hand(mesh_of({{"p", 3}}), {{"m", 5}, {"k", 7}, {"n", 4}});
  hand.program.inputs = {{"X", {{S("k")}}}, {"W", {{S("n")}}}};
  hand.program.outputs = {{"Y", {{S("n")}}}, {"Z", {{S("k")}}}};
  hand.program.forward = {
      hand.change(Kind::all_gather, "X[m,k]", 0, {{S("k")}}, {{R()}}, ring),
      hand.local("Y[m,n] += X[m,k] * W[k,n]", {{"n", "p"}}, {{{R()}}, {{S("n")}}, {{S("n")}}}, ring),
      Release{"X", {{R()}}},
      hand.local("Z[m,k] += Y[m,n] * W[k,n]", {{"n", "p"}}, {{{S("n")}}, {{S("n")}}, {{P()}}}, ring),
      hand.change(Kind::reduce_scatter, "Z[m,k]", 0, {{P()}}, {{S("k")}}, ring),
      Release{"Z", {{P()}}},
  };
  const devices::Run run = expect_unsplit(hand, {{"X", whole_numbers(35, 1)}, {"W", whole_numbers(28, 2)}});
  EXPECT_EQ(run.streamed, 2);
  ASSERT_EQ(run.exchanges.size(), 2U);
  EXPECT_EQ(run.exchanges[0].tally.sent, (std::vector<std::int64_t>{20, 30, 20}));
  EXPECT_EQ(run.exchanges[0].tally.received, (std::vector<std::int64_t>{20, 20, 30}));
  EXPECT_EQ(run.exchanges[1].tally.sent, (std::vector<std::int64_t>{20, 20, 30}));
}

TEST(DevicesProducts, OneRankOnEachAxisOfACube) {
  // 3-D: compute X S(m), S(k), W S(k), S(n), Y partial over l; each rests split once more on its third axis.
  HandProgram hand(mesh_of({{"i", 2}, {"j", 2}, {"l", 2}}), kRanks);
  const Placement x_rest{{S("m"), S("m", 1), S("k")}};
  const Placement w_rest{{S("k", 1), S("n"), S("k")}};
  const Placement y_rest{{S("m"), S("n"), S("m", 1)}};
  const Placement x{{S("m"), R(), S("k")}};
  const Placement w{{R(), S("n"), S("k")}};
  const Placement y{{S("m"), S("n"), P()}};
  hand.program.inputs = {{"X", x_rest}, {"W", w_rest}};
  hand.program.outputs = {{"Y", y_rest}};
  hand.program.forward = {
      hand.change(Kind::all_gather, "X[m,k]", 1, x_rest, x),
      hand.change(Kind::all_gather, "W[k,n]", 0, w_rest, w),
      hand.local("Y[m,n] += X[m,k] * W[k,n]", {{"m", "i"}, {"n", "j"}, {"k", "l"}}, {x, w, y}),
      hand.change(Kind::reduce_scatter, "Y[m,n]", 2, y, y_rest),
  };
  expect_each_sends(expect_unsplit(hand, {{"X", whole_numbers(512, 1)}, {"W", whole_numbers(384, 2)}}).forward, 416);
}

}  // namespace
}  // namespace einflow::cluster
