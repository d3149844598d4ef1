// Random operators: the shapes of einflow's einsums are those that the ONNX library infers for the whole model by
// itself, and their operations are those that loops over all outputs and taps count.
#define ONNX_ML 1
#define ONNX_NAMESPACE onnx
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>
#pragma GCC diagnostic pop

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "notation/onnx/onnx.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

using testing::from_environment;
using Sizes = std::vector<std::int64_t>;

/// A model of one node; all inputs are the graph's.
class OneNode {
 public:
  OneNode(const std::string& operation, std::int64_t opset) {
    model_.set_ir_version(8);
    auto* import = model_.add_opset_import();
    import->set_domain("");
    import->set_version(opset);
    node_ = model_.mutable_graph()->add_node();
    node_->set_op_type(operation);
    node_->set_name("node");
    node_->add_output("y");
    model_.mutable_graph()->add_output()->set_name("y");
  }
  void input(const std::string& name, const Sizes& sizes) {
    node_->add_input(name);
    auto* info = model_.mutable_graph()->add_input();
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(onnx::TensorProto::FLOAT);
    type->mutable_shape();
    for (const std::int64_t size : sizes) type->mutable_shape()->add_dim()->set_dim_value(size);
  }
  void constant(const std::string& name, const Sizes& elements) {
    node_->add_input(name);
    auto* tensor = model_.mutable_graph()->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::INT64);
    tensor->add_dims(static_cast<std::int64_t>(elements.size()));
    for (const std::int64_t element : elements) tensor->add_int64_data(element);
  }
  void set(const std::string& name, const Sizes& values) {
    auto* attribute = add(name, onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute->add_ints(value);
  }
  void set(const std::string& name, std::int64_t value) { add(name, onnx::AttributeProto::INT)->set_i(value); }
  void set(const std::string& name, const std::string& text) { add(name, onnx::AttributeProto::STRING)->set_s(text); }

  /// The output's shape by the library, from the model as it stands.
  Sizes inferred() const {
    onnx::ModelProto copy = model_;
    onnx::ShapeInferenceOptions options(true, 1, false);
    onnx::shape_inference::InferShapes(copy, onnx::OpSchemaRegistry::Instance(), options);
    Sizes sizes;
    for (const auto& dim : copy.graph().output(0).type().tensor_type().shape().dim()) sizes.push_back(dim.dim_value());
    return sizes;
  }
  std::string bytes() const { return model_.SerializeAsString(); }
  std::string text() const { return model_.ShortDebugString(); }

 private:
  onnx::AttributeProto* add(const std::string& name, onnx::AttributeProto::AttributeType type) {
    auto* attribute = node_->add_attribute();
    attribute->set_name(name);
    attribute->set_type(type);
    return attribute;
  }
  onnx::ModelProto model_;
  onnx::NodeProto* node_ = nullptr;
};

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::int64_t roll(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine_);
  }
  Sizes rolls(std::size_t count, std::int64_t least, std::int64_t most) {
    Sizes all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(roll(least, most));
    return all;
  }
  bool coin() { return roll(0, 1) == 1; }

 private:
  std::mt19937_64 engine_;
};

/// What a case is: the model, and what its products or reductions must come to.
struct Case {
  OneNode node;
  Count operations;  ///< of the first einsum; of all phases of a ConvTranspose
  std::string feature;
};

/// Windows along one axis.
struct Window {
  std::int64_t size, kernel, stride, dilation, begin, end;
  std::int64_t reach() const { return dilation * (kernel - 1) + 1; }
  /// Positions at which the whole window lies in the padded input, by trying.
  std::int64_t outputs(bool ceiling) const {
    std::int64_t count = 0;
    std::int64_t at = 0;
    for (; at + reach() <= begin + size + end; at += stride) ++count;
    const bool exact = (begin + size + end - reach()) % stride == 0;
    return count + (ceiling && !exact ? 1 : 0);
  }
};

Window random_window(Dice& dice, bool padded_less_than_kernel) {
  for (;;) {
    Window window{dice.roll(1, 12), dice.roll(1, 4), dice.roll(1, 4),
                  dice.roll(1, 3),  dice.roll(0, 3), dice.roll(0, 3)};
    if (padded_less_than_kernel && (window.begin >= window.kernel || window.end >= window.kernel)) continue;
    if (window.reach() <= window.begin + window.size + window.end && window.begin < window.reach()) return window;
  }
}

