#include "report/network_view.hpp"

#include <fmt/format.h>

#include "report/problem_view.hpp"

namespace einflow {

namespace {

/// What is executed and held, of one occurrence of a layer or of all layers.
struct Totals {
  Count macs;
  Count other;  ///< operations that are no MACs
  Count parameters;
  bool all_parameters = true;  ///< every layer says how many it has
};

Totals totals_of(const DocumentLayer& layer) {
  Totals totals;
  for (const Einsum& einsum : layer.cascade.einsums) {
    (einsum.is_mac() ? totals.macs : totals.other) += einsum.executed_operations();
  }
  totals.all_parameters = layer.parameters.has_value();
  if (layer.parameters) totals.parameters = *layer.parameters;
  return totals;
}

Totals totals_of(const Document& document) {
  Totals all;
  for (const DocumentLayer& layer : document.layers) {
    const Totals one = totals_of(layer);
    all.macs += one.macs * layer.repeat;
    all.other += one.other * layer.repeat;
    all.parameters += one.parameters * layer.repeat;
    all.all_parameters = all.all_parameters && one.all_parameters;
  }
  return all;
}

std::string figure_or_nothing(const Count& value) { return value == Count(0) ? "" : grouped(value); }

std::string layers_table(const Document& document, const TextStyle& style) {
  Table table({"layer", "repeat", "MACs", "other op", "parameters"}, 1);
  for (const DocumentLayer& layer : document.layers) {
    const Totals one = totals_of(layer);
    table.add({layer.name.empty() ? "(no name)" : layer.name, grouped(Count(layer.repeat)), figure_or_nothing(one.macs),
               figure_or_nothing(one.other), figure_or_nothing(one.parameters)});
  }
  return table.str(style);
}

std::string totals_text(const Document& document, const TextStyle& style) {
  const Totals all = totals_of(document);
  Table table({"", ""}, 1);
  table.add({"MACs", grouped(all.macs)});
  table.add({"FLOPs (2 x MACs)", grouped(all.macs * 2)});
  table.add({"other operations", grouped(all.other)});
  if (all.all_parameters) table.add({"parameters of these layers", grouped(all.parameters)});
  std::string text = table.str(style);
  if (!all.all_parameters) {
    text += wrapped("parameters: not every layer says how many it has", style.width, "  ", "    ");
  }
  return text;
}

/// "b: 1, h: 32"; ranks of one einsum.
std::string ranks_text(const Einsum& einsum) {
  std::string text;
  for (const Rank& rank : einsum.ranks)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", rank.name, rank.extent);
  return text;
}

std::string einsum_line(const Einsum& einsum) {
  std::string line = to_text(einsum) + "; " + ranks_text(einsum);
  const Ratio& share = einsum.executed.share;
  if (!(share == Ratio(Count(1)))) {
    line += fmt::format("; executes {}/{}", share.numerator().str(), share.denominator().str());
    if (!einsum.executed.because.empty()) line += fmt::format(" ({})", einsum.executed.because);
  }
  return line;
}

std::string einsums_text(const Document& document, const TextStyle& style) {
  std::string out;
  for (const DocumentLayer& layer : document.layers) {
    const bool several = layer.cascade.einsums.size() > 1;
    if (!layer.name.empty()) {
      std::string line = layer.name;
      if (layer.machine)
        line += fmt::format(" on {}", layer.machine->name.empty() ? "its machine" : layer.machine->name);
      if (layer.mapping) line += ", mapped";
      out += wrapped(line, style.width, "  ", "    ");
    }
    for (const Einsum& einsum : layer.cascade.einsums) {
      const std::string part = several && !einsum.name.empty() ? einsum.name + ": " : "";
      out += wrapped(part + einsum_line(einsum), style.width, "    ", "      ");
    }
  }
  return out;
}

std::string list_text(std::string_view title, const std::vector<std::string>& lines, const TextStyle& style) {
  if (lines.empty()) return {};
  std::string out = section(title, style);
  for (const std::string& line : lines) out += wrapped(line, style.width, "  - ", "    ");
  return out;
}

std::vector<std::string> uncounted_lines(const Document& document) {
  std::vector<std::string> lines;
  for (const Uncounted& operation : document.uncounted) {
    std::string line = operation.repeat == 1 ? "" : fmt::format("{} x ", operation.repeat);
    line += operation.operation;
    if (!operation.name.empty()) line += fmt::format(" ({})", operation.name);
    lines.push_back(line + ": " + operation.because);
  }
  return lines;
}

/// Bytes as people read them, where the figure is one of whole bytes.
std::string in_binary_units(const DocumentFigure& figure) {
  const bool bytes = figure.unit == "B" || figure.unit.rfind("B ", 0) == 0;
  if (!bytes || figure.value < Count(1024)) return {};
  return " = " + bytes_text(Ratio(figure.value)) + figure.unit.substr(1);
}

}  // namespace

std::string network_text(const Document& document, std::string_view form, const TextStyle& style) {
  std::string out = heading(document.name.empty() ? "A network" : document.name, style);
  out += wrapped(fmt::format("read as: {}", form), style.width, "  ", "    ");
  if (document.layers.empty()) {
    out += wrapped("no operation of it has an einsum", style.width, "  ", "  ");
  } else {
    out += section("Layers, each figure of one occurrence", style);
    out += layers_table(document, style);
    out += section("In all", style);
    out += totals_text(document, style);
  }
  if (!document.figures.empty()) out += section("Figures", style);
  for (const DocumentFigure& figure : document.figures) {
    out += wrapped(fmt::format("{}: {}{}{}{}", figure.name, grouped(figure.value), figure.unit.empty() ? "" : " ",
                               figure.unit, in_binary_units(figure)),
                   style.width, "  ", "    ");
    if (!figure.derivation.empty()) out += wrapped("= " + figure.derivation, style.width, "    ", "      ");
  }
  out += list_text("Not counted", uncounted_lines(document), style);
  out += list_text("Left out", document.left_out, style);
  out += list_text("Conventions", document.conventions, style);
  if (!document.layers.empty()) out += section("Einsums", style) + einsums_text(document, style);
  return out;
}

Json network_json(const Document& document, std::string_view form) {
  Json layers = Json::array();
  for (const DocumentLayer& layer : document.layers) {
    Json einsums = Json::array();
    for (const Einsum& einsum : layer.cascade.einsums) einsums.push(einsum_json(einsum));
    const Totals one = totals_of(layer);
    Json entry = Json::object();
    entry.set("layer", layer.name).set("repeat", Count(layer.repeat));
    entry.set("macs", one.macs).set("other_operations", one.other);
    if (layer.parameters) entry.set("parameters", *layer.parameters);
    if (layer.machine) entry.set("machine", layer.machine->name);
    if (layer.mapping) entry.set("mapped", true);
    layers.push(entry.set("einsums", std::move(einsums)));
  }
  Json figures = Json::array();
  for (const DocumentFigure& figure : document.figures) {
    Json entry = Json::object();
    entry.set("figure", figure.name).set("value", figure.value);
    if (!figure.unit.empty()) entry.set("unit", figure.unit);
    figures.push(entry.set("derivation", figure.derivation));
  }
  Json uncounted = Json::array();
  for (const Uncounted& operation : document.uncounted) {
    Json entry = Json::object();
    entry.set("operation", operation.operation).set("name", operation.name).set("repeat", Count(operation.repeat));
    uncounted.push(entry.set("because", operation.because));
  }
  const Totals all = totals_of(document);
  Json network = Json::object();
  network.set("format", "einflow-network-1").set("name", document.name).set("form", std::string(form));
  network.set("macs", all.macs).set("flops", all.macs * 2).set("other_operations", all.other);
  if (all.all_parameters) network.set("layer_parameters", all.parameters);
  network.set("layers", std::move(layers)).set("figures", std::move(figures));
  network.set("uncounted", std::move(uncounted)).set("left_out", Json::array_of(document.left_out));
  return network.set("conventions", Json::array_of(document.conventions));
}

}  // namespace einflow
