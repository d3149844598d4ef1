#include "notation/timeloop/factor_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/fields.hpp"

namespace einflow::timeloop {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_separator(char c) { return c == ' ' || c == '\t' || c == '\n' || c == ','; }

/// Counts spans inside a scalar's text.
class Cursor {
 public:
  explicit Cursor(const YamlNode& scalar) : scalar_(scalar), text_(scalar.text) {}

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  std::size_t place() const { return at_; }
  void skip(bool (*of_kind)(char)) {
    while (!at_end() && of_kind(peek())) ++at_;
  }
  void step() { ++at_; }
  std::string_view take(bool (*of_kind)(char)) {
    const std::size_t first = at_;
    skip(of_kind);
    return std::string_view(text_).substr(first, at_ - first);
  }
  /// From a place to here; at least one column.
  Span span_from(std::size_t first) const {
    int line = 1;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < first; ++i) {
      if (text_[i] != '\n') continue;
      ++line;
      begin = i + 1;
    }
    const std::string_view text = text_;
    const int column = 1 + code_points(text.substr(begin, first - begin));
    return place_inside(scalar_, {line, column, std::max(1, code_points(text.substr(first, at_ - first)))});
  }

 private:
  const YamlNode& scalar_;
  const std::string& text_;
  std::size_t at_ = 0;
};

std::vector<std::string> rank_names(const Einsum& einsum) {
  std::vector<std::string> names;
  for (const Rank& rank : einsum.ranks) names.push_back(rank.name);
  return names;
}

class FactorReader {
 public:
  FactorReader(const Einsum& einsum, bool& zero, Diagnostics& errors)
      : einsum_(einsum), zero_(zero), errors_(errors), factors_(einsum.ranks.size()) {}

  void read_text(const YamlNode& scalar) {
    Cursor cursor(scalar);
    for (cursor.skip(is_separator); !cursor.at_end(); cursor.skip(is_separator)) {
      if (cursor.peek() == '#') return;  // Timeloop cuts its text there
      if (enough_errors(errors_) || !read_one(cursor)) return;
    }
  }

  void add(const std::string& name, Count bound, std::optional<Count> residual, const Span& span) {
    const int rank = einsum_.rank_named(name);
    if (rank < 0) {
      add_error(errors_, span, fmt::format("unknown dimension {}", in_quotes(name)),
                name_hint(name, rank_names(einsum_), "dimensions"));
      return;
    }
    auto& factor = factors_[static_cast<std::size_t>(rank)];
    if (factor) {
      add_error(errors_, span, fmt::format("a second factor of {} in one directive", in_quotes(name)));
      return;
    }
    if (bound == Count(0)) {
      zero_ = true;
      bound = Count(einsum_.ranks[static_cast<std::size_t>(rank)].extent);
    }
    if (residual && (*residual < Count(1) || *residual > bound)) {
      add_error(errors_, span,
                fmt::format("{} of {} iterations in the last round; expected 1 to {}", residual->str(), bound.str(),
                            bound.str()),
                bound > Count(2) ? fmt::format("{}={},2 is rounds of {}, the last of 2", name, bound.str(), bound.str())
                                 : "");
      return;
    }
    factor = Factor{rank, bound, residual.value_or(bound), false, span};
  }

  std::vector<std::optional<Factor>> take() { return std::move(factors_); }

 private:
  /// Whether to go on.
  bool read_one(Cursor& cursor) {
    const std::size_t first = cursor.place();
    const std::string name(cursor.take(is_letter));
    cursor.skip([](char c) { return c == ' '; });
    const std::size_t sign = cursor.place();
    if (!name.empty() && (cursor.peek() == '<' || cursor.peek() == '>')) {
      cursor.step();
      add_error(errors_, cursor.span_from(sign),
                "a bound for a search, not a factor; a mapping says which factor it is",
                fmt::format("for example: {}=4", name));
      return false;
    }
    cursor.skip([](char c) { return c == '=' || c == ' '; });
    const std::size_t number = cursor.place();
    const auto bound = read_number(cursor);
    if (name.empty() || number == cursor.place()) {
      if (cursor.place() == first) cursor.step();
      add_error(errors_, cursor.span_from(first), "expected a factor",
                "for example: M=4, or M=4,2 for a last round of 2");
      return false;
    }
    std::optional<Count> residual;
    if (cursor.peek() == ',') {
      Cursor ahead = cursor;
      ahead.step();
      if (is_digit(ahead.peek())) {
        cursor.step();
        residual = read_number(cursor);
        if (!residual) residual = Count::overflow();
      }
    }
    const Span span = cursor.span_from(first);
    if (!bound || (residual && residual->overflowed())) {
      add_error(errors_, span, fmt::format("the factor of {} is too large", in_quotes(name)));
      return true;
    }
    add(name, *bound, residual, span);
    return true;
  }

  static std::optional<Count> read_number(Cursor& cursor) {
    const auto count = parse_count(cursor.take(is_digit));
    return count && count->to_int64() ? count : std::nullopt;
  }

  const Einsum& einsum_;
  bool& zero_;
  Diagnostics& errors_;
  std::vector<std::optional<Factor>> factors_;
};

}  // namespace

std::vector<std::optional<Factor>> read_factors(const YamlNode& node, const Einsum& einsum, bool& zero,
                                                Diagnostics& errors) {
  FactorReader reader(einsum, zero, errors);
  if (node.is_scalar()) {
    reader.read_text(node);
  } else if (node.is_list()) {
    for (const YamlNode& item : node.items) {
      if (item.is_scalar()) {
        reader.read_text(item);
      } else {
        add_error(errors, item.span, fmt::format("found {}, expected a factor", describe(item)), "for example: M=4");
      }
    }
  } else {
    for (const auto& [key, value] : node.entries) {
      const auto bound = read_whole(value, "the factor of " + in_quotes(key.text), 0, errors);
      if (bound) reader.add(key.text, Count(*bound), std::nullopt, key.span);
    }
  }
  return reader.take();
}

std::vector<int> read_permutation(const YamlNode& node, const Einsum& einsum, Diagnostics& errors) {
  std::vector<std::pair<std::string, Span>> names;
  if (node.is_list()) {
    for (const YamlNode& item : node.items) {
      if (const auto name = read_text(item, "a dimension of the permutation", errors))
        names.emplace_back(*name, item.span);
    }
  } else if (const auto text = read_text(node, "the permutation", errors)) {
    const bool apart = text->find_first_of(", ") != std::string::npos;
    Cursor cursor(node);
    for (cursor.skip(is_separator); !cursor.at_end(); cursor.skip(is_separator)) {
      const std::size_t first = cursor.place();
      if (apart) {
        cursor.skip([](char c) { return !is_separator(c); });
      } else {
        cursor.step();
      }
      names.emplace_back(text->substr(first, cursor.place() - first), cursor.span_from(first));
      if (names.size() > 1000) break;
    }
  }
  std::vector<int> ranks;
  for (const auto& [name, span] : names) {
    const int rank = einsum.rank_named(name);
    if (rank < 0) {
      add_error(errors, span, fmt::format("unknown dimension {} in the permutation", in_quotes(name)),
                name_hint(name, rank_names(einsum), "dimensions"));
      if (enough_errors(errors)) break;
    } else if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
      add_error(errors, span, fmt::format("the dimension {} is twice in the permutation", in_quotes(name)));
      break;
    } else {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace einflow::timeloop
