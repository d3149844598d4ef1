// How Timeloop's words are taken. Its rules are those of Timeloop commit 4cf6d4c; the numbers that follow from them are
// compared in tests/commands/test_timeloop_notation.py.
#include "notation/timeloop/timeloop.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/processor_time.hpp"
#include "support/worked_example.hpp"

namespace einflow {
namespace {

using testing::with;

const char* const kProblem = R"(problem:
  shape:
    name: gemm
    dimensions: [M, N, K]
    data_spaces:
    - {name: A, projection: [[[M]], [[K]]]}
    - {name: B, projection: [[[K]], [[N]]]}
    - {name: Z, projection: [[[M]], [[N]]], read_write: true}
  instance: {M: 8, N: 6, K: 4}
)";

const char* const kTree = R"(architecture:
  version: 0.3
  subtree:
  - name: System
    local:
    - {name: DRAM, class: DRAM, attributes: {word-bits: 16}}
    - {name: GLB, class: SRAM, attributes: {word-bits: 16, entries: 128}}
    - {name: "RF[0..7]", class: regfile, attributes: {word-bits: 16, entries: 64, meshX: 4}}
    - {name: "MAC[0..7]", class: intmac, attributes: {meshX: 4}}
)";

const char* const kNodes = R"(architecture:
  version: 0.4
  nodes:
  - !Container
    name: System
    attributes: {datawidth: 8, global_cycle_seconds: 0.5e-9}
  - !Component
    name: DRAM
    class: DRAM
    attributes: {width: 64}
  - !Container
    name: PE
    spatial: {meshX: 4, meshY: 2}
  - !Component
    name: RF
    class: storage
    attributes: {width: 16, datawidth: 16, depth: 32}
  - !Component
    name: MAC
    class: mac
)";

const char* const kMapping = R"(mapping:
- {target: DRAM, type: temporal, factors: N=3, permutation: MNK}
- {target: GLB, type: temporal, factors: K=2 N2, permutation: KNM}
- {target: GLB, type: spatial, factors: M=4 K=2, permutation: MKN, split: 1}
- {target: RF, type: temporal, factors: M=2, permutation: MNK}
)";

Document read(const std::string& text, const ReadOptions& options = {}) {
  const std::vector<SourceText> sources{{"input.yaml", text}};
  auto document = read_timeloop(sources, options);
  if (!document) throw std::runtime_error(render_in(document.error(), sources));
  return *document;
}

std::string refusal(const std::string& text, const ReadOptions& options = {}) {
  const auto document = read_timeloop({{"input.yaml", text}}, options);
  return document ? "accepted" : document.error().front().message;
}

std::string nest(const Document& document) {
  const DocumentLayer& layer = document.layers.front();
  return to_text(*layer.mapping, layer.cascade.einsums.front(), *layer.machine);
}

const Storage& storage(const Document& document, const std::string& name) {
  const Machine& machine = *document.layers.front().machine;
  return *machine.storage(machine.level_named(name));
}

bool says(const std::vector<std::string>& lines, const std::string& part) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

std::string three_parts(const std::string& mapping = kMapping) { return std::string(kProblem) + kTree + mapping; }

TEST(Timeloop, PermutationsBeginInnermostAndSplitsBeginWithX) {
  // M, the innermost of the spatial permutation, is along X (split 1); K, further out, along Y.
  EXPECT_EQ(nest(read(three_parts())), R"(at DRAM: A B Z
for N by 2
at GLB: A B Z
for N by 1
for K by 2
par K by 1 on GLB_mesh.y
par M by 2 on GLB_mesh.x
at RF: A B Z
for M by 1
)");
}

TEST(Timeloop, FactorsHaveManySpellings) {
  const std::string expected = nest(read(three_parts()));
  for (const char* factors : {"K=2 N=2", "\"N=2, K=2\"", "\"N=2,K=2\"", "K = 2  N2", "'K=2 N=2 # K=9'", "[K=2, N=2]",
                              "{K: 2, N: 2}", "M=1 N=2 K=2", "\"N=2,2 K=2\""}) {
    EXPECT_EQ(nest(read(three_parts(with(kMapping, "K=2 N2", factors)))), expected) << factors;
  }
}