/// Attributes of the windows; the number of outputs along all axes, by trying.
std::int64_t set_windows(OneNode& node, std::vector<Window>& windows, Dice& dice, bool ceiling, std::string& feature) {
  Sizes strides, dilations, begins, ends;
  for (const Window& window : windows) {
    strides.push_back(window.stride);
    dilations.push_back(window.dilation);
    begins.push_back(window.begin);
    ends.push_back(window.end);
  }
  node.set("strides", strides);
  node.set("dilations", dilations);
  const std::int64_t mode = ceiling ? 0 : dice.roll(0, 3);
  std::int64_t outputs = 1;
  if (mode == 0) {
    begins.insert(begins.end(), ends.begin(), ends.end());
    node.set("pads", begins);
    for (const Window& window : windows) outputs *= window.outputs(ceiling);
    feature += ceiling ? " ceil" : " pads";
    return outputs;
  }
  bool fits = true;
  for (const Window& window : windows) fits = fits && window.reach() <= window.size;
  if (mode == 1 && fits) {
    node.set("auto_pad", "VALID");
    for (Window& window : windows) {
      window.begin = window.end = 0;
      outputs *= window.outputs(false);
    }
    feature += " VALID";
    return outputs;
  }
  node.set("auto_pad", mode == 3 ? "SAME_LOWER" : "SAME_UPPER");
  for (const Window& window : windows) {
    std::int64_t count = 0;
    for (std::int64_t at = 0; at < window.size; at += window.stride) ++count;
    outputs *= count;
  }
  feature += mode == 3 ? " SAME_LOWER" : " SAME_UPPER";
  return outputs;
}

Case random_convolution(Dice& dice) {
  Case made{OneNode("Conv", dice.roll(0, 1) == 0 ? 11 : 17), 0, "Conv"};
  const auto axes = static_cast<std::size_t>(dice.roll(1, 3));
  std::vector<Window> windows;
  for (std::size_t i = 0; i < axes; ++i) windows.push_back(random_window(dice, false));
  const std::int64_t groups = dice.roll(1, 3), inner = dice.coin() ? 1 : dice.roll(1, 3), outer = dice.roll(1, 3);
  Sizes input{dice.roll(1, 3), groups * inner}, filter{groups * outer, inner};
  std::int64_t taps = 1;
  for (const Window& window : windows) {
    input.push_back(window.size);
    filter.push_back(window.kernel);
    taps *= window.kernel;
  }
  made.node.input("x", input);
  made.node.input("w", filter);
  if (dice.coin()) made.node.input("b", {filter[0]});
  made.node.set("group", groups);
  made.feature += groups == 1 ? "" : inner == 1 ? " depthwise" : " grouped";
  const std::int64_t outputs = set_windows(made.node, windows, dice, false, made.feature);
  made.operations = Count(input[0]) * Count(filter[0]) * Count(inner) * Count(outputs) * Count(taps);
  return made;
}

/// Products of a transposed convolution that are gathered along one axis: outputs of a phase times taps of a phase, for
/// phases that meet an input.
std::int64_t gathered(const Window& window, std::int64_t output) {
  std::int64_t total = 0;
  for (std::int64_t phase = 0; phase < window.stride; ++phase) {
    std::int64_t outputs = 0, taps = 0;
    bool meets = false;
    for (std::int64_t k = 0; k < window.kernel; ++k) {
      if ((phase + window.begin - window.dilation * k) % window.stride == 0) ++taps;
    }
    for (std::int64_t o = phase; o < output; o += window.stride) {
      ++outputs;
      for (std::int64_t k = 0; k < window.kernel; ++k) {
        const std::int64_t reached = o + window.begin - window.dilation * k;
        meets = meets || (reached % window.stride == 0 && reached >= 0 && reached / window.stride < window.size);
      }
    }
    total += meets ? outputs * taps : 0;
  }
  return total;
}

