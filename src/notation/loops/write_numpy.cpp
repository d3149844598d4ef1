#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/loops/loops.hpp"
#include "notation/loops/program.hpp"

namespace einflow {

namespace {

using loops::NestView;
using loops::ShownHold;
using loops::ShownLoop;
using loops::StoredTensor;
using loops::Tiling;
using Kind = loops::WrittenLoop::Kind;

constexpr std::size_t kMaximumText = std::size_t{16} << 20;
constexpr std::size_t kMaximumBlocks = 20;  ///< that CPython nests

/// Python's keywords and what the program itself uses.
std::set<std::string> taken_names() {
  return {"False",    "None",   "True",   "and",   "as",     "assert",   "async",   "await", "break", "class",
          "continue", "def",    "del",    "elif",  "else",   "except",   "finally", "for",   "from",  "global",
          "if",       "import", "in",     "is",    "lambda", "nonlocal", "not",     "or",    "pass",  "raise",
          "return",   "try",    "while",  "with",  "yield",  "np",       "math",    "range", "min",   "slice",
          "print",    "sys",    "random", "along", "alike",  "apply",    "float",   "match", "case",  "type"};
}

class NumpyProgram {
 public:
  explicit NumpyProgram(const Spec& spec) : spec_(spec), einsum_(spec.einsum), names_(taken_names()) {}

  Result<std::string> write() {
    for (int t = 0; t <= einsum_.output(); ++t) {
      auto stored = loops::stored_tensor(einsum_, t);
      if (!stored) return tl::unexpected(stored.error());
      stored_.push_back(std::move(*stored));
      tensors_.push_back(names_.give(einsum_.tensors[static_cast<std::size_t>(t)].name));
    }
    expected_ = names_.give("expected");
    auto view = loops::view_nest(spec_, names_.taken());
    if (!view) return tl::unexpected(view.error());
    view_ = std::move(*view);
    for (const ShownLoop& loop : view_.loops) names_.give(loop.variable);
    for (const Rank& rank : einsum_.ranks) ranges_.push_back(names_.give("range_" + rank.name));
    choose_depth();
    if (auto refused = check(); !refused.empty()) return tl::unexpected(std::move(refused));
    order_ranks();
    write_head();
    write_tensors();
    write_nest();
    write_check();
    if (text_.size() > kMaximumText) return fail("the program is longer than 16 MiB");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_ += text + "\n"; }
  const std::vector<Axis>& axes(std::size_t tensor) const { return einsum_.tensors[tensor].axes; }

  /// Loops outside the innermost hold are loops; what is inside it is one operation on arrays. Without a hold below the
  /// outermost storage all loops are.
  void choose_depth() {
    int deepest = 0;
    for (const auto& holds : spec_.mapping.holds) {
      for (const Hold& hold : holds) {
        if (hold.level != 0 && hold.level != spec_.machine.compute_level()) deepest = std::max(deepest, hold.depth);
      }
    }
    shown_ = deepest == 0 ? view_.loops.size() : static_cast<std::size_t>(deepest);
    const auto single = [](const ShownLoop& loop) { return loop.bound.is_constant() && loop.bound.trips == 1; };
    if (std::all_of(view_.loops.begin() + static_cast<std::ptrdiff_t>(shown_), view_.loops.end(), single)) {
      shown_ = view_.loops.size();
    }
    inside_.assign(einsum_.ranks.size(), 0);
    for (std::size_t i = 0; i < shown_; ++i) ++inside_[static_cast<std::size_t>(view_.loops[i].rank)];
  }

  Diagnostics check() {
    Diagnostics errors;
    const auto refuse = [&](std::string message) { errors.push_back({{}, std::move(message), {}, {}}); };
    if (shown_ > kMaximumBlocks) {
      refuse(fmt::format("Python nests at most {} blocks; outside the innermost hold are {} loops", kMaximumBlocks,
                         shown_));
    }
    for (std::size_t r = 0; r < einsum_.ranks.size(); ++r) {
      const int rank = static_cast<int>(r);
      bool used = false;
      for (int t = 0; t <= einsum_.output(); ++t) used = used || einsum_.has_rank(t, rank);
      if (!used)
        refuse(
            fmt::format("rank {} indexes no tensor; arrays cannot repeat the work", in_quotes(einsum_.ranks[r].name)));
    }
    if (einsum_.ranks.size() > 32) refuse("more than 32 ranks: numpy's arrays have no more axes");
    if (loops::maps_by_function(einsum_)) {
      const auto function = loops::function_named(einsum_.map);
      if (!function) return function.error();
      function_ = function->numpy;
    }
    exact_ = loops::is_exact(einsum_);
    return errors;
  }