TEST(Timeloop, AFactorOfZeroIsTheFullBound) {
  const Document document = read(three_parts(with(with(kMapping, "N=3", "N0"), "K=2 N2", "K=2")));
  EXPECT_NE(nest(document).find("for N by 1\nat GLB"), std::string::npos) << nest(document);
  EXPECT_TRUE(says(document.conventions, "DRAM: a factor of 0 is the full bound"));
}

TEST(Timeloop, PermutationsAreAlsoListsAndMayBeShort) {
  EXPECT_EQ(nest(read(three_parts(with(kMapping, "permutation: KNM}", "permutation: [K, N, M]}")))),
            nest(read(three_parts())));
  // Missing dimensions are appended in the order of the shape, that is further out.
  const Document document = read(three_parts(with(kMapping, "permutation: KNM}", "permutation: N}")));
  EXPECT_NE(nest(document).find("for K by 2\nfor N by 1"), std::string::npos) << nest(document);
  EXPECT_TRUE(says(document.conventions, "GLB: the permutation lacks K"));
}

TEST(Timeloop, WithoutASplitSpatialLoopsAreAlongX) {
  const std::string mapping = with(with(kMapping, ", split: 1", ""), "M=4 K=2", "M=4");
  const Document document = read(three_parts(with(mapping, "K=2 N2", "K=4 N=2")));
  EXPECT_NE(nest(document).find("par M by 2 on GLB_mesh.x"), std::string::npos);
  EXPECT_TRUE(says(document.conventions, "GLB: no split is given"));
}

TEST(Timeloop, RemaindersAreTheLastRoundOfADimension) {
  // K = 4 as (2 rounds, the last of 1) x 3: 3 + 1.
  std::string text = three_parts(with(with(kMapping, "N=3", "N=3 K=2"), "K=2 N2", "\"K=3,1 N2\""));
  text = with(text, "M=4 K=2", "M=4");
  EXPECT_NE(nest(read(text)).find("for K by 3"), std::string::npos) << nest(read(text));
  EXPECT_EQ(refusal(with(text, "K=3,1", "K=3,2")), "the factors of 'K' give 5, its bound is 4");
  EXPECT_EQ(refusal(with(text, "K=3,1", "K=3,4")), "4 of 3 iterations in the last round; expected 1 to 3");
}

