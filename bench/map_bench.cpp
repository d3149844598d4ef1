// Speed of the search for the best mapping, one thread. README.md beside this has figures and says what they are held
// to.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "notation/library.hpp"
#include "search/mapper.hpp"

namespace {

using namespace einflow;

constexpr double kMostSeconds = 10;

const char* const kTimeloopMachine = R"(
name: timeloop-eyeriss
levels:
  - {storage: DRAM, bandwidth: {read: 8 B/cycle, write: 8 B/cycle}, energy: 128 pJ/element}
  - {storage: GLB, capacity: 108 KiB, bandwidth: {read: 32 B/cycle, write: 32 B/cycle}, energy: 6 pJ/element}
  - {mesh: array, axes: {x: 14, y: 12}, multicast: true, reduction: true, hop_energy: 0 pJ/element}
  - {storage: IFSPAD, capacity: 24 B, energy: 0.1 pJ/element}
  - {storage: WSPAD, capacity: 384 B, energy: 0.6 pJ/element}
  - {storage: PSPAD, capacity: 32 B, energy: 0.12 pJ/element}
  - {compute: MAC, rate: 1 MAC/cycle, energy: 1 pJ}
)";

const Library& library() {
  static const Library folders{{EINFLOW_SOURCE_DIR}};
  return folders;
}

MapRequest request_of(Einsum einsum, Machine machine, const Objective& objective) {
  MapRequest request;
  request.einsum = std::move(einsum);
  request.machine = std::move(machine);
  request.objective = objective;
  request.most_seconds = kMostSeconds;
  return request;
}

/// A layer of the library on a machine of it.
struct LibrarySearch {
  std::string problem;
  std::string machine;
  Objective::Kind kind = Objective::Kind::energy;
  std::string level;  ///< of traffic
  std::string type;   ///< of every tensor; empty = as the problem has it

  Result<MapRequest> request() const {
    auto chosen = choose_problem(problem, library());
    if (!chosen) return tl::unexpected(chosen.error());
    auto read = machine_named(machine, library());
    if (!read) return tl::unexpected(read.error());
    if (const auto wanted = find_element_type(type)) {
      for (Tensor& tensor : chosen->einsum.tensors) tensor.type = *wanted;
    }
    const Objective objective{kind, level.empty() ? -1 : read->machine.level_named(level)};
    return request_of(std::move(chosen->einsum), std::move(read->machine), objective);
  }
};

/// ResNet-50 conv4 3x3 on the Eyeriss-like machine of tests/reference/mapper; each scratchpad is for one tensor, and
/// weights pass by the global buffer.
Result<MapRequest> layer_of_timeloop(Objective::Kind kind) {
  auto machine = read_machine_text({"timeloop-eyeriss.yaml", kTimeloopMachine});
  if (!machine) return tl::unexpected(machine.error());
  auto einsum = parse_einsum("O[n,k,p,q] += I[n,c,p+r,q+s] * W[k,c,r,s]");
  if (!einsum) return tl::unexpected(einsum.error());
  const std::pair<const char*, std::int64_t> extents[] = {{"k", 256}, {"c", 256}, {"p", 14},
                                                          {"q", 14},  {"r", 3},   {"s", 3}};
  for (const auto& [name, extent] : extents) {
    einsum->ranks[static_cast<std::size_t>(einsum->rank_named(name))].extent = extent;
  }
  MapRequest request = request_of(std::move(*einsum), std::move(machine->machine), {kind});
  auto& holding = request.constraints.holding;
  holding.assign(request.machine.levels.size(), std::vector<Holding>(request.einsum.tensors.size(), Holding::free));
  const auto hold = [&](const char* level, const std::vector<std::string>& names) {
    auto& row = holding[static_cast<std::size_t>(request.machine.level_named(level))];
    row.assign(row.size(), Holding::bypassed);
    for (const std::string& name : names) {
      row[static_cast<std::size_t>(request.einsum.tensor_named(name))] = Holding::held;
    }
  };
  hold("GLB", {"I", "O"});
  hold("IFSPAD", {"I"});
  hold("WSPAD", {"W"});
  hold("PSPAD", {"O"});
  return request;
}