Case random_transposed_convolution(Dice& dice) {
  for (;;) {
    Case made{OneNode("ConvTranspose", 11), 0, "ConvTranspose"};
    const auto axes = static_cast<std::size_t>(dice.roll(1, 2));
    const std::int64_t groups = dice.roll(1, 2), inner = dice.roll(1, 2), outer = dice.roll(1, 3);
    Sizes input{dice.roll(1, 2), groups * inner}, filter{groups * inner, outer}, strides, dilations, begins, ends,
        added;
    Count products = Count(input[0]) * Count(groups * inner) * Count(outer);
    bool good = true;
    for (std::size_t i = 0; i < axes; ++i) {
      const Window window{dice.roll(1, 6), dice.roll(1, 4), dice.roll(1, 3),
                          dice.roll(1, 2), dice.roll(0, 2), dice.roll(0, 2)};
      const std::int64_t more = dice.roll(0, window.stride - 1);
      const std::int64_t output = (window.size - 1) * window.stride + window.reach() + more - window.begin - window.end;
      good = good && output >= 1 && more + window.begin - window.end < std::max(window.stride, window.dilation);
      input.push_back(window.size);
      filter.push_back(window.kernel);
      strides.push_back(window.stride);
      dilations.push_back(window.dilation);
      begins.push_back(window.begin);
      ends.push_back(window.end);
      added.push_back(more);
      if (good) products *= Count(gathered(window, output));
    }
    if (!good || products == Count(0)) continue;
    made.node.input("x", input);
    made.node.input("w", filter);
    made.node.set("group", groups);
    made.node.set("strides", strides);
    made.node.set("dilations", dilations);
    made.node.set("output_padding", added);
    begins.insert(begins.end(), ends.begin(), ends.end());
    made.node.set("pads", begins);
    made.operations = products;
    return made;
  }
}

Case random_pool(Dice& dice) {
  const bool average = dice.coin();
  Case made{OneNode(average ? "AveragePool" : "MaxPool", 11), 0, average ? "AveragePool" : "MaxPool"};
  const auto axes = static_cast<std::size_t>(dice.roll(1, 3));
  const bool ceiling = dice.roll(0, 2) == 0;
  std::vector<Window> windows;
  Sizes input{dice.roll(1, 2), dice.roll(1, 3)}, kernel, strides, pads;
  std::int64_t taps = 1;
  for (std::size_t i = 0; i < axes; ++i) {
    windows.push_back(random_window(dice, true));
    if (average) {
      windows.back().dilation = 1;
      if (windows.back().reach() > windows.back().begin + windows.back().size + windows.back().end)
        windows.back().kernel = 1;
    }
    if (average && (windows.back().begin >= windows.back().kernel)) windows.back().begin = 0;
    input.push_back(windows.back().size);
    kernel.push_back(windows.back().kernel);
    taps *= windows.back().kernel;
  }
  made.node.input("x", input);
  made.node.set("kernel_shape", kernel);
  std::int64_t outputs = 1;
  if (average) {
    Sizes begins, ends;
    for (const Window& window : windows) {
      strides.push_back(window.stride);
      begins.push_back(window.begin);
      ends.push_back(window.end);
      outputs *= window.outputs(ceiling);
    }
    begins.insert(begins.end(), ends.begin(), ends.end());
    made.node.set("strides", strides);
    made.node.set("pads", begins);
  } else {
    outputs = set_windows(made.node, windows, dice, ceiling, made.feature);
  }
  if (ceiling) made.node.set("ceil_mode", 1);
  made.operations = Count(input[0]) * Count(input[1]) * Count(outputs) * Count(taps);
  return made;
}

/// Shapes that broadcast to each other, and their common shape.
struct Broadcast {
  Sizes left, right, all;
};
Broadcast random_broadcast(Dice& dice, std::size_t most_axes) {
  Broadcast made;
  made.all = dice.rolls(static_cast<std::size_t>(dice.roll(0, static_cast<std::int64_t>(most_axes))), 1, 4);
  const auto one = [&] {
    Sizes sizes(made.all.begin() + dice.roll(0, static_cast<std::int64_t>(made.all.size())), made.all.end());
    for (std::int64_t& size : sizes) size = dice.roll(0, 3) == 0 ? 1 : size;
    return sizes;
  };
  made.left = one();
  made.right = one();
  for (std::size_t i = 0; i < made.all.size(); ++i) {
    const auto at = [&](const Sizes& sizes) {
      const std::size_t missing = made.all.size() - sizes.size();
      return i < missing ? std::int64_t{1} : sizes[i - missing];
    };
    made.all[i] = std::max(at(made.left), at(made.right));
  }
  while (made.all.size() > std::max(made.left.size(), made.right.size())) made.all.erase(made.all.begin());
  return made;
}

