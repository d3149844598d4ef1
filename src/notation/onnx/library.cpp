// The one file that includes the ONNX library's headers. Its exceptions end here.
#define ONNX_ML 1  // as Debian builds libonnx
#define ONNX_NAMESPACE onnx
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#pragma GCC diagnostic pop

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>

#include "base/message.hpp"
#include "notation/onnx/library.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostElements = 4096;  // of a tensor whose elements are kept: shapes, axes, scales
constexpr std::size_t kMostErrors = 40;

/// The opset version of a domain under which the library is asked.
int library_version(const OnnxNode& node) {
  return static_cast<int>(node.is_onnx_own() ? std::min(node.opset, kOnnxLibraryOpset)
                                             : std::min<std::int64_t>(node.opset, INT32_MAX));
}

const onnx::OpSchema* schema_of(const OnnxNode& node) {
  return onnx::OpSchemaRegistry::Instance()->GetSchema(node.operation, library_version(node), node.domain);
}

/// What may have been meant by an operator that the opset does not have.
std::string hint_for_unknown(const OnnxNode& node) {
  const auto* later = onnx::OpSchemaRegistry::Instance()->GetSchema(node.operation, kOnnxLibraryOpset, node.domain);
  if (later != nullptr) return fmt::format("opset {} has it", later->since_version());
  std::vector<std::string> names;
  for (const onnx::OpSchema& known : onnx::OpSchemaRegistry::get_all_schemas()) {
    if (known.domain().empty()) names.push_back(known.Name());
  }
  std::sort(names.begin(), names.end());
  const std::string nearest = nearest_name(node.operation, names);
  return nearest.empty() ? "" : fmt::format("did you mean {}?", in_quotes(nearest));
}

/// Operators whose inference in onnx 1.12 was read and neither divides by, nor indexes with, nor loops over an
/// attribute unchecked. The others are inferred by einflow (own_shapes.cpp) or stay blank.
constexpr std::string_view kTrustedOperators =
    " Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh BatchNormalization Bernoulli BitShift Cast"
    " CastLike Ceil Celu Clip Constant Cos Cosh CumSum DequantizeLinear Div Dropout DynamicQuantizeLinear Elu"
    " Equal Erf Exp EyeLike Flatten Floor Gather GatherElements GlobalAveragePool GlobalMaxPool GlobalLpPool"
    " Greater GreaterOrEqual HardSigmoid HardSwish Hardmax Identity InstanceNormalization IsInf IsNaN LRN"
    " LeakyRelu Less LessOrEqual Log LogSoftmax LpNormalization MatMul MatMulInteger Max Mean"
    " MeanVarianceNormalization Min Mod Mul Neg NonMaxSuppression NonZero Not OneHot Or PRelu Pad Pow"
    " QLinearMatMul QuantizeLinear RandomNormal RandomNormalLike RandomUniform RandomUniformLike Range"
    " Reciprocal Relu Resize ReverseSequence Round Scatter ScatterElements ScatterND Selu Shape Shrink Sigmoid"
    " Sign Sin Sinh Size Slice Softmax Softplus Softsign Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile"
    " TopK Transpose Trilu Unsqueeze Upsample Where Xor"
    " ";

bool is_trusted(const std::string& operation) {
  return kTrustedOperators.find(" " + operation + " ") != std::string_view::npos;
}

OnnxType type_of(const onnx::TypeProto& proto) {
  OnnxType type;
  type.tensor = proto.has_tensor_type() || proto.value_case() == onnx::TypeProto::VALUE_NOT_SET;
  if (!type.tensor) return type;
  type.element = proto.tensor_type().elem_type();
  type.ranked = proto.tensor_type().has_shape();
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    type.sizes.push_back(dim.has_dim_value() ? std::optional<std::int64_t>(dim.dim_value()) : std::nullopt);
    type.symbols.push_back(dim.has_dim_param() ? dim.dim_param() : "");
  }
  return type;
}

