#include "notation/spec_writer.hpp"

#include <fmt/format.h>

#include <set>

#include "base/message.hpp"
#include "base/utf8.hpp"

namespace einflow {

namespace {

/// "a, b" from a list of things.
template <typename Things, typename Show>
std::string joined(const Things& things, Show show) {
  std::string text;
  for (const auto& thing : things) text += (text.empty() ? "" : ", ") + show(thing);
  return text;
}

/// One past the last position of an axis that its ranks reach.
Count reach(const Einsum& einsum, const Axis& axis) {
  Count last = axis.constant;
  for (const Term& term : axis.terms) {
    last += Count(term.coefficient) * (Count(einsum.ranks[static_cast<std::size_t>(term.rank)].extent) - 1);
  }
  return last + 1;
}

bool is_padded(const Tensor& tensor) {
  for (const Axis& axis : tensor.axes) {
    if (axis.stored_size) return true;
  }
  return false;
}

/// The keys of a problem: "einsum: ...", "ranks: ...".
std::vector<std::string> problem_entries(const Einsum& einsum) {
  std::vector<std::string> entries{"einsum: " + json_quoted(to_text(einsum))};
  entries.push_back(fmt::format(
      "ranks: {{{}}}", joined(einsum.ranks, [](const Rank& r) { return fmt::format("{}: {}", r.name, r.extent); })));
  entries.push_back(fmt::format("types: {{{}}}", joined(einsum.tensors, [](const Tensor& tensor) {
                                  return tensor.name + ": " + tensor.type.name;
                                })));
  std::string shapes;
  for (const Tensor& tensor : einsum.tensors) {
    if (!is_padded(tensor)) continue;
    const std::string sizes = joined(tensor.axes, [&](const Axis& axis) {
      return (axis.stored_size ? Count(*axis.stored_size) : reach(einsum, axis)).str();
    });
    shapes += fmt::format("{}{}: [{}]", shapes.empty() ? "" : ", ", tensor.name, sizes);
  }
  if (!shapes.empty()) entries.push_back("shapes: {" + shapes + "}");
  const Ratio& share = einsum.executed.share;
  if (!(share == Ratio(Count(1)))) {
    entries.push_back(fmt::format("executes: \"{}/{}\"", share.numerator().str(), share.denominator().str()));
    if (!einsum.executed.because.empty()) entries.push_back("because: " + json_quoted(einsum.executed.because));
  }
  return entries;
}

class LevelWriter {
 public:
  LevelWriter(const Machine& machine, Diagnostics& errors) : machine_(machine), errors_(errors) {}

  std::string operator()(const Storage& level) {
    std::string text = "storage: " + level.name;
    if (level.capacity_bits) text += ", capacity: " + size(*level.capacity_bits);
    if (level.shared_port && level.read_bandwidth) {
      text += fmt::format(", bandwidth: {{shared: {}}}", rate(*level.read_bandwidth, "B", level.name));
    } else if (level.read_bandwidth || level.write_bandwidth) {
      text += ", bandwidth: {" +
              both(level.read_bandwidth, level.write_bandwidth,
                   [&](const Ratio& figure) { return rate(figure, "B", level.name); }) +
              "}";
    }
    if (level.read_energy || level.write_energy) {
      text += ", energy: {" + both(level.read_energy, level.write_energy, energy) + "}";
    }
    if (level.access_bits) text += ", access: " + size(*level.access_bits);
    if (level.double_buffered) text += ", double_buffered: true";
    return text + source(level.source);
  }

  std::string operator()(const Mesh& level) {
    std::string text = fmt::format("mesh: {}, axes: {{{}}}", level.name, joined(level.axes, [](const MeshAxis& axis) {
                                     return fmt::format("{}: {}", axis.name, axis.size);
                                   }));
    text += fmt::format(", multicast: {}, reduction: {}, forwarding: {}", level.multicast, level.reduction,
                        level.forwarding);
    if (level.systolic == SystolicTiming::last_operation) text += ", systolic: last-operation";
    if (level.systolic == SystolicTiming::drained) text += ", systolic: drained";
    if (level.hop_energy) text += ", hop_energy: " + energy(*level.hop_energy);
    return text + source(level.source);
  }