TEST(Timeloop, LevelsKeepWhatNobodyBypasses) {
  const std::string bypass =
      "- {target: GLB, type: datatype, keep: [A], bypass: [Z]}\n- {target: RF, type: bypass, bypass: [A]}\n";
  const std::string text = nest(read(three_parts(kMapping + bypass)));
  EXPECT_NE(text.find("at GLB: A B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("at RF: B Z\n"), std::string::npos) << text;
  EXPECT_EQ(refusal(three_parts(kMapping + std::string("- {target: DRAM, type: bypass, bypass: [Z]}\n"))),
            "'Z' bypasses 'DRAM'; every tensor starts in the outermost storage");
}

TEST(Timeloop, TargetsAreAlsoNumbersFromTheInnermostStorage) {
  std::string mapping = kMapping;
  mapping = with(mapping, "target: DRAM", "target: 2");
  mapping = with(mapping, "target: RF", "target: 0");
  EXPECT_EQ(nest(read(three_parts(mapping))), nest(read(three_parts())));
}

TEST(Timeloop, CoefficientsHaveDefaultsAndValues) {
  const std::string problem = R"(problem:
  shape:
    dimensions: [P, R]
    coefficients: [{name: stride, default: 1}, {name: dilation, default: 3}]
    data-spaces:
    - {name: I, projection: [[[P, stride], [R, dilation]]]}
    - {name: F, projection: [R]}
    - {name: O, projection: [P], read-write: True}
  instance: {P: 4, R: 3, stride: 2, H: 9}
)";
  const Document document = read(problem);
  EXPECT_EQ(to_text(document.layers.front().cascade.einsums.front()), "O[P] += I[2*P+3*R] * F[R]");
  EXPECT_TRUE(says(document.left_out, "neither dimensions nor coefficients: H"));
  EXPECT_TRUE(says(document.conventions, "words of 16 bit, Timeloop's default"));
}

TEST(Timeloop, ShapesOfItsOwnAreKnown) {
  const char* const bounds = "R: 3, S: 3, P: 8, Q: 8, C: 4, K: 2, N: 1";
  const std::string expected = "Outputs[N,K,Q,P] += Weights[C,K,R,S] * Inputs[N,C,R+2*P,S+Q]";
  for (const std::string& text : {fmt::format("problem:\n  shape: cnn-layer\n  instance: {{{}, Wstride: 2}}\n", bounds),
                                  fmt::format("problem: {{shape: cnn_layer, {}, Wstride: 2}}\n", bounds),
                                  fmt::format("problem: {{{}, Wstride: 2}}\n", bounds)}) {
    EXPECT_EQ(to_text(read(text).layers.front().cascade.einsums.front()), expected);
  }
  EXPECT_EQ(refusal("problem: {shape: cnn_layers, instance: {P: 1}}\n"), "there is no shape 'cnn_layers'");
}

TEST(Timeloop, OpenBoundsComeFromTheCommandLine) {
  ReadOptions options;
  options.ranks = {{"K", "12"}};
  const std::string open = with(kProblem, ", K: 4", "");
  EXPECT_EQ(refusal(open), "the dimension 'K' has no bound");
  EXPECT_EQ(read(open, options).layers.front().cascade.einsums.front().ranks[2].extent, 12);
  EXPECT_EQ(refusal(kProblem, options), "-r K=12: the text says 4");
}

TEST(Timeloop, FanOutsBecomeMeshesThatMulticastAndReduce) {
  const Document document = read(three_parts());
  const Machine& machine = *document.layers.front().machine;
  const Mesh& mesh = *machine.mesh(machine.level_named("GLB_mesh"));
  EXPECT_EQ(mesh.axes, (std::vector<MeshAxis>{{"x", 4}, {"y", 2}}));
  EXPECT_TRUE(mesh.multicast && mesh.reduction && !mesh.forwarding);
  ReadOptions options;
  options.settings = {{"link_transfers", "true"}};
  EXPECT_TRUE(read(three_parts(), options).layers.front().machine->mesh(2)->forwarding);
  options.settings = {{"link_transfer", "true"}};
  EXPECT_EQ(refusal(three_parts(), options),
            "--set link_transfer=true: there is no setting 'link_transfer' for Timeloop's files");
}

TEST(Timeloop, NodesInheritTheAttributesOfContainers) {
  const Document document = read(std::string(kProblem) + kNodes);
  const Machine& machine = *document.layers.front().machine;
  EXPECT_EQ(machine.name, "System");
  EXPECT_EQ(machine.clock_hz, Ratio(Count(2000000000)));
  EXPECT_EQ(machine.mesh(1)->name, "PE");
  // DRAM has the container's words of 8 bit, and so have all tensors; 32 words of RF count as words of 8 bit.
  EXPECT_EQ(document.layers.front().cascade.einsums.front().tensors[0].type.name, "int8");
  EXPECT_EQ(storage(document, "RF").capacity_bits, Count(256));
  EXPECT_TRUE(says(document.conventions, "RF: words of 16 bit count as words of 8 bit"));
  EXPECT_FALSE(document.layers.front().mapping);
}

TEST(Timeloop, SpatialDirectivesOfNodesNameTheNodeThatIsThereManyTimes) {
  const std::string text = std::string(kProblem) + kNodes + R"(mapping:
- {target: PE, type: spatial, factors: [M=4, K=2], permutation: [M, K, N], split: 1}
- {target: RF, type: temporal, factors: [M=2, N=6, K=2], permutation: [K, N, M]}
- {target: RF, type: dataspace, keep: [Z], bypass: [A, B]}
)";
  EXPECT_EQ(nest(read(text)), R"(at DRAM: A B Z
par K by 2 on PE.y
par M by 2 on PE.x
at RF: Z
for M by 1
for N by 1
for K by 1
)");
  // A component that is there several times has a fan-out of its own.
  std::string component = with(text, "  - !Container\n    name: PE\n    spatial: {meshX: 4, meshY: 2}\n", "");
  component = with(component, "name: RF\n", "name: RF\n    spatial: {meshX: 4, meshY: 2}\n");
  component = with(component, "{target: PE, type: spatial", "{target: RF, type: spatial");
  EXPECT_NE(nest(read(component)).find("on inter_RF_spatial.y"), std::string::npos);
}

