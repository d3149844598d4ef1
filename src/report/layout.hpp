// Plain text for a terminal of 80 columns: tables, wrapped lines, numbers as people read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.hpp"
#include "base/ratio.hpp"

namespace einflow {

/// How a text view is drawn.
struct TextStyle {
  bool colour = false;
  std::size_t width = 80;
};

/// "1,048,576".
std::string grouped(Count value);
/// The same with decimals where the ratio has them ("1,048,576.5").
std::string grouped(const Ratio& value);
/// Four significant digits, grouped where large: "0.5", "12.35", "1,234", "1.234e+12".
std::string rounded(double value);
/// "99.7 %", with two significant digits below 1 %.
std::string percent(double share);
/// A physical quantity with the prefix that keeps it between 1 and 1000: scaled(4.2e-3, "s") = "4.2 ms".
std::string scaled(double value, std::string_view unit);
/// Bytes in powers of two: "512 KiB", "1.5 MiB", "700 B".
std::string bytes_text(const Ratio& bytes);

/// Words of `text` in lines of at most `width` columns; `first` starts the first line, `rest` the others. A
/// word wider than a line is cut. Ends with a newline.
std::string wrapped(std::string_view text, std::size_t width, std::string_view first, std::string_view rest);

/// A heading of a section; bold where coloured. Ends with a newline.
std::string heading(std::string_view text, const TextStyle& style);

/// An empty line and the heading.
std::string section(std::string_view title, const TextStyle& style);

/// Rows under titles. A table wider than the style's width is written row by row instead.
class Table {
 public:
  /// The first `labels` columns name a row and stand left; the others are figures and stand right.
  Table(std::vector<std::string> titles, std::size_t labels);
  void add(std::vector<std::string> row);
  bool empty() const { return rows_.empty(); }
  /// Indented by two. Columns without any text are left out, and the titles where all are
  /// empty.
  std::string str(const TextStyle& style) const;

 private:
  std::string stacked(const TextStyle& style) const;
  std::vector<std::string> titles_;
  std::size_t labels_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace einflow
