#include "notation/chakra/trace_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "base/count.hpp"
#include "base/utf8.hpp"

namespace einflow::chakra {

namespace {

constexpr std::size_t kMostErrors = 20;  // a wrong rule is wrong in every node

class Checker {
 public:
  Checker(const std::vector<Trace>& traces, const CommGroups& groups) : traces_(traces), groups_(groups) {}

  Diagnostics faults() {
    if (traces_.empty()) error("there are no traces");
    groups();
    for (std::size_t index = 0; index < traces_.size() && errors_.size() < kMostErrors; ++index) trace(index);
    if (errors_.empty()) sends();
    if (errors_.empty()) collectives();
    return std::move(errors_);
  }

 private:
  using Channel = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // source, destination, tag
  using Call = std::pair<CollectiveKind, std::int64_t>;

  void error(std::string message) {
    if (errors_.size() < kMostErrors) errors_.push_back({{}, std::move(message), {}, {}});
  }

  void error(const Trace& trace, const TraceNode& node, const std::string& what) {
    error(fmt::format("device {}, node {} ({}): {}", trace.device, node.id, printable(node.name, 40), what));
  }

  void groups() {
    for (const auto& [name, devices] : groups_) {
      if (!is_group_name(name)) error(fmt::format("the group \"{}\" is no whole number above 0", printable(name, 40)));
      const std::unordered_set<std::int64_t> distinct(devices.begin(), devices.end());
      if (distinct.size() != devices.size()) error(fmt::format("the group {} has a device twice", printable(name, 40)));
      for (const std::int64_t device : devices) {
        if (!is_device(device)) error(fmt::format("the group {} has no device {}", printable(name, 40), device));
      }
    }
  }

  bool is_device(std::int64_t device) const {
    return device >= 0 && device < static_cast<std::int64_t>(traces_.size());
  }

  void trace(std::size_t index) {
    const Trace& trace = traces_[index];
    if (trace.device != static_cast<std::int64_t>(index)) {
      return error(fmt::format("the trace number {} is of device {}: devices are 0, 1, ...", index, trace.device));
    }
    if (trace.nodes.empty()) return error(fmt::format("device {} has no nodes", trace.device));
    std::unordered_set<std::uint64_t> before;
    before.reserve(trace.nodes.size());
    for (const TraceNode& node : trace.nodes) {
      for (const auto* deps : {&node.data_deps, &node.ctrl_deps}) {
        for (const std::uint64_t id : *deps) {
          if (before.count(id) == 0) error(trace, node, fmt::format("it depends on {}, no node before it", id));
        }
      }
      if (!before.insert(node.id).second) error(trace, node, "there is a node with its id before it");
      own(trace, node);
    }
  }

  /// What one node says.
  void own(const Trace& trace, const TraceNode& node) {
    const auto positive = [&](std::int64_t value, const char* what) {
      if (value < 1) error(trace, node, fmt::format("{} is {}, not 1 or more", what, value));
    };
    switch (node.kind) {
      case NodeKind::metadata:
        break;
      case NodeKind::computation:
        positive(node.num_ops, "num_ops");
        [[fallthrough]];
      case NodeKind::memory_load:
      case NodeKind::memory_store:
        positive(node.tensor_size, "tensor_size");
        break;
      case NodeKind::collective:
        positive(node.comm_size, "comm_size");
        collective(trace, node);
        break;
      case NodeKind::send:
      case NodeKind::receive:
        positive(node.comm_size, "comm_size");
        message(trace, node);
        break;
    }
  }

  void collective(const Trace& trace, const TraceNode& node) {
    if (!node.group.empty()) {
      const auto group = groups_.find(node.group);
      if (group == groups_.end()) {
        return error(trace, node, fmt::format("there is no group \"{}\"", printable(node.group, 40)));
      }
      if (std::find(group->second.begin(), group->second.end(), trace.device) == group->second.end()) {
        return error(trace, node, fmt::format("the group {} is without this device", node.group));
      }
    }
    calls_[node.group][trace.device].push_back({node.collective, node.comm_size});
  }

  void message(const Trace& trace, const TraceNode& node) {
    const bool sends = node.kind == NodeKind::send;
    const std::int32_t own = sends ? node.source : node.destination;
    const std::int32_t other = sends ? node.destination : node.source;
    if (own != trace.device) {
      return error(
          trace, node,
          fmt::format("a {} {} {} is of another device", sends ? "send" : "receive", sends ? "from" : "to", own));
    }
    if (!is_device(other) || other == own) return error(trace, node, fmt::format("the other device is {}", other));
    if (node.tag < 0) return error(trace, node, fmt::format("the tag is {}", node.tag));
    (sends ? sent_ : received_)[{node.source, node.destination, node.tag}].push_back(node.comm_size);
  }

  void sends() {
    for (const auto& [channel, sizes] : sent_) compare(channel, sizes, received_[channel]);
    for (const auto& [channel, sizes] : received_) {
      if (sent_.count(channel) == 0) compare(channel, {}, sizes);
    }
  }

  void compare(const Channel& channel, const std::vector<std::int64_t>& sent,
               const std::vector<std::int64_t>& received) {
    if (sent == received) return;
    const auto& [source, destination, tag] = channel;
    if (sent.size() != received.size()) {
      return error(fmt::format("device {} sends {} messages with tag {} to device {}, which receives {}", source,
                               sent.size(), tag, destination, received.size()));
    }
    const auto differs = std::mismatch(sent.begin(), sent.end(), received.begin());
    error(fmt::format("device {} sends {} bytes with tag {} to device {}, which receives {}", source, *differs.first,
                      tag, destination, *differs.second));
  }

  void collectives() {
    for (const auto& [group, calls] : calls_) {
      const std::size_t members = group.empty() ? traces_.size() : groups_.at(group).size();
      const std::string name = group.empty() ? "all devices" : "the group " + group;
      if (calls.size() != members) {
        error(fmt::format("{} of the {} devices of {} have collectives of it", calls.size(), members, name));
        continue;
      }
      const auto& [first, expected] = *calls.begin();
      for (const auto& [device, found] : calls) {
        if (found == expected) continue;
        std::size_t place = 0;
        while (place < std::min(found.size(), expected.size()) && found[place] == expected[place]) ++place;
        error(fmt::format("collective {} of {}: device {} has {}, device {} {}", place + 1, name, first,
                          call_at(expected, place), device, call_at(found, place)));
      }
    }
  }

  static std::string call_at(const std::vector<Call>& calls, std::size_t place) {
    if (place >= calls.size()) return "none";
    return fmt::format("{} of {} bytes", name_of(calls[place].first), calls[place].second);
  }

  const std::vector<Trace>& traces_;
  const CommGroups& groups_;
  std::map<std::string, std::map<std::int64_t, std::vector<Call>>> calls_;
  std::map<Channel, std::vector<std::int64_t>> sent_;
  std::map<Channel, std::vector<std::int64_t>> received_;
  Diagnostics errors_;
};

}  // namespace

bool is_group_name(std::string_view name) {
  if (name.empty() || name.front() == '0') return false;
  const auto number = parse_count(name);
  return number && *number <= Count(INT32_MAX);
}

Diagnostics faults_of(const std::vector<Trace>& traces, const CommGroups& groups) {
  return Checker(traces, groups).faults();
}

}  // namespace einflow::chakra
