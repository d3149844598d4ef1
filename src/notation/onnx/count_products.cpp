// Matrix products: MatMul, Gemm, Einsum.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "notation/onnx/axes.hpp"
#include "notation/onnx/counted.hpp"

namespace einflow {

namespace {

using Operand = EinsumWriter::Operand;

/// Batch ranks of a matrix under broadcast to the batch sizes of the product: "b", or "b0", "b1", ...
std::vector<std::string> batch_ranks(const OnnxSizes& own, const OnnxSizes& all, EinsumWriter& writer) {
  std::vector<std::string> ranks;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::size_t axis = all.size() - own.size() + i;
    if (own[i] != all[axis]) continue;
    ranks.push_back(all.size() == 1 ? "b" : fmt::format("b{}", axis));
    writer.extent(ranks.back(), all[axis]);
  }
  return ranks;
}

OnnxSizes batch_of(const OnnxSizes& sizes) {
  return sizes.size() < 2 ? OnnxSizes{} : OnnxSizes(sizes.begin(), sizes.end() - 2);
}

}  // namespace

Counted count_matrix_product(const NodeInGraph& at) {
  const bool quantised = at.node.operation == "QLinearMatMul";
  const std::size_t right = quantised ? 3 : 1;
  const OnnxSizes a = at.sizes(0), b = at.sizes(right);
  if (a.empty() || b.empty()) return {{}, "a product with a scalar is no matrix product", false};
  const auto all = broadcast({batch_of(a), batch_of(b)});
  if (!all) return {{}, all.error().front().message, false};
  EinsumWriter writer;
  Operand left{"X", batch_ranks(batch_of(a), *all, writer), at.type(0)};
  Operand other{"W", batch_ranks(batch_of(b), *all, writer), at.type(right)};
  Operand output{"Y", batch_ranks(*all, *all, writer), at.output_type()};
  if (a.size() > 1) {
    writer.extent("m", a[a.size() - 2]);
    left.ranks.emplace_back("m");
    output.ranks.emplace_back("m");
  }
  writer.extent("k", a.back());
  left.ranks.emplace_back("k");
  other.ranks.emplace_back("k");
  if (b.size() > 1) {
    writer.extent("n", b.back());
    other.ranks.emplace_back("n");
    output.ranks.emplace_back("n");
  }
  Counted counted = counted_as(writer.einsum("product", output, "+", "*", {left, other}));
  if (at.node.operation != "MatMul")
    counted.because = "zero points and rescaling of a quantised product; its MACs are counted";
  return counted;
}

Counted count_gemm(const NodeInGraph& at) {
  const OnnxSizes a = at.sizes(0), b = at.sizes(1), c = at.sizes(2);
  if (a.size() != 2 || b.size() != 2) return {{}, "its inputs are no matrices", false};
  const bool left_turned = at.node.integer("transA", 0) != 0, right_turned = at.node.integer("transB", 0) != 0;
  const auto factor = [&at](const char* name) {
    const auto found = at.node.attributes.find(name);
    return found == at.node.attributes.end() ? 1.0F : found->second.number;
  };
  const bool biased = at.has(2);
  EinsumWriter writer;
  writer.extent("m", left_turned ? a[1] : a[0]);
  writer.extent("k", left_turned ? a[0] : a[1]);
  writer.extent("n", right_turned ? b[0] : b[1]);
  const ElementType type = at.output_type();
  const Operand left{"X", left_turned ? std::vector<std::string>{"k", "m"} : std::vector<std::string>{"m", "k"},
                     at.type(0)};
  const Operand right{"W", right_turned ? std::vector<std::string>{"n", "k"} : std::vector<std::string>{"k", "n"},
                      at.type(1)};
  const bool scaled = factor("alpha") != 1.0F;
  Operand sum{scaled || biased ? "P" : "Y", {"m", "n"}, type};
  Counted counted;
  counted.einsums.push_back(writer.einsum("product", sum, "+", "*", {left, right}));
  if (scaled) {
    const Operand result{biased ? "S" : "Y", {"m", "n"}, type};
    counted.einsums.push_back(writer.einsum("scale", result, "", "*", {sum, {"alpha", {}, type}}));
    sum = result;
  }
  if (!biased) return counted;
  Operand bias{"B", {}, at.type(2)};
  const OnnxSizes output{writer.extent("m"), writer.extent("n")};
  for (std::size_t i = 0; i < c.size() && c.size() <= 2; ++i) {
    const std::size_t axis = 2 - c.size() + i;
    if (c[i] == output[axis]) bias.ranks.emplace_back(axis == 0 ? "m" : "n");
  }
  if (factor("beta") != 1.0F) {
    const Operand result{"C", bias.ranks, type};
    counted.einsums.push_back(writer.einsum("bias_scale", result, "", "*", {bias, {"beta", {}, type}}));
    bias = result;
  }
  counted.einsums.push_back(writer.einsum("bias", {"Y", {"m", "n"}, type}, "", "+", {sum, bias}));
  return counted;
}

Counted count_equation(const NodeInGraph& at) {
  std::vector<OnnxSizes> sizes;
  for (std::size_t i = 0; i < at.node.inputs.size(); ++i) sizes.push_back(at.sizes(i));
  const auto equation = parse_equation(at.node.text("equation", ""), sizes);
  if (!equation) return {{}, equation.error().front().message, false};
  if (sizes.size() > 2) {
    return {
        {}, "an Einsum of more than two tensors: its count depends on the order in which they are contracted", false};
  }
  EinsumWriter writer;
  for (const auto& [index, extent] : equation->extents) writer.extent(index, extent);
  std::vector<Operand> inputs;
  std::set<std::string> reduced;
  for (std::size_t o = 0; o < sizes.size(); ++o) {
    Operand operand{o == 0 ? "X" : "W", {}, at.type(o)};
    std::set<std::string> seen;
    for (const std::string& index : equation->operands[o]) {
      if (index.empty()) continue;
      if (!seen.insert(index).second)
        return {{}, "its equation takes a diagonal: a rank may be in one axis of a tensor", false};
      operand.ranks.push_back(index);
      reduced.insert(index);
    }
    inputs.push_back(std::move(operand));
  }
  for (const std::string& index : equation->output) reduced.erase(index);
  if (sizes.size() == 1 && reduced.empty()) return {{}, "its equation only permutes axes: no arithmetic", true};
  return counted_as(writer.einsum("product", {"Y", equation->output, at.output_type()}, "+", "*", inputs));
}

}  // namespace einflow
