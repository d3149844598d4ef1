#include "notation/chakra/reader.hpp"

#include <fmt/format.h>

#include <optional>
#include <unordered_set>

#include "base/count.hpp"
#include "notation/chakra/fields.hpp"
#include "notation/chakra/wire.hpp"

namespace einflow::chakra {

namespace {

constexpr std::size_t kMostNodes = 4'000'000;

std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

std::int64_t as_signed(std::uint64_t value) { return static_cast<std::int64_t>(value); }

struct Attribute {
  std::string_view name;
  std::optional<Count> number;
  std::optional<std::string_view> text;
};

/// The number that a value field has; nothing where it has another type.
std::optional<Count> number_of(const WireField& value) {
  const bool varint = value.type == WireType::varint;
  switch (value.number) {
    case field::kInt32:
    case field::kInt64:
      return varint ? std::optional(Count(as_signed(value.value))) : std::nullopt;
    case field::kUint32:
    case field::kUint64:
      return varint ? std::optional(Count(value.value)) : std::nullopt;
    case field::kBool:
      return varint ? std::optional(Count(value.value != 0 ? 1 : 0)) : std::nullopt;
    case field::kSint32:
    case field::kSint64:
      return varint ? std::optional(Count(unzigzag(value.value))) : std::nullopt;
    case field::kFixed32:
      return value.type == WireType::four_bytes ? std::optional(Count(value.value)) : std::nullopt;
    case field::kSfixed32:
      return value.type == WireType::four_bytes
                 ? std::optional(Count(static_cast<std::int32_t>(static_cast<std::uint32_t>(value.value))))
                 : std::nullopt;
    case field::kFixed64:
      return value.type == WireType::eight_bytes ? std::optional(Count(value.value)) : std::nullopt;
    case field::kSfixed64:
      return value.type == WireType::eight_bytes ? std::optional(Count(as_signed(value.value))) : std::nullopt;
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  Reader(std::string_view all, std::int64_t device) : all_(all), device_(device) {}

  Result<Trace> trace() {
    Trace trace;
    trace.device = device_;
    std::string_view rest = all_;
    if (const auto metadata = message(rest, "metadata")) trace.version = version_of(*metadata);
    std::unordered_set<std::uint64_t> ids;
    while (!rest.empty() && errors_.empty()) {
      const std::string_view place = rest;
      const auto bytes = message(rest, "node");
      if (!bytes) break;
      if (trace.nodes.size() == kMostNodes) {
        error(place, fmt::format("begins a node above the {} that einflow reads", kMostNodes));
        break;
      }
      trace.nodes.push_back(node(*bytes));
      if (!ids.insert(trace.nodes.back().id).second) {
        error(place, fmt::format("begins another node with the id {}", trace.nodes.back().id));
      }
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return trace;
  }

 private:
  void error(std::string_view place, const std::string& what) {
    if (!errors_.empty()) return;
    std::string hint = "a trace is a GlobalMetadata and Nodes of et_def.proto, the length before each";
    if (all_.substr(0, 2) == "\x1f\x8b") hint = "it is compressed: gunzip it first";
    const auto offset = static_cast<std::size_t>(place.data() - all_.data());
    errors_.push_back(
        {{}, fmt::format("this is no Chakra trace: byte {} of {} {}", offset, all_.size(), what), std::move(hint), {}});
  }

  /// A length and so many bytes, taken off the front.
  std::optional<std::string_view> message(std::string_view& rest, const char* what) {
    const std::string_view place = rest;
    const auto length = take_varint(rest);
    if (!length || *length > rest.size()) {
      error(place, length ? fmt::format("begins a {} of {} bytes, of which {} are there", what, *length, rest.size())
                          : fmt::format("is no length of a {}", what));
      return std::nullopt;
    }
    const std::string_view bytes = rest.substr(0, static_cast<std::size_t>(*length));
    rest.remove_prefix(bytes.size());
    return bytes;
  }

  std::optional<WireField> next(std::string_view& rest, const char* what) {
    const std::string_view place = rest;
    auto item = take_field(rest);
    if (!item) error(place, fmt::format("is no field of a {}", what));
    return item;
  }

  std::string version_of(std::string_view rest) {
    std::string version;
    while (!rest.empty() && errors_.empty()) {
      const std::string_view place = rest;
      const auto item = next(rest, "metadata");
      if (!item || item->number != field::kMetadataVersion) continue;
      if (item->type == WireType::length_and_bytes) {
        version = item->bytes;
      } else {
        error(place, "has a number where the version belongs");
      }
    }
    return version;
  }

  TraceNode node(std::string_view bytes) {
    TraceNode node;
    std::vector<Attribute> attributes;
    std::uint64_t kind = 0;
    std::string_view rest = bytes;
    while (!rest.empty() && errors_.empty()) {
      const std::string_view place = rest;
      const auto item = next(rest, "node");
      if (!item) break;
      const bool number = item->type == WireType::varint;
      bool fits = true;
      switch (item->number) {
        case field::kNodeId:
          fits = number;
          node.id = item->value;
          break;
        case field::kNodeName:
          fits = item->type == WireType::length_and_bytes;
          node.name = item->bytes;
          break;
        case field::kNodeType:
          fits = number;
          kind = item->value;
          break;
        case field::kNodeControl:
          fits = ids(*item, node.ctrl_deps);
          break;
        case field::kNodeData:
          fits = ids(*item, node.data_deps);
          break;
        case field::kNodeDuration:
          fits = number;
          node.duration_micros = item->value;
          break;
        case field::kNodeAttribute:
          fits = item->type == WireType::length_and_bytes;
          if (fits) attributes.push_back(attribute(item->bytes));
          break;
        default:
          break;  // start time, inputs, outputs
      }
      if (!fits) error(place, fmt::format("has another type than field {} of a node", item->number));
    }
    if (!errors_.empty()) return node;
    if (kind < static_cast<std::uint64_t>(NodeKind::metadata) ||
        kind > static_cast<std::uint64_t>(NodeKind::collective)) {
      error(bytes, fmt::format("begins a node of type {}", kind));
      return node;
    }
    node.kind = static_cast<NodeKind>(kind);
    fill(node, attributes, bytes);
    return node;
  }

  static bool ids(const WireField& item, std::vector<std::uint64_t>& into) {
    if (item.type == WireType::varint) {
      into.push_back(item.value);
      return true;
    }
    if (item.type != WireType::length_and_bytes) return false;
    std::string_view rest = item.bytes;
    while (!rest.empty()) {
      const auto id = take_varint(rest);
      if (!id) return false;
      into.push_back(*id);
    }
    return true;
  }

  Attribute attribute(std::string_view rest) {
    Attribute attribute;
    while (!rest.empty() && errors_.empty()) {
      const std::string_view place = rest;
      const auto item = next(rest, "attribute");
      if (!item) break;
      if (item->number == field::kAttributeName) {
        if (item->type != WireType::length_and_bytes) error(place, "has a number where an attribute's name belongs");
        attribute.name = item->bytes;
      } else if (item->number > 2 && item->number <= field::kLastValue) {
        attribute.number = number_of(*item);
        const bool text = item->number == field::kString && item->type == WireType::length_and_bytes;
        attribute.text = text ? std::optional(item->bytes) : std::nullopt;
      }
    }
    return attribute;
  }

  /// What the node's kind needs of the attributes; others stay where they are.
  void fill(TraceNode& node, const std::vector<Attribute>& attributes, std::string_view place) {
    const auto number = [&](std::string_view name, std::int64_t largest, std::optional<std::int64_t> otherwise) {
      const Attribute* const found = only(attributes, name, place);
      if (found == nullptr) {
        if (!otherwise) error(place, fmt::format("begins a {} without {}", name_of(node.kind), name));
        return otherwise.value_or(0);
      }
      if (!found->number || *found->number < Count(0) || *found->number > Count(largest)) {
        error(place, fmt::format("begins a node whose {} is no number from 0 to {}", name, largest));
        return std::int64_t{0};
      }
      return found->number->to_int64().value_or(0);
    };
    const auto device_number = [&](std::string_view name, std::optional<std::int64_t> otherwise) {
      return static_cast<std::int32_t>(number(name, INT32_MAX, otherwise));
    };
    const std::int64_t own = device_ >= 0 && device_ <= INT32_MAX ? device_ : 0;
    node.on_cpu = number("is_cpu_op", 1, 0) != 0;
    switch (node.kind) {
      case NodeKind::metadata:
        break;
      case NodeKind::computation:
        node.num_ops = number("num_ops", INT64_MAX, 0);
        node.tensor_size = number("tensor_size", INT64_MAX, 0);
        break;
      case NodeKind::memory_load:
      case NodeKind::memory_store:
        node.tensor_size = number("tensor_size", INT64_MAX, std::nullopt);
        break;
      case NodeKind::collective:
        node.collective = static_cast<CollectiveKind>(
            number("comm_type", static_cast<std::int64_t>(CollectiveKind::barrier), std::nullopt));
        node.comm_size = number("comm_size", INT64_MAX, std::nullopt);
        if (const Attribute* const group = only(attributes, "pg_name", place)) {
          if (!group->text) error(place, "begins a node whose pg_name is no text");
          node.group = group->text.value_or("");
        }
        break;
      case NodeKind::send:
      case NodeKind::receive:
        node.comm_size = number("comm_size", INT64_MAX, std::nullopt);
        node.source = device_number("comm_src", node.kind == NodeKind::send ? std::optional(own) : std::nullopt);
        node.destination =
            device_number("comm_dst", node.kind == NodeKind::receive ? std::optional(own) : std::nullopt);
        node.tag = device_number("comm_tag", std::nullopt);
        break;
    }
  }

  const Attribute* only(const std::vector<Attribute>& attributes, std::string_view name, std::string_view place) {
    const Attribute* found = nullptr;
    for (const Attribute& attribute : attributes) {
      if (attribute.name != name) continue;
      if (found != nullptr) error(place, fmt::format("begins a node with two {}", name));
      found = &attribute;
    }
    return found;
  }

  std::string_view all_;
  std::int64_t device_;
  Diagnostics errors_;
};

}  // namespace

Result<Trace> read_chakra(std::string_view bytes, std::int64_t device) {
  if (bytes.empty()) return fail("this is no Chakra trace: it is empty");
  return Reader(bytes, device).trace();
}

}  // namespace einflow::chakra
