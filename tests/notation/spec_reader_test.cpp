// What a correct spec means: problem, machine, conventions, library.
#include "notation/spec_reader.hpp"

#include <gtest/gtest.h>

#include "notation/library.hpp"
#include "support/worked_example.hpp"

namespace einflow {
namespace {

const Library kLibrary{{std::string(EINFLOW_SOURCE_DIR) + "/tests/notation/wrong_specs/library"}};

ReadSpec read(const std::string& text, MappingPart mapping = MappingPart::required) {
  const SourceText source{"spec.yaml", text};
  auto spec = read_spec(source, kLibrary, mapping);
  EXPECT_TRUE(spec) << (spec ? "" : render(spec.error(), source));
  return spec ? *spec : ReadSpec{};
}

ReadSpec with_problem(const std::string& problem) {
  return read("problem: " + problem + "\nmachine: toy\n", MappingPart::optional);
}

Machine with_levels(const std::string& levels) {
  return read("problem: {matmul: {m: 4, n: 4, k: 4}}\nmachine:\n  clock: 2 GHz\n  levels:\n" + levels,
              MappingPart::optional)
      .spec.machine;
}

Ratio ratio(std::int64_t numerator, std::int64_t denominator) { return {Count(numerator), Count(denominator)}; }

TEST(ReadSpec, ReadsTheExample) {
  const ReadSpec read_example = read(testing::worked_example_text());
  const Spec& spec = read_example.spec;
  EXPECT_EQ(to_text(spec.einsum), "Y[m,n] += X[m,k] * W[k,n]");
  EXPECT_EQ(spec.einsum.tensors[2].type.name, "fp32");
  const Storage& dram = *spec.machine.storage(0);
  EXPECT_EQ(dram.read_bandwidth, Ratio(Count(64))) << "64 GB/s at 1 GHz";
  EXPECT_EQ(dram.write_energy->picojoules, 8.0);
  EXPECT_EQ(dram.capacity_bits, std::nullopt);
  EXPECT_EQ(spec.machine.storage(1)->capacity_bits, Count(512 * 1024 * 8));
  EXPECT_TRUE(spec.machine.storage(1)->double_buffered);
  EXPECT_EQ(spec.machine.mesh(2)->size(), 256);
  EXPECT_EQ(spec.machine.compute().rate.at(""), Ratio(Count(1)));
  EXPECT_EQ(spec.mapping.loops.size(), 8u);
  EXPECT_EQ(spec.mapping.loops[4].trips, 16);
  EXPECT_EQ(spec.mapping.loops[4].span, (Span{22, 3, 21}));
}

TEST(ReadSpec, SaysWhatItAssumed) {
  EXPECT_EQ(read(testing::worked_example_text()).conventions,
            (std::vector<std::string>{"MAC: no operand latches, every operation reads its inputs (not stated)",
                                      "DRAM: unbounded capacity (not stated)",
                                      "DRAM, RF: not double-buffered (not stated)"}));
  const auto conventions =
      with_problem("{einsum: \"Y[m] += X[m,k]\", ranks: {m: 4, k: 4}, types: {X: fp8}}").conventions;
  EXPECT_EQ(conventions.at(0), "types: bf16 for Y (not stated)");
  EXPECT_EQ(with_problem("{matmul: {m: 4, n: 4, k: 4}}").conventions.at(0),
            "types: bf16 for every tensor (not stated)");
}

TEST(ReadSpec, TheMappingMayBeOptional) {
  const std::string text = "problem: {matmul: {m: 4, n: 4, k: 4}}\nmachine: toy\n";
  EXPECT_FALSE(read_spec({"s", text}, kLibrary));
  EXPECT_TRUE(read(text, MappingPart::optional).spec.mapping.holds.empty());
}

TEST(ReadSpec, MappingLinesAsAList) {
  const std::string head = "problem: {matmul: {m: 4, n: 4, k: 4}}\nmachine: toy\nmapping:\n";
  const Mapping text = read(head + "  |\n  for m by 2\n  at Buffer: X W\n  for m n k by 1\n").spec.mapping;
  EXPECT_EQ(read(head + "  - for m by 2\n  - \"at Buffer: X W\"\n  - for m n k by 1\n").spec.mapping, text);
  EXPECT_EQ(read(head + "  - for m by 2\n  - at Buffer: X W  # not in quotes\n  - for m n k by 1\n").spec.mapping,
            text);
  EXPECT_EQ(read(head + "  \"for m by 2\\nat Buffer: X W\\nfor m n k by 1\"\n").spec.mapping, text);
}

TEST(ReadProblem, PaddingAndShares) {
  const Einsum conv = with_problem(
                          "{einsum: \"O[n,k,p] += I[n,c,p+r-1] * F[k,c,r]\", ranks: {n: 1, k: 4, p: 8, c: 3, r: 3}, "
                          "shapes: {I: [1, 3, 8]}}")
                          .spec.einsum;
  EXPECT_EQ(conv.tensors[0].axes[2].stored_size, 8);
  EXPECT_EQ(conv.tensors[0].axes[2].constant, -1);
  const Einsum causal = with_problem(
                            "{einsum: \"S[q,t] += Q[q,e] * K[t,e]\", ranks: {q: 16, t: 16, e: 4}, "
                            "executes: 17/32, because: causal mask}")
                            .spec.einsum;
  EXPECT_EQ(causal.executed.share, ratio(17, 32));
  EXPECT_EQ(causal.executed.because, "causal mask");
}

TEST(ReadProblem, OneTypeForAllTensors) {
  const Einsum einsum = with_problem("{matmul: {m: 4, n: 4, k: 4}, types: fp8}").spec.einsum;
  for (const Tensor& tensor : einsum.tensors) EXPECT_EQ(tensor.type.name, "fp8");
}

TEST(ReadProblem, APartOfACascade) {
  const std::string cascade =
      "cascade: [{name: scores, einsum: \"S[m,n] += X[m,k] * W[k,n]\"}, \"E[m,n] = exp(S[m,n])\"], "
      "ranks: {m: 4, n: 5, k: 6}";
  EXPECT_EQ(with_problem("{" + cascade + ", part: scores}").spec.einsum.operations(), Count(120));
  EXPECT_EQ(with_problem("{" + cascade + ", einsum_name: E}").spec.einsum.operations(), Count(20));
}

TEST(ReadProblem, ByLibraryName) {
  EXPECT_EQ(with_problem("single").spec.einsum.name, "single/only");
  EXPECT_EQ(with_problem("network/fc1").spec.einsum.tensors[0].type.name, "fp8") << "the file's own types";
  EXPECT_EQ(with_problem("network/attention/E").spec.einsum.map, "exp");
  const auto conventions = with_problem("network/fc2").conventions;
  EXPECT_EQ(conventions.at(1), "the layer fc2 occurs 3 times in network; the figures are of one");
}

TEST(ReadMachine, BandwidthsInEitherDirection) {
  const Machine machine = with_levels(
      "    - {storage: A, bandwidth: {shared: 64 GB/s}}\n"
      "    - {storage: B, bandwidth: 12 bit/cycle}\n"
      "    - {storage: C, bandwidth: {read: 1 TB/s}}\n"
      "    - {compute: MAC, rate: 3 GFLOP/s}\n");
  EXPECT_TRUE(machine.storage(0)->shared_port);
  EXPECT_EQ(machine.storage(0)->read_bandwidth, Ratio(Count(32))) << "64 GB/s at 2 GHz";
  EXPECT_EQ(machine.storage(1)->write_bandwidth, ratio(3, 2));
  EXPECT_EQ(machine.storage(2)->read_bandwidth, Ratio(Count(500)));
  EXPECT_EQ(machine.storage(2)->write_bandwidth, std::nullopt);
  EXPECT_EQ(machine.compute().rate.at(""), ratio(3, 4)) << "3 GFLOP are 1.5 G operations, at 2 GHz";
}

TEST(ReadMachine, EnergiesKeepTheirKind) {
  const Machine machine = with_levels(
      "    - {storage: A, energy: 3.9 pJ/bit}\n"
      "    - {storage: B, energy: {read: 1 nJ/access, write: 20 fJ/element}, access: 8 B}\n"
      "    - {mesh: net, axes: {x: 2}, hop_energy: 0.1 pJ/B, systolic: drained}\n"
      "    - {compute: MAC, energy: {fp8: 0.2 pJ, bf16: 0.2 pJ/FLOP}}\n");
  EXPECT_EQ(*machine.storage(0)->read_energy, (AccessEnergy{31.2, AccessEnergy::Per::byte}));
  EXPECT_EQ(*machine.storage(1)->read_energy, (AccessEnergy{1000, AccessEnergy::Per::access}));
  EXPECT_EQ(*machine.storage(1)->write_energy, (AccessEnergy{0.02, AccessEnergy::Per::element}));
  EXPECT_EQ(machine.storage(1)->access_bits, Count(64));
  EXPECT_EQ(*machine.mesh(2)->hop_energy, (AccessEnergy{0.1, AccessEnergy::Per::byte}));
  EXPECT_EQ(machine.mesh(2)->systolic, SystolicTiming::drained);
  EXPECT_EQ(machine.compute().energy, (PerType<double>{{"fp8", 0.2}, {"bf16", 0.4}}));
}

TEST(ReadMachine, AtomicShapesKeepTheirOrder) {
  const Machine machine = with_levels(
      "    - {storage: A}\n"
      "    - {compute: TC, rate: {bf16: 1024 FLOP/cycle, fp8: 2048 FLOP/cycle}, atomic: {m: 16, n: 8, k: 16}, latches: "
      "true}\n");
  EXPECT_EQ(machine.compute().atomic,
            (std::vector<std::pair<std::string, std::int64_t>>{{"m", 16}, {"n", 8}, {"k", 16}}));
  EXPECT_EQ(machine.compute().rate.at("fp8"), Ratio(Count(1024)));
  EXPECT_TRUE(machine.compute().operand_latches);
}

TEST(ReadSpec, ManyErrorsAreFoundFastAndCut) {
  std::string ranks, keys, levels, words;
  for (int i = 0; ranks.size() < 900000; ++i) ranks += "rank" + std::to_string(i) + ": 0, ";
  for (int i = 0; keys.size() < 900000; ++i) keys += "key" + std::to_string(i) + ": 0\n";
  for (int i = 0; levels.size() < 900000; ++i) levels += "{storage: S" + std::to_string(i) + "}, ";
  while (words.size() < 900000) words += "  at B\n";
  for (const std::string& text : {
           "problem: {einsum: \"Y[m] = X[m]\", ranks: {" + ranks + "}}\nmachine: toy\nmapping: for m by 1\n",
           keys,
           "problem: single\nmachine: {levels: [" + levels + "]}\n",
           "problem: single\nmachine: toy\nmapping: |\n" + words,
       }) {
    const auto spec = read_spec({"s", text}, kLibrary);
    ASSERT_FALSE(spec);
    EXPECT_LE(spec.error().size(), 200u);
  }
}

TEST(Library, NamesAreSortedAndTheFirstFolderWins) {
  EXPECT_EQ(machine_names(kLibrary), (std::vector<std::string>{"broken", "tensor_core", "toy"}));
  EXPECT_EQ(problem_names(kLibrary), (std::vector<std::string>{"broken", "network", "single"}));
  EXPECT_EQ(machine_named("tensor_core", kLibrary)->machine.name, "tensor core");
  EXPECT_TRUE(machine_names(Library{{"no/such/folder"}}).empty());
}

TEST(Library, ProblemFilesListTheirLayers) {
  const auto file = problem_named("network", kLibrary);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->source, "made up for the tests");
  ASSERT_EQ(file->layers.size(), 3u);
  EXPECT_EQ(file->layers[1].repeat, 3);
  EXPECT_EQ(file->layers[2].cascade.einsums.size(), 2u);
  EXPECT_EQ(file->layers[0].untyped[0], (std::vector<std::string>{"W", "Y"}));
}

}  // namespace
}  // namespace einflow