onnx::TypeProto proto_of(const OnnxType& type) {
  onnx::TypeProto proto;
  auto* tensor = proto.mutable_tensor_type();
  tensor->set_elem_type(type.element);
  if (!type.ranked) return proto;
  auto* shape = tensor->mutable_shape();
  for (const auto& size : type.sizes) {
    auto* dim = shape->add_dim();
    if (size) dim->set_dim_value(*size);
  }
  return proto;
}

/// The elements as a tensor with typed data: the library copies raw data without looking at their length.
std::optional<onnx::TensorProto> elements_proto(const OnnxValue& value) {
  onnx::TensorProto tensor;
  tensor.set_data_type(value.type.element);
  for (const auto& size : value.type.sizes) tensor.add_dims(size.value_or(0));
  if (value.integers && value.type.element == onnx::TensorProto::INT64) {
    for (const std::int64_t element : *value.integers) tensor.add_int64_data(element);
  } else if (value.integers && value.type.element == onnx::TensorProto::INT32) {
    for (const std::int64_t element : *value.integers) tensor.add_int32_data(static_cast<std::int32_t>(element));
  } else if (value.numbers && value.type.element == onnx::TensorProto::FLOAT) {
    for (const float element : *value.numbers) tensor.add_float_data(element);
  } else {
    return std::nullopt;
  }
  return tensor;
}

template <typename Stored, typename Element>
std::vector<Element> raw_elements(const std::string& raw) {
  std::vector<Element> elements;
  for (std::size_t at = 0; at + sizeof(Stored) <= raw.size(); at += sizeof(Stored)) {
    Stored stored;
    std::memcpy(&stored, raw.data() + at, sizeof stored);
    elements.push_back(static_cast<Element>(stored));
  }
  return elements;
}

/// Type and, where they are few, elements of a tensor; what is wrong with it, or "".
std::string read_tensor(const onnx::TensorProto& tensor, OnnxValue& value) {
  value.type = OnnxType{};
  value.type.element = tensor.data_type();
  value.type.ranked = true;
  value.fixed = true;
  if (tensor.dims_size() > static_cast<int>(kOnnxMostAxes)) {
    return fmt::format("has {} axes; at most {} are read", tensor.dims_size(), kOnnxMostAxes);
  }
  Count count = 1;
  for (const std::int64_t size : tensor.dims()) {
    if (size < 0 || size > kOnnxLargestSize) return fmt::format("has an axis of size {}", size);
    value.type.sizes.push_back(size);
    count *= Count(size);
  }
  if (count.overflowed()) return "has more elements than 128 bits can count";
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL ||
      count > Count(static_cast<std::int64_t>(kMostElements))) {
    return {};
  }
  const bool raw = tensor.has_raw_data();
  const auto element = onnx_element_type(tensor.data_type());
  std::optional<std::size_t> found;
  switch (tensor.data_type()) {
    case onnx::TensorProto::INT64:
      value.integers = raw ? raw_elements<std::int64_t, std::int64_t>(tensor.raw_data())
                           : std::vector<std::int64_t>(tensor.int64_data().begin(), tensor.int64_data().end());
      break;
    case onnx::TensorProto::INT32:
      value.integers = raw ? raw_elements<std::int32_t, std::int64_t>(tensor.raw_data())
                           : std::vector<std::int64_t>(tensor.int32_data().begin(), tensor.int32_data().end());
      break;
    case onnx::TensorProto::BOOL:
      value.integers = raw ? raw_elements<std::uint8_t, std::int64_t>(tensor.raw_data())
                           : std::vector<std::int64_t>(tensor.int32_data().begin(), tensor.int32_data().end());
      break;
    case onnx::TensorProto::FLOAT:
      value.numbers = raw ? raw_elements<float, float>(tensor.raw_data())
                          : std::vector<float>(tensor.float_data().begin(), tensor.float_data().end());
      break;
    default:
      return {};
  }
  found = value.integers ? value.integers->size() : value.numbers->size();
  const Count width = element ? Count(element->bits / 8) : Count(1);
  const bool whole = !raw || Count(static_cast<std::int64_t>(tensor.raw_data().size())) == count * width;
  if (Count(static_cast<std::int64_t>(*found)) == count && whole) return {};
  if (raw) {
    return fmt::format("has {} bytes of data; its shape {} of {} takes {}", tensor.raw_data().size(),
                       shape_text(value.type), element ? element->name : "?", (count * width).str());
  }
  return fmt::format("has {} elements; its shape {} takes {}", *found, shape_text(value.type), count.str());
}

