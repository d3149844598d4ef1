#include "notation/huggingface/config.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/message.hpp"
#include "base/ratio.hpp"

namespace einflow::huggingface {

namespace {

constexpr std::size_t kMostKeysTold = 200;

}  // namespace

const YamlNode* Config::find(std::string_view key) {
  read_.emplace(key);
  const YamlNode* value = node_.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

bool Config::states(std::string_view key) const {
  const YamlNode* value = node_.find(key);
  return value != nullptr && !value->is_null();
}

Span Config::place(std::string_view key) const {
  const YamlNode* value = node_.find(key);
  return value != nullptr ? value->span : node_.span;
}

std::optional<std::int64_t> Config::bounded(const YamlNode& node, std::string_view key, std::int64_t minimum) {
  const bool before = std::exchange(all_read_, false);
  if (node.quoted) {
    add_error(errors_, node.span,
              fmt::format("found the text {}, expected a whole number for {}", in_quotes(node.text), in_quotes(key)),
              "numbers stand without quotes");
    return std::nullopt;
  }
  const auto value = read_integer(node, in_quotes(key), minimum, errors_);
  if (value && *value > kLargestSize) {
    add_error(errors_, node.span, fmt::format("{} is too large for {}", *value, in_quotes(key)),
              fmt::format("at most {}", kLargestSize));
    return std::nullopt;
  }
  all_read_ = before && value.has_value();
  return value;
}

std::int64_t Config::size(std::string_view key) {
  if (const YamlNode* value = find(key)) return bounded(*value, key, 1).value_or(1);
  all_read_ = false;
  require(key);
  if (const YamlNode* stated = node_.find(key)) {
    add_error(errors_, stated->span, fmt::format("{} is null, expected a whole number", in_quotes(key)));
  }
  return 1;
}

void Config::require(std::string_view key) {
  if (mentions(key)) return;
  read_.emplace(key);
  add_error(errors_, node_.span, fmt::format("{} is missing", in_quotes(key)),
            "this family needs it; its default is not assumed");
  if (!enough_errors(errors_)) missing_.emplace_back(errors_.size() - 1, key);
}

void Config::explain_missing() {
  std::vector<std::string> others;
  for (const auto& [name, value] : node_.entries) {
    if (others.size() < kMostKeysTold && read_.find(name.text) == read_.end()) others.push_back(name.text);
  }
  for (const auto& [error, key] : missing_) {
    const std::string near = nearest_name(key, others);
    if (near.empty()) continue;
    errors_[error].hint = fmt::format("is {} on line {} meant to be it?", in_quotes(near), node_.find(near)->span.line);
  }
}

void Config::assume(std::string_view key, const std::string& value) {
  if (!mentions(key)) assumed_.push_back(fmt::format("{} {}", key, value));
}

std::int64_t Config::size_or(std::string_view key, std::int64_t fallback) {
  assume(key, std::to_string(fallback));
  return optional_size(key).value_or(fallback);
}

std::optional<std::int64_t> Config::optional_size(std::string_view key) {
  const YamlNode* value = find(key);
  return value != nullptr ? bounded(*value, key, 1) : std::nullopt;
}

std::int64_t Config::number_or(std::string_view key, std::int64_t fallback) {
  assume(key, std::to_string(fallback));
  const YamlNode* value = find(key);
  return value != nullptr ? bounded(*value, key, 0).value_or(fallback) : fallback;
}

bool Config::flag_or(std::string_view key, bool fallback) {
  assume(key, fallback ? "true" : "false");
  const YamlNode* value = find(key);
  return value != nullptr ? read_flag(*value, in_quotes(key), errors_).value_or(fallback) : fallback;
}

std::string Config::text_or(std::string_view key, const std::string& fallback) {
  if (!fallback.empty()) assume(key, fallback);
  const YamlNode* value = find(key);
  return value != nullptr ? read_text(*value, in_quotes(key), errors_).value_or(fallback) : fallback;
}

std::int64_t Config::share_of(std::int64_t whole, std::string_view key, const char* fallback) {
  assume(key, fallback);
  const YamlNode* value = find(key);
  const auto share = value == nullptr                       ? parse_decimal(fallback)
                     : value->is_scalar() && !value->quoted ? parse_decimal(value->text)
                                                            : std::nullopt;
  if (!share || share->overflowed() || Ratio(Count(1)) < *share) {
    error(key, fmt::format("found {}, expected a number from 0 to 1 for {}", describe(*value), in_quotes(key)));
    return whole;
  }
  const Count product = share->numerator() * Count(whole);
  if (product.overflowed()) return whole;
  return static_cast<std::int64_t>(product.value() / share->denominator().value());
}

std::vector<std::string> Config::texts(std::string_view key) {
  const YamlNode* value = find(key);
  return value != nullptr ? read_texts(*value, in_quotes(key), errors_) : std::vector<std::string>{};
}

void Config::expect_flag(std::string_view key, bool value, const std::string& because) {
  if (mentions(key) && flag_or(key, value) != value) {
    error(key, fmt::format("{}: {} is not read: {}", key, value ? "false" : "true", because));
  }
}

void Config::ignore(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) read_.emplace(key);
}

void Config::error(std::string_view key, std::string message, std::string hint) {
  add_error(errors_, place(key), std::move(message), std::move(hint));
}

void Config::error_at(std::string_view key, std::size_t item, std::string message, std::string hint) {
  const YamlNode* list = node_.find(key);
  const bool inside = list != nullptr && item < list->items.size();
  add_error(errors_, inside ? list->items[item].span : place(key), std::move(message), std::move(hint));
}

std::vector<std::string> Config::unread() const {
  std::vector<std::string> texts;
  std::size_t more = 0;
  for (const auto& [name, value] : node_.entries) {
    if (read_.find(name.text) != read_.end()) continue;
    if (texts.size() >= kMostKeysTold) {
      ++more;
      continue;
    }
    texts.push_back(fmt::format("not understood: {} (line {})", in_quotes(name.text), name.span.line));
  }
  if (more > 0) texts.push_back(fmt::format("not understood: {} more keys", more));
  return texts;
}

}  // namespace einflow::huggingface
