// YAML (and so JSON) as a tree of values that know where they were written. The part of YAML that specs
// need: maps, lists, scalars, comments. Anchors, aliases, merge keys and tags are refused: what is read is
// what is written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow {

struct YamlEntry;

struct YamlNode {
  enum class Kind { scalar, list, map };
  Kind kind = Kind::scalar;
  std::string text;     ///< of a scalar, decoded
  bool quoted = false;  ///< a scalar in quotes or in block style: it is text, never null or true
  Span span;            ///< of a scalar its first line; of a list or map its first character
  /// Where each line of `text` starts in the source; empty where the text does not stand there
  /// letter by letter (escapes, folded lines).
  std::vector<Span> line_starts;
  std::vector<YamlNode> items;     ///< of a list
  std::vector<YamlEntry> entries;  ///< of a map, in order; keys are scalars, distinct

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  /// Nothing was written: an empty plain scalar, `~` or `null`.
  bool is_null() const;
  /// The value of a key, or nullptr.
  const YamlNode* find(std::string_view key) const;
};

struct YamlEntry {
  YamlNode key;
  YamlNode value;
};

/// What it is, for messages: "a map", "a list", "nothing" or the quoted text.
std::string describe(const YamlNode& node);

/// The source place of a span inside a scalar's text (lines and columns from 1); the whole scalar where the
/// text does not stand in the source letter by letter.
Span place_inside(const YamlNode& scalar, const Span& inside);

/// Reads one document. Refuses more than 1 MiB, 64 levels of nesting or 100,000 values.
Result<YamlNode> parse_yaml(const std::string& text);

}  // namespace einflow