std::int64_t nodes_inside(const onnx::GraphProto& graph, std::int64_t& initialisers) {
  std::int64_t nodes = graph.node_size();
  initialisers += graph.initializer_size();
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) nodes += nodes_inside(attribute.g(), initialisers);
      for (const auto& inner : attribute.graphs()) nodes += nodes_inside(inner, initialisers);
    }
  }
  return nodes;
}

OnnxAttribute read_attribute(const onnx::AttributeProto& proto) {
  using Proto = onnx::AttributeProto;
  OnnxAttribute attribute;
  switch (proto.type()) {
    case Proto::INT:
      attribute.kind = OnnxAttribute::Kind::integer;
      attribute.integer = proto.i();
      break;
    case Proto::FLOAT:
      attribute.kind = OnnxAttribute::Kind::number;
      attribute.number = proto.f();
      break;
    case Proto::STRING:
      attribute.kind = OnnxAttribute::Kind::text;
      attribute.text = proto.s();
      break;
    case Proto::INTS:
      attribute.kind = OnnxAttribute::Kind::integers;
      attribute.integers.assign(proto.ints().begin(), proto.ints().end());
      break;
    case Proto::FLOATS:
      attribute.kind = OnnxAttribute::Kind::numbers;
      break;
    case Proto::STRINGS:
      attribute.kind = OnnxAttribute::Kind::texts;
      break;
    case Proto::TENSOR:
      attribute.kind = OnnxAttribute::Kind::tensor;
      attribute.element = proto.t().data_type();
      break;
    case Proto::GRAPH:
      attribute.kind = OnnxAttribute::Kind::graph;
      break;
    default:
      break;
  }
  return attribute;
}

std::string_view attribute_type_name(int type) {
  switch (type) {
    case onnx::AttributeProto::INT:
      return "a whole number";
    case onnx::AttributeProto::FLOAT:
      return "a number";
    case onnx::AttributeProto::STRING:
      return "a text";
    case onnx::AttributeProto::INTS:
      return "a list of whole numbers";
    case onnx::AttributeProto::FLOATS:
      return "a list of numbers";
    case onnx::AttributeProto::STRINGS:
      return "a list of texts";
    case onnx::AttributeProto::TENSOR:
      return "a tensor";
    case onnx::AttributeProto::GRAPH:
      return "a graph";
    default:
      return "another thing";
  }
}

int attribute_type(OnnxAttribute::Kind kind) {
  switch (kind) {
    case OnnxAttribute::Kind::integer:
      return onnx::AttributeProto::INT;
    case OnnxAttribute::Kind::number:
      return onnx::AttributeProto::FLOAT;
    case OnnxAttribute::Kind::text:
      return onnx::AttributeProto::STRING;
    case OnnxAttribute::Kind::integers:
      return onnx::AttributeProto::INTS;
    case OnnxAttribute::Kind::numbers:
      return onnx::AttributeProto::FLOATS;
    case OnnxAttribute::Kind::texts:
      return onnx::AttributeProto::STRINGS;
    case OnnxAttribute::Kind::tensor:
      return onnx::AttributeProto::TENSOR;
    case OnnxAttribute::Kind::graph:
      return onnx::AttributeProto::GRAPH;
    case OnnxAttribute::Kind::other:
      break;
  }
  return onnx::AttributeProto::UNDEFINED;
}

