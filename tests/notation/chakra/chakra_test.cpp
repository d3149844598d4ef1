// Chakra traces: bytes as others write them, written ones read back, wrong ones refused.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "notation/chakra/groups.hpp"
#include "notation/chakra/reader.hpp"
#include "notation/chakra/trace_check.hpp"
#include "notation/chakra/wire.hpp"
#include "notation/chakra/writer.hpp"

namespace einflow::chakra {
namespace {

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t place = 0; place < hex.size(); place += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(place, 2), nullptr, 16));
  }
  return bytes;
}

TraceNode collective(std::uint64_t id, CollectiveKind kind, std::int64_t bytes, std::string group = {}) {
  TraceNode node;
  node.id = id;
  node.name = fmt::format("collective {}", id);
  node.kind = NodeKind::collective;
  node.collective = kind;
  node.comm_size = bytes;
  node.group = std::move(group);
  return node;
}

TraceNode computation(std::uint64_t id, std::int64_t ops, std::int64_t bytes) {
  TraceNode node;
  node.id = id;
  node.name = fmt::format("product {}", id);
  node.num_ops = ops;
  node.tensor_size = bytes;
  return node;
}

TraceNode message(std::uint64_t id, NodeKind kind, std::int32_t source, std::int32_t destination) {
  TraceNode node;
  node.id = id;
  node.kind = kind;
  node.comm_size = 4096;
  node.source = source;
  node.destination = destination;
  node.tag = 7;
  return node;
}

// The traces that come with ASTRA-sim (tests/reference/chakra).
TEST(Chakra, BytesAreThoseOfAstraSimsTraces) {
  std::ifstream file(std::string(EINFLOW_SOURCE_DIR) + "/tests/reference/chakra/microbenchmarks.jsonl");
  const std::map<std::string, CollectiveKind> kinds{{"all_gather", CollectiveKind::all_gather},
                                                    {"all_reduce", CollectiveKind::all_reduce},
                                                    {"all_to_all", CollectiveKind::all_to_all},
                                                    {"reduce_scatter", CollectiveKind::reduce_scatter}};
  int compared = 0;
  for (std::string line; std::getline(file, line);) {
    const auto reference = nlohmann::json::parse(line);
    const std::string path = reference.at("file");
    const std::string bytes = from_hex(reference.at("hex"));
    const std::string name = path.substr(0, path.find('/'));
    Trace expected;
    expected.nodes.push_back(collective(0, kinds.at(name), 1 << 20));
    expected.nodes.back().name = name + "_4npus_1MB";
    EXPECT_EQ(trace_bytes(expected), bytes) << path;
    const auto read = read_chakra(bytes);
    ASSERT_TRUE(read) << read.error().front().message;
    EXPECT_EQ(*read, expected);
    ++compared;
  }
  EXPECT_EQ(compared, 4);
}

// By hand from et_def.proto: tags are 8 x field number + wire type, ids packed.
TEST(Chakra, BytesOfANodeByHand) {
  Trace trace;
  trace.version = "v";
  TraceNode node = computation(300, 5, 6);
  node.name = "n";
  node.data_deps = {1, 200};
  node.ctrl_deps = {2};
  node.duration_micros = 9;
  trace.nodes.push_back(node);
  EXPECT_EQ(trace_bytes(trace), from_hex("03"
                                         "0a0176"  // version
                                         "40"
                                         "08ac02"
                                         "12016e"
                                         "1804"  // 64 bytes: id, name, COMP_NODE
                                         "220102"
                                         "2a0301c801"
                                         "3809"  // dependencies, duration
                                         "520e"
                                         "0a0969735f6370755f6f70"
                                         "d80100"  // is_cpu_op, bool_val 27
                                         "520b"
                                         "0a076e756d5f6f7073"
                                         "4805"  // num_ops, int64_val 9
                                         "520f"
                                         "0a0b74656e736f725f73697a65"
                                         "6806"));  // tensor_size, uint64_val 13
}