TEST(Timeloop, ConstraintsOfNodesAreDirectivesBesideAMapping) {
  const std::string constrained =
      with(kNodes, "class: storage\n", "class: storage\n    constraints: {dataspace: {bypass: [A]}}\n");
  const std::string text = std::string(kProblem) + constrained + R"(mapping:
- {target: DRAM, type: temporal, factors: M0 N0 K0, permutation: MNK}
)";
  EXPECT_NE(nest(read(text)).find("at RF: B Z"), std::string::npos);
  EXPECT_TRUE(says(read(std::string(kProblem) + constrained).left_out, "constraints of a search"));
}

TEST(Timeloop, DummyStoragesThatKeepNothingAreTheirFanOut) {
  const std::string tree = R"(architecture:
  version: 0.4
  subtree:
  - name: System
    local:
    - {name: "DRAM[1..1]", class: DRAM, attributes: {width: 16}}
    - {name: "inter_PE_spatial[1..1]", class: dummy_storage, attributes: {width: 1, depth: 1, datawidth: 1}}
    - {name: "RF[1..8]", class: storage, attributes: {width: 16, depth: 64, meshX: 8, meshY: 1}}
    - {name: "MAC[1..8]", class: intmac, attributes: {meshX: 8}}
mapping:
- {target: inter_PE_spatial, type: spatial, factors: M=8}
- {target: RF, type: temporal, factors: N=6 K=4, permutation: KNM}
- {target: inter_PE_spatial, type: bypass, bypass: [A, B, Z]}
)";
  const Document document = read(kProblem + tree);
  const Machine& machine = *document.layers.front().machine;
  ASSERT_EQ(machine.levels.size(), 4u);
  EXPECT_EQ(machine.level_name(1), "inter_PE_spatial");
  EXPECT_NE(machine.mesh(1), nullptr);
  // One that keeps something is a storage like any other.
  const Document kept = read(with(kProblem + tree, "bypass: [A, B, Z]", "bypass: [A, B]"));
  EXPECT_NE(kept.layers.front().machine->storage(1), nullptr);
  EXPECT_EQ(kept.layers.front().machine->level_name(2), "inter_PE_spatial_mesh");
}

TEST(Timeloop, SizesHaveManyWords) {
  struct Size {
    const char* attributes;
    int words;
  };
  for (const auto& [attributes, words] : std::vector<Size>{{"entries: 128", 128},
                                                           {"depth: 32, block-size: 4", 128},
                                                           {"depth: 32, width: 64", 128},
                                                           {"memory_depth: 64, memory_width: 32", 128},
                                                           {"depth: 128, width: 64, cluster-size: 4", 128},
                                                           {"depth: 32, width: 128, block_size: 4", 128},
                                                           {"sizeKB: 2", 1024},
                                                           {"entries: 100, multiple_buffering: 3", 33}}) {
    const Document document = read(with(three_parts(), "entries: 128", attributes));
    EXPECT_EQ(storage(document, "GLB").capacity_bits, Count(words * 16)) << attributes;
    EXPECT_FALSE(storage(document, "GLB").double_buffered);
  }
  const Document twice = read(with(three_parts(), "entries: 128", "entries: 100, multiple-buffering: 2.0"));
  EXPECT_EQ(storage(twice, "GLB").capacity_bits, Count(1600));
  EXPECT_TRUE(storage(twice, "GLB").double_buffered);
}