/// Turns the library's objects into an OnnxGraph.
class Converter {
 public:
  explicit Converter(const onnx::ModelProto& model) : model_(model), proto_(model.graph()) {}

  Result<OnnxGraph> convert() {
    graph_.name = proto_.name();
    read_opsets();
    for (const auto& function : model_.functions())
      graph_.functions.push_back(function.domain() + ":" + function.name());
    const auto nodes = static_cast<std::size_t>(proto_.node_size());
    graph_.nodes.reserve(nodes);
    graph_.values.reserve(nodes + static_cast<std::size_t>(proto_.initializer_size() + proto_.input_size()));
    graph_.ids.reserve(graph_.values.capacity());
    taken_.reserve(nodes);
    std::set<std::string> initialised;
    for (const auto& tensor : proto_.initializer()) read_initialiser(tensor, tensor.name(), initialised);
    for (const auto& sparse : proto_.sparse_initializer()) {
      onnx::TensorProto dense;
      *dense.mutable_dims() = sparse.dims();
      dense.set_data_type(sparse.values().data_type());
      dense.set_data_location(onnx::TensorProto::EXTERNAL);
      read_initialiser(dense, sparse.values().name(), initialised);
      graph_.left_out.push_back(fmt::format("the initialiser {} is sparse: it is taken as a dense tensor",
                                            in_quotes(sparse.values().name())));
    }
    for (const auto& input : proto_.input()) read_input(input, initialised);
    for (int i = 0; i < proto_.node_size() && errors_.size() < kMostErrors; ++i) read_node(proto_.node(i), i);
    for (const auto& info : proto_.value_info()) declare(info);
    for (const auto& info : proto_.output()) {
      declare(info);
      const auto found = graph_.ids.find(info.name());
      if (found == graph_.ids.end() ||
          graph_.values[static_cast<std::size_t>(found->second)].origin == OnnxOrigin::nowhere) {
        error(fmt::format("the graph's output {} is made by no node", in_quotes(info.name())));
      } else {
        graph_.outputs.push_back(found->second);
      }
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    graph_.renamed = renamed_;
    return std::move(graph_);
  }

 private:
  void error(std::string message, std::string hint = {}) {
    if (errors_.size() < kMostErrors) errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }

  void read_opsets() {
    for (const auto& import : model_.opset_import()) {
      const std::string domain = import.domain() == "ai.onnx" ? "" : import.domain();
      opsets_[domain] = import.version();
    }
    const auto own = opsets_.find("");
    if (own != opsets_.end()) graph_.opset = own->second;
    if (own != opsets_.end() && own->second < 1) {
      error(fmt::format("the model's opset version is {}; versions count from 1", own->second));
    }
  }

  int value_named(const std::string& name) {
    const auto [found, made] = graph_.ids.try_emplace(name, static_cast<int>(graph_.values.size()));
    if (made) {
      graph_.values.emplace_back();
      graph_.values.back().name = name;
    }
    return found->second;
  }

  void read_initialiser(const onnx::TensorProto& tensor, const std::string& name, std::set<std::string>& seen) {
    if (!seen.insert(name).second) return error(fmt::format("there are two initialisers {}", in_quotes(name)));
    const int id = value_named(name);
    OnnxValue& value = graph_.values[static_cast<std::size_t>(id)];
    value.origin = OnnxOrigin::initialiser;
    const std::string wrong = read_tensor(tensor, value);
    if (!wrong.empty()) error(fmt::format("the initialiser {} {}", in_quotes(name), wrong));
    graph_.initialisers.push_back(id);
  }

  void read_input(const onnx::ValueInfoProto& info, const std::set<std::string>& initialised) {
    if (!inputs_.insert(info.name()).second)
      return error(fmt::format("there are two inputs {}", in_quotes(info.name())));
    if (initialised.count(info.name()) > 0) return;  // a default value: its shape is the initialiser's
    const int id = value_named(info.name());
    OnnxValue& value = graph_.values[static_cast<std::size_t>(id)];
    value.origin = OnnxOrigin::input;
    value.type = type_of(info.type());
    if (value.type.sizes.size() > kOnnxMostAxes) {
      error(fmt::format("the input {} has {} axes; at most {} are read", in_quotes(info.name()),
                        value.type.sizes.size(), kOnnxMostAxes));
    }
    graph_.inputs.push_back(id);
  }

  void declare(const onnx::ValueInfoProto& info) {
    const auto found = graph_.ids.find(info.name());
    if (found == graph_.ids.end()) return;  // of a value that no node makes or uses
    OnnxType type = type_of(info.type());
    if (type.sizes.size() <= kOnnxMostAxes)
      graph_.values[static_cast<std::size_t>(found->second)].declared = std::move(type);
  }

  void read_node(const onnx::NodeProto& proto, int index) {
    OnnxNode node;
    node.operation = proto.op_type();
    node.domain = proto.domain() == "ai.onnx" ? "" : proto.domain();
    name_node(proto.name(), index, node);
    const auto opset = opsets_.find(node.domain);
    if (opset == opsets_.end()) {
      if (missing_.insert(node.domain).second) {
        error(fmt::format("the model imports no opset for the domain {} of node {}",
                          node.domain.empty() ? "ai.onnx" : in_quotes(node.domain), node_text(node)),
              node.domain.empty() ? "opset_import says which version of ONNX's operators is meant: a model without it "
                                    "has no meaning"
                                  : "");
      }
    } else {
      node.opset = opset->second;
    }
    for (const auto& attribute : proto.attribute()) read_attribute_of(attribute, node);
    for (const std::string& input : proto.input()) node.inputs.push_back(input.empty() ? -1 : value_named(input));
    for (const std::string& output : proto.output()) {
      if (output.empty()) {
        node.outputs.push_back(-1);
        continue;
      }
      const int id = value_named(output);
      OnnxValue& value = graph_.values[static_cast<std::size_t>(id)];
      if (value.origin != OnnxOrigin::nowhere) {
        error(
            fmt::format("{} is made twice: by node {} and {}", in_quotes(output), node_text(node), origin_text(value)),
            "every value of an ONNX graph is made once");
      } else {
        value.origin = OnnxOrigin::node;
        value.producer = index;
      }
      node.outputs.push_back(id);
    }
    if (node.operation == "Constant" && node.is_onnx_own()) read_constant(proto, node);
    graph_.nodes.push_back(std::move(node));
  }

  std::string origin_text(const OnnxValue& value) const {
    if (value.origin == OnnxOrigin::input) return "as an input of the graph";
    if (value.origin == OnnxOrigin::initialiser) return "as an initialiser";
    if (static_cast<std::size_t>(value.producer) >= graph_.nodes.size()) return "again by the same node";
    return "by node " + node_text(graph_.nodes[static_cast<std::size_t>(value.producer)]);
  }

  void name_node(const std::string& given, int index, OnnxNode& node) {
    node.named = !given.empty();
    const std::string base = given.empty() ? fmt::format("{}_{}", node.operation, index) : given;
    node.name = base;
    while (!taken_.insert(node.name).second) node.name = fmt::format("{}_{}", base, ++copies_[base] + 1);
    if (!given.empty() && node.name != given) ++renamed_;
  }

  void read_attribute_of(const onnx::AttributeProto& proto, OnnxNode& node) {
    if (!node.attributes.emplace(proto.name(), read_attribute(proto)).second) {
      error(fmt::format("node {} has the attribute {} twice", node_text(node), in_quotes(proto.name())));
    }
    if (proto.has_g()) node.inner_nodes += nodes_inside(proto.g(), graph_.inner_initialisers);
    for (const auto& inner : proto.graphs()) node.inner_nodes += nodes_inside(inner, graph_.inner_initialisers);
  }

  void read_constant(const onnx::NodeProto& proto, const OnnxNode& node) {
    if (node.outputs.size() != 1 || node.outputs[0] < 0) return;
    OnnxValue& value = graph_.values[static_cast<std::size_t>(node.outputs[0])];
    value.fixed = true;
    const auto set = [&value](int element, bool scalar, std::int64_t size) {
      value.type.element = element;
      value.type.ranked = true;
      if (!scalar) value.type.sizes.assign(1, size);
    };
    for (const auto& attribute : proto.attribute()) {
      if (attribute.name() == "value" && attribute.has_t()) {
        const std::string wrong = read_tensor(attribute.t(), value);
        if (!wrong.empty()) error(fmt::format("the value of node {} {}", node_text(node), wrong));
      } else if (attribute.name() == "value_int" || attribute.name() == "value_ints") {
        const bool one = attribute.name() == "value_int";
        set(onnx::TensorProto::INT64, one, attribute.ints_size());
        value.integers = one ? std::vector<std::int64_t>{attribute.i()}
                             : std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
      } else if (attribute.name() == "value_float" || attribute.name() == "value_floats") {
        const bool one = attribute.name() == "value_float";
        set(onnx::TensorProto::FLOAT, one, attribute.floats_size());
        value.numbers = one ? std::vector<float>{attribute.f()}
                            : std::vector<float>(attribute.floats().begin(), attribute.floats().end());
      }
    }
  }

  const onnx::ModelProto& model_;
  const onnx::GraphProto& proto_;
  OnnxGraph graph_;
  std::map<std::string, std::int64_t> opsets_;
  std::set<std::string> missing_, inputs_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, int> copies_;  ///< of a name that occurs again
  int renamed_ = 0;
  Diagnostics errors_;
};

}  // namespace