/// Traces of some devices with all kinds of nodes that pass the check.
std::vector<Trace> random_traces(std::mt19937_64& random, CommGroups& groups) {
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  const auto size = [&] { return std::int64_t{1} << number(0, 62); };
  std::vector<Trace> traces(static_cast<std::size_t>(number(2, 5)));
  const auto devices = static_cast<std::int64_t>(traces.size());
  for (std::size_t device = 0; device < traces.size(); ++device)
    traces[device].device = static_cast<std::int64_t>(device);
  const auto add = [&](std::int64_t device, TraceNode node) {
    std::vector<TraceNode>& nodes = traces[static_cast<std::size_t>(device)].nodes;
    node.id = nodes.empty() ? static_cast<std::uint64_t>(number(0, 3))
                            : nodes.back().id + 1 + static_cast<std::uint64_t>(number(0, 200));
    node.name = number(0, 4) == 0 ? "" : fmt::format("node \"{}\" \xc3\xa4", node.id);
    node.on_cpu = number(0, 9) == 0;
    node.duration_micros = number(0, 1) == 0 ? 0 : static_cast<std::uint64_t>(size());
    for (auto* deps : {&node.data_deps, &node.ctrl_deps}) {
      for (std::int64_t count = number(0, 3); count > 0 && !nodes.empty(); --count) {
        deps->push_back(nodes[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(nodes.size()) - 1))].id);
      }
    }
    nodes.push_back(node);
  };
  for (std::int64_t device = 0; device < devices; ++device) add(device, computation(0, size(), size()));
  for (std::int64_t round = number(0, 12); round > 0; --round) {
    const std::int64_t device = number(0, devices - 1);
    const std::int64_t what = number(0, 4);
    if (what == 0) add(device, computation(0, size(), size()));
    if (what == 1) {
      TraceNode memory = computation(0, 0, size());
      memory.kind = number(0, 1) == 0 ? NodeKind::memory_load : NodeKind::memory_store;
      add(device, memory);
    }
    if (what == 2) {
      const std::int64_t other = (device + 1) % devices;
      TraceNode sent = message(0, NodeKind::send, static_cast<std::int32_t>(device), static_cast<std::int32_t>(other));
      sent.comm_size = size();
      sent.tag = static_cast<std::int32_t>(number(0, 1) * number(0, INT32_MAX));
      add(device, sent);
      sent.kind = NodeKind::receive;
      add(other, sent);
    }
    if (what >= 3) {
      std::vector<std::int64_t> members;
      for (std::int64_t member = 0; member < devices; ++member) {
        if (what == 3 || number(0, 1) == 0) members.push_back(member);
      }
      if (members.empty()) members = {device};
      const TraceNode call =
          collective(0, static_cast<CollectiveKind>(number(0, 9)), size(), group_of(groups, members, devices));
      for (const std::int64_t member : members) add(member, call);
    }
  }
  return traces;
}

TEST(Chakra, WhatIsWrittenIsReadBack) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    CommGroups groups;
    const std::vector<Trace> traces = random_traces(random, groups);
    const auto files = write_chakra(traces, groups, "step");
    ASSERT_TRUE(files) << files.error().front().message;
    ASSERT_EQ(files->size(), traces.size() + (groups.empty() ? 0 : 1));
    for (std::size_t device = 0; device < traces.size(); ++device) {
      EXPECT_EQ((*files)[device].name, fmt::format("step.{}.et", device));
      const auto read = read_chakra((*files)[device].bytes, static_cast<std::int64_t>(device));
      ASSERT_TRUE(read) << read.error().front().message;
      ASSERT_EQ(*read, traces[device]);
    }
    if (groups.empty()) continue;
    EXPECT_EQ(files->back().name, "step.json");
    const auto read = read_groups(files->back().bytes);
    ASSERT_TRUE(read) << read.error().front().message;
    ASSERT_EQ(*read, groups);
  }
}

TEST(Chakra, TruncatedFilesAreErrors) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20; ++round) {
    CommGroups groups;
    const std::vector<Trace> traces = random_traces(random, groups);
    const std::string bytes = trace_bytes(traces.front());
    std::size_t whole_messages = 0;  // a file may end behind any node
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto read = read_chakra(std::string_view(bytes).substr(0, length));
      if (read) {
        ++whole_messages;
        ASSERT_EQ(trace_bytes(*read), bytes.substr(0, length));
      } else {
        ASSERT_EQ(read.error().size(), 1U);
      }
    }
    EXPECT_EQ(whole_messages, traces.front().nodes.size());
  }
}

TEST(Chakra, HostileBytesAreReadOrExplained) {
  std::mt19937_64 random(3);
  const auto number = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  int read_back = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string bytes;
    if (round % 4 == 0) {
      for (std::size_t left = number(40); left > 0; --left) bytes += static_cast<char>(number(256));
    } else {
      CommGroups groups;
      bytes = trace_bytes(random_traces(random, groups).front());
      for (std::size_t left = 1 + number(4); left > 0; --left)
        bytes[number(bytes.size())] = static_cast<char>(number(256));
    }
    const auto read = read_chakra(bytes);
    if (!read) {
      ASSERT_EQ(read.error().size(), 1U);
      ASSERT_FALSE(read.error().front().message.empty());
      continue;
    }
    const auto again = read_chakra(trace_bytes(*read));
    ASSERT_TRUE(again) << again.error().front().message;
    ASSERT_EQ(*again, *read);
    ++read_back;
  }
  EXPECT_GT(read_back, 1000);
}

