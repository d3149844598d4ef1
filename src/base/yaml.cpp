#include "base/yaml.hpp"

#include <fmt/format.h>
#include <yaml.h>

#include <map>
#include <memory>
#include <optional>

#include "base/message.hpp"
#include "base/utf8.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumBytes = std::size_t{1} << 20;
constexpr std::size_t kMaximumDepth = 64;
constexpr int kMaximumNodes = 100000;
constexpr std::size_t kMaximumErrors = 100;

/// Everything that could make our lines differ from the YAML library's, or a terminal misbehave.
std::optional<Diagnostic> refuse_characters(std::string_view text) {
  Span span{1, 1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = decode_utf8(text, at);
    at += static_cast<std::size_t>(point.bytes);
    if (point.value == '\n') {
      span = {span.line + 1, 1, 1};
      continue;
    }
    const bool line_end = point.value == '\r' && at < text.size() && text[at] == '\n';
    if (!point.valid)
      return Diagnostic{span, fmt::format("byte 0x{:02X} is not UTF-8 text", static_cast<int>(point.value)), "", ""};
    if (!is_printable(point) && point.value != '\t' && !line_end) {
      return Diagnostic{span, fmt::format("character U+{:04X} is not allowed", static_cast<unsigned>(point.value)), "",
                        ""};
    }
    ++span.column;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (;;) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    lines.push_back(line);
    if (end == std::string_view::npos) return lines;
    text.remove_prefix(end + 1);
  }
}

Span span_at(const yaml_mark_t& mark, int length = 1) {
  return {static_cast<int>(mark.line) + 1, static_cast<int>(mark.column) + 1, length};
}