struct OnnxLibrary::Model {
  onnx::ModelProto proto;
  std::unordered_map<std::string, const onnx::OpSchema*> schemas;  ///< of ONNX's own operators, as far as asked for

  /// A model has one opset of ONNX's own domain, so the operator alone tells.
  const onnx::OpSchema* schema(const OnnxNode& node) {
    const auto [found, made] = schemas.try_emplace(node.operation, nullptr);
    if (made) found->second = schema_of(node);
    return found->second;
  }
};

OnnxLibrary::OnnxLibrary(std::unique_ptr<Model> model) : model_(std::move(model)) {}
OnnxLibrary::OnnxLibrary(OnnxLibrary&&) noexcept = default;
OnnxLibrary& OnnxLibrary::operator=(OnnxLibrary&&) noexcept = default;
OnnxLibrary::~OnnxLibrary() = default;

Result<OnnxLibrary> OnnxLibrary::parse(const std::string& bytes) {
  auto model = std::make_unique<Model>();
  if (!model->proto.ParsePartialFromString(bytes))
    return fail("this is no ONNX model: Protocol Buffers cannot read it");
  if (!model->proto.has_graph()) return fail("the model has no graph");
  if (model->proto.graph().node_size() == 0) return fail("the model's graph has no node");
  return OnnxLibrary(std::move(model));
}

