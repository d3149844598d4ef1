// The keys of a config.json, each read once: what nobody has read at the end is told.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "notation/fields.hpp"

namespace einflow::huggingface {

/// The largest size that a config or a setting may state; a product of two of them fits in 64 bits.
constexpr std::int64_t kLargestSize = std::int64_t{1} << 30;

/// Errors go into the list given; a value that could not be read is then 1, false or empty.
class Config {
 public:
  /// The node must be a map.
  Config(const YamlNode& node, Diagnostics& errors) : node_(node), errors_(errors) {}

  /// The value of a key, marked as read; nullptr where it is missing or null.
  const YamlNode* find(std::string_view key);
  bool states(std::string_view key) const;
  /// Whether it is there at all, be it with null.
  bool mentions(std::string_view key) const { return node_.find(key) != nullptr; }
  /// Where the value stands, or the text's start.
  Span place(std::string_view key) const;

  /// A whole number from 1 to kLargestSize; it is an error where it is missing.
  std::int64_t size(std::string_view key);
  std::int64_t size_or(std::string_view key, std::int64_t fallback);
  std::optional<std::int64_t> optional_size(std::string_view key);
  /// From 0 on.
  std::int64_t number_or(std::string_view key, std::int64_t fallback);
  bool flag_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, const std::string& fallback);
  /// floor(whole * the key's decimal), at most `whole`.
  std::int64_t share_of(std::int64_t whole, std::string_view key, const char* fallback);
  std::vector<std::string> texts(std::string_view key);

  /// An error where the flag is not `value`: the model then computes what is not read here.
  void expect_flag(std::string_view key, bool value, const std::string& because);
  /// A key that must be there, be it with null.
  void require(std::string_view key);
  /// When all keys have been read: gives the errors about missing ones the nearest of those that nobody reads.
  void explain_missing();
  /// Keys on which no count depends.
  void ignore(std::initializer_list<std::string_view> keys);

  void error(std::string_view key, std::string message, std::string hint = {});
  /// At an item of the list behind the key.
  void error_at(std::string_view key, std::size_t item, std::string message, std::string hint = {});
  /// Whether every number so far could be read: only then are they compared with each other.
  bool numbers_read() const { return all_read_; }
  /// A key that is not there, and what is taken in its place; the readers with a fallback do so by themselves.
  void assume(std::string_view key, const std::string& value);
  /// "KEY VALUE" of each, in the order of reading.
  const std::vector<std::string>& assumed() const { return assumed_; }
  /// "not understood: KEY (line N)" of every key that was neither read nor ignored.
  std::vector<std::string> unread() const;

 private:
  std::optional<std::int64_t> bounded(const YamlNode& node, std::string_view key, std::int64_t minimum);

  const YamlNode& node_;
  Diagnostics& errors_;
  std::set<std::string, std::less<>> read_;
  bool all_read_ = true;
  std::vector<std::string> assumed_;
  std::vector<std::pair<std::size_t, std::string>> missing_;  ///< index of the error, key
};

}  // namespace einflow::huggingface