std::string error_of(const std::string& hex) {
  const auto read = read_chakra(from_hex(hex));
  return read ? "" : read.error().front().message;
}

TEST(Chakra, ErrorsNameTheByte) {
  EXPECT_EQ(error_of(""), "this is no Chakra trace: it is empty");
  EXPECT_EQ(error_of("030a0176"
                     "0a08"),
            "this is no Chakra trace: byte 4 of 6 begins a node of 10 bytes, of which 1 are there");
  EXPECT_EQ(error_of("ffffffffffffffffffff01"), "this is no Chakra trace: byte 0 of 11 is no length of a metadata");
  EXPECT_EQ(error_of("020801"), "this is no Chakra trace: byte 1 of 3 has a number where the version belongs");
  EXPECT_EQ(error_of("00"
                     "021808"),
            "this is no Chakra trace: byte 2 of 4 begins a node of type 8");
  EXPECT_EQ(error_of("00"
                     "020801"),
            "this is no Chakra trace: byte 2 of 4 begins a node of type 0");
  EXPECT_EQ(error_of("00"
                     "021807"),
            "this is no Chakra trace: byte 2 of 4 begins a COMM_COLL_NODE without comm_type");
  EXPECT_EQ(error_of("00"
                     "021804"
                     "021804"),
            "this is no Chakra trace: byte 4 of 7 begins another node with the id 0");
  EXPECT_EQ(error_of("00"
                     "040a003801"),
            "this is no Chakra trace: byte 2 of 6 has another type than field 1 of a node");
  EXPECT_EQ(error_of("00"
                     "0318040b"),
            "this is no Chakra trace: byte 4 of 5 is no field of a node");
  // num_ops is a text; num_ops is -1; twice num_ops
  EXPECT_NE(error_of("00"
                     "10"
                     "1804"
                     "520c"
                     "0a076e756d5f6f7073"
                     "ea0100")
                .find("num_ops is no number"),
            std::string::npos);
  EXPECT_NE(error_of("00"
                     "18"
                     "1804"
                     "5214"
                     "0a076e756d5f6f7073"
                     "48ffffffffffffffffff01")
                .find("num_ops is no number"),
            std::string::npos);
  EXPECT_NE(error_of("00"
                     "1c"
                     "1804"
                     "520b"
                     "0a076e756d5f6f7073"
                     "4801"
                     "520b"
                     "0a076e756d5f6f7073"
                     "4801")
                .find("two num_ops"),
            std::string::npos);
  const auto compressed = read_chakra("\x1f\x8b\x08");
  ASSERT_FALSE(compressed);
  EXPECT_EQ(compressed.error().front().hint, "it is compressed: gunzip it first");
}

// Chakra's older feeder wants int64 sizes and int32 devices, feeder_v3 takes any; other writers use others.
TEST(Chakra, IntegersOfAnyType) {
  const auto node_with = [](const std::string& value) {
    std::string attribute;
    put_bytes(attribute, 1, "num_ops");
    attribute += value;
    std::string node;
    put_number(node, 3, 4);
    put_bytes(node, 10, attribute);
    std::string bytes(1, '\0');
    put_varint(bytes, node.size());
    return bytes + node;
  };
  for (const std::uint32_t varint : {7U, 9U, 11U, 13U}) {
    std::string value;
    put_number(value, varint, 1);
    EXPECT_EQ(read_chakra(node_with(value))->nodes.front().num_ops, 1);
  }
  for (const std::uint32_t zigzag : {15U, 17U}) {
    std::string value;
    put_number(value, zigzag, 2);
    EXPECT_EQ(read_chakra(node_with(value))->nodes.front().num_ops, 1);
  }
  for (const char* const fixed : {"9d01"
                                  "01000000",
                                  "bd01"
                                  "01000000",
                                  "a901"
                                  "0100000000000000",
                                  "c901"
                                  "0100000000000000"}) {
    EXPECT_EQ(read_chakra(node_with(from_hex(fixed)))->nodes.front().num_ops, 1);
  }
  EXPECT_FALSE(read_chakra(node_with(from_hex("19000000000000f03f"))));  // double_val
}

std::string fault_of(std::vector<Trace> traces, const CommGroups& groups = {}) {
  for (std::size_t device = 0; device < traces.size(); ++device)
    traces[device].device = static_cast<std::int64_t>(device);
  const auto files = write_chakra(traces, groups);
  return files ? "" : files.error().front().message;
}

Trace with(std::vector<TraceNode> nodes) {
  Trace trace;
  trace.nodes = std::move(nodes);
  return trace;
}

