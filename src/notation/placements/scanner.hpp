// Words, numbers and brackets of a Python call that is the text of a YAML scalar; private to notation/placements.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/yaml.hpp"

namespace einflow::placements {

/// Reads from left to right. The first thing that is not as expected is told, and nothing after it.
class Scanner {
 public:
  Scanner(const YamlNode& node, Diagnostics& errors) : node_(node), text_(node.text), errors_(errors) {}

  bool failed() const { return failed_; }
  bool at_end();
  /// Whether this character is next; it is then taken.
  bool take(char c);
  /// Likewise, but anything else is an error.
  bool expect(char c, std::string_view what);
  /// A name, with dots in it ("jax.sharding.Mesh"); empty where none is next.
  std::string_view word();
  /// A whole number, perhaps negative; an error where none is next.
  std::optional<std::int64_t> number(std::string_view what);
  bool quote_is_next();
  /// A text in single or double quotes; an error where none is next.
  std::optional<std::string> quoted(std::string_view what);
  /// The place of what was taken last, and of what is next.
  Span last() const { return place(last_begin_, at_); }
  Span next();
  void error(const Span& span, std::string message, std::string hint = {});
  /// "found X, expected WHAT" at what is next.
  void unexpected(std::string_view what, std::string hint = {});

 private:
  void skip();
  Span place(std::size_t begin, std::size_t end) const;
  std::string_view upcoming();

  const YamlNode& node_;
  std::string_view text_;
  Diagnostics& errors_;
  std::size_t at_ = 0;
  std::size_t last_begin_ = 0;
  bool failed_ = false;
};

}  // namespace einflow::placements
