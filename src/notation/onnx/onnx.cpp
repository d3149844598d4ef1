#include "notation/onnx/onnx.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/onnx/counted.hpp"
#include "notation/onnx/graph_check.hpp"
#include "notation/onnx/inference.hpp"
#include "notation/onnx/weights.hpp"
#include "notation/onnx/wire.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostEinsums = 500'000;
constexpr std::size_t kShownNames = 3;

/// Whether all axes are single ranks of some extent: then only the product of the extents could be at fault.
bool is_plain(const Einsum& einsum) {
  const bool extents =
      std::all_of(einsum.ranks.begin(), einsum.ranks.end(), [](const Rank& rank) { return rank.extent >= 1; });
  return extents && !einsum.operations().overflowed() &&
         std::all_of(einsum.tensors.begin(), einsum.tensors.end(), [](const Tensor& tensor) {
           return std::all_of(tensor.axes.begin(), tensor.axes.end(), [](const Axis& axis) {
             return axis.terms.size() == 1 && axis.terms[0].coefficient == 1 && axis.constant == 0 && !axis.stored_size;
           });
         });
}

/// The first fault of an einsum, or "".
std::string fault_of(const Einsum& einsum) {
  if (is_plain(einsum)) return {};
  for (const auto& faults : {check_form(einsum), check_sizes(einsum)}) {
    if (!faults.empty()) return faults.front().message;
  }
  return {};
}

