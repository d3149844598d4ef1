#include "notation/chakra/wire.hpp"

namespace einflow::chakra {

namespace {

constexpr std::uint64_t kLargestField = (1U << 29) - 1;

std::optional<std::uint64_t> take_fixed(std::string_view& rest, std::size_t size) {
  if (rest.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < size; ++byte) {
    value |= std::uint64_t{static_cast<unsigned char>(rest[byte])} << (8 * byte);
  }
  rest.remove_prefix(size);
  return value;
}

}  // namespace

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80U | (value & 0x7FU));
  out += static_cast<char>(value);
}

void put_number(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_varint(out, std::uint64_t{field} << 3);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_varint(out, std::uint64_t{field} << 3 | static_cast<std::uint64_t>(WireType::length_and_bytes));
  put_varint(out, bytes.size());
  out += bytes;
}

std::optional<std::uint64_t> take_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    if (shift == 63 && byte > 1) return std::nullopt;
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<WireField> take_field(std::string_view& rest) {
  const auto tag = take_varint(rest);
  if (!tag || *tag >> 3 == 0 || *tag >> 3 > kLargestField) return std::nullopt;
  WireField field;
  field.number = *tag >> 3;
  std::optional<std::uint64_t> value;
  switch (*tag & 7) {
    case 0:
      value = take_varint(rest);
      break;
    case 1:
      field.type = WireType::eight_bytes;
      value = take_fixed(rest, 8);
      break;
    case 2:
      field.type = WireType::length_and_bytes;
      value = take_varint(rest);
      if (!value || *value > rest.size()) return std::nullopt;
      field.bytes = rest.substr(0, static_cast<std::size_t>(*value));
      rest.remove_prefix(field.bytes.size());
      break;
    case 5:
      field.type = WireType::four_bytes;
      value = take_fixed(rest, 4);
      break;
    default:
      return std::nullopt;
  }
  if (!value) return std::nullopt;
  field.value = *value;
  return field;
}

}  // namespace einflow::chakra
