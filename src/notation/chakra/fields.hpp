// Field numbers of et_def.proto, mlcommons/chakra at 21585d8.
#pragma once

#include <cstdint>

namespace einflow::chakra::field {

constexpr std::uint32_t kMetadataVersion = 1;

constexpr std::uint32_t kNodeId = 1;
constexpr std::uint32_t kNodeName = 2;
constexpr std::uint32_t kNodeType = 3;
constexpr std::uint32_t kNodeControl = 4;
constexpr std::uint32_t kNodeData = 5;
constexpr std::uint32_t kNodeDuration = 7;
constexpr std::uint32_t kNodeAttribute = 10;

constexpr std::uint32_t kAttributeName = 1;
// The value of an attribute is one of these, or a number with a fraction, bytes or a list.
constexpr std::uint32_t kInt32 = 7;
constexpr std::uint32_t kInt64 = 9;
constexpr std::uint32_t kUint32 = 11;
constexpr std::uint32_t kUint64 = 13;
constexpr std::uint32_t kSint32 = 15;
constexpr std::uint32_t kSint64 = 17;
constexpr std::uint32_t kFixed32 = 19;
constexpr std::uint32_t kFixed64 = 21;
constexpr std::uint32_t kSfixed32 = 23;
constexpr std::uint32_t kSfixed64 = 25;
constexpr std::uint32_t kBool = 27;
constexpr std::uint32_t kString = 29;
constexpr std::uint32_t kLastValue = 32;  // from 3 on

}  // namespace einflow::chakra::field
