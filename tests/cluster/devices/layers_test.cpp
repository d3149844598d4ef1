// Layers of a transformer and training steps, written out; bytes as in products_test.cpp.
#include <gtest/gtest.h>

#include <cmath>

#include "cluster/devices/hand_programs.hpp"

namespace einflow::cluster {
namespace {

using namespace testing;

void expect_near(const Values& found, const Values& expected, const std::string& name) {
  ASSERT_EQ(found.size(), expected.size()) << name;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], expected[i], 1e-9 * std::max(1.0, std::abs(expected[i]))) << name << " " << i;
  }
}

devices::Run expect_unsplit(const HandProgram& hand, const Tensors& inputs) {
  const auto unsplit = devices::evaluate(hand.einsums, inputs);
  const auto run = devices::run(hand.program, {inputs, {}});
  if (!run || !unsplit) {
    ADD_FAILURE() << messages(run ? unsplit.error() : run.error());
    return {};
  }
  for (const auto& [name, placement] : hand.program.outputs) {
    expect_near(run->microbatch.front().at(name), unsplit->at(name), name);
  }
  return *run;
}

std::int64_t bytes_of_each(const devices::Run& run) {
  devices::Tally all = run.forward;
  all += run.backward;
  all += run.finish;
  for (std::size_t device = 0; device < all.sent.size(); ++device) {
    EXPECT_EQ(all.sent[device], all.sent.front());
    EXPECT_EQ(all.received[device], all.sent.front());
  }
  return 2 * all.sent.front();
}

Values small_numbers(std::int64_t count, std::uint64_t seed) {
  Values values = whole_numbers(count, seed);
  for (double& value : values) value /= 8;
  return values;
}

/// b 4, s 8, h 16, f 32: Y = gelu(X A) C and its gradients. Between layers X, Y and their gradients are replicated, or
/// split in s (sequence parallelism).
devices::Run pair_of_products(std::int64_t p, bool sequence) {
  HandProgram hand(mesh_of({{"tp", p}}), {{"b", 4}, {"s", 8}, {"h", 16}, {"f", 32}});
  const Placement all{{R()}};
  const Placement f{{S("f")}};
  const Placement part{{P()}};
  const Placement rest{{sequence ? S("s") : R()}};
  const std::vector<ParLoop> par{{"f", "tp"}};
  Program& program = hand.program;
  program.inputs = {{"X", rest}, {"A", f}, {"C", f}, {"dY", rest}};
  program.outputs = {{"Y", rest}, {"dX", rest}, {"dA", f}, {"dC", f}};
  const auto gather = [&](std::vector<Step>& steps, const std::string& tensor) {
    if (sequence) steps.push_back(hand.change(Kind::all_gather, tensor, 0, rest, all));
  };
  const auto reduce = [&](std::vector<Step>& steps, const std::string& tensor) {
    steps.push_back(hand.change(sequence ? Kind::reduce_scatter : Kind::all_reduce, tensor, 0, part, rest));
  };
  gather(program.forward, "X[b,s,h]");
  program.forward.push_back(hand.local("H[b,s,f] += X[b,s,h] * A[h,f]", par, {all, f, f}));
  if (sequence) program.forward.push_back(Release{"X", all});
  program.forward.push_back(hand.local("Z[b,s,f] = gelu(H[b,s,f])", par, {f, f}));
  program.forward.push_back(hand.local("Y[b,s,h] += Z[b,s,f] * C[f,h]", par, {f, f, part}));
  reduce(program.forward, "Y[b,s,h]");
  gather(program.backward, "dY[b,s,h]");
  program.backward.push_back(hand.local("dZ[b,s,f] += dY[b,s,h] * C[f,h]", par, {all, f, f}));
  program.backward.push_back(hand.local("dC[f,h] += Z[b,s,f] * dY[b,s,h]", par, {f, all, f}));
  LocalEinsum slope = hand.local("G[b,s,f] = gelu(H[b,s,f])", par, {f, f});
  slope.work.einsum.map = hand.einsums.back().map = "gelu'";
  program.backward.push_back(slope);
  program.backward.push_back(hand.local("dH[b,s,f] = dZ[b,s,f] * G[b,s,f]", par, {f, f, f}));
  program.backward.push_back(hand.local("dX[b,s,h] += dH[b,s,f] * A[h,f]", par, {f, f, part}));
  reduce(program.backward, "dX[b,s,h]");
  gather(program.backward, "X[b,s,h]");
  program.backward.push_back(hand.local("dA[h,f] += X[b,s,h] * dH[b,s,f]", par, {all, f, f}));
  return expect_unsplit(hand, {{"X", small_numbers(512, 1)},
                               {"A", small_numbers(512, 2)},
                               {"C", small_numbers(512, 3)},
                               {"dY", small_numbers(512, 4)}});
}