Count product(const Sizes& sizes) {
  Count all = 1;
  for (const std::int64_t size : sizes) all *= Count(size);
  return all;
}

Case random_matrix_product(Dice& dice) {
  Case made{OneNode("MatMul", 13), 0, "MatMul"};
  Broadcast batch = random_broadcast(dice, 3);
  const std::int64_t m = dice.roll(1, 5), n = dice.roll(1, 5), k = dice.roll(1, 5);
  const bool row = batch.left.empty() && dice.coin(), column = batch.right.empty() && dice.coin();
  if (!row) batch.left.push_back(m);
  batch.left.push_back(k);
  batch.right.push_back(k);
  if (!column) batch.right.push_back(n);
  made.node.input("a", batch.left);
  made.node.input("b", batch.right);
  made.operations = product(batch.all) * Count(k) * Count(row ? 1 : m) * Count(column ? 1 : n);
  if (row || column) made.feature += " vector";
  return made;
}

Case random_gemm(Dice& dice) {
  Case made{OneNode("Gemm", 13), 0, "Gemm"};
  const std::int64_t m = dice.roll(1, 9), n = dice.roll(1, 9), k = dice.roll(1, 9);
  const bool left = dice.coin(), right = dice.coin();
  made.node.input("a", left ? Sizes{k, m} : Sizes{m, k});
  made.node.input("b", right ? Sizes{n, k} : Sizes{k, n});
  if (dice.coin()) made.node.input("c", dice.coin() ? Sizes{n} : dice.coin() ? Sizes{m, 1} : Sizes{});
  made.node.set("transA", left ? 1 : 0);
  made.node.set("transB", right ? 1 : 0);
  made.operations = Count(m) * Count(n) * Count(k);
  return made;
}

Case random_elementwise(Dice& dice) {
  const char* const names[]{"Add", "Mul", "Sub", "Div", "Max", "Min"};
  const std::string name = names[dice.roll(0, 5)];
  Case made{OneNode(name, 13), 0, name};
  const Broadcast shapes = random_broadcast(dice, 4);
  made.node.input("a", shapes.left);
  made.node.input("b", shapes.right);
  made.operations = product(shapes.all);
  return made;
}

Case random_reduction(Dice& dice) {
  const char* const names[]{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"};
  const std::string name = names[dice.roll(0, 3)];
  Case made{OneNode(name, 13), 0, name};
  const Sizes input = dice.rolls(static_cast<std::size_t>(dice.roll(1, 4)), 1, 5);
  Sizes axes;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (dice.coin())
      axes.push_back(static_cast<std::int64_t>(i) - (dice.coin() ? static_cast<std::int64_t>(input.size()) : 0));
  }
  made.node.input("x", input);
  if (!axes.empty()) {
    if (name == "ReduceSum")
      made.node.constant("axes", axes);
    else
      made.node.set("axes", axes);
  }
  made.node.set("keepdims", dice.roll(0, 1));
  made.operations = product(input);
  return made;
}

Case random_case(Dice& dice) {
  switch (dice.roll(0, 7)) {
    case 0:
    case 1:
      return random_convolution(dice);
    case 2:
      return random_transposed_convolution(dice);
    case 3:
      return random_pool(dice);
    case 4:
      return random_matrix_product(dice);
    case 5:
      return random_gemm(dice);
    case 6:
      return random_elementwise(dice);
    default:
      return random_reduction(dice);
  }
}

/// Extents of the last output, without those of size 1: what shapes with and without kept axes have in common.
Sizes output_extents(const DocumentLayer& layer) {
  const Einsum& last = layer.cascade.einsums.back();
  Sizes sizes;
  for (const Axis& axis : last.tensors.back().axes) {
    sizes.push_back(last.ranks[static_cast<std::size_t>(axis.terms[0].rank)].extent);
  }
  return sizes;
}

Sizes without_ones(Sizes sizes) {
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
  return sizes;
}

