#include "notation/chakra/trace.hpp"

#include <array>
#include <numeric>

namespace einflow::chakra {

std::string_view name_of(NodeKind kind) {
  constexpr std::array<std::string_view, 8> kNames{"INVALID_NODE",   "METADATA_NODE", "MEM_LOAD_NODE",
                                                   "MEM_STORE_NODE", "COMP_NODE",     "COMM_SEND_NODE",
                                                   "COMM_RECV_NODE", "COMM_COLL_NODE"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name_of(CollectiveKind kind) {
  constexpr std::array<std::string_view, 10> kNames{
      "ALL_REDUCE", "REDUCE",         "ALL_GATHER",           "GATHER", "SCATTER", "BROADCAST",
      "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string group_of(CommGroups& groups, const std::vector<std::int64_t>& devices, std::int64_t all) {
  if (static_cast<std::int64_t>(devices.size()) == all) {
    std::vector<std::int64_t> everyone(devices.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    if (devices == everyone) return {};
  }
  for (const auto& [name, members] : groups) {
    if (members == devices) return name;
  }
  std::size_t number = groups.size() + 1;
  while (groups.count(std::to_string(number)) > 0) ++number;
  return groups.emplace(std::to_string(number), devices).first->first;
}

}  // namespace einflow::chakra
