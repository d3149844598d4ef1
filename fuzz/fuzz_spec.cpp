// Any bytes as a whole spec: a spec or messages, never a crash; a mapping that was read prints and reads back.
#include <cstddef>
#include <cstdint>

#include "expect.hpp"
#include "notation/spec_reader.hpp"

using namespace einflow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const SourceText source{"fuzz.yaml", std::string(reinterpret_cast<const char*>(data), size)};
  const auto read = read_spec(source, Library{});
  if (!read) {
    expect_explained(read.error(), source);
    return 0;
  }
  const Spec& spec = read->spec;
  const auto again = parse_mapping(to_text(spec.mapping, spec.einsum, spec.machine), spec.einsum, spec.machine);
  expect(again.has_value(), "a printed mapping can be read");
  expect(*again == spec.mapping, "a printed mapping reads back as itself");
  return 0;
}
