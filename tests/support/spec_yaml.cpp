#include "support/spec_yaml.hpp"

#include <fmt/format.h>

namespace einflow::testing {

namespace {

/// Exact for denominators made of twos and fives, as all figures from texts are.
std::string decimal(const Ratio& ratio) {
  Count denominator = ratio.denominator();
  Count numerator = ratio.numerator();
  std::string digits = Count(numerator.value() / denominator.value()).str();
  Count rest(numerator.value() % denominator.value());
  if (rest != Count(0)) digits += ".";
  for (int i = 0; i < 30 && rest != Count(0); ++i) {
    rest *= 10;
    digits += Count(rest.value() / denominator.value()).str();
    rest = Count(rest.value() % denominator.value());
  }
  return digits;
}

std::string problem_yaml(const Einsum& einsum) {
  std::string ranks;
  for (const Rank& rank : einsum.ranks) {
    ranks += fmt::format("{}{}: {}", ranks.empty() ? "" : ", ", rank.name, rank.extent);
  }
  std::string types;
  std::string shapes;
  for (const Tensor& tensor : einsum.tensors) {
    types += fmt::format("{}{}: {}", types.empty() ? "" : ", ", tensor.name, tensor.type.name);
    bool padded = false;
    std::string sizes;
    for (const Axis& axis : tensor.axes) {
      std::int64_t size = axis.constant + 1;  // of an axis that is stored as far as the ranks reach
      for (const Term& term : axis.terms) {
        size += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
      }
      padded = padded || axis.stored_size.has_value();
      sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", axis.stored_size.value_or(size));
    }
    if (padded) shapes += fmt::format("{}{}: [{}]", shapes.empty() ? "" : ", ", tensor.name, sizes);
  }
  std::string text =
      fmt::format("problem:\n  einsum: \"{}\"\n  ranks: {{{}}}\n  types: {{{}}}\n", to_text(einsum), ranks, types);
  if (!shapes.empty()) text += fmt::format("  shapes: {{{}}}\n", shapes);
  return text;
}

std::string level_yaml(const Storage& storage) {
  std::string text = "storage: " + storage.name;
  if (storage.shared_port && storage.read_bandwidth) {
    text += fmt::format(", bandwidth: {{shared: {} B/cycle}}", decimal(*storage.read_bandwidth));
  } else if (storage.read_bandwidth || storage.write_bandwidth) {
    text += ", bandwidth: {";
    if (storage.read_bandwidth) text += fmt::format("read: {} B/cycle", decimal(*storage.read_bandwidth));
    if (storage.read_bandwidth && storage.write_bandwidth) text += ", ";
    if (storage.write_bandwidth) text += fmt::format("write: {} B/cycle", decimal(*storage.write_bandwidth));
    text += "}";
  }
  if (storage.double_buffered) text += ", double_buffered: true";
  if (storage.access_bits) text += fmt::format(", access: {} B", Count(storage.access_bits->value() / 8).str());
  return text;
}

std::string level_yaml(const Mesh& mesh) {
  std::string axes;
  for (const MeshAxis& axis : mesh.axes) {
    axes += fmt::format("{}{}: {}", axes.empty() ? "" : ", ", axis.name, axis.size);
  }
  return fmt::format("mesh: {}, axes: {{{}}}, multicast: {}, reduction: {}, forwarding: {}", mesh.name, axes,
                     mesh.multicast, mesh.reduction, mesh.forwarding);
}

std::string level_yaml(const Compute& compute) {
  std::string text = "compute: " + compute.name;
  std::string rates;
  for (const auto& [type, rate] : compute.rate) {
    if (type.empty())
      text += fmt::format(", rate: {} op/cycle", decimal(rate));
    else
      rates += fmt::format("{}{}: {} op/cycle", rates.empty() ? "" : ", ", type, decimal(rate));
  }
  if (!rates.empty()) text += fmt::format(", rate: {{{}}}", rates);
  std::string atomic;
  for (const auto& [rank, extent] : compute.atomic) {
    atomic += fmt::format("{}{}: {}", atomic.empty() ? "" : ", ", rank, extent);
  }
  if (!atomic.empty()) text += fmt::format(", atomic: {{{}}}", atomic);
  if (compute.operand_latches) text += ", latches: true";
  return text;
}

}  // namespace

std::string to_yaml(const Spec& spec) {
  std::string text = "einflow: 1\n" + problem_yaml(spec.einsum);
  text += fmt::format("machine:\n  name: {}\n  clock: 1 GHz\n  levels:\n",
                      spec.machine.name.empty() ? "toy" : spec.machine.name);
  for (const Level& level : spec.machine.levels) {
    text += "    - {" + std::visit([](const auto& kind) { return level_yaml(kind); }, level) + "}\n";
  }
  text += "mapping: |\n";
  const std::string nest = to_text(spec.mapping, spec.einsum, spec.machine);
  for (std::size_t begin = 0; begin < nest.size();) {
    const std::size_t end = nest.find('\n', begin);
    text += "  " + nest.substr(begin, end - begin) + "\n";
    begin = end + 1;
  }
  return text;
}

}  // namespace einflow::testing