TEST(Timeloop, BandwidthsAreWordsPerCycle) {
  const Document document =
      read(with(three_parts(), "entries: 128", "entries: 128, read_bandwidth: 4, write_bandwidth: 0.5"));
  EXPECT_EQ(storage(document, "GLB").read_bandwidth, Ratio(Count(8)));
  EXPECT_EQ(storage(document, "GLB").write_bandwidth, Ratio(Count(1)));
  const Document both = read(with(three_parts(), "entries: 128", "entries: 128, bandwidth: 3"));
  EXPECT_EQ(storage(both, "GLB").read_bandwidth, Ratio(Count(3)));
  const Document shared = read(with(three_parts(), "entries: 128", "entries: 128, shared_bandwidth: 1"));
  EXPECT_TRUE(storage(shared, "GLB").shared_port);
  EXPECT_EQ(storage(shared, "GLB").read_bandwidth, Ratio(Count(2)));
}

TEST(Timeloop, EnergiesAreOfAWordOfTheAccess) {
  const std::string table = R"(ERT:
  version: 0.3
  tables:
  - name: System.PE[0..3].GLB[0..0]
    actions:
    - {name: read, arguments: {address_delta: 0}, energy: 1}
    - {name: read, arguments: {address_delta: 1}, energy: 6}
    - {name: write, energy: 7}
    - {name: update, energy: 8}
    - {name: leak, energy: 0.25}
  - {name: System.MAC, actions: [{name: mac_gated, energy: 9}, {name: mac_random, energy: 0.5}]}
  - {name: System.wire, actions: [{name: transfer_random, energy: 1}]}
)";
  const Document document = read(with(three_parts(), "entries: 128", "entries: 128, block_size: 4") + table);
  EXPECT_EQ(storage(document, "GLB").read_energy, (AccessEnergy{1.5, AccessEnergy::Per::element}));
  EXPECT_EQ(storage(document, "GLB").write_energy, (AccessEnergy{1.75, AccessEnergy::Per::element}));
  EXPECT_FALSE(storage(document, "RF").read_energy);
  EXPECT_EQ(document.layers.front().machine->compute().energy, (PerType<double>{{"", 0.5}}));
  EXPECT_TRUE(says(document.conventions, "GLB: updates have another energy"));
  EXPECT_TRUE(says(document.left_out, "GLB: energy of leak"));
  EXPECT_TRUE(says(document.left_out, "components that are no levels: wire"));
}

TEST(Timeloop, ReferencesAreFollowed) {
  const std::string text = with(kTree, "{word-bits: 16, entries: 128}", "&words {word-bits: 16, entries: 128}");
  const Document document =
      read(kProblem + with(text, "{word-bits: 16, entries: 64, meshX: 4}", "{<<: *words, meshX: 4}"));
  EXPECT_EQ(storage(document, "RF").capacity_bits, Count(2048));
}

TEST(Timeloop, PartsMayBeInSeveralFiles) {
  const std::vector<SourceText> sources{{"map.yaml", kMapping}, {"arch.yaml", kTree}, {"prob.yaml", kProblem}};
  const auto document = read_timeloop(sources, ReadOptions{});
  ASSERT_TRUE(document);
  EXPECT_EQ(nest(*document), nest(read(three_parts())));
}