  std::string operator()(const Compute& level) {
    std::string text = "compute: " + level.name;
    if (!level.rate.empty()) {
      text += ", rate: " + by_type(level.rate, [&](const Ratio& figure) { return rate(figure, "op", level.name); });
    }
    if (!level.energy.empty()) {
      text += ", energy: " + by_type(level.energy, [](double figure) { return fmt::format("{} pJ", figure); });
    }
    if (!level.atomic.empty()) {
      text += fmt::format(", atomic: {{{}}}", joined(level.atomic, [](const auto& rank) {
                            return fmt::format("{}: {}", rank.first, rank.second);
                          }));
    }
    if (level.operand_latches) text += ", latches: true";
    return text + source(level.source);
  }

 private:
  static std::string source(const std::string& text) { return text.empty() ? "" : ", source: " + json_quoted(text); }

  static std::string size(Count bits) {
    if (bits.value() % 8 != 0) return bits.str() + " bit";
    const Count bytes(bits.value() / 8);
    if (bytes.value() % 1024 == 0) return Count(bytes.value() / 1024).str() + " KiB";
    return bytes.str() + " B";
  }

  static std::string energy(const AccessEnergy& figure) {
    const char* const per = figure.per == AccessEnergy::Per::byte      ? "B"
                            : figure.per == AccessEnergy::Per::element ? "element"
                                                                       : "access";
    return fmt::format("{} pJ/{}", figure.picojoules, per);
  }

  /// A figure per cycle; where that has no finite decimal, per second.
  std::string rate(const Ratio& figure, std::string_view unit, const std::string& level) {
    const std::string per_cycle = exact_decimal(figure);
    if (!per_cycle.empty()) return fmt::format("{} {}/cycle", per_cycle, unit);
    const std::string per_second = machine_.clock_stated ? exact_decimal(figure * machine_.clock_hz) : "";
    if (!per_second.empty()) return fmt::format("{} {}/s", per_second, unit);
    errors_.push_back({{},
                       fmt::format("a figure of {}, {}/{} {} per cycle, has no finite decimal", in_quotes(level),
                                   figure.numerator().str(), figure.denominator().str(), unit),
                       {},
                       {}});
    return {};
  }

  template <typename Figure, typename Show>
  static std::string both(const std::optional<Figure>& read, const std::optional<Figure>& write, Show show) {
    std::string text;
    if (read) text += "read: " + show(*read);
    if (write) text += (text.empty() ? "write: " : ", write: ") + show(*write);
    return text;
  }

  template <typename Figure, typename Show>
  static std::string by_type(const PerType<Figure>& figures, Show show) {
    if (figures.size() == 1 && figures.begin()->first.empty()) return show(figures.begin()->second);
    return "{" + joined(figures, [&](const auto& figure) { return figure.first + ": " + show(figure.second); }) + "}";
  }

