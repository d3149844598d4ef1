// Chakra execution traces (arXiv:2305.14516): what each device computes and sends, as a graph for a simulator.
//
// Field and enumeration numbers are those of et_def.proto of mlcommons/chakra at 21585d8 (the same file in
// astra-sim/chakra at bf222b2 and, on its branch feederv3, at fece597).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace einflow::chakra {

/// NodeType of et_def.proto.
enum class NodeKind : std::uint8_t {
  metadata = 1,
  memory_load = 2,
  memory_store = 3,
  computation = 4,
  send = 5,
  receive = 6,
  collective = 7,
};

/// CollectiveCommType of et_def.proto. ASTRA-sim at 518bd51 executes all_reduce, all_gather, reduce_scatter and
/// all_to_all; a broadcast takes the duration that its node states.
enum class CollectiveKind : std::uint8_t {
  all_reduce = 0,
  reduce = 1,
  all_gather = 2,
  gather = 3,
  scatter = 4,
  broadcast = 5,
  all_to_all = 6,
  reduce_scatter = 7,
  reduce_scatter_block = 8,
  barrier = 9,
};

/// "COMM_COLL_NODE", "ALL_GATHER": the names of et_def.proto.
std::string_view name_of(NodeKind kind);
std::string_view name_of(CollectiveKind kind);

/// One node of a device's graph. Which of the fields below the dependencies count depends on the kind.
struct TraceNode {
  std::uint64_t id = 0;  ///< of this trace alone
  std::string name;
  NodeKind kind = NodeKind::computation;
  std::vector<std::uint64_t> data_deps;  ///< ids of nodes that must have ended
  std::vector<std::uint64_t> ctrl_deps;  ///< likewise; ASTRA-sim makes no difference
  std::uint64_t duration_micros = 0;     ///< where a simulator replays instead of computing a time
  bool on_cpu = false;                   ///< is_cpu_op

  std::int64_t num_ops = 0;      ///< computation: floating point operations
  std::int64_t tensor_size = 0;  ///< computation: bytes read and written; memory: bytes

  /// collective, send, receive: bytes that a device has before it. An all-reduce and a reduce-scatter: of the whole
  /// term that it adds; an all-gather: of its own piece; an all-to-all: of all pieces that it has, its own among them.
  std::int64_t comm_size = 0;
  CollectiveKind collective = CollectiveKind::all_reduce;
  std::string group;  ///< collective: pg_name, a key of CommGroups; empty: all devices

  std::int32_t source = 0;  ///< send, receive: devices
  std::int32_t destination = 0;
  std::int32_t tag = 0;  ///< a receive takes what was sent with its tag

  bool operator==(const TraceNode&) const = default;
};

/// All nodes of one device, each after those that it depends on.
struct Trace {
  std::int64_t device = 0;
  std::string version = "0.0.4";  ///< of the schema
  std::vector<TraceNode> nodes;
  bool operator==(const Trace&) const = default;
};

/// Devices that have collectives together, by name: a whole number above 0, as ASTRA-sim wants them.
using CommGroups = std::map<std::string, std::vector<std::int64_t>>;

/// The name of the group of these devices, in this order; added where it is new. Empty for all devices in order.
std::string group_of(CommGroups& groups, const std::vector<std::int64_t>& devices, std::int64_t all);

}  // namespace einflow::chakra