  /// The output's ranks in the order of its axes, then the others: the axes of intermediate arrays.
  void order_ranks() {
    for (const Axis& axis : axes(tensors_.size() - 1)) order_.push_back(axis.terms.front().rank);
    for (int rank = 0; rank < static_cast<int>(einsum_.ranks.size()); ++rank) {
      if (std::find(order_.begin(), order_.end(), rank) == order_.end()) order_.push_back(rank);
    }
    reduced_ = order_.size() - axes(tensors_.size() - 1).size();
    // Letters of the subscripts: the ranks' own where each is one letter.
    bool short_names = true;
    for (const Rank& rank : einsum_.ranks) {
      short_names = short_names && rank.name.size() == 1 && rank.name != "_";
    }
    for (std::size_t r = 0; r < einsum_.ranks.size(); ++r) {
      constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
      letters_ += short_names ? einsum_.ranks[r].name.front() : kLetters[r];
    }
  }

  std::string safe(std::string text) const {
    text = printable(text, 10000);
    std::string escaped;
    for (const char c : text) escaped += c == '\\' || c == '"' ? std::string("'") : std::string(1, c);
    return escaped;
  }

  void write_head() {
    line(
        "\"\"\"A loop nest with numpy. It computes the nest, tile by tile, and the whole einsum at once, and "
        "compares.");
    line("");
    for (const std::string& each : loops::description(spec_)) line("    " + safe(each));
    line("");
    line("It prints \"equal\" and ends with 0, or \"not equal\" and ends with 1.");
    line("\"\"\"");
    if (function_.find("math.") != std::string::npos) line("import math");
    line("import sys");
    line("");
    line("import numpy as np");
    line("");
    line("");
    bool windows = false;
    for (std::size_t t = 0; t < tensors_.size(); ++t) windows = windows || !is_sliced(t);
    if (windows) {
      line("def along(part, axis, axes):");
      line("    \"\"\"The indices of a slice, along one of several axes.\"\"\"");
      line("    return np.arange(part.start, part.stop).reshape([-1 if i == axis else 1 for i in range(axes)])");
      line("");
      line("");
    }
    if (!function_.empty()) {
      line("def apply(x):");
      line(fmt::format("    \"\"\"{}\"\"\"", safe(einsum_.map)));
      line("    return " + function_);
      line("");
      line("");
    }
  }

  static std::string shape(const std::vector<std::int64_t>& sizes) {
    std::string text;
    for (const std::int64_t size : sizes) text += std::to_string(size) + ", ";
    if (sizes.size() > 1) text.resize(text.size() - 2);
    if (sizes.size() == 1) text.resize(text.size() - 1);
    return "(" + text + ")";
  }

  std::string identity() const {
    if (einsum_.reduce == "*") return "1";
    if (einsum_.reduce != "max" && einsum_.reduce != "min") return "0";
    if (!exact_) return einsum_.reduce == "max" ? "-np.inf" : "np.inf";
    return einsum_.reduce == "max" ? "np.iinfo(np.int64).min" : "np.iinfo(np.int64).max";
  }

  void write_tensors() {
    if (!exact_ || !loops::stays_small(einsum_)) {
      line("np.seterr(all=\"ignore\")  # whole numbers are modulo 2^64; zeros outside of a tensor may be divided by");
    }
    line("random = np.random.default_rng(1)");
    for (std::size_t t = 0; t + 1 < tensors_.size(); ++t) {
      const std::string sizes = shape(stored_[t].sizes);
      // A scalar is an array without axes.
      line(exact_ ? fmt::format("{} = np.array(random.integers(-8, 9, size={}, dtype=np.int64))", tensors_[t], sizes)
                  : fmt::format("{} = np.array(random.integers(1, 1001, size={}) / 500)", tensors_[t], sizes));
      if (!stored_[t].is_padded()) continue;
      std::string pads;
      for (std::size_t a = 0; a < stored_[t].sizes.size(); ++a) {
        pads +=
            fmt::format("{}({}, {})", pads.empty() ? "" : ", ", stored_[t].zeros_before[a], stored_[t].zeros_behind[a]);
      }
      line(fmt::format("{} = np.pad({}, [{}])  # zeros outside of what is stored", tensors_[t], tensors_[t], pads));
    }
    const std::size_t output = tensors_.size() - 1;
    line(fmt::format("{} = np.full({}, {}, dtype={})", tensors_[output], shape(stored_[output].sizes), identity(),
                     exact_ ? "np.int64" : "np.float64"));
    line("");
  }

