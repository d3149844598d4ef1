#include "notation/timeloop/findings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"

namespace einflow::timeloop {

namespace {

bool in_any_spelling(std::string text, const std::vector<std::string>& words) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

void leave_out(Findings& findings, const std::string& what, const std::string& whose) {
  if (whose.empty()) {
    findings.left_out.push_back({what, {}});
    return;
  }
  const auto [place, fresh] = findings.left_out_of_levels.emplace(what, findings.left_out.size());
  if (fresh) findings.left_out.push_back({what, {}});
  std::vector<std::string>& levels = findings.left_out[place->second].whose;
  if (levels.empty() || levels.back() != whose) levels.push_back(whose);
}

std::vector<std::string> to_texts(const std::vector<LeftOut>& left_out) {
  std::vector<std::string> texts;
  for (const LeftOut& entry : left_out) {
    texts.push_back(entry.whose.empty() ? entry.what : comma_list(entry.whose) + ": " + entry.what);
  }
  return texts;
}

void assume(Findings& findings, std::string convention) {
  auto& all = findings.conventions;
  if (std::find(all.begin(), all.end(), convention) == all.end()) all.push_back(std::move(convention));
}

std::optional<Ratio> read_decimal(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  if (node.is_scalar() && !node.is_null()) {
    const auto value = parse_decimal(node.text);
    if (value && !value->overflowed()) return value;
  }
  const bool expression = node.is_scalar() && node.text.find_first_of("+*/()_$") != std::string::npos;
  add_error(errors, node.span, fmt::format("found {}, expected a number for {}", describe(node), what),
            expression ? "expressions are not evaluated; write the number" : "a number without a unit");
  return std::nullopt;
}

std::optional<std::int64_t> read_whole(const YamlNode& node, std::string_view what, std::int64_t minimum,
                                       Diagnostics& errors) {
  const std::size_t before = errors.size();
  const auto value = read_decimal(node, what, errors);
  if (errors.size() > before) return std::nullopt;
  const auto whole = value && value->is_whole() ? value->numerator().to_int64() : std::nullopt;
  if (whole && *whole >= minimum) return whole;
  add_error(errors, node.span,
            fmt::format("found {}, expected a whole number of at least {} for {}", describe(node), minimum, what));
  return std::nullopt;
}

std::optional<bool> read_yes(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  if (node.is_scalar() && in_any_spelling(node.text, {"true", "yes", "on", "1"})) return true;
  if (node.is_scalar() && in_any_spelling(node.text, {"false", "no", "off", "0"})) return false;
  add_error(errors, node.span, fmt::format("found {}, expected true or false for {}", describe(node), what));
  return std::nullopt;
}

std::optional<CountedName> read_counted_name(const YamlNode& node, std::string_view what, Diagnostics& errors) {
  const auto text = read_text(node, what, errors);
  if (!text) return std::nullopt;
  CountedName name{*text, 1};
  const std::size_t bracket = text->find('[');
  if (bracket != std::string::npos) {
    name.name = text->substr(0, bracket);
    const std::size_t dots = text->find("..", bracket);
    const bool closed = text->back() == ']' && dots != std::string::npos;
    const auto first = closed ? parse_count(text->substr(bracket + 1, dots - bracket - 1)) : std::nullopt;
    const auto last = closed ? parse_count(text->substr(dots + 2, text->size() - dots - 3)) : std::nullopt;
    const auto count = first && last ? (*last - *first + 1).to_int64() : std::nullopt;
    if (!count || *count < 1) {
      add_error(errors, node.span,
                fmt::format("found {}, expected a name with its instances for {}", in_quotes(*text), what),
                "for example: PE[0..15] for 16 of them");
      return std::nullopt;
    }
    name.count = *count;
  }
  YamlNode plain = node;
  plain.text = name.name;
  if (!read_name(plain, what, errors)) return std::nullopt;
  return name;
}

}  // namespace einflow::timeloop