Result<OnnxGraph> OnnxLibrary::graph() const { return Converter(model_->proto).convert(); }

Diagnostics OnnxLibrary::schema_faults(const OnnxNode& node) const {
  Diagnostics faults;
  const auto fault = [&](std::string message, std::string hint = {}) {
    faults.push_back({{}, fmt::format("node {}: {}", node_text(node), message), std::move(hint), {}});
  };
  if (!node.is_onnx_own() || node.opset > kOnnxLibraryOpset) return faults;
  const onnx::OpSchema* schema = model_->schema(node);
  if (schema == nullptr) {
    fault(fmt::format("opset {} has no operator {}", node.opset, in_quotes(node.operation)), hint_for_unknown(node));
    return faults;
  }
  const auto amount = [&](const char* what, std::size_t found, int least, int most) {
    if (static_cast<int>(found) >= least && static_cast<int>(found) <= most) return;
    const std::string expected = least == most       ? fmt::format("{}", least)
                                 : most == INT32_MAX ? fmt::format("at least {}", least)
                                                     : fmt::format("{} to {}", least, most);
    fault(fmt::format("it has {} {}{}, expected {}", found, what, found == 1 ? "" : "s", expected));
  };
  amount("input", node.inputs.size(), schema->min_input(), schema->max_input());
  amount("output", node.outputs.size(), schema->min_output(), schema->max_output());
  for (std::size_t i = 0; i < node.inputs.size() && i < schema->inputs().size(); ++i) {
    if (node.inputs[i] >= 0 || schema->inputs()[i].GetOption() != onnx::OpSchema::Single) continue;
    fault(fmt::format("its input {} is left out, but is needed", schema->inputs()[i].GetName()));
  }
  std::vector<std::string> known;
  for (const auto& [name, attribute] : schema->attributes()) {
    known.push_back(name);
    if (attribute.required && node.attributes.count(name) == 0) {
      fault(fmt::format("its attribute {} is missing", in_quotes(name)));
    }
  }
  for (const auto& [name, attribute] : node.attributes) {
    const auto found = schema->attributes().find(name);
    if (found == schema->attributes().end()) {
      // Names that begin with "__" are left to implementations (onnx's checker passes over them too).
      if (name.rfind("__", 0) == 0) continue;
      fault(fmt::format("opset {} gives it no attribute {}", node.opset, in_quotes(name)),
            name_hint(name, known, "attributes"));
      continue;
    }
    const int expected = found->second.type, given = attribute_type(attribute.kind);
    if (given == expected || given == onnx::AttributeProto::UNDEFINED) continue;
    fault(fmt::format("its attribute {} is {}, expected {}", in_quotes(name), attribute_type_name(given),
                      attribute_type_name(expected)));
  }
  return faults;
}

