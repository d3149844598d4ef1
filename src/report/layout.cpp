#include "report/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/utf8.hpp"
#include "report/json.hpp"

namespace einflow {

namespace {

std::size_t columns_of(std::string_view text) { return static_cast<std::size_t>(code_points(text)); }

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = columns_of(text);
  const std::string space(width > used ? width - used : 0, ' ');
  return right ? space + text : text + space;
}

std::string group_digits(std::string digits) {
  const std::size_t start = !digits.empty() && digits.front() == '-' ? 1 : 0;
  const std::size_t point = std::min(digits.find('.'), digits.size());
  for (std::size_t at = point; at > start + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

void drop_trailing_space(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

std::string grouped(Count value) { return value.overflowed() ? value.str() : group_digits(value.str()); }

std::string grouped(const Ratio& value) {
  const std::string exact = exact_decimal(value);
  return exact.empty() ? rounded(value.to_double()) : group_digits(exact);
}

std::string rounded(double value) {
  const double size = std::fabs(value);
  if (size >= 1000 && size < 1e9) return group_digits(fmt::format("{:.0f}", value));
  return fmt::format("{:.4g}", value);
}

std::string percent(double share) {
  const double value = share * 100;
  return value >= 1 || value == 0 ? fmt::format("{:.1f} %", value) : fmt::format("{:.2g} %", value);
}

std::string scaled(double value, std::string_view unit) {
  static constexpr std::array<std::string_view, 11> kPrefixes = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kOne = 4;
  int prefix = kOne;
  double shown = value;
  for (; std::fabs(shown) >= 999.95 && prefix + 1 < static_cast<int>(kPrefixes.size()); ++prefix) shown /= 1000;
  for (; shown != 0 && std::fabs(shown) < 0.99995 && prefix > 0; --prefix) shown *= 1000;
  return fmt::format("{:.4g} {}{}", shown, kPrefixes[static_cast<std::size_t>(prefix)], unit);
}

std::string bytes_text(const Ratio& bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = bytes.to_double();
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.4g} {}", value, kUnits[unit]);
}

std::string wrapped(std::string_view text, std::size_t width, std::string_view first, std::string_view rest) {
  std::string out;
  std::string line(first);
  bool line_has_word = false;
  const auto end_line = [&] {
    drop_trailing_space(line);
    out += line + "\n";
    line = rest;
    line_has_word = false;
  };
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ' || text[at] == '\n') {
      ++at;
      continue;
    }
    std::string word(text.substr(at, text.find_first_of(" \n", at) - at));
    at += word.size();
    if (line_has_word && columns_of(line) + 1 + columns_of(word) > width) end_line();
    if (line_has_word) line += ' ';
    while (columns_of(line) + columns_of(word) > width && columns_of(line) < width) {
      // Cut between code points.
      std::size_t cut = 0;
      for (std::size_t room = width - columns_of(line); room > 0; --room) {
        cut += static_cast<std::size_t>(decode_utf8(word, cut).bytes);
      }
      line += word.substr(0, cut);
      word.erase(0, cut);
      end_line();
    }
    line += word;
    line_has_word = true;
  }
  end_line();
  return out;
}

std::string heading(std::string_view text, const TextStyle& style) {
  std::string line = wrapped(text, style.width, "", "  ");
  if (!style.colour) return line;
  return "\033[1m" + line.substr(0, line.size() - 1) + "\033[0m\n";
}

std::string section(std::string_view title, const TextStyle& style) {
  std::string out = "\n";
  return out += heading(title, style);
}

Table::Table(std::vector<std::string> titles, std::size_t labels) : titles_(std::move(titles)), labels_(labels) {}

void Table::add(std::vector<std::string> row) {
  row.resize(titles_.size());
  rows_.push_back(std::move(row));
}

std::string Table::str(const TextStyle& style) const {
  std::vector<std::size_t> widths(titles_.size(), 0);
  std::size_t total = 0;
  for (std::size_t column = 0; column < titles_.size(); ++column) {
    for (const auto& row : rows_) widths[column] = std::max(widths[column], columns_of(row[column]));
    if (widths[column] == 0) continue;
    widths[column] = std::max(widths[column], columns_of(titles_[column]));
    total += 2 + widths[column];
  }
  if (total > style.width) return stacked(style);
  const auto line_of = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (widths[column] > 0) line += "  " + padded(cells[column], widths[column], column >= labels_);
    }
    drop_trailing_space(line);
    return line + "\n";
  };
  std::string out = line_of(titles_);
  if (out == "\n") out.clear();
  if (style.colour && !out.empty()) out = "\033[2m" + out.substr(0, out.size() - 1) + "\033[0m\n";
  for (const auto& row : rows_) out += line_of(row);
  return out;
}

std::string Table::stacked(const TextStyle& style) const {
  std::string out;
  for (const auto& row : rows_) {
    std::string name;
    for (std::size_t column = 0; column < labels_; ++column) {
      if (!row[column].empty()) name += (name.empty() ? "" : " ") + row[column];
    }
    std::string figures;
    for (std::size_t column = labels_; column < row.size(); ++column) {
      if (row[column].empty()) continue;
      if (!figures.empty()) figures += ", ";
      if (!titles_[column].empty()) figures += titles_[column] + " ";
      figures += row[column];
    }
    out += wrapped(name, style.width, "  ", "    ");
    if (!figures.empty()) out += wrapped(figures, style.width, "    ", "    ");
  }
  return out;
}

}  // namespace einflow