  std::string bound_text(const loops::TripBound& bound) const {
    if (bound.is_constant()) return std::to_string(bound.trips);
    std::string terms;
    for (const loops::Affine& term : bound.terms) terms += (terms.empty() ? "" : ", ") + term_text(view_, term);
    const std::string least = "min(" + terms + ")";
    return bound.tile == 1 ? least : fmt::format("-(-{} // {})", least, bound.tile);
  }

  /// How many indices of a rank a tile has.
  std::string size_text(std::size_t rank) const {
    Tiling outside = view_.tilings[rank];
    outside.loops.resize(inside_[rank]);
    outside.tiles.resize(inside_[rank]);
    if (outside.left(inside_[rank]) == 1) return "1";
    outside.loops.push_back(-1);
    outside.tiles.push_back(1);
    return bound_text(trip_bound(outside, inside_[rank]));
  }

  void write_nest() {
    std::string margin;
    for (std::size_t i = 0; i <= shown_; ++i) {
      for (const ShownHold& hold : view_.holds[i]) {
        line(fmt::format("{}# {}: {}{}", margin, hold.level, hold.tensors,
                         hold.note.empty() ? "" : " (" + hold.note + ")"));
      }
      if (i == shown_ || text_.size() > kMaximumText) break;
      const ShownLoop& loop = view_.loops[i];
      std::string note = loop.note;
      if (loop.kind == Kind::spatial) note = "parallel on " + loop.axis + ": " + loop.note;
      line(fmt::format("{}for {} in range({}):{}", margin, loop.variable, bound_text(loop.bound),
                       note.empty() ? "" : "  # " + note));
      margin += "    ";
    }
    if (is_scalar()) {
      line(margin + element_statement());
      line("");
      return;
    }
    for (std::size_t r = 0; r < einsum_.ranks.size(); ++r) {
      const std::string first = index_text(view_, static_cast<int>(r), inside_[r]);
      const std::string size = size_text(r);
      const std::string end = first.empty() ? size : fmt::format("{} + {}", first, size);
      line(fmt::format("{}{} = slice({}, {})", margin, ranges_[r], first.empty() ? "0" : first, end));
    }
    write_inner_loops(margin);
    const std::string output = tile_of(tensors_.size() - 1, false);
    const std::string result = value(false);
    if (einsum_.reduce == "max" || einsum_.reduce == "min") {
      line(fmt::format("{}{} = np.{}imum({}, {})", margin, output, einsum_.reduce, output, result));
    } else {
      line(fmt::format("{}{} {}= {}", margin, output, einsum_.reduce, result));
    }
    line("");
  }

  /// Whether the loops leave one operation.
  bool is_scalar() const {
    for (std::size_t r = 0; r < einsum_.ranks.size(); ++r) {
      if (view_.tilings[r].left(inside_[r]) != 1) return false;
    }
    return true;
  }

  std::string element_statement() const {
    const auto element = [&](std::size_t tensor) {
      std::string index;
      for (std::size_t a = 0; a < axes(tensor).size(); ++a) {
        Axis axis = axes(tensor)[a];
        axis.constant += stored_[tensor].zeros_before[a];
        index += (a == 0 ? "" : ", ") + index_text(view_, axis);
      }
      return fmt::format("{}[{}]", tensors_[tensor], axes(tensor).empty() ? "()" : index);
    };
    const std::string output = element(tensors_.size() - 1);
    std::string result;
    for (std::size_t t = 0; t + 1 < tensors_.size(); ++t) {
      if (t == 0) {
        result = element(t);
      } else if (einsum_.map == "max" || einsum_.map == "min") {
        result = fmt::format("np.{}imum({}, {})", einsum_.map, result, element(t));
      } else {
        result += fmt::format(" {} {}", einsum_.map, element(t));
      }
    }
    if (!function_.empty()) result = "apply(" + result + ")";
    if (einsum_.reduce == "max" || einsum_.reduce == "min") {
      return fmt::format("{} = np.{}imum({}, {})", output, einsum_.reduce, output, result);
    }
    return fmt::format("{} {}= {}", output, einsum_.reduce, result);
  }

