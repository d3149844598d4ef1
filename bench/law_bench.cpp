// Speed of the closed form. `make bench` prints it; README.md beside this says what it is compared with.
#include <benchmark/benchmark.h>

#include "movement/movement.hpp"
#include "movement/uniform.hpp"
#include "notation/spec_reader.hpp"

namespace {

using namespace einflow;

/// ResNet-50 conv4 3x3 (256 -> 256 channels, 14 x 14) on DRAM, a global buffer, a 14 x 12 array and register files.
Spec convolution(const char* mapping) {
  const std::string text = std::string(R"(
einflow: 1
problem:
  einsum: "O[k,p,q] += I[c,p+r,q+s] * F[k,c,r,s]"
  ranks: {k: 256, c: 256, p: 14, q: 14, r: 3, s: 3}
machine:
  name: array
  clock: 1 GHz
  levels:
    - {storage: DRAM}
    - {storage: Buffer}
    - {mesh: array, axes: {x: 14, y: 12}, multicast: true, reduction: true}
    - {storage: RF}
    - {compute: MAC, rate: 1 op/cycle}
mapping: |
)") + mapping;
  auto read = read_spec({"bench", text}, {});
  if (!read) std::abort();
  return read->spec;
}

const char* kDividing = R"(
  for k by 64
  for c by 16
  at Buffer: I F O
  for p by 2
  for k by 16
  for c by 4
  par q by 1 on array.x
  par r by 1 on array.y
  par k by 4 on array.y
  at RF: I F O
  for c k s p by 1
)";

const char* kUneven = R"(
  for k by 60
  for c by 24
  at Buffer: I F O
  for p by 4
  for k by 14
  for c by 5
  par q by 1 on array.x
  par r by 1 on array.y
  par k by 4 on array.y
  at RF: I F O
  for c k s p by 1
)";

void uniform(benchmark::State& state) {
  const Spec spec = convolution(kDividing);
  const UniformLaw law(spec.einsum, spec.machine);
  Counts counts;
  for (auto _ : state) {
    if (!law.count(spec.mapping, counts)) state.SkipWithError("not uniform");
    benchmark::DoNotOptimize(counts);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(uniform);

void one_spec(benchmark::State& state) {
  const Spec spec = convolution(kDividing);
  for (auto _ : state) benchmark::DoNotOptimize(count_movement(spec));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_spec);

void general_on_dividing_tiles(benchmark::State& state) {
  const Spec spec = convolution(kDividing);
  for (auto _ : state) benchmark::DoNotOptimize(count_movement_general(spec));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(general_on_dividing_tiles);

void general_on_uneven_tiles(benchmark::State& state) {
  const Spec spec = convolution(kUneven);
  for (auto _ : state) benchmark::DoNotOptimize(count_movement_general(spec));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(general_on_uneven_tiles);

}  // namespace
