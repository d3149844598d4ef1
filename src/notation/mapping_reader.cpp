#include "notation/mapping_reader.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "mapping/nest_builder.hpp"
#include "notation/spec_reader.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumErrors = 100;
constexpr std::size_t kMaximumLines = 10000;

/// From (line, column, length) in the mapping's text to the place in the source.
using Place = std::function<Span(const Span&)>;

/// Splits one line into words and punctuation (':' and ','), its comment cut off.
std::vector<NestWord> split_words(std::string_view line, int number, const Place& place) {
  line = line.substr(0, line.find('#'));
  std::vector<NestWord> words;
  int column = 1;
  for (std::size_t at = 0; at < line.size();) {
    const char c = line[at];
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at;
      ++column;
      continue;
    }
    std::size_t end = at + 1;
    if (c != ':' && c != ',') end = std::min(line.size(), line.find_first_of(" \t\r:,", at));
    const std::string_view word = line.substr(at, end - at);
    const int length = code_points(word);
    words.push_back({std::string(word), place({number, column, length})});
    column += length;
    at = end;
  }
  return words;
}

class LineParser {
 public:
  LineParser(std::vector<NestWord> words, Span line_span, Diagnostics& errors)
      : words_(std::move(words)), line_span_(line_span), errors_(errors) {}

  std::optional<NestLine> parse() {
    const NestWord first = words_[0];
    ++next_;
    NestLine line;
    line.span = line_span_;
    bool good = false;
    if (first.text == "at") {
      line.kind = NestLine::Kind::at;
      good = parse_hold(line);
    } else if (first.text == "for" || first.text == "par") {
      line.kind = first.text == "for" ? NestLine::Kind::temporal : NestLine::Kind::spatial;
      good = parse_loop(line);
    } else {
      error(first.span, fmt::format("found {}, expected 'at', 'for' or 'par'", in_quotes(first.text)),
            "at LEVEL: TENSORS | for RANK by TILE | for RANK into COUNT | par RANK by TILE on MESH.AXIS");
    }
    if (!good) return std::nullopt;
    return line;
  }

 private:
  bool error(const Span& span, std::string message, std::string hint = {}) {
    errors_.push_back({span, std::move(message), std::move(hint), {}});
    return false;
  }

  const NestWord* peek() const { return next_ < words_.size() ? &words_[next_] : nullptr; }

  /// The place behind the line's last word, for what is missing there.
  Span behind() const {
    const Span& last = words_.back().span;
    return {last.line, last.column + last.length, 1};
  }

  bool unexpected(std::string_view expected, std::string hint = {}) {
    if (const NestWord* word = peek()) {
      if (word->text == ",") hint = "names are separated by blanks";
      return error(word->span, fmt::format("found {}, expected {}", in_quotes(word->text), expected), std::move(hint));
    }
    return error(behind(), fmt::format("the line ends here, expected {}", expected), std::move(hint));
  }

  static bool is_punctuation(const NestWord& word) { return word.text == ":" || word.text == ","; }

  bool parse_hold(NestLine& line) {
    const std::string hint = "at LEVEL: TENSORS";
    if (peek() == nullptr || is_punctuation(*peek())) return unexpected("a level", hint);
    line.level = words_[next_++];
    if (peek() == nullptr || peek()->text != ":") return unexpected("':'", hint);
    ++next_;
    while (peek() != nullptr && !is_punctuation(*peek())) line.tensors.push_back(words_[next_++]);
    if (peek() != nullptr) return unexpected("a tensor or the end of the line");
    if (line.tensors.empty()) return unexpected("a tensor", hint);
    return true;
  }

  bool parse_loop(NestLine& line) {
    const bool spatial = line.kind == NestLine::Kind::spatial;
    const std::string hint = spatial ? "par RANK by TILE on MESH.AXIS | par RANK into COUNT on MESH.AXIS"
                                     : "for RANK by TILE | for RANK into COUNT";
    while (peek() != nullptr && !is_punctuation(*peek()) && peek()->text != "by" && peek()->text != "into") {
      line.ranks.push_back(words_[next_++]);
    }
    if (line.ranks.empty()) return unexpected("a rank", hint);
    if (peek() == nullptr || is_punctuation(*peek())) return unexpected("'by' or 'into'", hint);
    line.into = words_[next_++].text == "into";
    if (peek() == nullptr) return unexpected(line.into ? "a count" : "a tile size", hint);
    if (!parse_number(words_[next_++], line)) return false;
    if (spatial && !parse_axis(line, hint)) return false;
    if (peek() == nullptr) return true;
    if (!spatial && peek()->text == "on")
      return unexpected("the end of the line", "a loop over a mesh is written 'par'");
    return unexpected("the end of the line", hint);
  }

  bool parse_number(const NestWord& word, NestLine& line) {
    const auto count = parse_count(word.text);
    const auto number = count ? count->to_int64() : std::nullopt;
    if (!number || *number < 1) {
      return error(word.span, fmt::format("found {}, expected a whole number of at least 1", in_quotes(word.text)));
    }
    line.number = *number;
    line.number_span = word.span;
    return true;
  }

