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

constexpr std::size_t kMaximumDepth = 64;
constexpr std::size_t kMaximumErrors = 100;

/// Everything that could make our lines differ from the YAML library's, or a terminal misbehave.
std::optional<Diagnostic> refuse_characters(std::string_view text) {
  Span span{1, 1, 1};
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] >= ' ' && text[at] <= '~') {  // nearly everything, at a tenth of the price
      ++at;
      ++span.column;
      continue;
    }
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

std::string text_of(const yaml_char_t* text) {
  return text == nullptr ? std::string() : reinterpret_cast<const char*>(text);
}

/// An anchored value, its number of values and its levels of nesting.
struct Anchored {
  YamlNode node;
  int values = 0;
  std::size_t depth = 0;
};

/// Builds the tree from libyaml's events; one open list or map per entry of `open_`.
class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, yaml_parser_t& parser, const YamlOptions& options)
      : lines_(split_lines(text)), parser_(parser), options_(options) {}

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
    std::optional<YamlNode> key;           // of the value that comes next, in a map
    std::map<std::string, int> key_lines;  // of a map with many keys; few are looked through
    std::vector<YamlNode> merged;          // maps behind `<<`: what they add is known when all keys are
    std::string anchor;
    int values_before = 0;         // values read when it began
    std::size_t depth_inside = 0;  // levels of nesting inside it
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
        return alias(text_of(event.data.alias.anchor), span);
      case YAML_SCALAR_EVENT:
        if (!marks_allowed(span, event.data.scalar.anchor, event.data.scalar.tag)) return false;
        return add(scalar(event), text_of(event.data.scalar.anchor));
      case YAML_SEQUENCE_START_EVENT:
        if (!marks_allowed(span, event.data.sequence_start.anchor, event.data.sequence_start.tag)) return false;
        return open(YamlNode::Kind::list, span, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        if (!marks_allowed(span, event.data.mapping_start.anchor, event.data.mapping_start.tag)) return false;
        return open(YamlNode::Kind::map, span, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        return close();
      default:
        return true;
    }
  }

  bool marks_allowed(const Span& span, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr && !options_.references) {
      return error(span, "anchors ('&name') are not accepted; write the value out"), false;
    }
    if (tag != nullptr && !options_.tags) return error(span, "tags ('!name') are not accepted"), false;
    return true;
  }

  bool counted(const Span& span, int values = 1) {
    if (values <= options_.maximum_values - nodes_) {
      nodes_ += values;
      return true;
    }
    error(span, fmt::format("more than {} values", options_.maximum_values),
          nodes_ > 0 && values > 1 ? "what an alias stands for is counted each time" : "");
    return false;
  }

  /// The anchored value in place of the alias.
  bool alias(const std::string& name, const Span& span) {
    if (!options_.references) {
      error(span, "aliases ('*name') are not accepted; write the value out");
      return false;
    }
    for (const Open& outer : open_) {
      if (outer.anchor == name) {
        error(span, fmt::format("the alias {} stands inside the value it stands for (line {})", in_quotes("*" + name),
                                outer.node.span.line));
        return false;
      }
    }
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      std::vector<std::string> names;
      for (const auto& [anchor, value] : anchors_) names.push_back(anchor);
      return error(span, fmt::format("there is no anchor {} before this alias", in_quotes("&" + name)),
                   name_hint(name, names, "anchors"));
    }
    if (found->second.node.is_scalar()) return add(found->second.node, {});
    if (!counted(span, found->second.values)) return false;
    if (open_.size() + found->second.depth > kMaximumDepth) {
      error(span, fmt::format("nested more than {} levels deep", kMaximumDepth));
      return false;
    }
    for (std::size_t i = 0; i < open_.size(); ++i) {
      open_[i].depth_inside = std::max(open_[i].depth_inside, open_.size() - 1 - i + found->second.depth);
    }
    if (expects_key()) {
      error(span, "a key must be a single word, not a list or a map");
      return false;
    }
    return attach(found->second.node);
  }

  /// Keeps an anchored value for its aliases; false where that is too much.
  bool remember(const std::string& anchor, const YamlNode& node, int values, std::size_t depth) {
    if (anchor.empty()) return true;
    if (values > options_.maximum_values - anchored_values_) {
      error(node.span, fmt::format("more than {} values behind anchors", options_.maximum_values));
      return false;
    }
    anchored_values_ += values;
    anchors_.insert_or_assign(anchor, Anchored{node, values, depth});
    return true;
  }

  bool expects_key() const { return !open_.empty() && open_.back().node.is_map() && !open_.back().key; }

  bool close() {
    Open& last = open_.back();
    for (const YamlNode& map : last.merged) {
      for (const YamlEntry& entry : map.entries) {
        if (first_line(last, entry.key) == 0) last.node.entries.push_back(entry);
      }
    }
    YamlNode done = std::move(last.node);
    const std::string anchor = std::move(last.anchor);
    const int values = nodes_ - last.values_before;
    const std::size_t depth = last.depth_inside + 1;
    open_.pop_back();
    if (!open_.empty()) open_.back().depth_inside = std::max(open_.back().depth_inside, depth);
    return remember(anchor, done, values, depth) && attach(std::move(done));
  }

  bool open(YamlNode::Kind kind, const Span& span, const yaml_char_t* anchor, const yaml_char_t* tag) {
    const int values_before = nodes_;
    if (!counted(span)) return false;
    if (open_.size() >= kMaximumDepth) {
      error(span, fmt::format("nested more than {} levels deep", kMaximumDepth));
      return false;
    }
    if (expects_key()) {
      error(span, "a key must be a single word, not a list or a map");
      return false;
    }
    open_.push_back({});
    open_.back().node.kind = kind;
    open_.back().node.span = span;
    if (tag != nullptr) open_.back().node.rare = std::make_shared<YamlNode::Rare>(YamlNode::Rare{text_of(tag), {}});
    open_.back().anchor = text_of(anchor);
    open_.back().values_before = values_before;
    return true;
  }

  bool add(YamlNode scalar, const std::string& anchor) {
    if (!counted(scalar.span) || !remember(anchor, scalar, 1, 0)) return false;
    if (!expects_key()) return attach(std::move(scalar));
    Open& map = open_.back();
    bool go_on = true;
    if (scalar.text == "<<" && !scalar.quoted && !options_.references) {
      go_on = error(scalar.span, "merge keys ('<<') are not accepted; write the entries out");
    }
    if (scalar.text == "<<<" && !scalar.quoted && options_.references) {
      go_on = error(scalar.span, "'<<<' merges maps inside maps, which no YAML reader but Timeloop's front end knows",
                    "'<<' merges the outer map; write the inner ones out");
    }
    if (const int line = first_line(map, scalar); line != 0) {
      go_on = error(scalar.span, fmt::format("the key {} was already given on line {}", in_quotes(scalar.text), line));
    }
    map.key = std::move(scalar);
    return go_on;
  }

  /// The line on which a key of the map was given before, or 0; it is one of the map's keys from then on.
  static int first_line(Open& map, const YamlNode& key) {
    constexpr std::size_t kFew = 16;
    const std::vector<YamlEntry>& entries = map.node.entries;
    if (entries.size() + map.merged.size() < kFew) {
      for (const auto& [name, value] : entries) {
        if (name.text == key.text) return name.span.line;
      }
      if (key.text != "<<") return 0;
    } else if (map.key_lines.size() < entries.size()) {
      for (const auto& [name, value] : entries) map.key_lines.emplace(name.text, name.span.line);
    }
    const auto [place, fresh] = map.key_lines.emplace(key.text, key.span.line);
    return fresh ? 0 : place->second;
  }

  bool attach(YamlNode value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().node.is_list()) {
      open_.back().node.items.push_back(std::move(value));
    } else if (Open& map = open_.back(); options_.references && map.key->text == "<<" && !map.key->quoted) {
      map.key.reset();
      return merge(map, std::move(value));
    } else {
      map.node.entries.push_back({std::move(*map.key), std::move(value)});
      map.key.reset();
    }
    return true;
  }

  /// What stands behind `<<`: a map or a list of maps, the first before the later ones.
  bool merge(Open& map, YamlNode value) {
    if (value.is_map()) {
      map.merged.push_back(std::move(value));
      return true;
    }
    bool maps = value.is_list();
    for (const YamlNode& item : value.items) maps = maps && item.is_map();
    if (!maps) {
      return error(value.span, fmt::format("found {} behind '<<', expected a map or a list of maps", describe(value)));
    }
    for (YamlNode& item : value.items) map.merged.push_back(std::move(item));
    return true;
  }

  /// The byte at which a mark's column begins. Marks come in order, so each line is walked once.
  std::size_t byte_of(const yaml_mark_t& mark) {
    if (mark.line != walked_.line || mark.column < walked_.column) walked_ = {mark.line, 0, 0};
    const std::string_view line = mark.line < lines_.size() ? lines_[mark.line] : std::string_view();
    for (; walked_.column < mark.column && walked_.byte < line.size(); ++walked_.column) {
      const bool ascii = static_cast<unsigned char>(line[walked_.byte]) < 0x80;
      walked_.byte += ascii ? 1 : static_cast<std::size_t>(decode_utf8(line, walked_.byte).bytes);
    }
    return walked_.byte;
  }

  YamlNode scalar(const yaml_event_t& event) {
    const auto& from = event.data.scalar;
    YamlNode node;
    node.text.assign(reinterpret_cast<const char*>(from.value), from.length);
    node.quoted = from.style != YAML_PLAIN_SCALAR_STYLE;
    YamlNode::Rare rare{text_of(from.tag), {}};
    const yaml_mark_t &start = event.start_mark, &end = event.end_mark;
    const std::string_view line = start.line < lines_.size() ? lines_[start.line] : std::string_view();
    const std::size_t first = byte_of(start);
    const int length =
        start.line == end.line ? static_cast<int>(end.column - start.column) : code_points(line.substr(first));
    node.span = span_at(start, std::max(1, length));
    if (from.style == YAML_LITERAL_SCALAR_STYLE) {
      rare.line_starts = block_lines(node.text, start.line + 1);
    } else {
      const std::size_t quote = node.quoted ? 1 : 0;
      const std::string_view there = line.substr(std::min(line.size(), first + quote), node.text.size());
      node.verbatim = start.line == end.line && there == node.text;
    }
    if (!rare.tag.empty() || !rare.line_starts.empty()) node.rare = std::make_shared<YamlNode::Rare>(std::move(rare));
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
  const YamlOptions& options_;
  Walked walked_;
  std::vector<Open> open_;
  std::map<std::string, Anchored> anchors_;
  std::optional<YamlNode> root_;
  Diagnostics errors_;
  int documents_ = 0;
  int nodes_ = 0;
  int anchored_values_ = 0;
};

}  // namespace

