#include "notation/scalesim/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/scalesim/configuration.hpp"
#include "notation/scalesim/lines.hpp"

namespace einflow::scalesim {

namespace {

constexpr std::size_t kMostLayers = 100000;
constexpr std::size_t kMostCells = 64;

constexpr std::array<std::string_view, 4> kProductColumns = {"Layer", "M", "N", "K"};
constexpr std::array<std::string_view, 8> kConvolutionColumns = {
    "Layer name", "IFMAP Height", "IFMAP Width", "Filter Height", "Filter Width", "Channels", "Num Filter", "Strides"};

std::string letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') out += c;
  }
  return out;
}

/// The cells of a line, trimmed; empty ones at the end are left out (SCALE-Sim wants a comma at the end of each line).
/// More than kMostCells are not told apart.
void split(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  for (;;) {
    const std::size_t comma = cells.size() < kMostCells ? line.find(',') : std::string_view::npos;
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 1);
  }
  while (!cells.empty() && cells.back().empty()) cells.pop_back();
}

class TopologyReader {
 public:
  explicit TopologyReader(const SourceText& source) : source_(source) {}

  Result<Topology> read() {
    for_each_line(source_.text, [&](const Line& line) {
      if (enough_errors(errors_) || full_) return;
      split(line.text, cells_);
      if (cells_.empty()) return;
      header_.empty() ? read_header(line) : read_row(line);
    });
    if (errors_.empty() && header_.empty()) {
      add_error(errors_, {}, "the topology is empty",
                "its first line is a header: Layer name, IFMAP Height, IFMAP Width, ... or Layer, M, N, K");
    } else if (errors_.empty() && topology_.rows.empty()) {
      add_error(errors_, header_span_, "the topology has a header and no layer",
                "a layer is a line below the header, for example: Conv1, 224, 224, 7, 7, 3, 64, 2,");
    }
    if (!errors_.empty()) {
      for (Diagnostic& error : errors_) error.source = source_.name;
      return tl::unexpected(std::move(errors_));
    }
    return std::move(topology_);
  }

