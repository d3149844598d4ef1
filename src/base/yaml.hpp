// YAML (and so JSON) as a tree of values that know where they were written. The part of YAML that specs
// need: maps, lists, scalars, comments. Anchors, aliases, merge keys and tags are refused, so that what is read is
// what is written; notations whose own files have them ask for them with YamlOptions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.hpp"

namespace einflow {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { scalar, list, map };
  Kind kind = Kind::scalar;
  bool quoted = false;  ///< a scalar in quotes or in block style: it is text, never null or true
  /// A scalar of one line whose text stands in the source letter by letter, after the quote if there is one.
  bool verbatim = false;
  Span span;         ///< of a scalar its first line; of a list or map its first character
  std::string text;  ///< of a scalar, decoded
  /// What few nodes have, apart because files have millions of them.
  struct Rare {
    std::string tag;                ///< "!Component", where tags are accepted
    std::vector<Span> line_starts;  ///< where each line of a text in block style starts in the source
  };
  std::shared_ptr<const Rare> rare;  ///< may be nullptr
  std::vector<YamlNode> items;       ///< of a list
  std::vector<YamlEntry> entries;    ///< of a map, in order; keys are scalars, distinct

  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_list() const { return kind == Kind::list; }
  bool is_map() const { return kind == Kind::map; }
  /// Empty where none is written.
  const std::string& tag() const;
  /// Whether places inside the text are known: it stands in the source letter by letter, in one line or as a block.
  bool has_places() const { return verbatim || (rare != nullptr && !rare->line_starts.empty()); }
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

/// What of YAML is accepted, and how much of it. Never more than 64 levels of nesting.
struct YamlOptions {
  std::size_t maximum_bytes = std::size_t{1} << 20;
  int maximum_values = 100000;  ///< scalars, keys, lists and maps, those that aliases stand for included
  /// Anchors, aliases and merge keys (`<<`). A value that an alias stands for has the place of its anchor. The
  /// anchored values are kept beside the tree, and are at most `maximum_values` too.
  bool references = false;
  bool tags = false;  ///< kept as text on the node, not interpreted
};

/// For other tools' files: 16 MiB, 2 million values, references and tags.
YamlOptions yaml_of_other_tools();

/// Reads one document. Refuses what the options do not accept, and everything above their limits.
Result<YamlNode> parse_yaml(const std::string& text, const YamlOptions& options = {});

}  // namespace einflow
