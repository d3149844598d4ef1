// Operators that work element by element.
#include <fmt/format.h>

#include "notation/onnx/axes.hpp"
#include "notation/onnx/counted.hpp"

namespace einflow {

namespace {

using Operand = EinsumWriter::Operand;

EinsumWriter writer_over(const OnnxSizes& sizes) {
  EinsumWriter writer;
  for (std::size_t i = 0; i < sizes.size(); ++i) writer.extent(fmt::format("d{}", i), sizes[i]);
  return writer;
}

constexpr const char* kNoBroadcast = "its inputs do not broadcast to its output";

}  // namespace

Counted count_unary(const NodeInGraph& at, const std::string& function) {
  const OnnxSizes sizes = at.output_sizes();
  const auto own = broadcast_ranks(at.sizes(0), sizes);
  if (!own) return {{}, kNoBroadcast, false};
  const Operand output{"Y", numbered_ranks(sizes.size()), at.output_type()};
  return counted_as(writer_over(sizes).einsum(function, output, "", function, {{"X", *own, at.type(0)}}));
}

Counted count_binary(const NodeInGraph& at, const std::string& map) {
  const OnnxSizes sizes = at.output_sizes();
  // Before opset 7 the second input is laid at `axis` of the first; since then both are broadcast as in numpy.
  std::optional<std::int64_t> from;
  if (at.node.opset < 7 && at.node.attributes.count("axis") > 0) from = at.node.integer("axis", 0);
  const auto left = broadcast_ranks(at.sizes(0), sizes), right = broadcast_ranks(at.sizes(1), sizes, from);
  if (!left || !right) return {{}, kNoBroadcast, false};
  const Operand output{"Z", numbered_ranks(sizes.size()), at.output_type()};
  return counted_as(
      writer_over(sizes).einsum("elementwise", output, "", map, {{"X", *left, at.type(0)}, {"Y", *right, at.type(1)}}));
}

Counted count_variadic(const NodeInGraph& at, const std::string& map) {
  const std::size_t count = at.node.inputs.size();
  if (count == 1) return {{}, "of one tensor: no arithmetic", true};
  if (count > 200) return {{}, fmt::format("of {} tensors; at most 200 are written out", count), false};
  Counted counted;
  OnnxSizes so_far = at.sizes(0);
  Operand sum{"X0", {}, at.type(0)};
  const bool mean = at.node.operation == "Mean";
  for (std::size_t i = 1; i < count; ++i) {
    const auto sizes = broadcast({so_far, at.sizes(i)});
    if (!sizes) return {{}, sizes.error().front().message, false};
    const EinsumWriter writer = writer_over(*sizes);
    const auto left = broadcast_ranks(so_far, *sizes), right = broadcast_ranks(at.sizes(i), *sizes);
    if (!left || !right) return {{}, kNoBroadcast, false};
    sum.ranks = *left;
    const Operand next{fmt::format("X{}", i), *right, at.type(i)};
    const Operand result{i + 1 == count && !mean ? "Y" : fmt::format("S{}", i), numbered_ranks(sizes->size()),
                         at.output_type()};
    counted.einsums.push_back(writer.einsum(fmt::format("step_{}", i), result, "", map, {sum, next}));
    sum = result;
    so_far = *sizes;
  }
  if (mean) {
    const EinsumWriter writer = writer_over(so_far);
    counted.einsums.push_back(
        writer.einsum("divide", {"Y", sum.ranks, at.output_type()}, "", "/", {sum, {"N", {}, at.output_type()}}));
  }
  return counted;
}

}  // namespace einflow
