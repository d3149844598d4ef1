#include "notation/placements/spelling.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/placements/scanner.hpp"

namespace einflow::placements {

namespace {

constexpr std::size_t kMostAxes = 16;  // of a mesh

const char* const kMeshExample[] = {"DeviceMesh((2, 4), mesh_dim_names=(\"dp\", \"tp\"))",
                                    "Mesh((2, 4), ('dp', 'tp'))"};

/// The last part of a dotted name: "Mesh" of "jax.sharding.Mesh".
std::string_view base_name(std::string_view word) {
  const std::size_t dot = word.rfind('.');
  return dot == std::string_view::npos ? word : word.substr(dot + 1);
}

/// Items with commas between them (one may stand behind the last), to the closing bracket. `read` takes one item and
/// says whether it could.
template <typename Read>
bool read_items(Scanner& scanner, char close, Read read) {
  while (!scanner.take(close)) {
    if (!read()) return false;
    if (scanner.take(',')) continue;
    return scanner.expect(close, fmt::format("',' or '{}'", close));
  }
  return true;
}

/// "(a, b)", "[a, b]", "(a,)" or a single item without brackets.
template <typename Read>
bool read_tuple(Scanner& scanner, Read read) {
  if (scanner.take('(')) return read_items(scanner, ')', read);
  if (scanner.take('[')) return read_items(scanner, ']', read);
  return read();
}

/// Reads the sizes and then the names of a mesh.
bool read_mesh_arguments(Words words, Scanner& scanner, StatedMesh& mesh) {
  if (scanner.quote_is_next()) {  // the device type
    scanner.quoted("a device type");
    if (!scanner.expect(',', "','")) return false;
  }
  const bool sizes = read_tuple(scanner, [&] {
    const auto size = scanner.number("the size of a mesh axis");
    if (size && *size < 1) scanner.error(scanner.last(), fmt::format("a mesh axis of {} devices", *size));
    if (mesh.sizes.size() == kMostAxes) scanner.error(scanner.last(), fmt::format("more than {} mesh axes", kMostAxes));
    if (!size || scanner.failed()) return false;
    mesh.sizes.push_back(*size);
    mesh.size_spans.push_back(scanner.last());
    return true;
  });
  if (!sizes || !scanner.expect(',', "',' and the names of the axes")) return false;
  const std::string_view keyword = scanner.word();
  const std::string_view wanted = words == Words::dtensor ? "mesh_dim_names" : "axis_names";
  if (!keyword.empty()) {
    if (keyword != wanted) {
      scanner.error(scanner.last(), fmt::format("found {}, expected {}", in_quotes(keyword), wanted));
      return false;
    }
    if (!scanner.expect('=', "'='")) return false;
  }
  return read_tuple(scanner, [&] {
    auto name = scanner.quoted("the name of a mesh axis in quotes");
    if (!name) return false;
    if (std::find(mesh.names.begin(), mesh.names.end(), *name) != mesh.names.end()) {
      scanner.error(scanner.last(), fmt::format("the mesh axis {} is named twice", in_quotes(*name)));
      return false;
    }
    if (mesh.names.size() == kMostAxes) scanner.error(scanner.last(), fmt::format("more than {} mesh axes", kMostAxes));
    if (scanner.failed()) return false;
    mesh.names.push_back(std::move(*name));
    mesh.name_spans.push_back(scanner.last());
    return true;
  });
}

/// The dimension of `Shard(0)`, counted from the end where negative.
std::optional<int> dimension_of(Scanner& scanner, const Tensor& tensor) {
  const auto number = scanner.number("a dimension of the tensor");
  if (!number) return std::nullopt;
  const auto dimensions = static_cast<std::int64_t>(tensor.axes.size());
  if (*number >= dimensions || *number < -dimensions) {
    scanner.error(scanner.last(),
                  fmt::format("{} has {} dimension{}; found dimension {}", tensor.name, dimensions,
                              dimensions == 1 ? "" : "s", *number),
                  dimensions == 0 ? "" : fmt::format("expected 0 to {}", dimensions - 1));
    return std::nullopt;
  }
  return static_cast<int>(*number < 0 ? *number + dimensions : *number);
}

/// `Partial("sum")` after its first word.
bool read_partial(Scanner& scanner, Stated& state) {
  state.kind = Stated::Kind::partial;
  state.operation = "sum";
  if (!scanner.take('(')) return true;
  if (scanner.take(')')) return true;
  if (scanner.quote_is_next()) {
    const auto operation = scanner.quoted("an operation");
    if (!operation) return false;
    state.operation = *operation;
  } else {
    state.operation = std::string(scanner.word());
    if (state.operation == "reduce_op" && scanner.take('=')) {
      const auto operation = scanner.quoted("an operation");
      if (!operation) return false;
      state.operation = *operation;
    }
  }
  static const std::vector<std::string> known{"sum", "max", "min", "product"};
  if (std::find(known.begin(), known.end(), state.operation) == known.end()) {
    scanner.error(scanner.last(),
                  fmt::format("partial results of {}: einflow's reductions have none such", in_quotes(state.operation)),
                  name_hint(state.operation, known, "operations"));
    return false;
  }
  return scanner.expect(')', "')'");
}

std::optional<Stated> read_placement(const YamlNode& node, const Tensor& tensor, Diagnostics& errors) {
  if (!node.is_scalar()) {
    add_error(errors, node.span,
              fmt::format("found {}, expected Shard(DIM), Replicate() or Partial()", describe(node)));
    return std::nullopt;
  }
  Scanner scanner(node, errors);
  Stated state;
  state.span = node.span;
  const std::string word(base_name(scanner.word()));
  if (word == "Shard" || word == "S") {
    state.kind = Stated::Kind::shard;
    if (!scanner.expect('(', "'(' and a dimension")) return std::nullopt;
    const std::string_view keyword = scanner.quote_is_next() ? std::string_view{} : Scanner(scanner).word();
    if (keyword == "dim") {
      scanner.word();
      if (!scanner.expect('=', "'='")) return std::nullopt;
    }
    const auto dimension = dimension_of(scanner, tensor);
    if (!dimension || !scanner.expect(')', "')'")) return std::nullopt;
    state.dimension = *dimension;
  } else if (word == "Replicate" || word == "R") {
    state.kind = Stated::Kind::replicate;
    if (scanner.take('(') && !scanner.expect(')', "')'")) return std::nullopt;
  } else if (word == "Partial" || word == "P") {
    if (!read_partial(scanner, state)) return std::nullopt;
  } else if (word.empty()) {
    scanner.unexpected("Shard(DIM), Replicate() or Partial()");
    return std::nullopt;
  } else {
    scanner.error(scanner.last(), fmt::format("unknown placement {}", in_quotes(word)),
                  name_hint(word, {"Shard", "Replicate", "Partial"}, "placements"));
    return std::nullopt;
  }
  if (!scanner.at_end()) {
    scanner.unexpected("the end of the placement");
    return std::nullopt;
  }
  return state;
}

std::string quoted_names(const Assignment& assignment, char quote) {
  std::string names;
  for (const SplitAxis& axis : assignment)
    names += fmt::format("{}{}{}{}", names.empty() ? "" : ", ", quote, axis.name, quote);
  return names + (assignment.size() == 1 ? "," : "");
}

}  // namespace

std::string partial_operation(const Einsum& einsum) {
  if (einsum.reduce == "max" || einsum.reduce == "min") return einsum.reduce;
  return einsum.reduce == "*" ? "product" : "sum";
}

std::string mesh_text(Words words, const Assignment& assignment) {
  std::string sizes;
  for (const SplitAxis& axis : assignment) sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", axis.size);
  if (assignment.size() == 1) sizes += ",";
  return words == Words::dtensor
             ? fmt::format("DeviceMesh(({}), mesh_dim_names=({}))", sizes, quoted_names(assignment, '"'))
             : fmt::format("Mesh(({}), ({}))", sizes, quoted_names(assignment, '\''));
}

std::string tensor_text(Words words, const Einsum& einsum, int tensor, const Assignment& assignment) {
  std::string text;
  if (words == Words::dtensor) {
    for (const SplitAxis& split : assignment) {
      if (!text.empty()) text += ", ";
      const auto axis = split.rank < 0 ? std::nullopt : plain_axis(einsum, tensor, split.rank);
      if (axis) {
        text += fmt::format("Shard({})", *axis);
      } else if (einsum.is_output(tensor) && split.rank >= 0) {
        text += fmt::format("Partial(\"{}\")", partial_operation(einsum));
      } else {
        text += "Replicate()";
      }
    }
    return "[" + text + "]";
  }
  const auto& axes = einsum.tensors[static_cast<std::size_t>(tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    Assignment own;
    for (const SplitAxis& split : assignment) {
      if (split.rank >= 0 && plain_axis(einsum, tensor, split.rank) == static_cast<int>(a)) own.push_back(split);
    }
    if (a > 0) text += ", ";
    if (own.empty()) {
      text += "None";
    } else {
      const std::string names = quoted_names(own, '\'');
      text += own.size() == 1 ? names.substr(0, names.size() - 1) : "(" + names + ")";
    }
  }
  return "P(" + text + ")";
}

std::optional<StatedMesh> read_mesh(Words words, const YamlNode& node, Diagnostics& errors) {
  const std::string example = kMeshExample[words == Words::dtensor ? 0 : 1];
  if (!node.is_scalar()) {
    add_error(errors, node.span, fmt::format("found {}, expected a mesh", describe(node)), example);
    return std::nullopt;
  }
  Scanner scanner(node, errors);
  StatedMesh mesh;
  const std::string_view word = base_name(scanner.word());
  const bool known = words == Words::dtensor ? word == "DeviceMesh" || word == "init_device_mesh"
                                             : word == "Mesh" || word == "make_mesh" || word == "AbstractMesh";
  if (!known) {
    scanner.error(node.span, fmt::format("found {}, expected a mesh", describe(node)), example);
    return std::nullopt;
  }
  if (!scanner.expect('(', "'('") || !read_mesh_arguments(words, scanner, mesh)) return std::nullopt;
  scanner.take(',');
  if (!scanner.expect(')', "')'")) return std::nullopt;
  if (!scanner.at_end()) {
    scanner.unexpected("the end of the mesh");
    return std::nullopt;
  }
  if (mesh.names.size() != mesh.sizes.size() || mesh.names.empty()) {
    scanner.error(
        node.span,
        mesh.names.empty() && mesh.sizes.empty()
            ? std::string("the mesh has no axis")
            : fmt::format("the mesh has {} size{} and {} name{}", mesh.sizes.size(), mesh.sizes.size() == 1 ? "" : "s",
                          mesh.names.size(), mesh.names.size() == 1 ? "" : "s"),
        example);
    return std::nullopt;
  }
  Count devices = 1;
  for (const std::int64_t size : mesh.sizes) devices *= Count(size);
  if (devices.overflowed() || devices >= Count(std::int64_t{1} << 62)) {
    scanner.error(node.span, "the mesh has 2^62 devices or more");
    return std::nullopt;
  }
  return mesh;
}

std::optional<StatedTensor> read_dtensor_states(const YamlNode& node, const Tensor& tensor, const StatedMesh& mesh,
                                                Diagnostics& errors) {
  if (!node.is_list()) {
    add_error(errors, node.span,
              fmt::format("found {}, expected a list with a placement for each mesh axis", describe(node)),
              "[Shard(0), Replicate()]");
    return std::nullopt;
  }
  if (node.items.size() != mesh.names.size()) {
    add_error(errors, node.span,
              fmt::format("{} has {} placement{}, and the mesh {} {}: {}", tensor.name, node.items.size(),
                          node.items.size() == 1 ? "" : "s", mesh.names.size(),
                          mesh.names.size() == 1 ? "axis" : "axes", comma_list(mesh.names)),
              "one placement for each mesh axis, in the mesh's order");
    return std::nullopt;
  }
  StatedTensor stated;
  stated.span = node.span;
  bool good = true;
  for (const YamlNode& item : node.items) {
    const auto state = read_placement(item, tensor, errors);
    good = good && state;
    if (state) stated.states.push_back(*state);
  }
  if (!good) return std::nullopt;
  return stated;
}

std::optional<StatedTensor> read_partition_spec(const YamlNode& node, const Tensor& tensor, const StatedMesh& mesh,
                                                Diagnostics& errors) {
  if (!node.is_scalar()) {
    add_error(errors, node.span, fmt::format("found {}, expected a PartitionSpec", describe(node)), "P('dp', None)");
    return std::nullopt;
  }
  Scanner scanner(node, errors);
  const std::string_view word = base_name(scanner.word());
  if (word != "P" && word != "PartitionSpec") {
    scanner.error(node.span, fmt::format("found {}, expected a PartitionSpec", describe(node)), "P('dp', None)");
    return std::nullopt;
  }
  StatedTensor stated;
  stated.span = node.span;
  stated.states.assign(mesh.names.size(), Stated{Stated::Kind::unsaid, 0, {}, node.span});
  int dimension = -1;
  std::vector<int> order;
  const auto name_axis = [&] {
    const auto name = scanner.quoted("a mesh axis in quotes, or None");
    if (!name) return false;
    const auto found = std::find(mesh.names.begin(), mesh.names.end(), *name);
    if (found == mesh.names.end()) {
      scanner.error(scanner.last(), fmt::format("the mesh has no axis {}", in_quotes(*name)),
                    name_hint(*name, mesh.names, "axes"));
      return false;
    }
    const auto axis = static_cast<std::size_t>(found - mesh.names.begin());
    if (stated.states[axis].kind == Stated::Kind::shard) {
      scanner.error(scanner.last(), fmt::format("the mesh axis {} is used twice for {}", in_quotes(*name), tensor.name),
                    "an axis splits at most one dimension of a tensor");
      return false;
    }
    stated.states[axis] = {Stated::Kind::shard, dimension, {}, scanner.last()};
    order.push_back(static_cast<int>(axis));
    return true;
  };
  const auto read_entry = [&] {
    ++dimension;
    if (dimension >= static_cast<int>(tensor.axes.size())) {
      scanner.error(scanner.next(), fmt::format("the spec of {} has more entries than the tensor has dimensions, {}",
                                                tensor.name, tensor.axes.size()));
      return false;
    }
    order.clear();
    if (scanner.take('(')) {
      if (!read_items(scanner, ')', name_axis)) return false;
      if (order.size() > 1) stated.orders.push_back(order);
      return true;
    }
    if (scanner.quote_is_next()) return name_axis();
    const std::string_view none = scanner.word();
    if (none == "None") return true;
    if (none.empty()) {
      scanner.unexpected("a mesh axis in quotes, or None");
    } else {
      scanner.error(scanner.last(), fmt::format("found {}, expected a mesh axis in quotes, or None", in_quotes(none)),
                    base_name(none) == "UNCONSTRAINED" ? "einflow does not choose: say what the dimension is" : "");
    }
    return false;
  };
  if (!scanner.expect('(', "'('") || !read_items(scanner, ')', read_entry)) return std::nullopt;
  if (!scanner.at_end()) {
    scanner.unexpected("the end of the PartitionSpec");
    return std::nullopt;
  }
  return stated;
}

}  // namespace einflow::placements