TEST(Timeloop, WhatCannotBeSaidIsAnError) {
  const auto with_spatial = [](const std::string& more) {
    return three_parts(with(kMapping, "split: 1}", "split: 1, " + more + "}"));
  };
  EXPECT_EQ(refusal(with_spatial("no_reuse: [A]")),
            "'no_reuse' for some data spaces; a mesh of einflow has its abilities for all");
  EXPECT_EQ(refusal(with_spatial("no_link_transfer: [A]")), "accepted");
  EXPECT_EQ(refusal(with(three_parts(), "entries: 64", "entries: 64, network_fill_latency: 3")),
            "'network_fill_latency' of 'RF' is not counted by einflow");
  EXPECT_EQ(refusal(with(three_parts(), "entries: 64", "entries: 64, network_fill_latency: 0")), "accepted");
  EXPECT_EQ(refusal(with(three_parts(), "entries: 64", "entries: 64, network_fill_latency: 0, sizeKB: 3")),
            "'sizeKB' stands beside 'entries' (line 17); one of them says the size of 'RF'");
  EXPECT_EQ(refusal(with(three_parts(), "target: RF, type: temporal", "target: GLB, type: skew")),
            "a skew of the instances' steps is not counted; they all work in step");
  EXPECT_EQ(refusal(with(kProblem, "K: 4}", "K: 4, densities: {A: 1.0, B: 0.5}}")),
            "the density '0.5' of 'B': sparsity is not counted; einflow counts dense tensors");
}

TEST(Timeloop, WhatNoCountDependsOnIsLeftOut) {
  const Document document = read(with(three_parts(), "entries: 64", "entries: 64, n_banks: 2, energy_per_hop: 1") +
                                 "mapper: {search-size: 100}\nmapspace_constraints: []\n");
  EXPECT_TRUE(says(document.left_out, "RF: 'n_banks'"));
  EXPECT_TRUE(says(document.left_out, "RF: 'energy_per_hop', an energy of the network"));
  EXPECT_TRUE(says(document.left_out, "the part 'mapper' (input.yaml"));
  EXPECT_FALSE(says(document.left_out, "mapspace_constraints"));
}

TEST(Timeloop, ItsFilesAreRecognised) {
  for (const std::string& text : {std::string(kProblem), std::string(kTree), std::string(kMapping), three_parts(),
                                  std::string("# ERT\nERT:\n  version: 0.3\n")}) {
    EXPECT_TRUE(is_timeloop({"", text})) << text;
  }
  EXPECT_FALSE(is_timeloop({"", testing::worked_example_text()}));
  EXPECT_FALSE(is_timeloop({"", "problem:\n  einsum: Z[m] += A[m,k]\n"}));
  EXPECT_FALSE(is_timeloop({"", "mapping: |\n  for m by 1\n"}));
  const std::filesystem::path examples = std::filesystem::path(EINFLOW_SOURCE_DIR) / "examples";
  for (const auto& entry : std::filesystem::directory_iterator(examples)) {
    if (entry.path().extension() != ".yaml") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_FALSE(is_timeloop({"", text.str()})) << entry.path();
  }
}

Document with_mapping(const std::string& text) {
  const Spec spec = testing::read(text);
  Document document;
  DocumentLayer layer;
  layer.cascade.einsums.push_back(spec.einsum);
  layer.machine = spec.machine;
  layer.mapping = spec.mapping;
  document.layers.push_back(layer);
  return document;
}

std::string own(const std::string& levels, const std::string& nest,
                const std::string& problem = "matmul: {m: 12, n: 8, k: 4}") {
  std::string text =
      "problem: {" + problem + ", types: int16}\nmachine:\n  name: toy\n  levels:\n    - {storage: DRAM}\n";
  return text + levels + "    - {compute: MAC, rate: 1 op/cycle}\nmapping: |\n" + nest;
}

std::string refused_writing(const std::string& text) {
  for (const auto write : {write_timeloop, write_timeloop_v03}) {
    const auto writing = write(with_mapping(text));
    if (writing) return "written";
    if (write == write_timeloop_v03) return writing.error().front().message;
  }
  return {};
}