/// What is wrong with a case, or "".
std::string wrong_with(const Case& made) {
  const auto document = read_onnx({{"case.onnx", made.node.bytes()}}, {});
  if (!document) return "refused: " + render(document.error(), {"case.onnx", {}});
  if (document->layers.size() != 1) {
    return "not counted: " + (document->uncounted.empty() ? "" : document->uncounted[0].because);
  }
  const DocumentLayer& layer = document->layers[0];
  const Sizes expected = made.node.inferred();
  const bool transposed = made.feature == "ConvTranspose";
  Count operations = 0;
  for (const Einsum& einsum : layer.cascade.einsums) {
    operations += einsum.operations();
    if (!transposed) break;
  }
  if (operations != made.operations) {
    return fmt::format("{} operations, expected {}", operations.str(), made.operations.str());
  }
  if (transposed) return {};  // its outputs are phases; their sizes are in the operations
  Sizes found = output_extents(layer);
  if (made.feature.rfind("Conv", 0) == 0) {
    // Groups and filters of a group are ranks of their own: all but batch and spatial axes belong to the channels.
    const std::size_t axes = expected.size() - 2;
    std::int64_t channels = 1;
    for (std::size_t i = 1; i + axes < found.size(); ++i) channels *= found[i];
    Sizes merged{found[0], channels};
    merged.insert(merged.end(), found.end() - static_cast<std::ptrdiff_t>(axes), found.end());
    found = merged;
  }
  if (without_ones(found) != without_ones(expected)) {
    return fmt::format("output {}, expected {}", fmt::join(found, "x"), fmt::join(expected, "x"));
  }
  return {};
}

TEST(OnnxProperty, ShapesAndOperationsOfRandomOperatorsAreTheLibrarysAndThoseOfLoops) {
  const auto cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000));
  const std::uint64_t seed = from_environment("EINFLOW_PROPERTY_SEED", 1);
  Dice dice(seed);
  std::set<std::string> features;
  int failures = 0;
  for (int i = 0; i < cases && failures < 5; ++i) {
    const Case made = random_case(dice);
    features.insert(made.feature);
    const std::string wrong = wrong_with(made);
    if (wrong.empty()) continue;
    ++failures;
    ADD_FAILURE() << "seed " << seed << ", case " << i << ": " << wrong << "\n" << made.node.text();
  }
  if (cases < 2000) return;
  for (const char* feature : {"Conv pads",
                              "Conv VALID",
                              "Conv SAME_UPPER",
                              "Conv SAME_LOWER",
                              "Conv grouped pads",
                              "Conv depthwise SAME_UPPER",
                              "ConvTranspose",
                              "MaxPool ceil",
                              "MaxPool pads",
                              "MaxPool SAME_LOWER",
                              "AveragePool",
                              "MatMul",
                              "MatMul vector",
                              "Gemm",
                              "Add",
                              "Div",
                              "Max",
                              "ReduceSum",
                              "ReduceMean",
                              "ReduceL2"}) {
    EXPECT_EQ(features.count(feature), 1U) << feature << " did not occur";
  }
}