  /// The loops that the arrays' operation stands for.
  void write_inner_loops(const std::string& margin) {
    std::string inner;
    for (std::size_t i = shown_; i < view_.loops.size(); ++i) {
      const ShownLoop& loop = view_.loops[i];
      inner += fmt::format("{}{}{}", inner.empty() ? "" : ", ", loop.kind == Kind::spatial ? "parallel " : "",
                           loop.variable);
    }
    if (!inner.empty()) line(margin + "# the loops over " + inner);
  }

  /// Whether slices give the tensor's tile: every axis is one rank, or a number.
  bool is_sliced(std::size_t tensor) const {
    const std::vector<Axis>& all = axes(tensor);
    for (std::size_t a = 0; a < all.size(); ++a) {
      const bool single = all[a].terms.size() == 1 && all[a].terms[0].coefficient == 1 &&
                          all[a].constant + stored_[tensor].zeros_before[a] == 0;
      if (!single && !all[a].terms.empty()) return false;
    }
    return true;
  }

  std::string range_of(int rank, bool whole) const {
    const auto r = static_cast<std::size_t>(rank);
    return whole ? fmt::format("slice(0, {})", einsum_.ranks[r].extent) : ranges_[r];
  }

  /// A tensor's tile as an array with one axis for each of its ranks, in the order of tensor_ranks().
  std::string tile_of(std::size_t tensor, bool whole) const {
    const std::vector<Axis>& all = axes(tensor);
    const std::vector<int> ranks = tensor_ranks(tensor);
    std::string index;
    const bool sliced = is_sliced(tensor);
    for (std::size_t a = 0; a < all.size(); ++a) {
      const std::int64_t constant = all[a].constant + stored_[tensor].zeros_before[a];
      index += index.empty() ? "" : ", ";
      if (all[a].terms.empty()) {
        index += std::to_string(constant);
      } else if (sliced) {
        index += whole ? ":" : range_of(all[a].terms[0].rank, false);
      } else {
        std::string sum;
        for (const Term& term : all[a].terms) {
          const auto place = std::find(ranks.begin(), ranks.end(), term.rank) - ranks.begin();
          sum += fmt::format("{}{}along({}, {}, {})", sum.empty() ? "" : " + ",
                             term.coefficient == 1 ? "" : std::to_string(term.coefficient) + " * ",
                             range_of(term.rank, whole), place, ranks.size());
        }
        if (constant != 0) sum += fmt::format(" {} {}", constant < 0 ? "-" : "+", constant < 0 ? -constant : constant);
        index += sum;
      }
    }
    if (all.empty()) index = "()";
    return tensors_[tensor] + "[" + index + "]";
  }

  std::vector<int> tensor_ranks(std::size_t tensor) const {
    std::vector<int> ranks;
    for (const Axis& axis : axes(tensor)) {
      for (const Term& term : axis.terms) ranks.push_back(term.rank);
    }
    return ranks;
  }

  std::string subscripts(const std::vector<int>& ranks) const {
    std::string text;
    for (const int rank : ranks) text += letters_[static_cast<std::size_t>(rank)];
    return text;
  }

  /// Whether np.einsum computes it: products, summed up, every rank of the output in some input.
  bool is_numpy_einsum() const {
    if (einsum_.map != "*" || (einsum_.reduce != "+" && !einsum_.reduce.empty())) return false;
    for (const Axis& axis : axes(tensors_.size() - 1)) {
      bool found = false;
      for (int t = 0; t < einsum_.output(); ++t) found = found || einsum_.has_rank(t, axis.terms.front().rank);
      if (!found) return false;
    }
    return true;
  }

