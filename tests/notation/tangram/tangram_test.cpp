// Tangram's form: values derived by hand from nn_dataflow's rules (docs/notations/tangram.md), commit 198a527.
#include "notation/tangram/tangram.hpp"

#include <gtest/gtest.h>

#include <ctime>

#include "movement/movement.hpp"
#include "notation/form.hpp"
#include "notation/spec_writer.hpp"
#include "notation/tangram/schedule.hpp"
#include "support/builders.hpp"
#include "support/processor_time.hpp"

namespace einflow {
namespace {

using namespace tangram;  // NOLINT: the words of this notation

/// Conv 64 to 128 channels, 28 x 28, 3 x 3, batch 4 on 16 x 16 PEs.
std::string text(const std::string& blocking) {
  return "resource: {dim_array: [16, 16], size_gbuf: 65536, size_regf: 256}\nbatch: 4\nlayers:\n  conv:\n"
         "    layer: {type: conv, nifm: 64, nofm: 128, sofm: 28, sfil: 3}\n" +
         blocking;
}
const std::string kBlockingA =
    "    pass: [1, 2]\n    ti: [4, 4, 4]\n    to: [4, 4, 4]\n    tb: [1, 4, 1]\n    orders: [[1, 0, 2], [0, 1, 2]]\n";

Document read(const std::string& source) {
  const auto document = read_tangram({{"schedule.yaml", source}}, {});
  if (!document) throw std::runtime_error(render(document.error(), {"schedule.yaml", source}));
  return *document;
}

Spec spec_of(const std::string& source) {
  const auto spec = einflow::spec_of(read(source).layers.at(0));
  if (!spec) throw std::runtime_error("no spec");
  return *spec;
}

std::string error_of(const std::string& source) {
  const auto document = read_tangram({{"schedule.yaml", source}}, {});
  return document ? "" : document.error().front().message;
}

Schedule schedule_a() {
  Schedule schedule;
  schedule.layer = {LayerType::conv, 64, 128, {28, 28}, {3, 3}, {1, 1}, 1, 4};
  schedule.resource.array = {16, 16};
  schedule.pass = ProcessingPass{1, 2};
  schedule.factors = {{{4, 4, 1}, {4, 4, 4}, {4, 4, 1}}};
  schedule.orders = {{{1, 0, 2}, {0, 1, 2}}};
  return schedule;
}

TEST(Tangram, RowsOfThreeByTwentyEightAreStackedTwiceAndReplicatedTwice) {
  // 3 x 28 PEs in 16 x 16: 28 columns are two halves of 14 on top of each other; 16 / 3 = 5 copies, 5 / 2 = 2 left.
  const RowStationary layout = row_stationary({3, 3}, 28, {16, 16});
  EXPECT_EQ(layout.fold_filter, 1);
  EXPECT_EQ(layout.stacked, 2);
  EXPECT_EQ(layout.fold_maps, 1);
  EXPECT_EQ(layout.replicas, (Extent{2, 1}));
}

TEST(Tangram, RowsThatTheArrayHasNoRoomForAreFolded) {
  // 11 filter rows in 8: two folds. 55 output rows in 8: seven slices, none stacked.
  const RowStationary layout = row_stationary({11, 11}, 55, {8, 8});
  EXPECT_EQ(layout.fold_filter, 2);
  EXPECT_EQ(layout.fold_maps, 7);
  EXPECT_EQ(layout.stacked, 1);
  EXPECT_EQ(layout.replicas, (Extent{1, 1}));
}

TEST(Tangram, ReplicasGoToInputOrOutputChannels) {
  const auto passes = processing_passes(schedule_a());
  EXPECT_EQ(passes, (std::vector<ProcessingPass>{{1, 2}, {2, 1}}));
}

TEST(Tangram, FetchesOfTheWorkedBlockings) {
  // FIL, IFM, OFM through DRAM and through GBUF; of outputs f where nn_dataflow says 2 f - 1: 7 is 4, 3 is 2, 31 is 16.
  const auto fetched = [](const Schedule& schedule, int level) {
    return std::vector<Count>{fetches(schedule, kFil, level), fetches(schedule, kIfmap, level),
                              fetches(schedule, kOfmap, level)};
  };
  Schedule schedule = schedule_a();
  EXPECT_EQ(fetched(schedule, 0), (std::vector<Count>{1, 1, 4}));
  EXPECT_EQ(fetched(schedule, 1), (std::vector<Count>{4, 16, 4}));
  schedule.factors = {{{2, 4, 4}, {8, 4, 1}, {4, 4, 1}}};
  EXPECT_EQ(fetched(schedule, 0), (std::vector<Count>{4, 1, 2}));
  EXPECT_EQ(fetched(schedule, 1), (std::vector<Count>{4, 16, 2}));
  schedule.orders = {{{2, 1, 0}, {1, 0, 2}}};
  EXPECT_EQ(fetched(schedule, 0), (std::vector<Count>{1, 4, 2}));
  EXPECT_EQ(fetched(schedule, 1), (std::vector<Count>{4, 4, 16}));
}

TEST(Tangram, TheWorkedConvolutionAsANest) {
  const Spec spec = spec_of(text(kBlockingA));
  EXPECT_EQ(to_text(spec.einsum), "OFM[b,k,p,q] += IFM[b,c,p+r,q+s] * FIL[k,c,r,s]");
  EXPECT_EQ(to_text(spec.mapping, spec.einsum, spec.machine),
            "at DRAM: IFM FIL OFM\n"
            "for c by 16\nfor k by 32\n"
            "at GBUF: IFM FIL\n"
            "for b by 1\nfor k by 8\nfor c by 4\n"
            "par r by 1 on ARRAY.h\npar p by 14 on ARRAY.h\npar k by 4 on ARRAY.h\npar p by 1 on ARRAY.w\n"
            "at REGF: FIL OFM\nfor q by 1\nat REGF: IFM\n"
            "for k by 1\nfor c by 1\nfor s by 1\n");
}

TEST(Tangram, TheWorkedConvolutionsTraffic) {
  // 73,728 weights, 230,400 inputs (30 x 30), 401,408 outputs; outputs go to DRAM four times, three come back.
  const Spec spec = spec_of(text(kBlockingA));
  const auto counts = count_movement(spec);
  ASSERT_TRUE(counts);
  const auto at = [&](const char* tensor, std::size_t hold) {
    const int index = spec.einsum.tensor_named(tensor);
    for (const HoldCounts& found : counts->holds) {
      if (found.tensor == index && found.hold == static_cast<int>(hold)) return found;
    }
    return HoldCounts{};
  };
  EXPECT_EQ(at("FIL", 1).fills, Count(73728));
  EXPECT_EQ(at("IFM", 1).fills, Count(230400));
  EXPECT_EQ(at("FIL", 2).parent_reads, Count(294912));
  EXPECT_EQ(at("IFM", 2).parent_reads, Count(3686400));
  EXPECT_EQ(at("FIL", 2).fills, Count(8257536));
  EXPECT_EQ(at("IFM", 2).fills, Count(20643840));
  EXPECT_EQ(at("OFM", 1).parent_updates, Count(4 * 401408));
  EXPECT_EQ(at("OFM", 1).parent_rmw_reads, Count(3 * 401408));
  EXPECT_EQ(counts->steps, Count(1376256));  // 64 x 64 x 4 passes of 84
}

TEST(Tangram, KindsOfPartsAreLoopsOverTheGridOfNodes) {
  const std::string source =
      "resource: {dim_nodes: [4, 8], dim_array: 16}\nbatch: 16\nlayers:\n  conv:\n"
      "    layer: {type: conv, nifm: 64, nofm: 128, sofm: 28, sfil: 3}\n"
      "    pass: [1, 2]\n    ti: [64, 1, 1]\n    to: [16, 1, 1]\n    tb: [4, 1, 1]\n    orders: [[0, 1, 2], [0, 1, "
      "2]]\n"
      "    part: {order: [BATP, OUTP, OFMP, INPP], BATP: [4, 1], OUTP: [1, 4], OFMP: [1, 2]}\n";
  const Spec spec = spec_of(source);
  const std::string nest = to_text(spec.mapping, spec.einsum, spec.machine);
  EXPECT_NE(nest.find("par b by 4 on NODES.h\npar k by 32 on NODES.w\npar q by 14 on NODES.w\n"), std::string::npos)
      << nest;
  EXPECT_EQ(std::get<Mesh>(spec.machine.levels[1]).axes, (std::vector<MeshAxis>{{"h", 4}, {"w", 8}}));
}

TEST(Tangram, PartsMayBeNnDataflowsOwnTuples) {
  const std::string head =
      "resource: {dim_nodes: [4, 4], dim_array: 16}\nbatch: 16\nlayers:\n  fc:\n    layer: {type: fc, nifm: 64, nofm: "
      "128}\n"
      "    ti: [16, 1, 1]\n    to: [1, 1, 1]\n    tb: [4, 1, 1]\n    orders: [[0, 1, 2], [0, 1, 2]]\n";
  const Spec named = spec_of(head + "    part: {order: [BATP, OUTP, OFMP, INPP], BATP: [4, 1], OUTP: [1, 4]}\n");
  const Spec tuples = spec_of(head + "    part: [[2, 0, 1, 3], [[1, 4], [1, 1], [4, 1], [1, 1]]]\n");
  EXPECT_EQ(named.mapping, tuples.mapping);
}

TEST(Tangram, ResultsOfNnDataflowAreNamedAndNotRead) {
  const Document document = read(text(kBlockingA + "    cost: 1.5\n    time: 7\n    bs_subgrp: [1, 1, 1]\n"));
  EXPECT_EQ(document.left_out, (std::vector<std::string>{"conv: cost, time: results of nn_dataflow's own model"}));
}

TEST(Tangram, BypassFalseHoldsEverythingInGbuf) {
  const Spec spec = spec_of(text(kBlockingA + "    bypass: false\n"));
  const int gbuf = spec.machine.level_named("GBUF");
  for (const auto& holds : spec.mapping.holds) EXPECT_EQ(holds.at(1).level, gbuf);
}

TEST(Tangram, APassThatIsNotSaidFollowsFromTheFactors) {
  std::string blocking = kBlockingA;
  blocking.erase(0, blocking.find("    ti"));
  EXPECT_EQ(spec_of(text(blocking)).mapping, spec_of(text(kBlockingA)).mapping);
}

TEST(Tangram, PoolingAndElementWiseLayers) {
  const std::string head = "resource: {dim_array: 16}\nbatch: 2\nlayers:\n  x:\n";
  const std::string tail = "    tb: [2, 1, 1]\n    orders: [[0, 1, 2], [0, 1, 2]]\n";
  const Spec pool = spec_of(
      head + "    layer: {type: pool, nofm: 16, sofm: 14, sreg: 2}\n    ti: [1, 1, 1]\n    to: [2, 1, 1]\n" + tail);
  EXPECT_EQ(to_text(pool.einsum), "OFM[b,k,p,q] max= IFM[b,k,2*p+r,2*q+s]");
  const Spec sum = spec_of(
      head + "    layer: {type: eltwise, nofm: 16, sofm: 16, nreg: 2}\n    ti: [1, 1, 1]\n    to: [1, 1, 1]\n" + tail);
  EXPECT_EQ(to_text(sum.einsum), "OFM[b,k,p,q] += IFM[b,k,n,p,q]");
  EXPECT_EQ(sum.einsum.operations(), Count(2 * 16 * 16 * 16 * 2));
}

TEST(Tangram, EinsumsReadBackFromTheirText) {
  for (const LayerType type : {LayerType::conv, LayerType::fc, LayerType::pool, LayerType::eltwise}) {
    const Einsum made = einsum_of({type, 3, 5, {4, 6}, {2, 3}, {2, 1}, 2, 7}, "x", 16);
    const auto read_again = parse_einsum(to_text(made));
    ASSERT_TRUE(read_again);
    EXPECT_EQ(read_again->map, made.map);
    EXPECT_EQ(read_again->reduce, made.reduce);
  }
}

TEST(Tangram, IsRecognisedByItsKeys) {
  EXPECT_TRUE(is_tangram({"x.yaml", text(kBlockingA)}));
  EXPECT_TRUE(is_tangram({"x.json", R"({"layers":{"a":{"layer":{"nofm":3},"ti":[1],"to" : [1],"tb":[1]}}})"}));
  EXPECT_FALSE(
      is_tangram({"x.yaml", "einflow: 1\nproblem: {einsum: \"Y[ti,to] += X[ti,tb]\", ranks: {ti: 1, to: 2, tb: 3}}"}));
  EXPECT_FALSE(is_tangram({"x.yaml", ""}));
}

TEST(Tangram, FilesFarTooLargeAreRefusedAtOnce) {
  std::string huge = "resource: {dim_array: 16}\nbatch: 1\nlayers:\n";
  while (huge.size() < 10'000'000) {
    huge += "  l" + std::to_string(huge.size()) +
            ": {layer: {type: fc, nifm: 1, nofm: 1}, ti: [1, 1, 1], to: [1, 1, 1], tb: [1, 1, 1], orders: [[0, 1, 2], "
            "[0, 1, 2]]}\n";
  }
  const std::clock_t start = std::clock();
  EXPECT_TRUE(is_tangram({"huge.yaml", huge}));
  EXPECT_FALSE(read_tangram({{"huge.yaml", huge}}, {}));
  EXPECT_LT(testing::processor_seconds_since(start), 2 * testing::kBusyMachine);
}

TEST(Tangram, FilesAsLargeAsAllowedAreReadInTime) {
  std::string large = "resource: {dim_array: 16}\nbatch: 1\nlayers:\n";
  for (int layer = 0; layer < 2500; ++layer) {
    large += "  l" + std::to_string(layer) +
             ": {layer: {type: fc, nifm: 1, nofm: 1}, ti: [1, 1, 1], to: [1, 1, 1], tb: [1, 1, 1], orders: [[0, 1, 2], "
             "[0, 1, 2]]}\n";
  }
  const std::clock_t start = std::clock();
  EXPECT_EQ(read(large).layers.size(), 2500U);  // about half a second; sanitizers are slow
  EXPECT_LT(testing::processor_seconds_since(start), 10);
}

TEST(Tangram, LargeNumbersAreRefusedOrReadExactly) {
  const std::string huge =
      "resource: {dim_nodes: [32768, 32768], dim_array: [32768, 32768], size_gbuf: 1125899906842624}\nbatch: "
      "1073741824\n"
      "layers:\n  x:\n    layer: {type: conv, nifm: 1073741824, nofm: 1073741824, sofm: 1073741824, sfil: 1073741824, "
      "strd: 1073741824}\n"
      "    ti: [1073741824, 1, 1]\n    to: [1073741824, 1, 1]\n    tb: [1073741824, 1073741824, 1]\n"
      "    orders: [[0, 1, 2], [0, 1, 2]]\n    part: {order: [0, 1, 2, 3], OUTP: [32768, 32768]}\n";
  EXPECT_EQ(error_of(huge).find("tb has 1073741824 x 1073741824 x 1 = 1152921504606846976 passes"), 0U)
      << error_of(huge);
}

/// What the writer says of a spec with this einsum on an array machine.
std::string refusal(const Einsum& einsum, const Machine& machine, const std::string& nest) {
  const Spec spec = testing::spec(einsum, machine, nest);
  Document document;
  document.layers.push_back({"x", 1, {"x", {spec.einsum}}, spec.machine, spec.mapping, std::nullopt});
  const auto written = write_tangram(document);
  return written ? "written: " + written->text : written.error().front().message;
}

const Einsum& small_convolution() {
  static const Einsum made = einsum_of({LayerType::conv, 4, 4, {4, 4}, {3, 3}, {1, 1}, 1, 2}, "x", 16);
  return made;
}
Machine small_machine() {
  Resource resource;
  resource.array = {4, 4};
  return machine_of(resource);
}
const std::string kPass =
    "par r by 1 on ARRAY.h\npar p by 1 on ARRAY.w\nat REGF: FIL\nfor q by 1\nat REGF: IFM OFM\nfor s by 1\n";

TEST(TangramWriter, LoopsOverFilterTapsOutsideThePass) {
  EXPECT_EQ(refusal(small_convolution(), small_machine(),
                    "for r by 1\nfor b k c by 1\npar p by 1 on ARRAY.w\nat REGF: IFM FIL OFM\nfor q s by 1"),
            "'for r by 1' loops over filter taps outside the unit pass");
}

TEST(TangramWriter, MoreThanThreeLevels) {
  EXPECT_EQ(refusal(einsum_of({LayerType::conv, 8, 4, {4, 4}, {3, 3}, {1, 1}, 1, 2}, "x", 16), small_machine(),
                    "for c by 4\nfor k by 1\nfor c by 2\nfor b by 1\nfor c by 1\n" + kPass),
            "c has 3 blocking levels outside REGF, expected at most 2");
}

TEST(TangramWriter, ColumnsOutsideThePass) {
  EXPECT_EQ(refusal(small_convolution(), small_machine(), "for q by 2\nfor b k c by 1\n" + kPass),
            "'for q by 2' loops over columns of a map outside the unit pass");
}

TEST(TangramWriter, ANestThatIsNearToASchedule) {
  EXPECT_EQ(refusal(small_convolution(), small_machine(),
                    "for b k c by 1\npar r by 1 on ARRAY.h\npar p by 2 on ARRAY.w\nat REGF: FIL\nfor q by 1\nat REGF: "
                    "IFM OFM\nfor p s by 1"),
            "no factors ti, to, tb on this array give the nest");
  EXPECT_EQ(refusal(small_convolution(), small_machine(), "for c b k by 1\n" + kPass),
            "the nest has 'at REGF: FIL' where nn_dataflow's nearest has 'at REGF: IFM FIL'");
}

TEST(TangramWriter, WhatAMachineOfAnotherKindLacks) {
  Machine machine = small_machine();
  const std::string nest = "for c b k by 1\n" + kPass;
  std::get<Mesh>(machine.levels[2]).multicast = false;
  EXPECT_EQ(refusal(small_convolution(), machine, nest),
            "the mesh ARRAY has multicast false and reduction true, expected true and true");
  machine = small_machine();
  std::get<Compute>(machine.levels.back()).operand_latches = true;
  EXPECT_EQ(refusal(small_convolution(), machine, nest),
            "PE has operand latches; nn_dataflow's PEs read REGF for every operation");
  EXPECT_EQ(refusal(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 2}, {"k", 2}}), testing::two_level(),
                    "for m n k by 1"),
            "the machine has other levels than nn_dataflow's");
}

