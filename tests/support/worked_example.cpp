#include "support/worked_example.hpp"

#include <stdexcept>

#include "notation/spec_reader.hpp"

namespace einflow::testing {

std::string worked_example_text() {
  return R"(einflow: 1
problem:
  einsum: "Y[m,n] += X[m,k] * W[k,n]"
  ranks: {m: 1024, n: 1024, k: 1024}
  types: {X: bf16, W: bf16, Y: fp32}
machine:
  name: toy
  clock: 1 GHz
  levels:
    - {storage: DRAM, bandwidth: {read: 64 GB/s, write: 64 GB/s}, energy: {read: 8 pJ/B, write: 8 pJ/B}}
    - {storage: Buffer, capacity: 512 KiB, bandwidth: {read: 128 B/cycle, write: 128 B/cycle}, double_buffered: true}
    - {mesh: array, axes: {x: 16, y: 16}, multicast: true, reduction: true, forwarding: false}
    - {storage: RF, capacity: 512 B}
    - {compute: MAC, rate: 1 op/cycle, energy: 0.5 pJ}
mapping: |
  at DRAM: X W Y
  for n by 128
  for m by 128
  for k by 128
  at Buffer: X W Y
  for k by 1
  par n by 8 on array.x
  par m by 8 on array.y
  at RF: Y
  for m n by 1
)";
}

Spec read(const std::string& yaml) {
  const SourceText source{"test", yaml};
  Result<ReadSpec> spec = read_spec(source, Library{});
  if (!spec) throw std::runtime_error(render(spec.error(), source));
  return std::move(spec->spec);
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos || text.find(from, at + 1) != std::string::npos) {
    throw std::runtime_error("'" + from + "' does not occur exactly once");
  }
  return text.replace(at, from.size(), to);
}

}  // namespace einflow::testing