  bool parse_axis(NestLine& line, const std::string& hint) {
    if (peek() == nullptr || peek()->text != "on") return unexpected("'on MESH.AXIS'", hint);
    ++next_;
    if (peek() == nullptr || is_punctuation(*peek())) return unexpected("MESH.AXIS", hint);
    const NestWord& word = words_[next_++];
    const std::size_t dot = word.text.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == word.text.size()) {
      return error(word.span, fmt::format("found {}, expected MESH.AXIS", in_quotes(word.text)), hint);
    }
    line.mesh = {word.text.substr(0, dot), word.span};
    line.axis = {word.text.substr(dot + 1), word.span};
    if (word.span.length == code_points(word.text)) {
      const int before = code_points(line.mesh.text);
      line.mesh.span.length = before;
      line.axis.span = {word.span.line, word.span.column + before + 1, word.span.length - before - 1};
    }
    return true;
  }

  std::vector<NestWord> words_;
  std::size_t next_ = 0;
  Span line_span_;
  Diagnostics& errors_;
};

/// Reads the text line by line into `lines`; false where it is too much.
bool parse_lines(std::string_view text, const Place& place, std::vector<NestLine>& lines, Diagnostics& errors) {
  for (int number = 1; errors.size() < kMaximumErrors; ++number) {
    const std::size_t end = text.find('\n');
    std::vector<NestWord> words = split_words(text.substr(0, end), number, place);
    if (!words.empty()) {
      if (lines.size() == kMaximumLines) {
        errors.push_back({words[0].span, fmt::format("more than {} lines", kMaximumLines), {}, {}});
        return false;
      }
      const Span &first = words.front().span, &last = words.back().span;
      const Span whole{first.line, first.column, std::max(1, last.column + last.length - first.column)};
      if (auto line = LineParser(std::move(words), whole, errors).parse()) lines.push_back(std::move(*line));
    }
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

Result<Mapping> build(const std::vector<NestLine>& lines, Diagnostics errors, const Einsum& einsum,
                      const Machine& machine) {
  // Where a line could not be read the nest is not what was meant: what would be said of it may be wrong.
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  return build_mapping(lines, einsum, machine);
}

/// One string of a list. "- at Buffer: X W" without quotes is a map to YAML; it is taken as the line it looks like.
std::optional<std::string> list_line(const YamlNode& item, Place& place, Diagnostics& errors) {
  if (item.is_scalar() && !item.is_null()) {
    place = [&item](const Span& inside) { return place_inside(item, inside); };
    return item.text;
  }
  if (item.is_map() && item.entries.size() == 1 && item.entries[0].value.is_scalar()) {
    const auto& [key, value] = item.entries[0];
    const int before = code_points(key.text) + 2;
    place = [&key = key, &value = value, before](const Span& inside) {
      if (inside.column < before) return place_inside(key, inside);
      return place_inside(value, {1, inside.column - before, inside.length});
    };
    return fmt::format("{}: {}", key.text, value.is_null() ? "" : value.text);
  }
  errors.push_back({item.span, fmt::format("found {}, expected a line of the nest", describe(item)), {}, {}});
  return std::nullopt;
}

/// A text whose lines do not stand in the source as they are ("for m by 1\\nfor n by 1" in JSON, lines that YAML folded
/// into one): errors point at the whole text and name the line in words.
Result<Mapping> read_folded_text(const YamlNode& node, const Einsum& einsum, const Machine& machine) {
  auto mapping = parse_mapping(node.text, einsum, machine);
  if (!mapping) {
    const bool several = node.text.find('\n') != std::string::npos;
    for (Diagnostic& error : mapping.error()) {
      if (several && error.span.line > 0) error.message += fmt::format(" (on line {} of the mapping)", error.span.line);
      if (!node.quoted) error.hint = "YAML joins these lines into one; write 'mapping: |' to keep them apart";
      error.span = node.span;
    }
    return mapping;
  }
  for (Loop& loop : mapping->loops) loop.span = node.span;
  for (auto& holds : mapping->holds) {
    for (Hold& hold : holds) {
      if (hold.span.line > 0) hold.span = node.span;
    }
  }
  return mapping;
}

}  // namespace

Result<Mapping> read_mapping(const YamlNode& node, const Einsum& einsum, const Machine& machine) {
  std::vector<NestLine> lines;
  Diagnostics errors;
  if (node.is_list()) {
    for (const YamlNode& item : node.items) {
      Place place;
      const auto text = list_line(item, place, errors);
      if (text && !parse_lines(*text, place, lines, errors)) break;
    }
  } else if (node.is_scalar()) {
    if (!node.has_places()) return read_folded_text(node, einsum, machine);
    parse_lines(node.text, [&](const Span& inside) { return place_inside(node, inside); }, lines, errors);
  } else {
    return fail(fmt::format("found {}, expected the lines of the nest as a text or a list", describe(node)), {},
                node.span);
  }
  auto mapping = build(lines, std::move(errors), einsum, machine);
  if (!mapping) {
    for (Diagnostic& error : mapping.error()) {
      if (error.span.line == 0) error.span = node.span;  // about the end of a nest without lines
    }
  }
  return mapping;
}

Result<Mapping> parse_mapping(const std::string& text, const Einsum& einsum, const Machine& machine) {
  std::vector<NestLine> lines;
  Diagnostics errors;
  parse_lines(text, [](const Span& inside) { return inside; }, lines, errors);
  return build(lines, std::move(errors), einsum, machine);
}

}  // namespace einflow