bool OnnxLibrary::infers(const OnnxNode& node) const {
  if (!node.is_onnx_own() || !is_trusted(node.operation)) return false;
  const onnx::OpSchema* schema = model_->schema(node);
  return schema != nullptr && schema->has_type_and_shape_inference_function();
}

Result<std::vector<OnnxType>> OnnxLibrary::infer(const OnnxGraph& graph, int index) {
  const OnnxNode& node = graph.nodes[static_cast<std::size_t>(index)];
  std::vector<OnnxType> types;
  // Maps of this node's inputs only: the library looks up nothing else.
  try {
    std::unordered_map<std::string, onnx::TypeProto> owned;
    std::unordered_map<std::string, onnx::TypeProto*> by_name;
    std::unordered_map<std::string, onnx::TensorProto> owned_data;
    std::unordered_map<std::string, const onnx::TensorProto*> data;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const OnnxValue* value = graph.input(node, i);
      if (value == nullptr) continue;
      if (!value->type.tensor || value->type.element == 0) return std::vector<OnnxType>(node.outputs.size());
      by_name[value->name] = &(owned[value->name] = proto_of(value->type));
      if (auto tensor = elements_proto(*value)) data[value->name] = &(owned_data[value->name] = std::move(*tensor));
    }
    onnx::NodeProto* proto = model_->proto.mutable_graph()->mutable_node(index);
    onnx::shape_inference::InferenceContextImpl context(*proto, by_name, data, {});
    model_->schema(node)->GetTypeAndShapeInferenceFunction()(context);
    for (const onnx::TypeProto& type : context.allOutputTypes_) types.push_back(type_of(type));
  } catch (const std::exception& problem) {
    std::string message = problem.what();
    if (!message.empty() && message[0] == '[') message.erase(0, std::min(message.size(), message.find("] ") + 2));
    return fail(message);
  }
  for (OnnxType& type : types) type.tensor = true;  // trusted operators make tensors; untouched outputs are unknown
  return types;
}

}  // namespace einflow
