#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/message.hpp"
#include "notation/loops/loops.hpp"
#include "notation/loops/nest_text.hpp"
#include "notation/loops/placing.hpp"
#include "notation/loops/ranks.hpp"

namespace einflow {

namespace {

using loops::OpenSizes;

constexpr std::size_t kRecognisedBytes = std::size_t{1} << 20;

/// The first word of a line and what stands behind it.
std::pair<std::string_view, std::string_view> first_word(std::string_view line) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; };
  const auto begin = std::find_if_not(line.begin(), line.end(), [](char c) { return c == ' ' || c == '\t'; });
  const auto end = std::find_if_not(begin, line.end(), in_word);
  const auto behind = std::find_if_not(end, line.end(), [](char c) { return c == ' ' || c == '\t'; });
  return {std::string_view(line).substr(static_cast<std::size_t>(begin - line.begin()),
                                        static_cast<std::size_t>(end - begin)),
          line.substr(static_cast<std::size_t>(behind - line.begin()))};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

Result<OpenSizes> open_sizes_of(const ReadOptions& options) {
  OpenSizes sizes;
  for (const auto& [name, text] : options.ranks) {
    const auto value = parse_count(text);
    if (!value || *value < Count(1) || !value->to_int64()) {
      return fail(fmt::format("-r {}: found {}, expected a size from 1 to 2^63 - 1", name, in_quotes(text)));
    }
    sizes[name] = {name, *value, {}, false};
  }
  return sizes;
}

}  // namespace

bool is_loops(const SourceText& source) {
  for (const std::string_view other : {".yaml", ".yml", ".json", ".m", ".csv", ".cfg", ".onnx", ".c", ".py"}) {
    if (ends_with(source.name, other)) return false;
  }
  std::string_view text = std::string_view(source.text).substr(0, kRecognisedBytes);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto [word, behind] = first_word(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    for (const std::string_view parallel : {"parallel-for", "parallel_for", "spatial_for", "spatial-for", "parfor"}) {
      if (word == parallel) return true;
    }
    if (word != "for") continue;
    if (behind.substr(0, 1) == "(") return true;
    // `for m in`, `for m = 0`, `for q {`; but not `for m by 16`, einflow's own.
    const std::string_view sign = first_word(behind).second;
    if (first_word(sign).first == "in" || sign.find_first_of("=:,{\xE2") == 0) return true;
  }
  return false;
}

Result<Document> read_loops(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) return fail("a loop nest is one text");
  if (!options.settings.empty()) {
    return fail(fmt::format("--set {}: a loop nest has no settings", options.settings.begin()->first));
  }
  auto open_sizes = open_sizes_of(options);
  if (!open_sizes) return tl::unexpected(open_sizes.error());
  const auto text = loops::parse_nest_text(sources.front(), *open_sizes);
  if (!text) return tl::unexpected(text.error());
  auto ranked = loops::resolve_ranks(*text, *open_sizes);
  if (!ranked) return tl::unexpected(ranked.error());
  for (const auto& [name, size] : *open_sizes) {
    if (!size.used) return fail(fmt::format("-r {}: the text leaves no size of this name open", name));
  }
  auto placed = loops::place_nest(*text, *ranked, options.machine);
  if (!placed) return tl::unexpected(placed.error());
  auto mapping = build_mapping(placed->lines, ranked->einsum, placed->machine);
  if (!mapping) return tl::unexpected(mapping.error());
  ReadSpec read{{std::move(ranked->einsum), std::move(placed->machine), std::move(*mapping)}, {}};
  read.conventions = std::move(ranked->conventions);
  read.conventions.insert(read.conventions.end(), placed->conventions.begin(), placed->conventions.end());
  Document document = document_of(read);
  document.left_out = std::move(placed->left_out);
  return document;
}

}  // namespace einflow