/// Builds the tree from libyaml's events; one open list or map per entry of `open_`.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, yaml_parser_t& parser) : lines_(split_lines(text)), parser_(parser) {}

  Result<YamlNode> build() {
    for (bool more = true; more;) {
      yaml_event_t event;
      if (yaml_parser_parse(&parser_, &event) == 0) return tl::unexpected(Diagnostics{syntax_error()});
      more = handle(event);
      yaml_event_delete(&event);
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    if (!root_) return fail("the text is empty; expected a map of keys", "", {1, 1, 1});
    return std::move(*root_);
  }

 private:
  struct Open {
    YamlNode node;
    std::optional<YamlNode> key;  // of the value that comes next, in a map
    std::map<std::string, int> key_lines;
  };

  Diagnostic syntax_error() const {
    std::string message = parser_.problem != nullptr ? parser_.problem : "not enough memory";
    if (parser_.context != nullptr) message = fmt::format("{} {}", parser_.context, message);
    const bool colon = message.find("mapping values are not allowed") != std::string::npos;
    return {span_at(parser_.problem_mark), "YAML: " + message,
            colon ? "a text with ': ' in it needs quotes, or '|' and lines of its own" : "", ""};
  }

  bool error(const Span& span, std::string message, std::string hint = {}) {
    errors_.push_back({span, std::move(message), std::move(hint), ""});
    return errors_.size() < kMaximumErrors;
  }

  /// Whether to go on.
  bool handle(const yaml_event_t& event) {
    const Span span = span_at(event.start_mark);
    switch (event.type) {
      case YAML_STREAM_END_EVENT:
        return false;
      case YAML_DOCUMENT_START_EVENT:
        if (++documents_ > 1) {
          error(span, "a second document starts here; expected a single one");
          return false;
        }
        return true;
      case YAML_ALIAS_EVENT:
        error(span, "aliases ('*name') are not accepted; write the value out");
        return false;
      case YAML_SCALAR_EVENT:
        if (!marks_allowed(span, event.data.scalar.anchor, event.data.scalar.tag)) return false;
        return add(scalar(event));
      case YAML_SEQUENCE_START_EVENT:
        if (!marks_allowed(span, event.data.sequence_start.anchor, event.data.sequence_start.tag)) return false;
        return open(YamlNode::Kind::list, span);
      case YAML_MAPPING_START_EVENT:
        if (!marks_allowed(span, event.data.mapping_start.anchor, event.data.mapping_start.tag)) return false;
        return open(YamlNode::Kind::map, span);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        YamlNode done = std::move(open_.back().node);
        open_.pop_back();
        return attach(std::move(done));
      }
      default:
        return true;
    }
  }

  bool marks_allowed(const Span& span, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) return error(span, "anchors ('&name') are not accepted; write the value out"), false;
    if (tag != nullptr) return error(span, "tags ('!name') are not accepted"), false;
    return true;
  }

  bool counted(const Span& span) {
    if (++nodes_ <= kMaximumNodes) return true;
    error(span, fmt::format("more than {} values", kMaximumNodes));
    return false;
  }

  bool open(YamlNode::Kind kind, const Span& span) {
    if (!counted(span)) return false;
    if (open_.size() >= kMaximumDepth) {
      error(span, fmt::format("nested more than {} levels deep", kMaximumDepth));
      return false;
    }
    if (!open_.empty() && open_.back().node.is_map() && !open_.back().key) {
      error(span, "a key must be a single word, not a list or a map");
      return false;
    }
    open_.push_back({});
    open_.back().node.kind = kind;
    open_.back().node.span = span;
    return true;
  }

  bool add(YamlNode scalar) {
    if (!counted(scalar.span)) return false;
    if (open_.empty() || !open_.back().node.is_map() || open_.back().key) return attach(std::move(scalar));
    Open& map = open_.back();
    bool go_on = true;
    if (scalar.text == "<<" && !scalar.quoted) {
      go_on = error(scalar.span, "merge keys ('<<') are not accepted; write the entries out");
    }
    const auto [place, fresh] = map.key_lines.emplace(scalar.text, scalar.span.line);
    if (!fresh) {
      go_on = error(scalar.span,
                    fmt::format("the key {} was already given on line {}", in_quotes(scalar.text), place->second));
    }
    map.key = std::move(scalar);
    return go_on;
  }

  bool attach(YamlNode value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().node.is_list()) {
      open_.back().node.items.push_back(std::move(value));
    } else {
      open_.back().node.entries.push_back({std::move(*open_.back().key), std::move(value)});
      open_.back().key.reset();
    }
    return true;
  }

  /// The byte at which a mark's column begins. Marks come in order, so each line is walked once.
  std::size_t byte_of(const yaml_mark_t& mark) {
    if (mark.line != walked_.line || mark.column < walked_.column) walked_ = {mark.line, 0, 0};
    const std::string_view line = mark.line < lines_.size() ? lines_[mark.line] : std::string_view();
    for (; walked_.column < mark.column && walked_.byte < line.size(); ++walked_.column) {
      walked_.byte += static_cast<std::size_t>(decode_utf8(line, walked_.byte).bytes);
    }
    return walked_.byte;
  }

  YamlNode scalar(const yaml_event_t& event) {
    const auto& from = event.data.scalar;
    YamlNode node;
    node.text.assign(reinterpret_cast<const char*>(from.value), from.length);
    node.quoted = from.style != YAML_PLAIN_SCALAR_STYLE;
    const yaml_mark_t &start = event.start_mark, &end = event.end_mark;
    const std::string_view line = start.line < lines_.size() ? lines_[start.line] : std::string_view();
    const std::size_t first = byte_of(start);
    const int length =
        start.line == end.line ? static_cast<int>(end.column - start.column) : code_points(line.substr(first));
    node.span = span_at(start, std::max(1, length));
    if (from.style == YAML_LITERAL_SCALAR_STYLE) {
      node.line_starts = block_lines(node.text, start.line + 1);
    } else {
      const std::size_t quote = node.quoted ? 1 : 0;
      const std::string_view there = line.substr(std::min(line.size(), first + quote), node.text.size());
      if (start.line == end.line && there == node.text) {
        node.line_starts = {{node.span.line, node.span.column + static_cast<int>(quote), 1}};
      }
    }
    return node;
  }

  /// Where each line of a literal block stands, its first line being lines_[from]; empty if one does not match.
  std::vector<Span> block_lines(std::string_view text, std::size_t from) const {
    std::vector<Span> starts;
    for (const std::string_view line : split_lines(text)) {
      if (from >= lines_.size()) {
        if (line.empty()) break;  // what follows the last line break
        return {};
      }
      const std::string_view source = lines_[from];
      if (source.size() < line.size()) return {};
      const std::size_t indent = source.size() - line.size();
      if (!line.empty() && source.substr(indent) != line) return {};
      if (!line.empty() && source.find_first_not_of(' ') < indent) return {};
      starts.push_back({static_cast<int>(from) + 1, static_cast<int>(indent) + 1, 1});
      ++from;
    }
    return starts;
  }

  struct Walked {
    std::size_t line = 0;
    std::size_t column = 0;
    std::size_t byte = 0;
  };

  std::vector<std::string_view> lines_;
  yaml_parser_t& parser_;
  Walked walked_;
  std::vector<Open> open_;
  std::optional<YamlNode> root_;
  Diagnostics errors_;
  int documents_ = 0;
  int nodes_ = 0;
};

}  // namespace

bool YamlNode::is_null() const { return is_scalar() && !quoted && (text.empty() || text == "~" || text == "null"); }

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const auto& [name, value] : entries) {
    if (name.text == key) return &value;
  }
  return nullptr;
}

std::string describe(const YamlNode& node) {
  if (node.is_map()) return "a map";
  if (node.is_list()) return "a list";
  return node.is_null() ? "nothing" : in_quotes(node.text);
}

Span place_inside(const YamlNode& scalar, const Span& inside) {
  const auto line = static_cast<std::size_t>(inside.line - 1);
  if (inside.line < 1 || line >= scalar.line_starts.size()) return scalar.span;
  const Span& start = scalar.line_starts[line];
  return {start.line, start.column + inside.column - 1, inside.length};
}

Result<YamlNode> parse_yaml(const std::string& text) {
  if (text.size() > kMaximumBytes) {
    return fail(fmt::format("the text has {} bytes; at most {} are read", text.size(), kMaximumBytes));
  }
  std::string_view body = text;
  if (body.substr(0, 3) == "\xEF\xBB\xBF") body.remove_prefix(3);  // byte order mark
  if (auto refused = refuse_characters(body)) return tl::unexpected(Diagnostics{*refused});
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) return fail("not enough memory");
  const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> release(&parser, yaml_parser_delete);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(body.data()), body.size());
  return TreeBuilder(body, parser).build();
}

}  // namespace einflow