/// A node of any operator that the library has, with inputs, attributes and elements from the edges of their ranges.
std::string hostile_model(Dice& dice) {
  static const std::vector<onnx::OpSchema> schemas = onnx::OpSchemaRegistry::get_all_schemas_with_history();
  const Sizes edges{0,
                    1,
                    1,
                    2,
                    3,
                    4,
                    7,
                    8,
                    65536,
                    std::int64_t{1} << 31,
                    std::int64_t{1} << 32,
                    std::int64_t{1} << 40,
                    INT64_MAX,
                    INT64_MIN,
                    -1,
                    -2,
                    -5};
  const auto edge = [&] {
    return edges[static_cast<std::size_t>(dice.roll(0, static_cast<std::int64_t>(edges.size()) - 1))];
  };
  const auto small = [&] { return dice.roll(0, 5) == 0 ? edge() : dice.roll(1, 4); };
  const onnx::OpSchema& schema =
      schemas[static_cast<std::size_t>(dice.roll(0, static_cast<std::int64_t>(schemas.size()) - 1))];
  onnx::ModelProto model;
  model.set_ir_version(8);
  for (const std::string& domain : {std::string(), schema.domain()}) {
    auto* import = model.add_opset_import();
    import->set_domain(domain);
    import->set_version(dice.roll(0, 9) == 0 ? dice.roll(18, 23) : schema.since_version());
  }
  auto* graph = model.mutable_graph();
  auto* node = graph->add_node();
  node->set_op_type(schema.Name());
  node->set_domain(schema.domain());
  node->set_name("node");
  const std::int64_t outputs = std::max(1, std::min(schema.max_output(), static_cast<int>(dice.roll(1, 3))));
  for (std::int64_t i = 0; i < outputs; ++i) node->add_output(fmt::format("y{}", i));
  const std::int64_t inputs = dice.roll(schema.min_input(), std::min(schema.max_input(), schema.min_input() + 3));
  const std::int64_t axes = dice.roll(0, 5);
  for (std::int64_t i = 0; i < inputs; ++i) {
    const std::string name = fmt::format("x{}", i);
    node->add_input(name);
    if (i > 0 && dice.coin()) {
      auto* tensor = graph->add_initializer();
      tensor->set_name(name);
      const bool whole = dice.roll(0, 3) > 0;
      tensor->set_data_type(whole ? onnx::TensorProto::INT64 : onnx::TensorProto::FLOAT);
      const std::int64_t count = dice.coin() ? axes : dice.roll(0, 6);
      tensor->add_dims(count);
      for (std::int64_t e = 0; e < count; ++e) {
        if (whole)
          tensor->add_int64_data(small());
        else
          tensor->add_float_data(static_cast<float>(small()));
      }
      continue;
    }
    auto* info = graph->add_input();
    info->set_name(name);
    auto* type = info->mutable_type()->mutable_tensor_type();
    type->set_elem_type(dice.roll(0, 4) == 0 ? static_cast<int>(dice.roll(0, 26)) : onnx::TensorProto::FLOAT);
    type->mutable_shape();
    const std::int64_t own = dice.roll(0, 4) == 0 ? dice.roll(0, 6) : axes;
    for (std::int64_t a = 0; a < own; ++a)
      type->mutable_shape()->add_dim()->set_dim_value(std::max<std::int64_t>(small(), 0));
  }
  for (const auto& [name, attribute] : schema.attributes()) {
    if (!attribute.required && dice.coin()) continue;
    auto* made = node->add_attribute();
    made->set_name(name);
    made->set_type(attribute.type);
    if (attribute.type == onnx::AttributeProto::INT) made->set_i(small());
    if (attribute.type == onnx::AttributeProto::INTS) {
      const std::int64_t count = dice.coin() ? axes : dice.roll(0, 6);
      for (std::int64_t e = 0; e < count; ++e) made->add_ints(small());
    }
    if (attribute.type == onnx::AttributeProto::STRING) {
      const char* const texts[]{"SAME_UPPER",     "SAME_LOWER", "VALID", "ij,jk",
                                "...i,...i->...", "x",          "",      "bidirectional"};
      made->set_s(texts[dice.roll(0, 7)]);
    }
    if (attribute.type == onnx::AttributeProto::FLOAT) made->set_f(static_cast<float>(small()));
    if (attribute.type == onnx::AttributeProto::TENSOR) {
      made->mutable_t()->set_data_type(onnx::TensorProto::INT64);
      made->mutable_t()->add_dims(dice.roll(0, 2));
      made->mutable_t()->add_int64_data(small());
    }
  }
  auto* user = graph->add_node();
  user->set_op_type("Relu");
  user->add_input("y0");
  user->add_output("z");
  graph->add_output()->set_name("z");
  return model.SerializeAsString();
}

TEST(OnnxProperty, HostileOperatorsAreAnsweredInWords) {
  const auto cases = static_cast<int>(from_environment("EINFLOW_PROPERTY_CASES", 5000)) * 4;
  Dice dice(from_environment("EINFLOW_PROPERTY_SEED", 1));
  int read = 0;
  for (int i = 0; i < cases; ++i) {
    const auto document = read_onnx({{"case.onnx", hostile_model(dice)}}, {});
    if (!document) {
      EXPECT_FALSE(document.error().empty());
      continue;
    }
    ++read;
    EXPECT_GE(document->layers.size() + document->uncounted.size(), 1U);
    for (const Uncounted& operation : document->uncounted) EXPECT_FALSE(operation.because.empty());
  }
  EXPECT_GT(read, cases / 20) << "hardly a model was read: the generator makes nothing but faults";
}

}  // namespace
}  // namespace einflow