TEST(Chakra, WhatNoSimulatorCouldExecuteIsRefused) {
  const TraceNode work = computation(1, 10, 20);
  EXPECT_EQ(fault_of({}), "there are no traces");
  EXPECT_EQ(fault_of({with({})}), "device 0 has no nodes");
  EXPECT_EQ(fault_of({with({work, work})}), "device 0, node 1 (product 1): there is a node with its id before it");
  TraceNode ahead = work;
  ahead.ctrl_deps = {2};
  EXPECT_EQ(fault_of({with({ahead, computation(2, 1, 1)})}),
            "device 0, node 1 (product 1): it depends on 2, no node before it");
  EXPECT_EQ(fault_of({with({computation(1, 0, 5)})}), "device 0, node 1 (product 1): num_ops is 0, not 1 or more");
  EXPECT_EQ(fault_of({with({computation(1, 5, 0)})}), "device 0, node 1 (product 1): tensor_size is 0, not 1 or more");
  EXPECT_EQ(fault_of({with({collective(1, CollectiveKind::all_reduce, 0)})}),
            "device 0, node 1 (collective 1): comm_size is 0, not 1 or more");
  EXPECT_EQ(fault_of({with({collective(1, CollectiveKind::all_reduce, 8, "1")})}),
            "device 0, node 1 (collective 1): there is no group \"1\"");
  EXPECT_EQ(fault_of({with({collective(1, CollectiveKind::all_reduce, 8, "1")}), with({work})}, {{"1", {1}}}),
            "device 0, node 1 (collective 1): the group 1 is without this device");
  EXPECT_EQ(fault_of({with({work})}, {{"tp", {0}}}), "the group \"tp\" is no whole number above 0");
  EXPECT_EQ(fault_of({with({work})}, {{"1", {0, 1}}}), "the group 1 has no device 1");
  EXPECT_EQ(fault_of({with({message(1, NodeKind::send, 0, 1)}), with({work})}),
            "device 0 sends 1 messages with tag 7 to device 1, which receives 0");
  EXPECT_EQ(fault_of({with({message(1, NodeKind::receive, 1, 0)}), with({work})}),
            "device 1 sends 0 messages with tag 7 to device 0, which receives 1");
  EXPECT_EQ(fault_of({with({message(1, NodeKind::send, 1, 0)}), with({work})}),
            "device 0, node 1 (): a send from 1 is of another device");
  EXPECT_EQ(fault_of({with({message(1, NodeKind::send, 0, 2)}), with({work})}),
            "device 0, node 1 (): the other device is 2");
  EXPECT_EQ(fault_of({with({collective(1, CollectiveKind::all_reduce, 8)}), with({work})}),
            "1 of the 2 devices of all devices have collectives of it");
  EXPECT_EQ(fault_of({with({collective(1, CollectiveKind::all_reduce, 8)}),
                      with({collective(1, CollectiveKind::all_gather, 8)})}),
            "collective 1 of all devices: device 0 has ALL_REDUCE of 8 bytes, device 1 ALL_GATHER of 8 bytes");
  EXPECT_EQ(fault_of({with({message(1, NodeKind::send, 0, 1), collective(2, CollectiveKind::all_gather, 8)}),
                      with({message(1, NodeKind::receive, 0, 1), collective(2, CollectiveKind::all_gather, 8)})}),
            "");
}

TEST(Chakra, Groups) {
  CommGroups groups;
  EXPECT_EQ(group_of(groups, {0, 1, 2, 3}, 4), "");
  EXPECT_EQ(group_of(groups, {0, 1}, 4), "1");
  EXPECT_EQ(group_of(groups, {2, 3}, 4), "2");
  EXPECT_EQ(group_of(groups, {0, 1}, 4), "1");
  EXPECT_EQ(group_of(groups, {3, 2, 1, 0}, 4), "3");
  EXPECT_EQ(groups_text(groups), "{\n  \"1\": [0, 1],\n  \"2\": [2, 3],\n  \"3\": [3, 2, 1, 0]\n}\n");
  EXPECT_EQ(read_groups("{}").value(), CommGroups{});
  for (const char* const wrong :
       {"", "[1]", "{\"a\": [1]}", "{\"0\": [1]}", "{\"1\": 1}", "{\"1\": [x]}", "{\"1\": [-1]}", "{\"1\": [1, 1]}",
        "{\"1\": [\"1\"]}", "{\"99999999999\": [1]}", "{"}) {
    EXPECT_FALSE(read_groups(wrong)) << wrong;
  }
}

TEST(Chakra, Varints) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, UINT64_MAX}) {
    std::string bytes;
    put_varint(bytes, value);
    std::string_view rest = bytes;
    EXPECT_EQ(take_varint(rest), value);
    EXPECT_TRUE(rest.empty());
  }
  const std::string too_large = from_hex("ffffffffffffffffff02");
  std::string_view rest = too_large;
  EXPECT_EQ(take_varint(rest), std::nullopt);
}

}  // namespace
}  // namespace einflow::chakra