std::string plural(std::int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// Layers, uncounted operators and figures of a graph whose shapes are known.
class Assembly {
 public:
  Assembly(const OnnxGraph& graph, const ReadOptions& options) : graph_(graph), options_(options), weights_(graph) {}

  Result<Document> assemble() {
    document_.name = graph_.name;
    document_.left_out = graph_.left_out;
    document_.layers.reserve(graph_.nodes.size());
    for (const OnnxNode& node : graph_.nodes) {
      add(node);
      if (einsums_ > kMostEinsums) {
        return fail(fmt::format("the model makes more than {} einsums", kMostEinsums), "einflow reads no larger ones");
      }
    }
    name_uncounted();
    add_figures();
    add_conventions();
    for (const DocumentFigure& figure : document_.figures) {
      if (figure.value.overflowed()) return fail(fmt::format("the figure {} leaves 128 bits", in_quotes(figure.name)));
    }
    return std::move(document_);
  }

 private:
  void add(const OnnxNode& node) {
    Counted counted = count_operator({graph_, node});
    for (const Einsum& einsum : counted.einsums) {
      const std::string fault = fault_of(einsum);
      if (fault.empty()) continue;
      counted = {{}, fault, false};
      break;
    }
    if (!counted.because.empty()) uncount(node, counted);
    if (counted.einsums.empty()) return;
    operators_.insert(node.operation);
    einsums_ += counted.einsums.size();
    DocumentLayer layer;
    layer.name = node.name;
    layer.cascade.name = node.name;
    if (counted.einsums.size() == 1) counted.einsums.front().name = node.name;
    layer.cascade.einsums = std::move(counted.einsums);
    const Count own = weights_.take(node);
    layer_weights_ += own;
    if (!weights_are_inputs(node)) layer.parameters = own;
    document_.layers.push_back(std::move(layer));
  }

  /// Whether an operand other than the first is fed to the graph from outside: perhaps a weight, perhaps data.
  bool weights_are_inputs(const OnnxNode& node) const {
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      const OnnxValue* value = graph_.input(node, i);
      if (value != nullptr && value->origin == OnnxOrigin::input) return true;
    }
    return false;
  }

  void uncount(const OnnxNode& node, const Counted& counted) {
    const std::string key = node.operation + '\n' + counted.because;
    const auto [found, made] = uncounted_.emplace(key, document_.uncounted.size());
    if (made) {
      document_.uncounted.push_back({{}, node.operation, 0, counted.because});
      names_.emplace_back();
    }
    ++document_.uncounted[found->second].repeat;
    if (!counted.moves_only && names_[found->second].size() < kShownNames) names_[found->second].push_back(node.name);
  }

  void name_uncounted() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      std::string text = comma_list(names_[i]);
      const auto more = document_.uncounted[i].repeat - static_cast<std::int64_t>(names_[i].size());
      if (!text.empty() && more > 0) text += fmt::format(", ... ({} more)", more);
      document_.uncounted[i].name = text;
    }
  }

  void figure(const char* name, Count value, const char* unit, std::string derivation) {
    document_.figures.push_back({name, value, unit, std::move(derivation)});
  }

  void add_figures() {
    const auto told = [&](const char* name, OnnxRole role, const char* what) {
      const std::int64_t count = weights_.initialisers(role);
      if (count > 0) figure(name, weights_.total(role), "elements", "sum over " + plural(count, "initialiser") + what);
    };
    told("parameters", OnnxRole::weight,
         weights_.quantised() ? " of floating-point type or quantised" : " of floating-point type");
    if (const auto bytes = weights_.bytes()) figure("weights", bytes->total, "B", bytes->derivation);
    const Count outside = weights_.total(OnnxRole::weight) - layer_weights_;
    if (outside > Count(0)) {
      figure("parameters of no layer", outside, "elements",
             fmt::format("{} - {} in layers: used by uncounted operators only, or by none",
                         weights_.total(OnnxRole::weight).str(), layer_weights_.str()));
    }
    told("running statistics", OnnxRole::statistics, ": mean and variance of BatchNormalization, no parameters");
    told("other constants", OnnxRole::other, " of shapes, axes, indices, quantisation: no parameters");
  }

  bool any(std::initializer_list<const char*> operators) const {
    return std::any_of(operators.begin(), operators.end(),
                       [&](const char* name) { return operators_.count(name) > 0; });
  }

  void add_conventions() {
    auto& lines = document_.conventions;
    for (const auto& [key, value] : options_.settings) lines.push_back(fmt::format("--set {}={}", key, value));
    if (graph_.opset > kOnnxLibraryOpset) {
      lines.push_back(
          fmt::format("opset {}: shapes are inferred by the rules of opset {}, the newest that the library "
                      "knows, but for operators that changed since",
                      graph_.opset, kOnnxLibraryOpset));
    }
    const std::int64_t unnamed =
        std::count_if(graph_.nodes.begin(), graph_.nodes.end(), [](const auto& n) { return !n.named; });
    if (unnamed > 0) {
      lines.push_back(fmt::format("{} without a name: named by operator and position", plural(unnamed, "node")));
    }
    if (graph_.renamed > 0) {
      lines.push_back(fmt::format("{} with the name of another: a number is added", plural(graph_.renamed, "node")));
    }
    if (!document_.layers.empty())
      lines.emplace_back("element types are the graph's; sums are held in the type of their result");
    if (any({"BatchNormalization"})) {
      lines.emplace_back("BatchNormalization: one multiplication and one addition, mean and variance folded into both");
    }
    if (any({"LayerNormalization", "RMSNormalization", "InstanceNormalization", "GroupNormalization"})) {
      lines.emplace_back("normalisations: the square sum's division by its count and epsilon are part of rsqrt");
    }
    if (any({"ConvTranspose"})) {
      lines.emplace_back("ConvTranspose: gathered, one convolution for each phase of its strides");
    }
    if (!weights_.shared().empty()) {
      const std::vector<std::string> names(weights_.shared().begin(), weights_.shared().end());
      lines.push_back("weights of several layers, counted at the first: " + comma_list(names, kShownNames));
    }
    if (graph_.inner_initialisers > 0) {
      document_.left_out.push_back(plural(graph_.inner_initialisers, "initialiser") + " of graphs inside operators");
    }
  }

  const OnnxGraph& graph_;
  const ReadOptions& options_;
  OnnxWeights weights_;
  Document document_;
  std::map<std::string, std::size_t> uncounted_;
  std::vector<std::vector<std::string>> names_;  ///< of each entry of `uncounted`
  std::set<std::string> operators_;              ///< that are counted
  std::size_t einsums_ = 0;
  Count layer_weights_ = 0;
};

}  // namespace

bool is_onnx(const SourceText& source) {
  constexpr std::string_view kEnding = ".onnx";
  const std::string_view name = source.name;
  if (name.size() > kEnding.size() && name.substr(name.size() - kEnding.size()) == kEnding) return true;
  return has_model_fields(source.text);
}

Result<Document> read_onnx(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) {
    return fail(fmt::format("found {} files, expected one ONNX model", sources.size()),
                "weights in files of their own are not needed: leave them out");
  }
  if (!options.ranks.empty()) {
    return fail("-r gives the ranks of an einsum; a model's open sizes are given by --set",
                "for example: --set batch=8");
  }
  const auto essential = essential_model(sources.front().text);
  if (!essential) return tl::unexpected(essential.error());
  auto library = OnnxLibrary::parse(essential->bytes);
  if (!library) return tl::unexpected(library.error());
  auto graph = library->graph();
  if (!graph) return tl::unexpected(graph.error());
  Diagnostics faults = order_faults(*graph);
  for (Diagnostic& fault : set_symbols(options.settings, *graph)) faults.push_back(std::move(fault));
  if (faults.empty()) faults = infer_shapes(*library, *graph);
  if (!faults.empty()) return tl::unexpected(std::move(faults));
  if (essential->trains) graph->left_out.emplace_back("training_info: how the model is trained");
  return Assembly(*graph, options).assemble();
}

}  // namespace einflow
