#include "base/diagnostic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <numeric>
#include <tuple>

#include "base/utf8.hpp"

namespace einflow {
namespace {

constexpr int kExcerptColumns = 100;      // of the quoted line; keeps a message within 120 columns
constexpr std::size_t kShownErrors = 40;  // more help nobody
constexpr int kMessageLimit = 2000;

/// Line `number` (from 1) of the text, without its line break.
std::string_view line_of(std::string_view text, int number) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);  // byte order mark
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  return text;
}

/// The quoted line and the caret line below it, cut to a window around the caret.
std::string excerpt(const Span& span, std::string_view line) {
  const int length = code_points(line);
  const int caret = std::clamp(span.column - 1, 0, length);
  int first = 0;
  if (length > kExcerptColumns) first = std::clamp(caret - kExcerptColumns / 3, 0, length - kExcerptColumns);
  const int last = std::min(length, first + kExcerptColumns);

  std::size_t at = 0;
  for (int i = 0; i < first; ++i) at += static_cast<std::size_t>(decode_utf8(line, at).bytes);
  std::string shown = first > 0 ? "..." : "";
  const int shift = first > 0 ? 3 : 0;
  shown += printable(line.substr(at), last - first);

  const int carets = std::clamp(std::min(span.length, last - caret), 1, kExcerptColumns);
  const std::string gutter = fmt::format("{:>4}", span.line);
  return fmt::format("{} | {}\n{} | {}{}\n", gutter, shown, std::string(gutter.size(), ' '),
                     std::string(static_cast<std::size_t>(caret - first + shift), ' '),
                     std::string(static_cast<std::size_t>(carets), '^'));
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const SourceText& source) {
  const bool here = diagnostic.source.empty() || diagnostic.source == source.name;
  std::string out = printable(here ? source.name : diagnostic.source, kMessageLimit);
  const Span& span = diagnostic.span;
  if (span.line > 0) out += fmt::format("{}{}:{}", out.empty() ? "" : ":", span.line, span.column);
  if (!out.empty()) out += ": ";
  out += "error: " + printable(diagnostic.message, kMessageLimit) + "\n";
  if (here && span.line > 0) out += excerpt(span, line_of(source.text, span.line));
  if (!diagnostic.hint.empty()) out += "hint: " + printable(diagnostic.hint, kMessageLimit) + "\n";
  return out;
}

std::string render(const Diagnostics& diagnostics, const SourceText& source) {
  return render_in(diagnostics, {source});
}

std::string render_in(const Diagnostics& diagnostics, const std::vector<SourceText>& sources) {
  std::string out;
  for (std::size_t i = 0; i < diagnostics.size() && i < kShownErrors; ++i) {
    const Diagnostic& diagnostic = diagnostics[i];
    const SourceText* shown = sources.empty() ? nullptr : &sources.front();
    for (const SourceText& source : sources) {
      if (source.name == diagnostic.source) shown = &source;
    }
    out += render(diagnostic, shown == nullptr ? SourceText{} : *shown);
  }
  if (diagnostics.size() > kShownErrors)
    out += fmt::format("... and {} more errors\n", diagnostics.size() - kShownErrors);
  return out;
}

void sort_by_place(Diagnostics& diagnostics) {
  std::vector<std::size_t> order(diagnostics.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    const Diagnostic &a = diagnostics[i], &b = diagnostics[j];
    return std::tie(a.source, a.span.line, a.span.column, i) < std::tie(b.source, b.span.line, b.span.column, j);
  });
  Diagnostics sorted;
  for (const std::size_t i : order) sorted.push_back(std::move(diagnostics[i]));
  diagnostics = std::move(sorted);
}

namespace {

constexpr std::size_t kNameLimit = 64;  // names longer than this are not compared

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Edit distance in which two neighbours that changed places cost one (optimal string alignment).
std::size_t distance(const std::string& a, const std::string& b) {
  std::array<std::array<std::size_t, kNameLimit + 1>, 3> rows{};
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& now = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& second_above = rows[(i + 1) % 3];
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({change, above[j] + 1, now[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) now[j] = std::min(now[j], second_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view found, const std::vector<std::string>& valid) {
  if (found.empty() || found.size() > kNameLimit) return {};
  const std::string wanted = lower(found);
  std::size_t best = std::min<std::size_t>(3, found.size() / 3) + 1;
  std::string nearest;
  for (const std::string& name : valid) {
    if (name.empty() || name.size() > kNameLimit) continue;
    const std::size_t d = distance(wanted, lower(name));  // a name in the wrong case is at distance 0
    if (d < best) {
      best = d;
      nearest = name;
    }
  }
  if (!nearest.empty() || wanted.size() < 3) return nearest;
  for (const std::string& name : valid) {  // a beginning: the shortest name that goes on from there
    if (lower(name).starts_with(wanted) && (nearest.empty() || name.size() < nearest.size())) nearest = name;
  }
  return nearest;
}

}  // namespace einflow
