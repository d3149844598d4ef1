#include "notation/chakra/writer.hpp"

#include <fmt/format.h>

#include "notation/chakra/fields.hpp"
#include "notation/chakra/groups.hpp"
#include "notation/chakra/trace_check.hpp"
#include "notation/chakra/wire.hpp"

namespace einflow::chakra {

namespace {

void put_message(std::string& out, const std::string& message) {
  put_varint(out, message.size());
  out += message;
}

void put_attribute(std::string& node, std::string_view name, std::uint32_t field, std::int64_t value) {
  std::string attribute;
  put_bytes(attribute, field::kAttributeName, name);
  put_number(attribute, field, static_cast<std::uint64_t>(value));
  put_bytes(node, field::kNodeAttribute, attribute);
}

void put_ids(std::string& node, std::uint32_t field, const std::vector<std::uint64_t>& ids) {
  if (ids.empty()) return;
  std::string packed;
  for (const std::uint64_t id : ids) put_varint(packed, id);
  put_bytes(node, field, packed);
}

void put_attributes(std::string& out, const TraceNode& node) {
  put_attribute(out, "is_cpu_op", field::kBool, node.on_cpu ? 1 : 0);
  switch (node.kind) {
    case NodeKind::metadata:
      break;
    case NodeKind::computation:
      put_attribute(out, "num_ops", field::kInt64, node.num_ops);
      [[fallthrough]];
    case NodeKind::memory_load:
    case NodeKind::memory_store:
      put_attribute(out, "tensor_size", field::kUint64, node.tensor_size);
      break;
    case NodeKind::collective:
      put_attribute(out, "comm_type", field::kInt64, static_cast<std::int64_t>(node.collective));
      put_attribute(out, "comm_size", field::kInt64, node.comm_size);
      if (!node.group.empty()) {
        std::string attribute;
        put_bytes(attribute, field::kAttributeName, "pg_name");
        put_bytes(attribute, field::kString, node.group);
        put_bytes(out, field::kNodeAttribute, attribute);
      }
      break;
    case NodeKind::send:
    case NodeKind::receive:
      put_attribute(out, "comm_size", field::kInt64, node.comm_size);
      put_attribute(out, "comm_src", field::kInt32, node.source);
      put_attribute(out, "comm_dst", field::kInt32, node.destination);
      put_attribute(out, "comm_tag", field::kInt32, node.tag);
      break;
  }
}

/// Numbers that are 0 and texts that are empty are left out, as proto3 has it.
std::string node_bytes(const TraceNode& node) {
  std::string out;
  if (node.id != 0) put_number(out, field::kNodeId, node.id);
  if (!node.name.empty()) put_bytes(out, field::kNodeName, node.name);
  put_number(out, field::kNodeType, static_cast<std::uint64_t>(node.kind));
  put_ids(out, field::kNodeControl, node.ctrl_deps);
  put_ids(out, field::kNodeData, node.data_deps);
  if (node.duration_micros != 0) put_number(out, field::kNodeDuration, node.duration_micros);
  put_attributes(out, node);
  return out;
}

}  // namespace

std::string trace_bytes(const Trace& trace) {
  std::string metadata;
  if (!trace.version.empty()) put_bytes(metadata, field::kMetadataVersion, trace.version);
  std::string bytes;
  put_message(bytes, metadata);
  for (const TraceNode& node : trace.nodes) put_message(bytes, node_bytes(node));
  return bytes;
}

Result<std::vector<TraceFile>> write_chakra(const std::vector<Trace>& traces, const CommGroups& groups,
                                            std::string_view name) {
  if (auto faults = faults_of(traces, groups); !faults.empty()) return tl::unexpected(std::move(faults));
  std::vector<TraceFile> files;
  files.reserve(traces.size() + 1);
  for (const Trace& trace : traces) {
    files.push_back({fmt::format("{}.{}.et", name, trace.device), trace_bytes(trace)});
  }
  if (!groups.empty()) files.push_back({fmt::format("{}.json", name), groups_text(groups)});
  return files;
}

}  // namespace einflow::chakra
