// Reductions, pools and Softmax.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "notation/onnx/axes.hpp"
#include "notation/onnx/counted.hpp"
#include "notation/onnx/windows.hpp"

namespace einflow {

namespace {

using Operand = EinsumWriter::Operand;
using Names = std::vector<std::string>;

/// A reduction as a function before it, the reduction and a function behind it.
struct Recipe {
  const char* before;
  const char* reduce;
  const char* after;
};

const std::map<std::string, Recipe>& recipes() {
  static const std::map<std::string, Recipe> known{
      {"ReduceSum", {"*", "+", ""}},         {"ReduceMean", {"*", "+", "mean"}},
      {"ReduceMax", {"*", "max", ""}},       {"ReduceMin", {"*", "min", ""}},
      {"ReduceProd", {"*", "*", ""}},        {"ReduceL1", {"abs", "+", ""}},
      {"ReduceL2", {"square", "+", "sqrt"}}, {"ReduceSumSquare", {"square", "+", ""}},
      {"ReduceLogSum", {"*", "+", "log"}},   {"ReduceLogSumExp", {"exp", "+", "log"}}};
  return known;
}

}  // namespace

Counted count_reduction(const NodeInGraph& at) {
  const auto recipe = recipes().find(at.node.operation);
  if (recipe == recipes().end()) return {{}, "einflow has no einsum for this operator", false};
  const OnnxSizes sizes = at.sizes(0);
  const auto reduced = reduced_axes(at.graph, at.node, sizes.size());
  if (!reduced) return {{}, reduced.error().front().message, false};
  if (!*reduced) return {{}, "the axes that it reduces are computed while the network runs", false};
  EinsumWriter writer;
  Names kept;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    writer.extent(fmt::format("d{}", i), sizes[i]);
    if (!(**reduced)[i]) kept.push_back(fmt::format("d{}", i));
  }
  const std::string after = recipe->second.after;
  const bool identity = std::string(recipe->second.before) == "*" && after != "log";
  if (kept.size() == sizes.size() && identity) return {{}, "it reduces no axis: no arithmetic", true};
  const ElementType type = at.output_type();
  const Operand sum{after.empty() ? "Y" : "S", kept, type};
  const bool nothing = kept.size() == sizes.size();
  Counted counted;
  counted.einsums.push_back(writer.einsum("reduce", sum, nothing ? "" : recipe->second.reduce, recipe->second.before,
                                          {{"X", numbered_ranks(sizes.size()), at.type(0)}}));
  if (after == "mean") {
    counted.einsums.push_back(writer.einsum("divide", {"Y", kept, type}, "", "/", {sum, {"N", {}, type}}));
  } else if (!after.empty()) {
    counted.einsums.push_back(writer.einsum(after, {"Y", kept, type}, "", after, {sum}));
  }
  return counted;
}

Counted count_pool(const NodeInGraph& at) {
  const std::vector<std::int64_t>* kernel = at.node.integers("kernel_shape");
  const OnnxSizes input = at.sizes(0), output = at.output_sizes();
  if (kernel == nullptr || kernel->size() > 3) return {{}, "a pool over more than 3 spatial axes", false};
  const auto windows = windows_of(at.node, input, *kernel);
  if (!windows) return {{}, windows.error().front().message, false};
  constexpr std::array<const char*, 3> kOutput{"z", "p", "q"}, kKernel{"t", "r", "s"};
  const std::size_t axes = kernel->size();
  const std::size_t first = axes == 3 ? 0 : 1;
  EinsumWriter writer;
  writer.extent("n", input[0]);
  writer.extent("c", input[1]);
  Names output_ranks{"n", "c"}, places, input_ranks{"n", "c"};
  for (std::size_t i = 0; i < axes; ++i) {
    output_ranks.emplace_back(kOutput[first + i]);
    places.emplace_back(kOutput[first + i]);
    writer.extent(kOutput[first + i], output[i + 2]);
    writer.extent(kKernel[first + i], (*windows)[i].kernel);
    input_ranks.emplace_back(kKernel[first + i]);
  }
  const bool average = at.node.operation == "AveragePool";
  const ElementType type = at.output_type();
  const Operand sum{average ? "S" : "Y", output_ranks, type};
  Einsum einsum = writer.einsum("reduce", sum, average ? "+" : "max", "*", {{"X", input_ranks, at.type(0)}});
  bool padded = false;
  for (std::size_t i = 0; i < axes; ++i) {
    const OnnxWindow& window = (*windows)[i];
    Axis& axis = einsum.tensors[0].axes[i + 2];
    axis.terms = {{einsum.rank_named(kOutput[first + i]), window.stride},
                  {einsum.rank_named(kKernel[first + i]), window.dilation}};
    axis.constant = -window.begin;
    // With ceil_mode the last window may reach beyond the padding that is stated.
    const Count last = Count(output[i + 2] - 1) * Count(window.stride) +
                       Count(window.kernel - 1) * Count(window.dilation) - Count(window.begin);
    if (window.begin > 0 || last >= Count(window.size)) {
      axis.stored_size = window.size;
      padded = true;
    }
  }
  Counted counted = counted_as(std::move(einsum));
  if (average) {
    const bool all_count = !padded || at.node.integer("count_include_pad", 0) != 0;
    const Operand counts{"N", all_count ? Names{} : places, type};
    counted.einsums.push_back(writer.einsum("divide", {"Y", output_ranks, type}, "", "/", {sum, counts}));
  }
  return counted;
}

