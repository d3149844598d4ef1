// Normalisations in pieces, each an einsum.
#include <fmt/format.h>

#include <algorithm>

#include "notation/onnx/axes.hpp"
#include "notation/onnx/counted.hpp"

namespace einflow {

namespace {

using Operand = EinsumWriter::Operand;
using Names = std::vector<std::string>;

/// What is normalised over which ranks, and which ranks the gain and the shift have.
struct Normalisation {
  EinsumWriter writer;
  Names all;            ///< of the input
  Names kept;           ///< of mean and variance
  Names gain;           ///< of scale
  Names shift;          ///< of bias
  bool centred = true;  ///< whether the mean is subtracted
  bool gained = true;
  bool shifted = false;
};

std::vector<Einsum> pieces(const NodeInGraph& at, const Normalisation& norm, std::size_t gain_input,
                           std::size_t shift_input) {
  const ElementType type = at.output_type();
  std::vector<Einsum> made;
  const auto add = [&](const char* name, const Operand& output, const char* reduce, const char* map,
                       const std::vector<Operand>& inputs) {
    made.push_back(norm.writer.einsum(name, output, reduce, map, inputs));
  };
  const char* const sum = norm.kept.size() < norm.all.size() ? "+" : "";
  Operand data{"X", norm.all, at.type(0)};
  if (norm.centred) {
    const Operand total{"T", norm.kept, type}, mean{"M", norm.kept, type}, centred{"C", norm.all, type};
    add("sum", total, sum, "*", {data});
    add("mean", mean, "", "/", {total, {"N", {}, type}});
    add("center", centred, "", "-", {data, mean});
    data = centred;
  }
  const Operand squares{"V", norm.kept, type}, inverse{"R", norm.kept, type};
  add("square_sum", squares, sum, "square", {data});
  add("rsqrt", inverse, "", "rsqrt", {squares});
  Operand result{norm.gained || norm.shifted ? "H" : "Y", norm.all, type};
  add("scale", result, "", "*", {data, inverse});
  if (norm.gained) {
    const Operand gained{norm.shifted ? "G" : "Y", norm.all, type};
    add("gain", gained, "", "*", {result, {"W", norm.gain, at.type(gain_input)}});
    result = gained;
  }
  if (norm.shifted) add("shift", {"Y", norm.all, type}, "", "+", {result, {"B", norm.shift, at.type(shift_input)}});
  return made;
}

}  // namespace

Counted count_normalisation(const NodeInGraph& at) {
  const OnnxSizes sizes = at.sizes(0);
  const std::string& name = at.node.operation;
  Normalisation norm;
  for (std::size_t i = 0; i < sizes.size(); ++i) norm.writer.extent(fmt::format("d{}", i), sizes[i]);
  norm.all = numbered_ranks(sizes.size());
  if (name == "LayerNormalization" || name == "RMSNormalization") {
    const auto axis = axis_at(at.node.integer("axis", -1), sizes.size());
    if (!axis) return {{}, axis.error().front().message, false};
    norm.kept = numbered_ranks(*axis);
    const auto gain = broadcast_ranks(at.sizes(1), sizes), shift = broadcast_ranks(at.sizes(2), sizes);
    if (!gain || !shift) return {{}, "its scale or bias does not broadcast to its input", false};
    norm.gain = *gain;
    norm.shift = *shift;
    norm.centred = name == "LayerNormalization";
    norm.shifted = norm.centred && at.has(2);
    return {pieces(at, norm, 1, 2), {}, false};
  }
  if (sizes.size() < 2) return {{}, "its input has no channels", false};
  norm.shifted = true;
  if (name == "InstanceNormalization") {
    norm.kept = {"d0", "d1"};
    norm.gain = norm.shift = {"d1"};
    return {pieces(at, norm, 1, 2), {}, false};
  }
  const std::int64_t groups = at.node.integer("num_groups", 0);
  if (groups < 1 || sizes[1] % groups != 0) {
    return {{}, fmt::format("num_groups = {} does not divide its {} channels", groups, sizes[1]), false};
  }
  norm.writer.extent("g", groups);
  norm.writer.extent("k", sizes[1] / groups);
  norm.all = {"d0", "g", "k"};
  for (std::size_t i = 2; i < sizes.size(); ++i) norm.all.push_back(fmt::format("d{}", i));
  norm.kept = {"d0", "g"};
  // Opset 18 has one scale for a group, opset 21 one for a channel.
  norm.gain = norm.shift = at.sizes(1) == OnnxSizes{groups} && groups != sizes[1] ? Names{"g"} : Names{"g", "k"};
  return {pieces(at, norm, 1, 2), {}, false};
}

Counted count_batch_normalisation(const NodeInGraph& at) {
  if (at.node.integer("training_mode", 0) != 0 || at.node.outputs.size() > 1) {
    return {{}, "in training mode: only inference is counted", false};
  }
  const OnnxSizes sizes = at.sizes(0);
  if (sizes.size() < 2) return {{}, "its input has no channels", false};
  EinsumWriter writer;
  for (std::size_t i = 0; i < sizes.size(); ++i) writer.extent(fmt::format("d{}", i), sizes[i]);
  const Names all = numbered_ranks(sizes.size());
  const ElementType type = at.output_type();
  const Operand scaled{"S", all, type};
  return {{writer.einsum("scale", scaled, "", "*", {{"X", all, at.type(0)}, {"A", {"d1"}, at.type(1)}}),
           writer.einsum("shift", {"Y", all, type}, "", "+", {scaled, {"B", {"d1"}, at.type(2)}})},
          {},
          false};
}

Counted count_local_response(const NodeInGraph& at) {
  const OnnxSizes sizes = at.sizes(0);
  const std::int64_t window = at.node.integer("size", 0);
  if (sizes.size() < 2 || window < 1 || window > (std::int64_t{1} << 31)) {
    return {{}, fmt::format("size = {} is no window over channels", window), false};
  }
  EinsumWriter writer;
  for (std::size_t i = 0; i < sizes.size(); ++i) writer.extent(fmt::format("d{}", i), sizes[i]);
  writer.extent("r", window);
  const Names all = numbered_ranks(sizes.size());
  Names under = all;
  under[1] = "r";
  const ElementType type = at.output_type();
  const Operand squares{"V", all, type}, powers{"P", all, type}, data{"X", all, at.type(0)};
  Einsum sum = writer.einsum("square_sum", squares, "+", "square", {{"X", under, at.type(0)}});
  Axis& channel = sum.tensors[0].axes[1];
  channel.terms = {{sum.rank_named("d1"), 1}, {sum.rank_named("r"), 1}};
  channel.constant = -((window - 1) / 2);
  channel.stored_size = sizes[1];
  return {{std::move(sum), writer.einsum("power", powers, "", "power", {squares}),
           writer.einsum("divide", {"Y", all, type}, "", "/", {data, powers})},
          {},
          false};
}

}  // namespace einflow
