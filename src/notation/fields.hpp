// Reading values out of a YAML tree: each function gives the value, or nothing and an error that points at it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quantity.hpp"
#include "base/yaml.hpp"

namespace einflow {

/// Whether a hundred errors are there: no more are added, and what only looks for more may stop.
bool enough_errors(const Diagnostics& errors);
/// Adds an error, unless there are enough.
void add_error(Diagnostics& errors, const Span& span, std::string message, std::string hint = {});

/// A map whose keys are checked once, when it is made: a key that is not one of `keys` is an error.
class Fields {
 public:
  /// `what` is what the map describes, for messages: "the machine", "storage 'DRAM'".
  Fields(const YamlNode& node, std::string what, const std::vector<std::string>& keys, Diagnostics& errors);

  /// The value of a key; nullptr where it is not given. A key with nothing behind it is an error.
  const YamlNode* find(std::string_view key) const;
  /// Likewise, but it is an error where it is not given (unless a misspelt key has been told that is near it).
  const YamlNode* require(std::string_view key, std::string hint = {}) const;
  /// Text of a key, or nothing.
  std::optional<std::string> text(std::string_view key) const;
  /// true or false of a key, or nothing.
  std::optional<bool> flag(std::string_view key) const;
  const YamlNode& node() const { return node_; }

 private:
  const YamlNode& node_;
  std::string what_;
  std::vector<std::string> misspelt_;  ///< keys that unknown keys were probably meant to be
  Diagnostics& errors_;
};

std::optional<std::string> read_text(const YamlNode& node, std::string_view what, Diagnostics& errors);
std::optional<bool> read_flag(const YamlNode& node, std::string_view what, Diagnostics& errors);
/// A whole number of at least `minimum` that fits in 64 bits.
std::optional<std::int64_t> read_integer(const YamlNode& node, std::string_view what, std::int64_t minimum,
                                         Diagnostics& errors);
std::optional<Quantity> read_quantity(const YamlNode& node, const std::vector<Measure>& measures, Diagnostics& errors);

/// A list of texts, or a single one.
std::vector<std::string> read_texts(const YamlNode& node, std::string_view what, Diagnostics& errors);

/// A name of letters, digits, '_' and '-' that does not begin with a digit or '-'.
std::optional<std::string> read_name(const YamlNode& node, std::string_view what, Diagnostics& errors);

}  // namespace einflow
