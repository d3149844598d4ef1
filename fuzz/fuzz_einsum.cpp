// Any bytes as an einsum: an einsum or messages; what was read prints and reads back as itself.
#include <cstddef>
#include <cstdint>

#include "expect.hpp"
#include "notation/spec_reader.hpp"

using namespace einflow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto einsum = parse_einsum(text);
  if (!einsum) {
    expect_explained(einsum.error(), SourceText{"<einsum>", text});
    return 0;
  }
  const std::string printed = to_text(*einsum);
  const auto again = parse_einsum(printed);
  expect(again.has_value(), "a printed einsum can be read");
  expect(to_text(*again) == printed, "a printed einsum prints the same when read back");
  return 0;
}