/// 4096 x 4096 x 4096 on the levels of a GPU.
Result<MapRequest> matmul_on_gpu(bool traffic) {
  auto machine = machine_named("h100-sxm", library());
  if (!machine) return tl::unexpected(machine.error());
  auto einsum = parse_einsum("Y[m,n] += X[m,k] * W[k,n]");
  if (!einsum) return tl::unexpected(einsum.error());
  for (Rank& rank : einsum->ranks) rank.extent = 4096;
  const Objective objective = traffic ? Objective{Objective::Kind::traffic, machine->machine.level_named("HBM")}
                                      : objectives_of(*einsum, machine->machine).front();
  return request_of(std::move(*einsum), std::move(machine->machine), objective);
}

/// Counters: `optimal` 1 where the proof ended, `gap_percent` what it left open, `expanded` the partial mappings looked
/// into.
void search(benchmark::State& state, const Result<MapRequest>& request) {
  if (!request) return state.SkipWithError(request.error().front().message.c_str());
  MapProof proof;
  for (auto _ : state) {
    const auto found = best_mapping(*request);
    if (!found) return state.SkipWithError(found.error().front().message.c_str());
    proof = found->proof;
  }
  state.counters["optimal"] = proof.optimal ? 1 : 0;
  state.counters["gap_percent"] = 100 * proof.gap();
  state.counters["expanded"] = proof.expanded.to_double();
}

/// `request` is called when the benchmark runs, not when it is registered.
template <typename Request>
void add(const std::string& name, Request request) {
  benchmark::RegisterBenchmark(("map/" + name).c_str(), [request](benchmark::State& state) {
    search(state, request());
  })->Unit(benchmark::kMillisecond);
}

/// The layers of ResNet-50 that differ in more than their name.
const char* const kLayers[] = {"conv1",
                               "maxpool",
                               "layer1.0.conv1",
                               "layer1.0.conv2",
                               "layer1.0.conv3",
                               "layer1.0.add",
                               "layer1.1-2.conv1",
                               "layer2.0.conv1",
                               "layer2.0.conv2",
                               "layer2.0.conv3",
                               "layer2.0.downsample",
                               "layer2.0.add",
                               "layer2.1-3.conv1",
                               "layer2.1-3.conv2",
                               "layer3.0.conv1",
                               "layer3.0.conv2",
                               "layer3.0.conv3",
                               "layer3.0.downsample",
                               "layer3.0.add",
                               "layer3.1-5.conv1",
                               "layer3.1-5.conv2",
                               "layer4.0.conv1",
                               "layer4.0.conv2",
                               "layer4.0.conv3",
                               "layer4.0.downsample",
                               "layer4.0.add",
                               "layer4.1-2.conv1",
                               "layer4.1-2.conv2",
                               "avgpool",
                               "fc"};

[[maybe_unused]] const bool registered = [] {
  using Kind = Objective::Kind;
  add("timeloop-eyeriss/conv4/energy", [] { return layer_of_timeloop(Kind::energy); });
  add("timeloop-eyeriss/conv4/cycles", [] { return layer_of_timeloop(Kind::cycles); });
  add("timeloop-eyeriss/conv4/edp", [] { return layer_of_timeloop(Kind::edp); });
  add("h100-sxm/matmul-4096/default", [] { return matmul_on_gpu(false); });
  add("h100-sxm/matmul-4096/traffic:HBM", [] { return matmul_on_gpu(true); });
  const auto add_layer = [](const std::string& objective, const LibrarySearch& wanted) {
    add(wanted.machine + "/" + wanted.problem + "/" + objective, [wanted] { return wanted.request(); });
  };
  for (const char* layer : kLayers) {
    const std::string problem = std::string("resnet50/") + layer;
    add_layer("energy", {problem, "eyeriss-isca16-energy", Kind::energy, "", ""});
    add_layer("cycles", {problem, "eyeriss-v1", Kind::cycles, "", "int16"});
    add_layer("cycles", {problem, "tpu-v4i", Kind::cycles, "", ""});
    add_layer("traffic:HBM", {problem, "tpu-v4i", Kind::traffic, "HBM", ""});
  }
  return true;
}();

}  // namespace
