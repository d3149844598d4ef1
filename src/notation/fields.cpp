#include "notation/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMaximumErrors = 100;

bool is_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-'; };
  return !text.empty() && text.size() <= 200 && letter(text[0]) && std::all_of(text.begin(), text.end(), inner);
}

}  // namespace

bool enough_errors(const Diagnostics& errors) { return errors.size() >= kMaximumErrors; }

void add_error(Diagnostics& errors, const Span& span, std::string message, std::string hint) {
  if (!enough_errors(errors)) errors.push_back({span, std::move(message), std::move(hint), {}});
}

Fields::Fields(const YamlNode& node, std::string what, const std::vector<std::string>& keys, Diagnostics& errors)
    : node_(node), what_(std::move(what)), errors_(errors) {
  if (!node.is_map()) {
    add_error(errors, node.span, fmt::format("found {}, expected {} as a map", describe(node), what_),
              "keys: " + comma_list(keys));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (enough_errors(errors)) break;
    if (std::find(keys.begin(), keys.end(), key.text) != keys.end()) continue;
    misspelt_.push_back(nearest_name(key.text, keys));
    add_error(errors, key.span, fmt::format("unknown key {} in {}", in_quotes(key.text), what_),
              name_hint(key.text, keys, "keys"));
  }
}

const YamlNode* Fields::find(std::string_view key) const {
  for (const auto& [name, value] : node_.entries) {
    if (name.text != key) continue;
    if (!value.is_null()) return &value;
    add_error(errors_, name.span, fmt::format("{} has nothing behind it", in_quotes(key)));
    return nullptr;
  }
  return nullptr;
}

const YamlNode* Fields::require(std::string_view key, std::string hint) const {
  if (!node_.is_map()) return nullptr;
  const bool told = std::find(misspelt_.begin(), misspelt_.end(), key) != misspelt_.end();
  if (node_.find(key) == nullptr && !told) {
    add_error(errors_, node_.span, fmt::format("{} is missing in {}", in_quotes(key), what_), std::move(hint));
  }
  return find(key);
}

std::optional<std::string> Fields::text(std::string_view key) const {
  const YamlNode* value = find(key);
  return value != nullptr ? read_text(*value, in_quotes(key), errors_) : std::nullopt;
}

std::optional<bool> Fields::flag(std::string_view key) const {
  const YamlNode* value = find(key);
  return value != nullptr ? read_flag(*value, in_quotes(key), errors_) : std::nullopt;
}

std::optional<std::string> read_text(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  if (node.is_scalar() && !node.is_null()) return node.text;
  add_error(errors, node.span, fmt::format("found {}, expected a text for {}", describe(node), what));
  return std::nullopt;
}

std::optional<bool> read_flag(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  if (node.is_scalar() && !node.quoted && (node.text == "true" || node.text == "false")) return node.text == "true";
  add_error(errors, node.span, fmt::format("found {}, expected true or false for {}", describe(node), what));
  return std::nullopt;
}

std::optional<std::int64_t> read_integer(const YamlNode& node, std::string_view what, std::int64_t minimum,
                                         Diagnostics& errors) {
  if (node.is_scalar()) {
    const auto count = parse_count(node.text);
    const auto value = count ? count->to_int64() : std::nullopt;
    if (value && *value >= minimum) return value;
    const bool digits = !node.text.empty() && node.text.find_first_not_of("0123456789") == std::string::npos;
    if (digits && !value) {
      add_error(errors, node.span, fmt::format("{} is too large for {}", in_quotes(node.text), what));
      return std::nullopt;
    }
  }
  add_error(errors, node.span,
            fmt::format("found {}, expected a whole number of at least {} for {}", describe(node), minimum, what));
  return std::nullopt;
}

std::optional<Quantity> read_quantity(const YamlNode& node, const std::vector<Measure>& measures, Diagnostics& errors) {
  if (!node.is_scalar() || node.is_null()) {
    add_error(errors, node.span, fmt::format("found {}, expected a number with its unit", describe(node)),
              "units: " + units_of(measures));
    return std::nullopt;
  }
  auto quantity = parse_quantity(node.text, measures);
  if (quantity) return *quantity;
  for (Diagnostic& problem : quantity.error()) {
    add_error(errors, place_inside(node, problem.span), std::move(problem.message), std::move(problem.hint));
  }
  return std::nullopt;
}

std::vector<std::string> read_texts(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  std::vector<std::string> texts;
  if (node.is_list()) {
    for (const YamlNode& item : node.items) {
      if (auto text = read_text(item, what, errors)) texts.push_back(std::move(*text));
    }
  } else if (auto text = read_text(node, what, errors)) {
    texts.push_back(std::move(*text));
  }
  return texts;
}

std::optional<std::string> read_name(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  auto text = read_text(node, what, errors);
  if (!text || is_name(*text)) return text;
  add_error(
      errors, node.span,
      fmt::format("{} is not a name for {}: letters, digits, '_' and '-', not a digit first", in_quotes(*text), what));
  return std::nullopt;
}

}  // namespace einflow