TEST(DevicesLayers, ColumnThenRow) {
  EXPECT_EQ(bytes_of_each(pair_of_products(2, false)), 2048);
  EXPECT_EQ(bytes_of_each(pair_of_products(4, false)), 3072);
}

TEST(DevicesLayers, SequenceParallelGathersTheInputAgain) {
  EXPECT_EQ(bytes_of_each(pair_of_products(2, true)), 2560);
  EXPECT_EQ(bytes_of_each(pair_of_products(4, true)), 3840);
}

/// Softmax attention on tensors in that state, all steps on their own slices; `with_keys` the state of what has t.
void add_attention(HandProgram& hand, const std::string& rank, const Placement& own, const Placement& keys,
                   const std::optional<TimeLoop>& time, const std::vector<Step>& bring_k,
                   const std::vector<Step>& bring_v) {
  const std::vector<ParLoop> par{{rank, "p"}};
  std::vector<Step>& steps = hand.program.forward;
  steps.insert(steps.end(), bring_k.begin(), bring_k.end());
  steps.push_back(hand.local("S[b,a,q,t] += Q[b,a,q,d] * K[b,a,t,d]", par, {own, keys, own}, time));
  if (time) steps.push_back(Release{"K", keys});
  steps.push_back(hand.local("M[b,a,q] max= S[b,a,q,t]", par, {own, own}));
  steps.push_back(hand.local("D[b,a,q,t] = S[b,a,q,t] - M[b,a,q]", par, {own, own, own}));
  steps.push_back(hand.local("E[b,a,q,t] = exp(D[b,a,q,t])", par, {own, own}));
  steps.push_back(hand.local("L[b,a,q] += E[b,a,q,t]", par, {own, own}));
  steps.push_back(hand.local("A[b,a,q,t] = E[b,a,q,t] / L[b,a,q]", par, {own, own, own}));
  steps.insert(steps.end(), bring_v.begin(), bring_v.end());
  steps.push_back(hand.local("O[b,a,q,d] += A[b,a,q,t] * V[b,a,t,d]", par, {own, keys, own}, time));
  if (time) steps.push_back(Release{"V", keys});
}

const std::vector<Rank> kAttention{{"b", 4}, {"a", 4}, {"q", 16}, {"t", 16}, {"d", 8}};

Tensors attention_inputs() {
  return {{"Q", small_numbers(2048, 1)}, {"K", small_numbers(2048, 2)}, {"V", small_numbers(2048, 3)}};
}

TEST(DevicesLayers, RingAttention) {
  for (const auto& [p, bytes] : {std::pair{2, 4096}, std::pair{4, 6144}}) {
    HandProgram hand(mesh_of({{"p", p}}), kAttention);
    const TimeLoop ring{"t", Delivery::shift};
    hand.program.inputs = {{"Q", {{S("q")}}}, {"K", {{S("t")}}}, {"V", {{S("t")}}}};
    hand.program.outputs = {{"O", {{S("q")}}}};
    add_attention(hand, "q", {{S("q")}}, {{R()}}, ring,
                  {hand.change(Kind::all_gather, "K[b,a,t,d]", 0, {{S("t")}}, {{R()}}, ring)},
                  {hand.change(Kind::all_gather, "V[b,a,t,d]", 0, {{S("t")}}, {{R()}}, ring)});
    const devices::Run run = expect_unsplit(hand, attention_inputs());
    EXPECT_EQ(bytes_of_each(run), bytes);
    EXPECT_EQ(run.streamed, 2);
  }
}

