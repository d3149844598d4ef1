#include "base/count.hpp"
#include "problem/einsum.hpp"

namespace einflow {

// Widths as stored. tf32 uses 19 bits in the multiplier but 32 in memory (NVIDIA A100 whitepaper, 2020);
// bool takes a byte, as in numpy and PyTorch; fp8, fp6 and fp4 are those of the OCP formats (OFP8 1.0, MX 1.0).
const std::vector<ElementType>& element_types() {
  static const std::vector<ElementType> types{
      {"fp64", 64},   {"fp32", 32},   {"tf32", 32}, {"bf16", 16}, {"fp16", 16},  {"fp8", 8},
      {"e4m3", 8},    {"e5m2", 8},    {"fp6", 6},   {"fp4", 4},   {"int64", 64}, {"int32", 32},
      {"int16", 16},  {"int8", 8},    {"int4", 4},  {"int2", 2},  {"int1", 1},   {"uint64", 64},
      {"uint32", 32}, {"uint16", 16}, {"uint8", 8}, {"uint4", 4}, {"bool", 8}};
  return types;
}

std::optional<ElementType> find_element_type(const std::string& name) {
  for (const ElementType& type : element_types()) {
    if (type.name == name) return type;
  }
  constexpr std::string_view kSuffix = "-bit";
  if (name.size() <= kSuffix.size() || name.compare(name.size() - kSuffix.size(), kSuffix.size(), kSuffix) != 0) {
    return std::nullopt;
  }
  const std::string digits = name.substr(0, name.size() - kSuffix.size());
  const auto bits = parse_count(digits);
  if (!bits || *bits < Count(1) || *bits > Count(1024) || digits[0] == '0') return std::nullopt;
  return ElementType{name, static_cast<int>(bits->value())};
}

}  // namespace einflow