  const Machine& machine_;
  Diagnostics& errors_;
};

/// Every line of a text with `margin` before it.
std::string indented(const std::string& text, std::string_view margin) {
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    out += fmt::format("{}{}\n", margin, text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

/// A name that problem files accept: other characters become '_'.
std::string entry_name(const std::string& name, std::size_t number) {
  std::string entry;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    entry += plain ? c : '_';
  }
  return entry.empty() ? fmt::format("layer{}", number) : entry;
}

std::string layer_text(const DocumentLayer& layer, const std::string& name) {
  std::string text = "  - name: " + name + "\n";
  if (layer.repeat != 1) text += fmt::format("    repeat: {}\n", layer.repeat);
  if (layer.cascade.einsums.size() == 1) {
    for (const std::string& entry : problem_entries(layer.cascade.einsums.front())) text += "    " + entry + "\n";
    return text;
  }
  return text;
}

}  // namespace

std::string problem_text(const Einsum& einsum) {
  std::string text = "problem:\n";
  if (!einsum.name.empty()) text += "  name: " + json_quoted(einsum.name) + "\n";
  for (const std::string& entry : problem_entries(einsum)) text += "  " + entry + "\n";
  return text;
}

Result<std::string> machine_text(const Machine& machine) {
  std::string text = "machine:\n";
  if (!machine.name.empty()) text += "  name: " + json_quoted(machine.name) + "\n";
  if (machine.clock_stated) text += fmt::format("  clock: {} Hz\n", exact_decimal(machine.clock_hz));
  if (!machine.source.empty()) text += "  source: " + json_quoted(machine.source) + "\n";
  if (!machine.notes.empty()) {
    text += "  notes:\n";
    for (const std::string& note : machine.notes) text += "    - " + json_quoted(note) + "\n";
  }
  text += "  levels:\n";
  Diagnostics errors;
  LevelWriter writer(machine, errors);
  for (const Level& level : machine.levels) text += "    - {" + std::visit(writer, level) + "}\n";
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return text;
}

Result<std::string> spec_text(const Spec& spec) {
  const auto machine = machine_text(spec.machine);
  if (!machine) return tl::unexpected(machine.error());
  std::string text = "einflow: 1\n" + problem_text(spec.einsum) + *machine;
  if (!spec.mapping.holds.empty()) {
    text += "mapping: |\n" + indented(to_text(spec.mapping, spec.einsum, spec.machine), "  ");
  }
  return text;
}

Result<Writing> write_spec(const Document& document) {
  const auto layer = choose_layer(document, {});
  if (!layer) return tl::unexpected(layer.error());
  if (!(*layer)->machine && (*layer)->cascade.einsums.size() == 1) {
    return Writing{"einflow: 1\n" + problem_text((*layer)->cascade.einsums.front()),
                   {},
                   {"the text has no machine: add `machine: NAME` (einflow machines lists them)"}};
  }
  const auto spec = spec_of(**layer);
  if (!spec) return tl::unexpected(spec.error());
  const auto text = spec_text(*spec);
  if (!text) return tl::unexpected(text.error());
  return Writing{*text, {}, {}};
}

Result<Writing> write_problem_file(const Document& document) {
  Writing writing;
  writing.text = "name: " + entry_name(document.name, 0) + "\n";
  if (!document.conventions.empty()) {
    writing.text += "notes:\n";
    for (const std::string& note : document.conventions) writing.text += "  - " + json_quoted(note) + "\n";
  }
  writing.text += document.layers.empty() ? "layers: []  # nothing that einflow counts\n" : "layers:\n";
  std::set<std::string> taken;
  std::size_t number = 0;
  for (const DocumentLayer& layer : document.layers) {
    std::string name = entry_name(layer.name, ++number);
    while (!taken.insert(name).second) name += "_";
    // Einsums of a cascade share ranks by name only there: here each is a layer of its own.
    if (layer.cascade.einsums.size() == 1) {
      writing.text += layer_text(layer, name);
    } else {
      for (const Einsum& einsum : layer.cascade.einsums) {
        DocumentLayer part;
        part.repeat = layer.repeat;
        part.cascade.einsums.push_back(einsum);
        writing.text += layer_text(part, name + "." + entry_name(einsum.name, 0));
      }
    }
    if (layer.mapping) writing.left_out.push_back(fmt::format("{}: its machine and mapping", layer.name));
  }
  for (const Uncounted& operation : document.uncounted) {
    writing.left_out.push_back(fmt::format("{} x {}: {}", operation.repeat, operation.operation, operation.because));
  }
  return writing;
}

}  // namespace einflow