TEST(DevicesLayers, UlyssesChangesTheSplitRank) {
  for (const auto& [p, bytes] : {std::pair{2, 4096}, std::pair{4, 3072}}) {
    HandProgram hand(mesh_of({{"p", p}}), kAttention);
    const Placement heads{{S("a")}};
    hand.program.inputs = {{"Q", {{S("q")}}}, {"K", {{S("t")}}}, {"V", {{S("t")}}}};
    hand.program.outputs = {{"O", {{S("q")}}}};
    add_attention(hand, "a", heads, heads, {},
                  {hand.change(Kind::all_to_all, "Q[b,a,q,d]", 0, {{S("q")}}, heads),
                   hand.change(Kind::all_to_all, "K[b,a,t,d]", 0, {{S("t")}}, heads)},
                  {hand.change(Kind::all_to_all, "V[b,a,t,d]", 0, {{S("t")}}, heads)});
    hand.program.forward.push_back(hand.change(Kind::all_to_all, "O[b,a,q,d]", 0, heads, {{S("q")}}));
    EXPECT_EQ(bytes_of_each(expect_unsplit(hand, attention_inputs())), bytes);
  }
}

TEST(DevicesLayers, BalancedDispatchToExperts) {
  // T tokens of a device, k copies of each, h wide: rows c of expert e; experts are as many as devices.
  for (const auto& [p, tokens, bytes] : {std::tuple{2L, 16L, 512}, std::tuple{4L, 32L, 1536}}) {
    HandProgram hand(mesh_of({{"ep", p}}), {{"e", p}, {"c", tokens * 2}, {"h", 16}});
    hand.program.inputs = {{"X", {{S("c")}}}};
    hand.program.outputs = {{"X", {{S("e")}}}};
    hand.program.forward = {hand.change(Kind::all_to_all, "X[e,c,h]", 0, {{S("c")}}, {{S("e")}})};
    const Values x = whole_numbers(p * tokens * 2 * 16, 1);
    const auto run = devices::run(hand.program, {{{"X", x}}, {}});
    ASSERT_TRUE(run) << messages(run.error());
    EXPECT_EQ(run->outputs.count("X"), 0U);  // not there any more after the microbatch
    EXPECT_EQ(run->microbatch.front().at("X"), x);
    EXPECT_EQ(bytes_of_each(*run), bytes);
  }
}

