// What reading and counting cost, and how the closed form grows with the iteration space.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>

#include "movement/movement.hpp"
#include "notation/spec_reader.hpp"

using namespace einflow;

namespace {

/// A tiled square matrix product on a 16 x 16 array, `extent` a side.
SourceText matmul(std::int64_t extent) {
  return {"matmul.yaml", fmt::format(R"(einflow: 1
problem:
  einsum: "Y[m,n] += X[m,k] * W[k,n]"
  ranks: {{m: {0}, n: {0}, k: {0}}}
machine:
  name: toy
  levels:
    - {{storage: DRAM}}
    - {{storage: Buffer}}
    - {{mesh: array, axes: {{x: 16, y: 16}}, multicast: true, reduction: true, forwarding: false}}
    - {{storage: RF}}
    - {{compute: MAC}}
mapping: |
  for n m k by 128
  at Buffer: X W Y
  for k by 1
  par n by 8 on array.x
  par m by 8 on array.y
  at RF: Y
  for m n by 1
)",
                                     extent)};
}

void read(benchmark::State& state) {
  const SourceText source = matmul(1024);
  for (auto _ : state) benchmark::DoNotOptimize(read_spec(source, Library{}));
}
BENCHMARK(read)->Unit(benchmark::kMicrosecond);

void count(benchmark::State& state) {
  const auto read = read_spec(matmul(state.range(0)), Library{});
  if (!read) return state.SkipWithError(read.error().front().message.c_str());
  for (auto _ : state) benchmark::DoNotOptimize(count_movement(read->spec));
}
BENCHMARK(count)->RangeMultiplier(8)->Range(1 << 10, 1 << 19)->Unit(benchmark::kMicrosecond);

}  // namespace
