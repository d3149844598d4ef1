#include "notation/document.hpp"

#include <fmt/format.h>

#include "base/message.hpp"

namespace einflow {

Document document_of(const ReadSpec& read) {
  Document document;
  document.name = read.spec.einsum.name;
  DocumentLayer layer;
  layer.name = read.spec.einsum.name;
  layer.cascade.name = read.spec.einsum.name;
  layer.cascade.einsums.push_back(read.spec.einsum);
  layer.machine = read.spec.machine;
  if (!read.spec.mapping.holds.empty()) layer.mapping = read.spec.mapping;
  document.layers.push_back(std::move(layer));
  document.conventions = read.conventions;
  return document;
}

Result<Spec> spec_of(const DocumentLayer& layer, const std::string& part) {
  const std::vector<Einsum>& einsums = layer.cascade.einsums;
  const Einsum* chosen = nullptr;
  std::vector<std::string> names;
  for (const Einsum& einsum : einsums) {
    names.push_back(einsum.name);
    if (einsum.name == part || (part.empty() && einsums.size() == 1)) chosen = &einsum;
  }
  if (chosen == nullptr) {
    if (part.empty()) {
      return fail(fmt::format("the layer {} has {} einsums; choose one", in_quotes(layer.name), einsums.size()),
                  fmt::format("--layer {}/PART, parts: {}", layer.name, comma_list(names)));
    }
    return fail(fmt::format("the layer {} has no part {}", in_quotes(layer.name), in_quotes(part)),
                name_hint(part, names, "parts"));
  }
  if (!layer.machine) {
    return fail("the machine is missing: this notation has none",
                "--on NAME takes one of the library; `einflow machines` lists them");
  }
  Spec spec{*chosen, *layer.machine, {}};
  if (layer.mapping) spec.mapping = *layer.mapping;
  return spec;
}

Result<const DocumentLayer*> choose_layer(const Document& document, const std::string& name) {
  if (document.layers.empty()) return fail("the text has no layer that einflow counts");
  if (name.empty() && document.layers.size() == 1) return &document.layers.front();
  std::vector<std::string> names;
  for (const DocumentLayer& layer : document.layers) {
    if (layer.name == name && !name.empty()) return &layer;
    names.push_back(layer.name);
  }
  if (document.layers.size() == 1 && names.front().empty()) {
    return fail(fmt::format("there is no layer {}: the text has one, without a name", in_quotes(name)),
                "leave --layer out");
  }
  if (name.empty()) {
    return fail(fmt::format("the text has {} layers; choose one", names.size()),
                "--layer NAME, names: " + comma_list(names));
  }
  return fail(fmt::format("there is no layer {}", in_quotes(name)), name_hint(name, names, "layers"));
}

}  // namespace einflow