TEST(TimeloopWriter, SaysWhatTimeloopCannotSay) {
  const std::string mesh = "    - {mesh: array, axes: {x: 4, y: 4}, multicast: true, reduction: true}\n";
  const std::string glb = "    - {storage: GLB}\n";
  const std::string rest = "  for m n k by 1\n";
  EXPECT_EQ(refused_writing(own(with(mesh, "multicast: true", "multicast: false"), rest)),
            "the mesh 'array' has no multicast; Timeloop's networks always have it");
  EXPECT_EQ(refused_writing(own(with(mesh, "reduction: true", "reduction: true, forwarding: true"), rest)),
            "the mesh 'array' forwards; Timeloop's files do not say whether neighbours hand words on");
  EXPECT_EQ(refused_writing(own(with(mesh, "y: 4", "y: 4, z: 4"), rest)),
            "the mesh 'array' has 3 axes; Timeloop's have X and Y");
  EXPECT_EQ(refused_writing(own(glb, "  at GLB: X\n  for m by 1\n  at GLB: W\n  for n k by 1\n")),
            "'GLB' holds tensors at two places of the nest; in Timeloop a level has one");
  EXPECT_EQ(
      refused_writing(own(glb, "  for m by 8\n  at GLB: X\n  for m by 3\n  for m n k by 1\n")),
      "the tile 8 of 'm' is no multiple of the tile 3 inside it; in Timeloop only the last round of a dimension has a "
      "remainder");
  EXPECT_EQ(
      refused_writing(own(mesh, "  par m by 4 on array.x\n  par m by 1 on array.y\n  for n k by 1\n")),
      "'par m by 4' stands outside 'par m by 1'; Timeloop has spatial loops along Y outside those along X, and meshes "
      "in the machine's order");
  EXPECT_EQ(refused_writing(own(mesh, "  par m by 4 on array.y\n  par m by 1 on array.x\n  for n k by 1\n")),
            "two spatial loops over 'm' on 'array'; Timeloop has one factor of a dimension there");
  EXPECT_EQ(refused_writing(own("", "  for m n by 1\n", "einsum: \"Z[m,n] = A[m,n] + B[m,n]\", ranks: {m: 2, n: 2}")),
            "Z[m,n] = A[m,n] + B[m,n]: Timeloop multiplies and adds; it has no other operation");
  EXPECT_EQ(refused_writing(own("", "  for in k by 1\n", "einsum: \"Z[in] += A[in,k]\", ranks: {in: 2, k: 2}")),
            "the rank 'in': Timeloop's dimensions are single letters");
  EXPECT_EQ(refused_writing(with(own("", rest), "types: int16", "types: {X: int8, W: int16, Y: int16}")),
            "'W' has elements of 16 bit and 'X' of 8; Timeloop counts words of one width");
  EXPECT_EQ(refused_writing(own("    - {storage: GLB, capacity: 3 B}\n", rest)),
            "'GLB' has room for 24 bit, which is no whole number of words of 16 bit");
  EXPECT_EQ(refused_writing(with(own("", rest), "1 op/cycle", "2 op/cycle")),
            "'MAC' does not do one operation per cycle; Timeloop's multipliers do");
}

TEST(TimeloopWriter, OrdersSpatialLoopsAndSaysSo) {
  const std::string mesh =
      "    - {mesh: array, axes: {row: 4, column: 4}, multicast: true, reduction: true, hop_energy: 1 pJ/B}\n";
  const auto writing = write_timeloop(
      with_mapping(own(mesh, "  par m by 3 on array.row\n  par n by 2 on array.column\n  for m n k by 1\n")));
  ASSERT_TRUE(writing);
  EXPECT_TRUE(says(writing->left_out, "the order of par lines"));
  EXPECT_TRUE(says(writing->left_out, "array.row: the name of the axis, X in Timeloop"));
  EXPECT_TRUE(says(writing->left_out, "array: its energy per hop"));
  EXPECT_NE(nest(read(writing->text)).find("par n by 2 on array.y\npar m by 3 on array.x"), std::string::npos);
}