bool YamlNode::is_null() const { return is_scalar() && !quoted && (text.empty() || text == "~" || text == "null"); }

const std::string& YamlNode::tag() const {
  static const std::string none;
  return rare == nullptr ? none : rare->tag;
}

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
  if (scalar.verbatim && inside.line == 1) {
    return {scalar.span.line, scalar.span.column + (scalar.quoted ? 1 : 0) + inside.column - 1, inside.length};
  }
  const auto line = static_cast<std::size_t>(inside.line - 1);
  if (inside.line < 1 || scalar.rare == nullptr || line >= scalar.rare->line_starts.size()) return scalar.span;
  const Span& start = scalar.rare->line_starts[line];
  return {start.line, start.column + inside.column - 1, inside.length};
}

YamlOptions yaml_of_other_tools() { return {std::size_t{1} << 24, 2000000, true, true}; }

Result<YamlNode> parse_yaml(const std::string& text, const YamlOptions& options) {
  if (text.size() > options.maximum_bytes) {
    return fail(fmt::format("the text has {} bytes; at most {} are read", text.size(), options.maximum_bytes));
  }
  std::string_view body = text;
  if (body.substr(0, 3) == "\xEF\xBB\xBF") body.remove_prefix(3);  // byte order mark
  if (auto refused = refuse_characters(body)) return tl::unexpected(Diagnostics{*refused});
  yaml_parser_t parser;
  if (yaml_parser_initialize(&parser) == 0) return fail("not enough memory");
  const std::unique_ptr<yaml_parser_t, void (*)(yaml_parser_t*)> release(&parser, yaml_parser_delete);
  yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(body.data()), body.size());
  return TreeBuilder(body, parser, options).build();
}

}  // namespace einflow
