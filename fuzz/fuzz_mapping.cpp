// Any bytes as the nest of a small convolution on a small machine: a mapping or messages; what was read
// prints and reads back as itself.
#include <cstddef>
#include <cstdint>

#include "expect.hpp"
#include "notation/spec_reader.hpp"

using namespace einflow;

namespace {

/// A convolution with a sliding window and extents that few tiles divide.
Einsum convolution() {
  Einsum einsum = *parse_einsum("O[n,k,p] += I[n,c,2*p+r] * F[k,c,r]");
  for (Rank& rank : einsum.ranks) {
    if (rank.name == "n") rank.extent = 2;
    if (rank.name == "k") rank.extent = 12;
    if (rank.name == "p") rank.extent = 7;
    if (rank.name == "c") rank.extent = 10;
    if (rank.name == "r") rank.extent = 3;
  }
  return einsum;
}

Machine toy_machine() {
  const auto storage = [](const char* name) {
    Storage level;
    level.name = name;
    return level;
  };
  Mesh array;
  array.name = "array";
  array.axes = {{"x", 4}, {"y", 3}};
  Compute mac;
  mac.name = "MAC";
  Machine machine;
  machine.name = "toy";
  machine.levels = {storage("DRAM"), storage("Buffer"), array, storage("RF"), mac};
  return machine;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Einsum einsum = convolution();
  static const Machine machine = toy_machine();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto mapping = parse_mapping(text, einsum, machine);
  if (!mapping) {
    expect_explained(mapping.error(), SourceText{"<mapping>", text});
    return 0;
  }
  const auto again = parse_mapping(to_text(*mapping, einsum, machine), einsum, machine);
  expect(again.has_value(), "a printed mapping can be read");
  expect(*again == *mapping, "a printed mapping reads back as itself");
  return 0;
}
