#include "notation/timeloop/parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/fields.hpp"

namespace einflow::timeloop {

namespace {

/// The first `{{` or `{%` outside comments: a template, which is no YAML before it has been filled in.
std::optional<Diagnostic> find_template(const SourceText& source) {
  int number = 0;
  for (std::size_t begin = 0; begin < source.text.size();) {
    ++number;
    const std::size_t end = std::min(source.text.find('\n', begin), source.text.size());
    const std::string_view line = std::string_view(source.text).substr(begin, end - begin);
    begin = end + 1;
    const std::size_t at = std::min(line.find("{{"), line.find("{%"));
    if (at == std::string_view::npos || at > line.find('#')) continue;
    return Diagnostic{
        {number, 1 + code_points(line.substr(0, at)), 2},
        fmt::format("{} begins a Jinja template; templates are not filled in", in_quotes(line.substr(at, 2))),
        "give the files that it stands for, or Timeloop's parsed-processed-input.yaml",
        source.name};
  }
  return std::nullopt;
}

/// Hyphens to underscores in keys; names that a user chose (the keys of `instance`) stay as they are.
void normalise(YamlNode& node, Diagnostics& errors) {
  if (!node.tag().empty() && (node.tag().rfind("!include", 0) == 0 || node.tag() == "!nomerge")) {
    add_error(errors, node.span, fmt::format("the tag {} is not followed", in_quotes(node.tag())),
              node.tag() == "!nomerge" ? "" : "give all files together: einflow analyze arch.yaml problem.yaml ...");
  }
  for (YamlNode& item : node.items) normalise(item, errors);
  bool changed = false;
  for (auto& [key, value] : node.entries) {
    const bool hyphen = !key.quoted && key.text.find('-') != std::string::npos;
    if (hyphen) std::replace(key.text.begin(), key.text.end(), '-', '_');
    changed = changed || hyphen;
    if (key.text != "instance") normalise(value, errors);
  }
  if (!changed) return;
  std::map<std::string_view, int> lines;
  for (const auto& [key, value] : node.entries) {
    const auto [other, fresh] = lines.emplace(key.text, key.span.line);
    if (fresh) continue;
    add_error(errors, key.span,
              fmt::format("the key {} was already given on line {}; hyphens count as underscores", in_quotes(key.text),
                          other->second));
  }
}

}  // namespace

const Part* Parts::find(const std::string& key) const {
  const auto found = parts.find(key);
  return found == parts.end() ? nullptr : &found->second;
}

void stamp(Diagnostics& errors, std::size_t first, const std::string& source) {
  for (std::size_t i = first; i < errors.size(); ++i) {
    if (errors[i].source.empty()) errors[i].source = source;
  }
}

Result<Parts> read_parts(const std::vector<SourceText>& sources) {
  Parts parts;
  Diagnostics errors;
  parts.roots.reserve(sources.size());
  for (const SourceText& source : sources) {
    if (auto found = find_template(source)) {
      errors.push_back(std::move(*found));
      continue;
    }
    const std::size_t first = errors.size();
    auto root = parse_yaml(source.text, yaml_of_other_tools());
    if (!root) {
      errors.insert(errors.end(), root.error().begin(), root.error().end());
      stamp(errors, first, source.name);
      continue;
    }
    parts.roots.push_back(std::move(*root));
    YamlNode& node = parts.roots.back();
    normalise(node, errors);
    if (!node.is_map()) {
      add_error(errors, node.span,
                fmt::format("found {}, expected a map with the parts of a Timeloop input", describe(node)),
                "parts: problem, architecture, mapping, ERT");
    }
    for (const YamlEntry& entry : node.entries) {
      const auto [other, fresh] = parts.parts.emplace(entry.key.text, Part{&entry.value, entry.key.span, source.name});
      if (fresh) continue;
      add_error(errors, entry.key.span,
                fmt::format("{} was already given in {} on line {}", in_quotes(entry.key.text), other->second.source,
                            other->second.key.line),
                "each part is in one of the files");
    }
    stamp(errors, first, source.name);
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return parts;
}

}  // namespace einflow::timeloop
