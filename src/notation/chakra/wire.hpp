// Protocol Buffers' wire format (protobuf.dev/programming-guides/encoding), as much of it as a trace needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace einflow::chakra {

/// How a field's value stands in the bytes.
enum class WireType : std::uint8_t { varint = 0, eight_bytes = 1, length_and_bytes = 2, four_bytes = 5 };

void put_varint(std::string& out, std::uint64_t value);
/// A field with its tag.
void put_number(std::string& out, std::uint32_t field, std::uint64_t value);
void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes);

/// Taken off the front; nothing where the bytes end, or more than 64 bits are stated.
std::optional<std::uint64_t> take_varint(std::string_view& rest);

struct WireField {
  std::uint64_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  ///< of all types but length_and_bytes; fixed ones little-endian
  std::string_view bytes;   ///< of length_and_bytes
};

/// The next field, taken off the front; nothing where the bytes are none.
std::optional<WireField> take_field(std::string_view& rest);

}  // namespace einflow::chakra