 private:
  std::size_t wanted() const { return product_ ? kProductColumns.size() : kConvolutionColumns.size(); }
  std::string_view column(std::size_t index) const {
    return product_ ? kProductColumns[index] : kConvolutionColumns[index];
  }
  std::string columns() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < wanted(); ++i) names.emplace_back(column(i));
    return comma_list(names);
  }

  void read_header(const Line& line) {
    header_span_ = line.span_of(trimmed(line.text));
    for (const std::string_view cell : cells_) header_.emplace_back(cell);
    product_ = cells_.size() <= kProductColumns.size() + 1;
    if (cells_.size() == 1) {
      add_error(errors_, header_span_, "found one column, expected at least 4 with commas between them",
                line.text.find('\t') != std::string_view::npos
                    ? "the columns are separated by tabs; SCALE-Sim's are by commas"
                    : "Layer name, IFMAP Height, IFMAP Width, ... or Layer, M, N, K");
      full_ = true;
      return;
    }
    const auto numbers = std::count_if(cells_.begin() + 1, cells_.end(),
                                       [](std::string_view cell) { return whole_number(cell).has_value(); });
    if (numbers > 0 && numbers + 1 == static_cast<std::ptrdiff_t>(cells_.size())) {
      add_error(errors_, header_span_, "the first line is a layer, expected a header",
                "SCALE-Sim skips the first line whatever it says: write " + columns());
      return;
    }
    check_order(line);
  }

  /// Columns are known by their place. A header that names them in another order means other numbers.
  void check_order(const Line& line) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < wanted(); ++i) names.push_back(letters(column(i)));
    names.back() = product_ ? "k" : "strides";
    for (std::size_t i = 1; i < std::min(cells_.size(), wanted()); ++i) {
      const std::string found = letters(cells_[i]);
      const auto place = std::find(names.begin() + 1, names.end(), found);
      const bool moved = place != names.end() && static_cast<std::size_t>(place - names.begin()) != i;
      if (moved) {
        add_error(errors_, line.span_of(cells_[i]),
                  fmt::format("column {} is headed {}, but SCALE-Sim takes it for {}", i + 1, in_quotes(cells_[i]),
                              column(i)),
                  "the order is " + columns());
        return;
      }
    }
  }

  void read_row(const Line& line) {
    if (topology_.rows.size() == kMostLayers) {
      add_error(errors_, line.span_of(cells_.front()), fmt::format("more than {} layers", kMostLayers));
      full_ = true;
      return;
    }
    if (cells_.size() < wanted()) {
      const Span span = line.span_of(trimmed(line.text));
      add_error(errors_, span,
                fmt::format("found {} column{}, expected {}: {}", cells_.size(), cells_.size() == 1 ? "" : "s",
                            wanted(), columns()),
                !product_ && cells_.size() == 4 ? "rows of M, N, K stand in a topology of their own" : "");
      return;
    }
    Row row;
    row.line = line.number;
    row.product = product_;
    row.name = std::string(cells_[0]);
    const std::size_t before = errors_.size();
    if (product_) {
      row.m = number(line, 1);
      row.n = number(line, 2);
      row.k = number(line, 3);
      if (cells_.size() > 4) read_sparsity(line, 4, row);
      note_columns(line, 5);
    } else {
      row.height = number(line, 1);
      row.width = number(line, 2);
      row.filter_height = number(line, 3);
      row.filter_width = number(line, 4);
      row.channels = number(line, 5);
      row.filters = number(line, 6);
      row.stride_height = row.stride_width = number(line, 7);
      read_more(line, row);
      if (errors_.size() == before) check_window(line, row);
    }
    if (errors_.size() == before) topology_.rows.push_back(std::move(row));
  }

  /// A ninth column is the stride along the width or the sparsity; a tenth the sparsity.
  void read_more(const Line& line, Row& row) {
    std::size_t next = 8;
    if (cells_.size() > next && cells_[next].find(':') == std::string_view::npos) {
      if (!cells_[next].empty()) row.stride_width = number(line, next);
      ++next;
    }
    if (cells_.size() > next && (cells_[next].empty() || cells_[next].find(':') != std::string_view::npos)) {
      if (!cells_[next].empty()) read_sparsity(line, next, row);
      ++next;
    }
    note_columns(line, next);
    // SCALE-Sim makes a layer of one channel of each channel of a row with DP in its name.
    if (row.name.find("DP") != std::string::npos) {
      row.repeat = row.channels;
      row.channels = 1;
    }
  }

  void check_window(const Line& line, const Row& row) {
    if (row.filter_height > row.height) {
      add_error(errors_, line.span_of(cells_[3]),
                fmt::format("the filter's height {} is larger than the input's {}", row.filter_height, row.height),
                "SCALE-Sim adds no padding: it is part of the IFMAP's size");
    }
    if (row.filter_width > row.width) {
      add_error(errors_, line.span_of(cells_[4]),
                fmt::format("the filter's width {} is larger than the input's {}", row.filter_width, row.width),
                "SCALE-Sim adds no padding: it is part of the IFMAP's size");
    }
  }

  std::int64_t number(const Line& line, std::size_t index) {
    const std::string_view cell = cells_[index];
    if (const auto value = whole_number(cell)) return *value;
    const std::string name(index < wanted() ? column(index) : "stride along the width");
    const bool digits = std::all_of(cell.begin(), cell.end(), [](char c) { return c >= '0' && c <= '9'; });
    const bool large = digits && cell.find_first_not_of('0') != std::string_view::npos;
    add_error(errors_, line.span_of(cell),
              cell.empty()
                  ? fmt::format("{} (column {}) is empty, expected a whole number of at least 1", name, index + 1)
              : large ? fmt::format("{}: {} does not fit in 64 bits", name, in_quotes(cell))
                      : fmt::format("{}: found {}, expected a whole number of at least 1", name, in_quotes(cell)));
    return 1;
  }

  /// "N:M", N of every M weights.
  void read_sparsity(const Line& line, std::size_t index, Row& row) {
    const std::string_view cell = cells_[index];
    const std::size_t colon = cell.find(':');
    const auto stored = whole_number(trimmed(cell.substr(0, colon)));
    const auto of = colon == std::string_view::npos ? std::nullopt : whole_number(trimmed(cell.substr(colon + 1)));
    if (!stored || !of || *stored > *of) {
      add_error(errors_, line.span_of(cell),
                fmt::format("sparsity: found {}, expected N:M with N from 1 to M", in_quotes(cell)),
                "1:1 is dense, 2:4 stores two of every four weights");
      return;
    }
    row.sparsity = {*stored, *of};
    row.sparsity_span = line.span_of(cell);
  }

  /// Columns behind the last one that SCALE-Sim knows.
  void note_columns(const Line& line, std::size_t first) {
    for (std::size_t i = first; i < cells_.size(); ++i) {
      if (cells_[i].empty()) continue;
      if (i >= header_.size() || header_[i].empty()) {
        add_error(errors_, line.span_of(cells_[i]),
                  fmt::format("column {} holds {} and has no header", i + 1, in_quotes(cells_[i])), columns());
        return;
      }
      if (noted_.size() <= i) noted_.resize(i + 1, false);
      if (noted_[i]) continue;
      noted_[i] = true;
      topology_.left_out.push_back(fmt::format("{}:{}: column {} ({}): SCALE-Sim has no such column", source_.name,
                                               line.number, i + 1, printable(header_[i], 40)));
    }
  }

  const SourceText& source_;
  Topology topology_;
  bool product_ = false;
  bool full_ = false;  // nothing more is read
  std::vector<std::string> header_;
  Span header_span_;
  std::vector<std::string_view> cells_;  // of the line at hand
  std::vector<bool> noted_;
  Diagnostics errors_;
};

}  // namespace

Result<Topology> read_topology(const SourceText& source) { return TopologyReader(source).read(); }

}  // namespace einflow::scalesim