TEST(TangramWriter, AMatrixProductIsAFullyConnectedLayerWithItsNamesLeftOut) {
  // k of the product is nifm, n is nofm, m is the batch; one operand after the other in an array of 1 x 1.
  Resource resource;
  const Spec spec = testing::spec(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 2}, {"n", 3}, {"k", 4}}),
                                  machine_of(resource), "for m n k by 1\nat REGF: X W Y");
  Document document;
  document.layers.push_back({"x", 1, {"x", {spec.einsum}}, spec.machine, spec.mapping, std::nullopt});
  const auto written = write_tangram(document);
  ASSERT_TRUE(written) << written.error().front().message;
  EXPECT_NE(written->text.find("{type: fc, nifm: 4, nofm: 3, sfil: [1, 1], batch: 2}"), std::string::npos)
      << written->text;
  EXPECT_NE(written->text.find("orders: [[0, 1, 2], [2, 1, 0]]"), std::string::npos) << written->text;
  ASSERT_GE(written->left_out.size(), 1U);
  EXPECT_EQ(
      written->left_out[0],
      "names and the order of operands and axes: Y[m,n] += X[m,k] * W[k,n] is read as OFM[b,k] += IFM[b,c] * FIL[k,c]");
}

}  // namespace
}  // namespace einflow
