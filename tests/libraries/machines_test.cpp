// The machine library: every file loads, every figure has a source, and the rates give the published dense peaks.
#include <gtest/gtest.h>

#include <algorithm>

#include "notation/library.hpp"

namespace einflow {
namespace {

const Library kLibrary{{EINFLOW_SOURCE_DIR}};

Machine machine(const std::string& name) {
  const auto read = machine_named(name, kLibrary);
  if (!read) {
    ADD_FAILURE() << name << ": " << read.error().front().message;
    return Machine{};
  }
  return read->machine;
}

/// Operations per second of all instances, 2 FLOPs a MAC.
double peak_flops(const Machine& machine, const std::string& type) {
  const auto rate = figure_for(machine.compute().rate, type);
  if (!rate) return 0;
  return 2 * rate->to_double() * machine.compute_instances().to_double() * machine.clock_hz.to_double();
}

TEST(MachineLibrary, HasTheMachinesThatTheDocsName) {
  const std::vector<std::string> names = machine_names(kLibrary);
  for (const char* name : {"eyeriss-v1", "eyeriss-isca16-energy", "shidiannao", "nvdla-like", "tpu-v1", "tpu-v4i",
                           "simba", "gemmini", "a100-sxm-80gb", "h100-sxm", "h200-sxm", "b200-sxm", "gb200", "mi300x",
                           "tpu-v4", "tpu-v5p", "tpu-v5e", "toy"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(MachineLibrary, EveryMachineLoadsAndSaysWhereItsFiguresAreFrom) {
  for (const std::string& name : machine_names(kLibrary)) {
    SCOPED_TRACE(name);
    const Machine loaded = machine(name);
    if (loaded.levels.empty()) continue;
    EXPECT_EQ(loaded.name, name);
    EXPECT_FALSE(loaded.source.empty());
    EXPECT_FALSE(loaded.notes.empty());
    EXPECT_FALSE(loaded.compute().rate.empty());
    for (const Level& level : loaded.levels) {
      std::visit([](const auto& each) { EXPECT_FALSE(each.source.empty()) << each.name; }, level);
    }
    for (const auto& [type, rate] : loaded.compute().rate) EXPECT_TRUE(type.empty() || find_element_type(type)) << type;
  }
}

struct Peak {
  const char* machine;
  const char* type;
  double tera;  ///< 10^12 operations a second, two for a MAC
};

// The vendors' dense figures, in the digits that they print: A100, H100, H200, B200 and MI300X data sheets; TPU v1:
// Jouppi et al. 2017; TPU v4i: Jouppi et al. 2021; Simba: Zimmer et al. 2019; Eyeriss: 33.6 GMAC/s, Chen et al. 2017.
// GB200: tables of github.com/stas00/ml-engineering; TPU v4, v5p and v5e: Google's pages.
// TPU v1's paper prints 92 for 65,536 x 700 MHz x 2 = 91.75; NVDLA: 2048 MACs at 1 GHz.
const Peak kPeaks[] = {
    {"a100-sxm-80gb", "bf16", 312},  {"a100-sxm-80gb", "fp16", 312},  {"a100-sxm-80gb", "tf32", 156},
    {"a100-sxm-80gb", "int8", 624},  {"a100-sxm-80gb", "int4", 1248}, {"a100-sxm-80gb", "fp64", 19.5},
    {"a100-sxm-80gb", "fp32", 19.5}, {"h100-sxm", "bf16", 989.4},     {"h100-sxm", "fp16", 989.4},
    {"h100-sxm", "tf32", 494.7},     {"h100-sxm", "fp8", 1978.9},     {"h100-sxm", "int8", 1978.9},
    {"h100-sxm", "fp64", 66.9},      {"h100-sxm", "fp32", 66.9},      {"h200-sxm", "bf16", 989.4},
    {"h200-sxm", "fp8", 1978.9},     {"h200-sxm", "fp64", 66.9},      {"b200-sxm", "bf16", 2250},
    {"b200-sxm", "tf32", 1125},      {"b200-sxm", "fp8", 4500},       {"b200-sxm", "fp6", 4500},
    {"b200-sxm", "fp4", 9000},       {"b200-sxm", "int8", 4500},      {"b200-sxm", "fp32", 80},
    {"mi300x", "bf16", 1307.4},      {"mi300x", "fp16", 1307.4},      {"mi300x", "tf32", 653.7},
    {"mi300x", "fp8", 2614.9},       {"mi300x", "int8", 2614.9},      {"mi300x", "fp32", 163.4},
    {"mi300x", "fp64", 163.4},       {"tpu-v1", "int8", 92},          {"tpu-v4i", "bf16", 138},
    {"tpu-v4i", "int8", 138},        {"simba", "int8", 127.8},        {"eyeriss-v1", "int16", 0.0672},
    {"nvdla-like", "int8", 4.096},   {"gb200", "bf16", 2500},         {"gb200", "fp8", 5000},
    {"gb200", "fp4", 10000},         {"gb200", "tf32", 1250},         {"gb200", "fp32", 80},
    {"tpu-v4", "bf16", 275},         {"tpu-v4", "int8", 275},         {"tpu-v5p", "bf16", 459},
    {"tpu-v5e", "bf16", 197},
};

TEST(MachineLibrary, RatesGiveThePublishedDensePeaks) {
  for (const Peak& peak : kPeaks) {
    // Published figures are rounded, mostly to three digits: within 0.3 %.
    EXPECT_NEAR(peak_flops(machine(peak.machine), peak.type) / 1e12, peak.tera, 0.003 * peak.tera)
        << peak.machine << " " << peak.type;
  }
}

// 132 SMs x 4 tensor cores x 512 FMA x 2 x 1.83 GHz, exactly.
TEST(MachineLibrary, H100PeakIsExact) {
  const Machine h100 = machine("h100-sxm");
  EXPECT_EQ(h100.compute_instances(), Count(528));
  EXPECT_DOUBLE_EQ(peak_flops(h100, "bf16"), 989.42976e12);
}

// Where an atomic shape is not a whole number of cycles, its rounding up would lower the peak. (fp32 and fp64 peaks of
// GPUs are published at another clock than the others, and so are not whole.)
TEST(MachineLibrary, AtomicShapesTakeWholeCycles) {
  for (const std::string& name : machine_names(kLibrary)) {
    const Machine loaded = machine(name);
    Count shape = 1;
    for (const auto& [rank, extent] : loaded.compute().atomic) shape *= Count(extent);
    for (const auto& [type, rate] : loaded.compute().rate) {
      if (type == "fp32" || type == "fp64") continue;
      EXPECT_TRUE((Ratio(shape) / rate).is_whole()) << name << " " << type;
    }
  }
}

TEST(MachineLibrary, NoRateWhereTheChipHasNone) {
  EXPECT_EQ(peak_flops(machine("a100-sxm-80gb"), "fp8"), 0);  // Ampere has no fp8
  EXPECT_EQ(peak_flops(machine("h100-sxm"), "fp4"), 0);
  EXPECT_EQ(peak_flops(machine("tpu-v1"), "bf16"), 0);
}

Ratio bytes_per_second(const Machine& machine, int level) {
  return *machine.storage(level)->read_bandwidth * machine.clock_hz;
}

TEST(MachineLibrary, OutermostBandwidthsAsPublished) {
  EXPECT_EQ(bytes_per_second(machine("h100-sxm"), 0), Ratio(Count(3350000000000)));
  EXPECT_EQ(bytes_per_second(machine("h200-sxm"), 0), Ratio(Count(4800000000000)));
  EXPECT_EQ(bytes_per_second(machine("a100-sxm-80gb"), 0), Ratio(Count(2039000000000)));
  EXPECT_EQ(bytes_per_second(machine("mi300x"), 0), Ratio(Count(5300000000000)));
  EXPECT_EQ(bytes_per_second(machine("tpu-v1"), 0), Ratio(Count(34000000000)));
}

// TPU v1's unified buffer: 256 B a cycle at 700 MHz are the 167 GiB/s of the paper's figure 1.
TEST(MachineLibrary, TpuUnifiedBuffer) {
  const Machine tpu = machine("tpu-v1");
  EXPECT_EQ(static_cast<int>(bytes_per_second(tpu, tpu.level_named("UnifiedBuffer")).to_double() / (1 << 30) + 0.5),
            167);
}

// Chen et al., JSSC 2017: 168 PEs; 224, 12 and 24 words of 16 bit.
TEST(MachineLibrary, EyerissScratchpads) {
  const Machine eyeriss = machine("eyeriss-v1");
  EXPECT_EQ(eyeriss.compute_instances(), Count(168));
  const auto words = [&eyeriss](const char* level) {
    return eyeriss.storage(eyeriss.level_named(level))->capacity_bits->value() / 16;
  };
  EXPECT_EQ(words("FilterSpad"), 224);
  EXPECT_EQ(words("IfmapSpad"), 12);
  EXPECT_EQ(words("PsumSpad"), 24);
}

TEST(MachineLibrary, WeightStationarySystolicArraysSaySo) {
  for (const char* name : {"tpu-v1", "tpu-v4i", "tpu-v4", "tpu-v5p", "tpu-v5e", "gemmini"}) {
    const Machine loaded = machine(name);
    EXPECT_NE(loaded.mesh(loaded.level_named("array"))->systolic, SystolicTiming::none) << name;
  }
}

}  // namespace
}  // namespace einflow