Counted count_global_pool(const NodeInGraph& at) {
  const OnnxSizes input = at.sizes(0);
  if (input.size() < 3) return {{}, "a pool without spatial axes", false};
  constexpr std::array<const char*, 3> kOutput{"z", "p", "q"};
  EinsumWriter writer;
  Names ranks{"n", "c"};
  writer.extent("n", input[0]);
  writer.extent("c", input[1]);
  for (std::size_t i = 2; i < input.size(); ++i) {
    const std::size_t axes = input.size() - 2;
    ranks.push_back(axes <= 3 ? kOutput[i - 2 + (axes == 3 ? 0 : 1)] : fmt::format("d{}", i));
    writer.extent(ranks.back(), input[i]);
  }
  const bool average = at.node.operation == "GlobalAveragePool";
  const ElementType type = at.output_type();
  const Operand sum{average ? "S" : "Y", {"n", "c"}, type};
  Counted counted = counted_as(writer.einsum("reduce", sum, average ? "+" : "max", "*", {{"X", ranks, at.type(0)}}));
  if (average) {
    counted.einsums.push_back(writer.einsum("divide", {"Y", {"n", "c"}, type}, "", "/", {sum, {"N", {}, type}}));
  }
  return counted;
}

Counted count_softmax(const NodeInGraph& at) {
  const OnnxSizes sizes = at.sizes(0);
  const bool one_axis = at.node.opset >= 13;
  if (sizes.empty()) return {{}, "of a scalar: it is 1", false};
  const auto axis = axis_at(at.node.integer("axis", one_axis ? -1 : 1), sizes.size());
  // Before opset 13 the input is taken as a matrix: everything from `axis` on is one row.
  if (!axis && (one_axis || sizes.size() > 1)) return {{}, axis.error().front().message, false};
  const std::size_t from = axis ? *axis : sizes.size();
  EinsumWriter writer;
  Names kept;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    writer.extent(fmt::format("d{}", i), sizes[i]);
    if (one_axis ? i != from : i < from) kept.push_back(fmt::format("d{}", i));
  }
  const Names all = numbered_ranks(sizes.size());
  const ElementType type = at.output_type();
  const Operand input{"X", all, at.type(0)}, most{"M", kept, type}, shifted{"D", all, type}, powers{"E", all, type},
      sums{"L", kept, type}, output{"Y", all, type};
  const bool reduces = kept.size() < all.size();
  Counted counted;
  const auto add = [&](const char* name, const Operand& result, const char* reduce, const char* map,
                       std::vector<Operand> inputs) {
    counted.einsums.push_back(writer.einsum(name, result, reduces ? reduce : "", map, inputs));
  };
  add("max", most, "max", "*", {input});
  add("subtract", shifted, "", "-", {input, most});
  add("exp", powers, "", "exp", {shifted});
  add("sum", sums, "+", "*", {powers});
  if (at.node.operation == "Softmax") {
    add("divide", output, "", "/", {powers, sums});
  } else {
    const Operand logs{"G", kept, type};
    add("log", logs, "", "log", {sums});
    add("difference", output, "", "-", {shifted, logs});
  }
  return counted;
}

}  // namespace einflow