TEST(TimeloopWriter, EnergiesPerAccessAreThoseOfABlock) {
  const auto writing = write_timeloop(with_mapping(
      own("    - {storage: GLB, capacity: 1 KiB, access: 8 B, energy: {read: 6 pJ/access, write: 7 pJ/access}}\n"
          "    - {storage: RF, energy: 2 pJ/B}\n",
          "  for m n k by 1\n")));
  ASSERT_TRUE(writing);
  EXPECT_TRUE(says(writing->left_out, "GLB: whole accesses of each transfer"));
  EXPECT_TRUE(says(writing->conventions, "RF: its energies per byte are those of words of 16 bit"));
  const Document document = read(writing->text);
  EXPECT_EQ(storage(document, "GLB").read_energy, (AccessEnergy{1.5, AccessEnergy::Per::element}));
  EXPECT_EQ(storage(document, "GLB").capacity_bits, Count(8192));
  EXPECT_EQ(storage(document, "RF").write_energy, (AccessEnergy{4, AccessEnergy::Per::element}));
}

TEST(TimeloopWriter, AProblemAloneIsAPart) {
  Document document = with_mapping(own("", "  for m n k by 1\n"));
  document.layers.front().mapping.reset();
  const auto machine = write_timeloop_v03(document);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->text.find("mapping:"), std::string::npos);
  document.layers.front().machine.reset();
  const auto alone = write_timeloop(document);
  ASSERT_TRUE(alone);
  EXPECT_EQ(alone->text.find("architecture:"), std::string::npos);
  EXPECT_EQ(read(alone->text).layers.front().cascade.einsums.front().ranks.size(), 3u);
}

TEST(Timeloop, LargeFilesAreReadInTwoSeconds) {
  const auto time_of = [](const std::string& text) {
    const std::clock_t start = std::clock();  // the processor's time: tests run beside each other
    (void)is_timeloop({"large.yaml", text});
    (void)read_timeloop({{"large.yaml", text}}, ReadOptions{});
    return testing::processor_seconds_since(start);
  };
  constexpr std::size_t kBytes = 10000000;
  std::string table = three_parts() + "ERT:\n  version: 0.3\n  tables:\n  - name: System.GLB\n    actions:\n";
  for (int i = 0; table.size() < kBytes; ++i) {
    table += fmt::format("    - {{name: read, arguments: {{address_delta: {}}}, energy: 1.25}}\n", i);
  }
  EXPECT_EQ(refusal(table), "accepted");
  EXPECT_LT(time_of(table), 2 * testing::kBusyMachine);
  std::string mapping = three_parts();
  while (mapping.size() < kBytes) mapping += "- {target: RF, type: temporal, factors: M=2 N=1, permutation: MNK}\n";
  EXPECT_LT(time_of(mapping), 2 * testing::kBusyMachine);
  std::string factors;
  while (factors.size() < kBytes) factors += "K=2 N=2 M=1 ";
  EXPECT_LT(time_of(three_parts(with(kMapping, "K=2 N2", factors))), 2 * testing::kBusyMachine);
  std::string instance;
  for (int i = 0; instance.size() < kBytes; ++i) instance += fmt::format(", size_of_{:06}: {:06}", i, i);
  EXPECT_LT(time_of(with(three_parts(), "K: 4}", "K: 4" + instance + "}")), 2 * testing::kBusyMachine);
  std::string attributes;
  for (int i = 0; attributes.size() < kBytes; ++i) attributes += fmt::format(", attribute_{:06}: {:06}", i, i);
  EXPECT_LT(time_of(with(three_parts(), "entries: 64", "entries: 64" + attributes)), 2 * testing::kBusyMachine);
}

TEST(Timeloop, AliasBombsAreRefused) {
  std::string bomb = "variables:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    bomb += fmt::format("  a{}: &a{} [", i, i);
    for (int j = 0; j < 10; ++j) bomb += fmt::format("{}*a{}", j == 0 ? "" : ", ", i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(refusal(three_parts() + bomb), "more than 2000000 values");
}

}  // namespace
}  // namespace einflow