  /// What the tile's operations add to the output's tile.
  std::string value(bool whole) const {
    const std::size_t output = tensors_.size() - 1;
    if (is_numpy_einsum()) {
      std::string formula;
      std::string operands;
      for (std::size_t t = 0; t < output; ++t) {
        formula += (t == 0 ? "" : ",") + subscripts(tensor_ranks(t));
        operands += ", " + tile_of(t, whole);
      }
      return fmt::format("np.einsum(\"{}->{}\"{})", formula, subscripts(tensor_ranks(output)), operands);
    }
    std::string result;
    for (std::size_t t = 0; t < output; ++t) {
      const std::string operand = aligned(t, whole);
      if (t == 0) {
        result = operand;
      } else if (einsum_.map == "max" || einsum_.map == "min") {
        result = fmt::format("np.{}imum({}, {})", einsum_.map, result, operand);
      } else {
        result += fmt::format(" {} {}", einsum_.map, operand);
      }
    }
    if (!function_.empty()) result = "apply(" + result + ")";
    if (reduced_ == 0) return output_map_in_brackets(result);
    std::string reduced_axes;
    for (std::size_t a = order_.size() - reduced_; a < order_.size(); ++a) reduced_axes += std::to_string(a) + ", ";
    const char* const by = einsum_.reduce == "max"   ? "maximum"
                           : einsum_.reduce == "min" ? "minimum"
                           : einsum_.reduce == "*"   ? "multiply"
                                                     : "add";
    return fmt::format("np.{}.reduce({}, axis=({}))", by, result, reduced_axes.substr(0, reduced_axes.size() - 1));
  }

  std::string output_map_in_brackets(const std::string& result) const {
    return einsum_.reduce == "*" && result.find(' ') != std::string::npos ? "(" + result + ")" : result;
  }

  /// The tile with an axis for every rank of the einsum, in the common order.
  std::string aligned(std::size_t tensor, bool whole) const {
    const std::vector<int> have = tensor_ranks(tensor);
    std::vector<int> wanted;
    std::string spread;
    bool complete = true;
    for (const int rank : order_) {
      const bool has = std::find(have.begin(), have.end(), rank) != have.end();
      if (has) wanted.push_back(rank);
      complete = complete && has;
      spread += has ? ":, " : "None, ";
    }
    std::string text = tile_of(tensor, whole);
    if (wanted != have) text = fmt::format("np.einsum(\"{}->{}\", {})", subscripts(have), subscripts(wanted), text);
    if (complete) return text;
    return fmt::format("{}[{}]", text, spread.substr(0, spread.size() - 2));
  }

  void write_check() {
    const std::size_t output = tensors_.size() - 1;
    line("# The einsum at once.");
    line(fmt::format("{} = {}", expected_, value(true)));
    line(exact_ ? fmt::format("alike = np.array_equal({}, np.broadcast_to({}, {}.shape))", tensors_[output], expected_,
                              tensors_[output])
                : fmt::format("alike = np.allclose({}, {}, rtol=1e-9, atol=1e-9, equal_nan=True)", tensors_[output],
                              expected_));
    line("print(\"equal\" if alike else \"not equal\")");
    line("sys.exit(0 if alike else 1)");
  }

  const Spec& spec_;
  const Einsum& einsum_;
  loops::NameGiver names_;
  NestView view_;
  std::vector<StoredTensor> stored_;
  std::vector<std::string> tensors_;
  std::vector<std::string> ranges_;  ///< of each rank: the name of its tile's slice
  std::vector<std::size_t> inside_;  ///< of each rank: its loops outside the tile
  std::size_t shown_ = 0;            ///< loops that are written as such
  std::vector<int> order_;
  std::size_t reduced_ = 0;  ///< of order_, the last ones
  std::string letters_;      ///< of each rank
  std::string expected_;
  std::string function_;  ///< Python of the map, where it is a function
  bool exact_ = true;
  std::string text_;
};

}  // namespace

Result<Writing> write_numpy(const Document& document) {
  const auto spec = loops::spec_to_write(document);
  if (!spec) return tl::unexpected(spec.error());
  auto text = NumpyProgram(*spec).write();
  if (!text) return tl::unexpected(text.error());
  Writing writing = loops::program_writing(std::move(*text), document, spec->einsum);
  writing.conventions.emplace_back("inside the innermost hold, loops are one operation on arrays");
  return writing;
}

}  // namespace einflow