/// W of Psi elements, 8 rows b of X per microbatch on dp devices. ZeRO-1 splits where the update is computed, 2 the
/// gradient too, 3 the weight too.
devices::Run data_parallel(std::int64_t p, std::int64_t columns, int zero, std::int64_t microbatches) {
  HandProgram hand(mesh_of({{"dp", p}}), {{"b", 8}, {"k", 8}, {"n", columns}});
  const Placement all{{R()}};
  const Placement rows{{S("b")}};
  const Placement part{{P()}};
  const Placement cut{{S("k")}};
  const std::vector<ParLoop> par{{"b", "dp"}};
  Program& program = hand.program;
  program.microbatches = microbatches;
  program.inputs = {{"X", rows}, {"dY", rows}, {"W", zero == 3 ? cut : all}};
  program.outputs = {{"Y", rows}, {"W'", zero == 3 ? cut : all}};
  const Collective gather = hand.change(Kind::all_gather, "W[k,n]", 0, cut, all);
  if (zero == 3) program.forward.push_back(gather);
  program.forward.push_back(hand.local("Y[b,n] += X[b,k] * W[k,n]", par, {rows, all, rows}));
  if (zero == 3) {
    program.forward.push_back(Release{"W", all});
    program.backward.push_back(gather);
    program.backward.push_back(hand.local("dX[b,k] += dY[b,n] * W[k,n]", par, {rows, all, rows}));
  }
  const std::string share = "[k,n] += X[b,k] * dY[b,n]";
  if (zero < 2) {
    program.backward.push_back(hand.adding("dW" + share, par, {rows, rows, part}));
  } else {
    program.backward.push_back(hand.local("dWshare" + share, par, {rows, rows, part}));
    program.backward.push_back(hand.change(Kind::reduce_scatter, "dWshare[k,n]", 0, part, cut));
    program.backward.push_back(hand.adding("dW[k,n] = dWshare[k,n]", {{"k", "dp"}}, {cut, cut}));
  }
  const Placement update = zero == 0 ? all : cut;
  if (zero == 0) program.finish.push_back(hand.change(Kind::all_reduce, "dW[k,n]", 0, part, all));
  if (zero == 1) program.finish.push_back(hand.change(Kind::reduce_scatter, "dW[k,n]", 0, part, cut));
  if (zero == 1 || zero == 2) program.finish.push_back(hand.change(Kind::slice, "W[k,n]", 0, all, cut));
  LocalEinsum step =
      hand.local("Wnew[k,n] = W[k,n] - dW[k,n]", zero == 0 ? std::vector<ParLoop>{} : std::vector<ParLoop>{{"k", "dp"}},
                 {update, update, update});
  step.work.einsum.tensors.back().name = "W'";
  program.finish.push_back(step);
  if (zero == 1 || zero == 2) {
    Collective back = gather;
    back.tensor = "W'";
    program.finish.push_back(back);
  }
  const std::int64_t psi = 8 * columns;
  Inputs inputs{{{"W", whole_numbers(psi, 1)}}, {}};
  Values expected = inputs.shared.at("W");
  for (std::int64_t m = 0; m < microbatches; ++m) {
    const auto seed = static_cast<std::uint64_t>(10 * m);
    const Values x = whole_numbers(64, seed + 2);
    const Values dy = whole_numbers(8 * columns, seed + 3);
    inputs.microbatch.push_back({{"X", x}, {"dY", dy}});
    for (std::size_t b = 0; b < 8; ++b) {
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto n = static_cast<std::size_t>(columns);
        expected[i] -= x[b * 8 + i / n] * dy[b * n + i % n];
      }
    }
  }
  const auto run = devices::run(program, inputs);
  if (!run) {
    ADD_FAILURE() << messages(run.error());
    return {};
  }
  EXPECT_EQ(run->outputs.at("W'"), expected);
  EXPECT_EQ(run->microbatch.size(), static_cast<std::size_t>(microbatches));
  return *run;
}

TEST(DevicesLayers, StorageOfDataParallelTraining) {
  // Psi 128 on 2 devices and 256 on 4; DP and ZeRO-1 of a step, ZeRO-2 and 3 with three microbatches.
  EXPECT_EQ(bytes_of_each(data_parallel(2, 16, 0, 1)), 256);
  EXPECT_EQ(bytes_of_each(data_parallel(4, 32, 0, 1)), 768);
  EXPECT_EQ(bytes_of_each(data_parallel(2, 16, 1, 1)), 256);
  EXPECT_EQ(bytes_of_each(data_parallel(4, 32, 1, 1)), 768);
  EXPECT_EQ(bytes_of_each(data_parallel(2, 16, 2, 3)), 512);
  EXPECT_EQ(bytes_of_each(data_parallel(4, 32, 2, 3)), 1536);
  EXPECT_EQ(bytes_of_each(data_parallel(2, 16, 3, 3)), 1152);
  EXPECT_EQ(bytes_of_each(data_parallel(4, 32, 3, 3)), 3456);
}

TEST(DevicesLayers, SumsOverMicrobatchesStayWhereTheyAre) {
  // Replicated or partial sums move once, whatever the number of microbatches.
  EXPECT_EQ(bytes_of_each(data_parallel(2, 16, 0, 3)), 256);
  EXPECT_EQ(bytes_of_each(data_parallel(4, 32, 1, 3)), 768);
}

}  // namespace
}  // namespace einflow::cluster
