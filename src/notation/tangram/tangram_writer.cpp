#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/tangram/spec_match.hpp"
#include "notation/tangram/tangram.hpp"

namespace einflow {

namespace {

using namespace tangram;  // NOLINT: the words of this notation

std::string pair(const Extent& extent) { return fmt::format("[{}, {}]", extent.h, extent.w); }

std::string layer_words(const Layer& layer) {
  switch (layer.type) {
    case LayerType::conv:
      return fmt::format("{{type: conv, nifm: {}, nofm: {}, sofm: {}, sfil: {}, strd: {}, batch: {}}}", layer.nifm,
                         layer.nofm, pair(layer.sofm), pair(layer.sfil), pair(layer.strd), layer.batch);
    case LayerType::fc:
      return fmt::format("{{type: fc, nifm: {}, nofm: {}, sfil: {}, batch: {}}}", layer.nifm, layer.nofm,
                         pair(layer.sfil), layer.batch);
    case LayerType::pool:
      return fmt::format("{{type: pool, nofm: {}, sofm: {}, sreg: {}, strd: {}, batch: {}}}", layer.nofm,
                         pair(layer.sofm), pair(layer.sfil), pair(layer.strd), layer.batch);
    case LayerType::eltwise:
      break;
  }
  return fmt::format("{{type: eltwise, nofm: {}, sofm: {}, nreg: {}, batch: {}}}", layer.nofm, pair(layer.sofm),
                     layer.nreg, layer.batch);
}

std::string resource_words(const Resource& resource) {
  std::string text = fmt::format("{{dim_nodes: {}, dim_array: {}", pair(resource.nodes), pair(resource.array));
  if (resource.size_gbuf) text += fmt::format(", size_gbuf: {}", *resource.size_gbuf);
  if (resource.size_regf) text += fmt::format(", size_regf: {}", *resource.size_regf);
  text += fmt::format(", word: {}", resource.word);
  if (resource.access_forwarding) text += ", access_forwarding: true";
  return text + "}";
}

std::string schedule_words(const Schedule& schedule) {
  std::string text = fmt::format("  {}:\n    layer: {}\n", json_quoted(schedule.name), layer_words(schedule.layer));
  if (schedule.pass) text += fmt::format("    pass: [{}, {}]\n", schedule.pass->ifms, schedule.pass->ofms);
  for (std::size_t loop = 0; loop < 3; ++loop) {
    text += fmt::format("    {}: [{}, {}, {}]\n", std::array<const char*, 3>{"ti", "to", "tb"}[loop],
                        schedule.factors[0][loop], schedule.factors[1][loop], schedule.factors[2][loop]);
  }
  const auto& orders = schedule.orders;
  text += fmt::format("    orders: [[{}, {}, {}], [{}, {}, {}]]\n", orders[0][0], orders[0][1], orders[0][2],
                      orders[1][0], orders[1][1], orders[1][2]);
  if (!(schedule.resource.nodes == Extent{})) {
    static const std::array<const char*, 4> names{"OUTP", "OFMP", "BATP", "INPP"};
    std::string order;
    std::string factors;
    for (const int kind : schedule.part_order) {
      const auto at = static_cast<std::size_t>(kind);
      order += fmt::format("{}{}", order.empty() ? "" : ", ", names[at]);
      factors += fmt::format(", {}: {}", names[at], pair(schedule.parts[at]));
    }
    text += fmt::format("    part: {{order: [{}]{}}}\n", order, factors);
  }
  std::vector<std::string> bypass;
  for (const int data : {kFil, kIfmap, kOfmap}) {
    if (data == kFil && !schedule.layer.has_filter()) continue;
    if (schedule.bypass[static_cast<std::size_t>(data)]) {
      bypass.emplace_back(std::array<const char*, 3>{"FIL", "IFM", "OFM"}[static_cast<std::size_t>(data)]);
    }
  }
  return text + fmt::format("    bypass: [{}]\n", comma_list(bypass));
}

}  // namespace

Result<Writing> write_tangram(const Document& document) {
  Writing writing;
  std::optional<Resource> resource;
  std::string layers;
  Diagnostics errors;
  const auto about = [&](const DocumentLayer& layer, Diagnostics found) {
    for (Diagnostic& error : found) {
      if (document.layers.size() > 1) error.message = fmt::format("{}: {}", layer.name, error.message);
      errors.push_back(std::move(error));
    }
  };
  for (const DocumentLayer& layer : document.layers) {
    if (errors.size() >= 100) break;
    const auto spec = spec_of(layer);
    if (!spec) {
      about(layer, spec.error());
      continue;
    }
    std::string name = layer.name.empty() ? spec->einsum.name : layer.name;
    if (name.empty()) name = "layer";
    const auto match = match_schedule(*spec, name);
    if (!match) {
      about(layer, match.error());
      continue;
    }
    const Schedule& schedule = match->schedule;
    if (resource && !(*resource == schedule.resource)) {
      about(layer, {{{}, "it has another machine than the layers before; a schedule has one `resource`", {}, {}}});
      continue;
    }
    resource = schedule.resource;
    layers += schedule_words(schedule);
    for (const std::string& entry : match->left_out) {
      writing.left_out.push_back(document.layers.size() > 1 ? fmt::format("{}: {}", name, entry) : entry);
    }
    if (spec->einsum.name != name)
      writing.left_out.push_back(fmt::format("the name of the einsum: {}", in_quotes(name)));
    if (layer.repeat != 1) writing.left_out.push_back(fmt::format("{} occurs {} times", name, layer.repeat));
  }
  if (document.layers.empty()) return fail("the text has no layer that einflow counts");
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  for (const Uncounted& operation : document.uncounted) {
    writing.left_out.push_back(fmt::format("{} x {}: {}", operation.repeat, operation.operation, operation.because));
  }
  if (!document.name.empty()) writing.text += fmt::format("net: {}\n", json_quoted(document.name));
  writing.text += fmt::format("resource: {}\nlayers:\n{}", resource_words(*resource), layers);
  return writing;
}

}  // namespace einflow
