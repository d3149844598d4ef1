// Field numbers are those of onnx.proto; the format is that of protobuf.dev/programming-guides/encoding.
#include "notation/onnx/wire.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace einflow {

namespace {

constexpr std::size_t kMostParts = 2'000'000;                 // messages and texts: each becomes objects of ~200 bytes
constexpr std::size_t kMostBytes = std::size_t{64} << 20;     // of everything but weights
constexpr std::size_t kLargestValue = std::size_t{64} << 10;  // a tensor above this is a weight, not a shape
constexpr int kDeepestGraph = 32;

enum class Kind {
  plain,    ///< numbers, one by one or packed
  text,     ///< a string
  message,  ///< fields of its own
  values,   ///< a tensor's elements
  emptied,  ///< kept as a sign that it is there
};

struct MessageType;

struct Field {
  std::uint64_t number;
  const char* name;
  Kind kind;
  const MessageType* type = nullptr;
};

struct MessageType {
  const char* name;
  std::vector<Field> fields;
};

const MessageType kDimension{"dimension", {{1, "dim_value", Kind::plain}, {2, "dim_param", Kind::text}}};
const MessageType kShape{"shape", {{1, "dim", Kind::message, &kDimension}}};
const MessageType kTensorType{"tensor type", {{1, "elem_type", Kind::plain}, {2, "shape", Kind::message, &kShape}}};
const MessageType kType{"type",
                        {{1, "tensor_type", Kind::message, &kTensorType},
                         {4, "sequence_type", Kind::emptied},
                         {5, "map_type", Kind::emptied},
                         {8, "sparse_tensor_type", Kind::emptied},
                         {9, "optional_type", Kind::emptied}}};
const MessageType kValueInfo{"value info", {{1, "name", Kind::text}, {2, "type", Kind::message, &kType}}};
const MessageType kTensor{"tensor",
                          {{1, "dims", Kind::plain},
                           {2, "data_type", Kind::plain},
                           {4, "float_data", Kind::values},
                           {5, "int32_data", Kind::values},
                           {7, "int64_data", Kind::values},
                           {8, "name", Kind::text},
                           {9, "raw_data", Kind::values},
                           {11, "uint64_data", Kind::values},
                           {14, "data_location", Kind::plain}}};
const MessageType kSparseTensor{"sparse tensor", {{1, "values", Kind::message, &kTensor}, {3, "dims", Kind::plain}}};
extern const MessageType kGraph;
const MessageType kAttribute{"attribute",
                             {{1, "name", Kind::text},
                              {2, "f", Kind::plain},
                              {3, "i", Kind::plain},
                              {4, "s", Kind::text},
                              {5, "t", Kind::message, &kTensor},
                              {6, "g", Kind::message, &kGraph},
                              {7, "floats", Kind::plain},
                              {8, "ints", Kind::plain},
                              {9, "strings", Kind::text},
                              {10, "tensors", Kind::emptied},
                              {11, "graphs", Kind::message, &kGraph},
                              {14, "tp", Kind::emptied},
                              {15, "type_protos", Kind::emptied},
                              {20, "type", Kind::plain},
                              {21, "ref_attr_name", Kind::text},
                              {22, "sparse_tensor", Kind::message, &kSparseTensor},
                              {23, "sparse_tensors", Kind::emptied}}};
const MessageType kNode{"node",
                        {{1, "input", Kind::text},
                         {2, "output", Kind::text},
                         {3, "name", Kind::text},
                         {4, "op_type", Kind::text},
                         {5, "attribute", Kind::message, &kAttribute},
                         {7, "domain", Kind::text}}};
const MessageType kGraph{"graph",
                         {{1, "node", Kind::message, &kNode},
                          {2, "name", Kind::text},
                          {5, "initializer", Kind::message, &kTensor},
                          {11, "input", Kind::message, &kValueInfo},
                          {12, "output", Kind::message, &kValueInfo},
                          {13, "value_info", Kind::message, &kValueInfo},
                          {15, "sparse_initializer", Kind::message, &kSparseTensor}}};
const MessageType kOpset{"opset import", {{1, "domain", Kind::text}, {2, "version", Kind::plain}}};
const MessageType kFunction{"function", {{1, "name", Kind::text}, {10, "domain", Kind::text}}};
const MessageType kModel{"model",
                         {{1, "ir_version", Kind::plain},
                          {7, "graph", Kind::message, &kGraph},
                          {8, "opset_import", Kind::message, &kOpset},
                          {25, "functions", Kind::message, &kFunction}}};
constexpr std::uint64_t kTrainingInfo = 20;

const Field* field_of(const MessageType& type, std::uint64_t number) {
  for (const Field& field : type.fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

/// One field as it stands in the bytes.
struct Item {
  std::uint64_t number = 0;
  int wire_type = 0;          ///< 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes
  std::string_view whole;     ///< tag included
  std::string_view contents;  ///< of wire type 2
};

std::optional<std::uint64_t> read_varint(std::string_view& rest) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && !rest.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// The next field, taken off `rest`; nothing where the bytes are no field.
std::optional<Item> next_item(std::string_view& rest) {
  const std::string_view start = rest;
  const auto tag = read_varint(rest);
  if (!tag || *tag >> 3 == 0) return std::nullopt;
  Item item;
  item.number = *tag >> 3;
  item.wire_type = static_cast<int>(*tag & 7);
  std::uint64_t length = 0;
  if (item.wire_type == 0) {
    if (!read_varint(rest)) return std::nullopt;
  } else if (item.wire_type == 1 || item.wire_type == 5) {
    length = item.wire_type == 1 ? 8 : 4;
  } else if (item.wire_type == 2) {
    const auto stated = read_varint(rest);
    if (!stated) return std::nullopt;
    length = *stated;
  } else {
    return std::nullopt;
  }
  if (length > rest.size()) return std::nullopt;
  if (item.wire_type == 2) item.contents = rest.substr(0, static_cast<std::size_t>(length));
  rest.remove_prefix(static_cast<std::size_t>(length));
  item.whole = start.substr(0, start.size() - rest.size());
  return item;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80u | (value & 0x7fu));
  out += static_cast<char>(value);
}

std::string varint_bytes(std::uint64_t value) {
  std::string bytes;
  put_varint(bytes, value);
  return bytes;
}

class Extractor {
 public:
  explicit Extractor(std::string_view all) : all_(all) {}

  /// Adds the fields of one message that are kept to `kept`; an error where they cannot be read.
  void extract(std::string_view bytes, const MessageType& type, int graphs, std::string& kept) {
    const bool weight = &type == &kTensor && bytes.size() > kLargestValue;
    std::string_view rest = bytes;
    while (!rest.empty() && errors_.empty()) {
      const std::string_view place = rest;
      const auto item = next_item(rest);
      if (!item) {
        explain(place, type);
        break;
      }
      if (&type == &kModel && item->number == kTrainingInfo) trains_ = true;
      const Field* field = field_of(type, item->number);
      if (field == nullptr || (field->kind == Kind::values && weight)) continue;
      keep(*item, *field, type, graphs, kept);
    }
  }

  bool trains() const { return trains_; }
  Diagnostics& errors() { return errors_; }

 private:
  void error(std::string_view place, const std::string& what, std::string hint = {}) {
    if (!errors_.empty()) return;
    const std::size_t offset = static_cast<std::size_t>(place.data() - all_.data());
    if (hint.empty()) hint = "an ONNX model is a Protocol Buffers message; was the file downloaded whole?";
    errors_.push_back(
        {{}, fmt::format("this is no ONNX model: byte {} of {} {}", offset, all_.size(), what), std::move(hint), {}});
  }

  /// Why no field begins at `place`.
  void explain(std::string_view place, const MessageType& type) {
    constexpr std::string_view kLfs = "version https://git-lfs";
    if (all_.substr(0, kLfs.size()) == kLfs) {
      return error(place, "begins a pointer of Git LFS", "the model itself is elsewhere: `git lfs pull` fetches it");
    }
    std::string_view rest = place;
    const auto tag = read_varint(rest);
    const Field* field = tag ? field_of(type, *tag >> 3) : nullptr;
    const auto length = field != nullptr && (*tag & 7) == 2 ? read_varint(rest) : std::nullopt;
    if (length && *length > rest.size()) {
      return error(place, fmt::format("begins the {}'s {}, {} bytes long, of which {} are there", type.name,
                                      field->name, *length, rest.size()));
    }
    error(place, fmt::format("is no field of a {}", type.name));
  }

  void keep(const Item& item, const Field& field, const MessageType& type, int graphs, std::string& kept) {
    const bool needs_length = field.kind != Kind::plain && field.kind != Kind::values;
    if (needs_length && item.wire_type != 2) {
      return error(item.whole, fmt::format("has a number where the {}'s {} belongs", type.name, field.name));
    }
    if (needs_length && ++parts_ > kMostParts) {
      return refuse(fmt::format("the model has more than {} nodes, attributes, names and other parts", kMostParts),
                    "einflow reads no larger ones");
    }
    if (field.kind == Kind::message) {
      const bool graph = field.type == &kGraph;
      if (graph && graphs == kDeepestGraph) {
        return refuse(fmt::format("graphs are nested more than {} deep", kDeepestGraph),
                      "einflow reads no deeper ones");
      }
      put_varint(kept, field.number << 3 | 2);
      const std::size_t start = kept.size();
      extract(item.contents, *field.type, graphs + (graph ? 1 : 0), kept);
      kept.insert(start, varint_bytes(kept.size() - start));
    } else if (field.kind == Kind::emptied) {
      put_varint(kept, field.number << 3 | 2);
      put_varint(kept, 0);
    } else {
      kept += item.whole;
      copied_ += item.whole.size();
    }
    if (copied_ > kMostBytes) {
      refuse(fmt::format("the model has more than {} MiB beside its weights", kMostBytes >> 20),
             "einflow reads no larger ones");
    }
  }

  void refuse(std::string message, std::string hint) {
    if (errors_.empty()) errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }

  std::string_view all_;
  std::size_t parts_ = 0;
  std::size_t copied_ = 0;
  bool trains_ = false;
  Diagnostics errors_;
};

}  // namespace

Result<EssentialModel> essential_model(std::string_view bytes) {
  if (bytes.empty()) return fail("this is no ONNX model: it is empty");
  Extractor extractor(bytes);
  EssentialModel model;
  extractor.extract(bytes, kModel, 0, model.bytes);
  model.trains = extractor.trains();
  if (!extractor.errors().empty()) return tl::unexpected(std::move(extractor.errors()));
  return model;
}

bool has_model_fields(std::string_view bytes) {
  bool graph = false;
  while (!bytes.empty()) {
    const auto item = next_item(bytes);
    if (!item || item->number > 32) return false;
    const Field* field = field_of(kModel, item->number);
    if (field != nullptr && (field->kind == Kind::plain) != (item->wire_type == 0)) return false;
    graph = graph || (item->number == 7 && !item->contents.empty());
  }
  return graph;
}

}  // namespace einflow
