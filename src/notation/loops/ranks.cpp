#include "notation/loops/ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <set>

#include "base/message.hpp"
#include "notation/loops/grouping.hpp"
#include "notation/loops/header.hpp"
#include "notation/loops/tiling.hpp"
#include "notation/spec_reader.hpp"
#include "problem/einsum_check.hpp"

namespace einflow::loops {

namespace {

constexpr std::size_t kMaximumErrors = 100;

std::string upper_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string numbered(const Affine& affine, const std::vector<WrittenLoop>& loops) {
  std::string text;
  for (const auto& [loop, factor] : affine.terms) {
    const bool negative = factor < Count(0);
    if (!text.empty() || negative) text += negative ? (text.empty() ? "-" : " - ") : " + ";
    const Count size = negative ? Count(0) - factor : factor;
    text += (size == Count(1) ? "" : size.str() + "*") + loops[static_cast<std::size_t>(loop)].variable;
  }
  if (text.empty()) return affine.constant.str();
  if (affine.constant > Count(0)) text += " + " + affine.constant.str();
  if (affine.constant < Count(0)) text += " - " + (Count(0) - affine.constant).str();
  return text;
}

class RankResolver {
 public:
  RankResolver(const NestText& text, OpenSizes& open_sizes) : text_(text), open_sizes_(open_sizes) {
    result_.rank.assign(text.loops.size(), -1);
    result_.tile.assign(text.loops.size(), 1);
    result_.trips.assign(text.loops.size(), 1);
  }

  Result<RankedNest> resolve() {
    auto groups = group_loops(text_);
    if (!groups) return tl::unexpected(groups.error());
    groups_ = std::move(*groups);
    for (const LoopGroup& group : groups_) {
      if (!group.note.empty()) result_.conventions.push_back(group.note);
    }
    text_.header.einsum ? take_header() : derive_einsum();
    if (errors_.empty()) find_tiles();
    if (errors_.empty()) compare_statement();
    if (errors_.empty()) find_extents();
    if (errors_.empty()) check_ranges();
    if (errors_.empty()) apply_header(text_.header, einsum(), result_.conventions, errors_);
    if (errors_.empty()) check_einsum();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(result_);
  }

 private:
  void error(const Span& span, std::string message, std::string hint = {}) {
    if (errors_.size() < kMaximumErrors) errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  Einsum& einsum() { return result_.einsum; }
  const WrittenLoop& loop(int index) const { return text_.loops[static_cast<std::size_t>(index)]; }

  const WrittenTensor& written(int tensor) const {
    const WrittenStatement& statement = *text_.statement;
    return tensor < static_cast<int>(statement.inputs.size()) ? statement.inputs[static_cast<std::size_t>(tensor)]
                                                              : statement.output;
  }

  Span tensor_span(int tensor, int axis = -1) const {
    if (text_.statement) {
      const WrittenTensor& found = written(tensor);
      return axis < 0 ? found.span : found.axis_spans[static_cast<std::size_t>(axis)];
    }
    const ParsedEinsum& parsed = *text_.header.einsum;
    return axis < 0 ? parsed.tensors[static_cast<std::size_t>(tensor)]
                    : parsed.axes[static_cast<std::size_t>(tensor)][static_cast<std::size_t>(axis)];
  }

  std::vector<std::string> rank_names() const {
    std::vector<std::string> names;
    for (const Rank& rank : result_.einsum.ranks) names.push_back(rank.name);
    return names;
  }

  // ---- the einsum

  /// The order of the line `ranks:` is that of the einsum's ranks; ranks that index no tensor stand there only.
  void order_ranks() {
    if (!text_.header.ranks) return;
    std::vector<Rank> ordered;
    for (const WrittenSize& rank : *text_.header.ranks) ordered.push_back({rank.name, 1});
    std::vector<int> place;
    for (const Rank& rank : einsum().ranks) {
      const auto same_name = [&](const Rank& other) { return other.name == rank.name; };
      auto found = std::find_if(ordered.begin(), ordered.end(), same_name);
      if (found == ordered.end()) found = ordered.insert(ordered.end(), rank);
      place.push_back(static_cast<int>(found - ordered.begin()));
    }
    for (Tensor& tensor : einsum().tensors) {
      for (Axis& axis : tensor.axes) {
        for (Term& term : axis.terms) term.rank = place[static_cast<std::size_t>(term.rank)];
      }
    }
    einsum().ranks = std::move(ordered);
  }

  void take_header() {
    einsum() = text_.header.einsum->einsum;
    order_ranks();
    for (const LoopGroup& group : groups_) {
      const int rank = einsum().rank_named(group.name);
      for (const int index : group.loops) result_.rank[static_cast<std::size_t>(index)] = rank;
      if (rank >= 0) continue;
      const WrittenLoop& first = loop(group.loops.front());
      error(first.variable_span,
            fmt::format("the loop over {} belongs to no rank of the einsum", in_quotes(first.variable)),
            name_hint(first.variable, rank_names(), "a loop is named after its rank, m or m1, ranks"));
    }
  }

  void derive_einsum() {
    const WrittenStatement& statement = *text_.statement;
    einsum().map = statement.map;
    einsum().reduce = statement.reduce;
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      for (const int index : groups_[g].loops) group_of_[index] = g;
    }
    std::vector<int> rank_of_group(groups_.size(), -1);
    Tensor output = tensor_of(statement.output, rank_of_group);
    for (const WrittenTensor& input : statement.inputs) einsum().tensors.push_back(tensor_of(input, rank_of_group));
    einsum().tensors.push_back(std::move(output));
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (rank_of_group[g] < 0) add_unused(groups_[g], rank_of_group[g]);
      for (const int index : groups_[g].loops) result_.rank[static_cast<std::size_t>(index)] = rank_of_group[g];
    }
    if (text_.header.ranks) {
      for (const WrittenSize& rank : *text_.header.ranks) {
        if (einsum().rank_named(rank.name) >= 0) continue;
        error(rank.span, fmt::format("no loop cuts rank {}", in_quotes(rank.name)),
              name_hint(rank.name, rank_names(), "ranks"));
      }
    }
    if (!errors_.empty()) return;
    order_ranks();
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      const int rank = einsum().rank_named(groups_[g].name);
      for (const int index : groups_[g].loops) result_.rank[static_cast<std::size_t>(index)] = rank;
    }
  }

  void add_unused(const LoopGroup& group, int& rank) {
    const auto declared = [&] {
      return text_.header.ranks && std::any_of(text_.header.ranks->begin(), text_.header.ranks->end(),
                                               [&](const WrittenSize& size) { return size.name == group.name; });
    };
    if (!declared()) {
      const WrittenLoop& first = loop(group.loops.front());
      error(first.variable_span,
            fmt::format("the loop over {} indexes no tensor of the statement", in_quotes(first.variable)),
            "name its rank in a line `ranks:` if the work is really repeated");
      return;
    }
    rank = static_cast<int>(einsum().ranks.size());
    einsum().ranks.push_back({group.name, 1});
  }

  /// A tensor of the statement, its loop variables put together to ranks; the coefficient of a rank is that of its
  /// innermost loop.
  Tensor tensor_of(const WrittenTensor& from, std::vector<int>& rank_of_group) {
    Tensor tensor{from.name, {}, {}};
    for (std::size_t a = 0; a < from.axes.size(); ++a) {
      const Affine& affine = from.axes[a];
      Axis axis;
      const auto constant = affine.constant.to_int64();
      if (!constant) error(from.axis_spans[a], "a number here is too large");
      axis.constant = constant.value_or(0);
      std::set<std::size_t> seen;
      for (const auto& term : affine.terms) {
        const std::size_t group = group_of_[term.first];
        if (!seen.insert(group).second) continue;
        int& rank = rank_of_group[group];
        if (rank < 0) {
          rank = static_cast<int>(einsum().ranks.size());
          einsum().ranks.push_back({groups_[group].name, 1});
        }
        const auto coefficient = affine.coefficient(groups_[group].loops.back()).to_int64();
        if (!coefficient || *coefficient < 1) {
          error(from.axis_spans[a],
                fmt::format("{} has the coefficient {} in {}; einflow's indices grow with their loops",
                            in_quotes(loop(groups_[group].loops.back()).variable),
                            affine.coefficient(groups_[group].loops.back()).str(), in_quotes(from.name)),
                "an index is a sum of loop variables times numbers of at least 1; `w - s` is no such sum");
        }
        axis.terms.push_back({rank, coefficient.value_or(1)});
      }
      if (&from == &text_.statement->output) check_output_axis(affine, from.axis_spans[a]);
      tensor.axes.push_back(std::move(axis));
    }
    return tensor;
  }

  void check_output_axis(const Affine& axis, const Span& span) {
    for (const auto& term : axis.terms) {
      const WrittenLoop& first = loop(term.first);
      if (axis.constant == Count(0) || !first.start.is_constant() || first.start.constant == Count(0)) continue;
      error(first.bound_span,
            fmt::format("the loop over {} starts at {}; einflow's ranks start at 0", in_quotes(first.variable),
                        first.start.constant.str()),
            fmt::format("count from 0, or write {}[{} - {}] in the statement", text_.statement->output.name,
                        first.variable, first.start.constant.str()));
      return;
    }
    if (axis.terms.empty()) {
      error(span, fmt::format("axis {} of the output is a number", in_quotes(axis.constant.str())),
            "an axis of the output is a loop variable; a single sum is a scalar: Y += X[m]");
    }
  }

  // ---- tiles

  Count coefficient_in(int tensor, int rank) {
    for (const Axis& axis : einsum().tensors[static_cast<std::size_t>(tensor)].axes) {
      for (const Term& term : axis.terms) {
        if (term.rank == rank) return term.coefficient;
      }
    }
    return 0;
  }

  Count written_coefficient(int tensor, int index) const {
    for (const Affine& axis : written(tensor).axes) {
      const Count coefficient = axis.coefficient(index);
      if (coefficient != Count(0)) return coefficient;
    }
    return 0;
  }

  /// Trips of a full tile: the number in the loop's range.
  std::optional<Count> full_trips(const WrittenLoop& of) const {
    std::optional<Count> least;
    for (const Quotient& term : of.trips) {
      if (term.dividend.is_constant()) least = std::min(least.value_or(term.dividend.constant), term.dividend.constant);
    }
    return least;
  }

  void find_tiles() {
    tilings_.assign(einsum().ranks.size(), {});
    for (std::size_t index = 0; index < text_.loops.size(); ++index) {
      const int rank = result_.rank[index];
      if (rank >= 0) tilings_[static_cast<std::size_t>(rank)].loops.push_back(static_cast<int>(index));
    }
    for (std::size_t rank = 0; rank < tilings_.size(); ++rank) {
      Tiling& tiling = tilings_[rank];
      if (tiling.loops.empty()) continue;
      tiling.tiles.assign(tiling.loops.size(), 1);
      const int tensor = tensor_with(static_cast<int>(rank), tiling.loops.back());
      tensor < 0 ? tiles_of_trips(tiling) : tiles_of_coefficients(static_cast<int>(rank), tensor, tiling);
      for (std::size_t i = 0; i < tiling.loops.size(); ++i) {
        result_.tile[static_cast<std::size_t>(tiling.loops[i])] = tiling.tiles[i];
      }
    }
  }

  /// A tensor that the rank indexes, -1 where there is none; if possible one in which the innermost loop has the rank's
  /// own coefficient, so that a wrong index elsewhere is told as such.
  int tensor_with(int rank, int innermost) {
    if (!text_.statement) return -1;
    int found = -1;
    const int tensors = std::min(einsum().output(), static_cast<int>(text_.statement->inputs.size())) + 1;
    for (int t = 0; t < tensors; ++t) {
      const Count coefficient = coefficient_in(t, rank);
      if (coefficient == Count(0)) continue;
      if (written_coefficient(t, innermost) == coefficient) return t;
      if (found < 0) found = t;
    }
    return found;
  }

  /// Without a statement the tiles are what the loops inside cover.
  void tiles_of_trips(Tiling& tiling) {
    Count tile = 1;
    for (std::size_t i = tiling.loops.size(); i-- > 0;) {
      const auto fits = tile.to_int64();
      if (!fits) return error(loop(tiling.loops[i]).bound_span, "the loops inside cover more than 2^63 - 1");
      tiling.tiles[i] = *fits;
      const auto trips = full_trips(loop(tiling.loops[i]));
      if (!trips) return error_without_number(loop(tiling.loops[i]));
      tile *= *trips;
    }
  }

  void error_without_number(const WrittenLoop& of) {
    error(of.bound_span, fmt::format("the range of {} has no number, the trips of a full tile", in_quotes(of.variable)),
          "for m0 in [0, min(16, 100 - 16*m1)):");
  }

  void tiles_of_coefficients(int rank, int tensor, Tiling& tiling) {
    const Count of_rank = coefficient_in(tensor, rank);
    const std::string& name = written(tensor).name;
    for (std::size_t i = tiling.loops.size(); i-- > 0;) {
      const WrittenLoop& here = loop(tiling.loops[i]);
      const Count coefficient = written_coefficient(tensor, tiling.loops[i]);
      const bool innermost = i + 1 == tiling.loops.size();
      Count expected = of_rank;
      if (!innermost) {
        const auto trips = full_trips(loop(tiling.loops[i + 1]));
        if (!trips) return error_without_number(loop(tiling.loops[i + 1]));
        expected *= Count(tiling.tiles[i + 1]) * *trips;
      }
      const bool multiple = coefficient > Count(0) && of_rank > Count(0) && !coefficient.overflowed() &&
                            coefficient.value() % of_rank.value() == 0;
      const auto tile = multiple ? Count(coefficient.value() / of_rank.value()).to_int64() : std::nullopt;
      bool matches = tile.has_value();
      if (matches && innermost) matches = *tile == 1;
      if (matches && !innermost) {
        const auto trips = full_trips(loop(tiling.loops[i + 1]));
        matches = *tile >= tiling.tiles[i + 1] && ceil_div(*tile, tiling.tiles[i + 1]) == *trips;
      }
      if (!matches && !innermost && coefficient < written_coefficient(tensor, tiling.loops[i + 1])) {
        const WrittenLoop& inside = loop(tiling.loops[i + 1]);
        return error(here.variable_span,
                     fmt::format("the loop over {} stands outside that over {}, but takes the smaller steps in {}: its "
                                 "parts would not be whole tiles",
                                 in_quotes(here.variable), in_quotes(inside.variable), in_quotes(name)),
                     fmt::format("einflow's tiles are unbroken: {} outside {}, or the index {}*... + {}",
                                 inside.variable, here.variable, here.variable, inside.variable));
      }
      if (!matches) {
        return error(here.variable_span,
                     fmt::format("the loop over {} has the coefficient {} in {}, expected {}: {}",
                                 in_quotes(here.variable), coefficient.str(), in_quotes(name), expected.str(),
                                 innermost ? "it is the innermost loop of its rank"
                                           : "what the loops of its rank inside it cover"),
                     "tiles follow one another: m = 16*m1 + m0 with m0 in [0, 16)");
      }
      tiling.tiles[i] = *tile;
    }
  }

  /// Every index of the statement is what ranks and tiles make it.
  void compare_statement() {
    if (!text_.statement) return;
    const WrittenStatement& statement = *text_.statement;
    const std::size_t inputs = static_cast<std::size_t>(einsum().output());
    bool alike =
        statement.inputs.size() == inputs && statement.map == einsum().map && statement.reduce == einsum().reduce;
    for (std::size_t t = 0; alike && t <= inputs; ++t) {
      alike = written(static_cast<int>(t)).name == einsum().tensors[t].name &&
              written(static_cast<int>(t)).axes.size() == einsum().tensors[t].axes.size();
    }
    if (!alike) {
      return error(text_.statement_span,
                   fmt::format("the statement is not that of the line `einsum:`, {}", in_quotes(to_text(einsum()))));
    }
    for (std::size_t t = 0; t <= inputs; ++t) {
      for (std::size_t a = 0; a < einsum().tensors[t].axes.size(); ++a) {
        const Affine expected = index_of(einsum().tensors[t].axes[a]);
        const Affine& found = written(static_cast<int>(t)).axes[a];
        if (same(found, expected)) continue;
        error(tensor_span(static_cast<int>(t), static_cast<int>(a)),
              fmt::format("the index of {} is {}, expected {}", in_quotes(einsum().tensors[t].name),
                          in_quotes(numbered(found, text_.loops)), in_quotes(numbered(expected, text_.loops))),
              fmt::format("axis {} of {}", to_text(einsum().tensors[t].axes[a], einsum()), to_text(einsum())));
      }
    }
  }

  Affine index_of(const Axis& axis) const {
    Affine index{axis.constant, {}};
    for (const Term& term : axis.terms) {
      const Tiling& tiling = tilings_[static_cast<std::size_t>(term.rank)];
      for (std::size_t i = 0; i < tiling.loops.size(); ++i) {
        index.terms.emplace_back(tiling.loops[i], Count(term.coefficient) * Count(tiling.tiles[i]));
      }
    }
    return index;
  }

  // ---- extents and ranges

  /// A size that the text or -r states for the rank.
  std::optional<Count> stated_extent(const std::string& rank) {
    if (text_.header.ranks) {
      for (const WrittenSize& size : *text_.header.ranks) {
        if (size.name == rank) return size.value;
      }
    }
    for (const std::string& name : {upper_case(rank), rank}) {
      if (const auto size = text_.sizes.find(name); size != text_.sizes.end()) return size->second.value;
    }
    for (const std::string& name : {rank, upper_case(rank)}) {
      const auto open = open_sizes_.find(name);
      if (open == open_sizes_.end()) continue;
      open->second.used = true;
      return open->second.value;
    }
    return std::nullopt;
  }

  /// The extent that the ranges say: the end of a loop in steps, the number that remainders are taken from, or all
  /// that the loops cover.
  Count said_extent(const Tiling& tiling) const {
    const WrittenLoop& outermost = loop(tiling.loops.front());
    const Count tile = tiling.tiles.front();
    if (outermost.last_value && outermost.step == tile) return *outermost.last_value;
    for (std::size_t i = tiling.loops.size(); i-- > 1;) {
      for (const Quotient& term : loop(tiling.loops[i]).trips) {
        const Count factor = Count(0) - term.dividend.coefficient(tiling.loops.front());
        if (factor < Count(1) || term.divisor != Count(1) || tile.value() % factor.value() != 0) continue;
        return term.dividend.constant * Count(tile.value() / factor.value());
      }
    }
    return full_trips(outermost).value_or(1) * tile;
  }

  void find_extents() {
    for (std::size_t rank = 0; rank < tilings_.size(); ++rank) {
      Tiling& tiling = tilings_[rank];
      const std::string& name = einsum().ranks[rank].name;
      const auto stated = stated_extent(name);
      const Count extent = stated ? *stated : tiling.loops.empty() ? Count(1) : said_extent(tiling);
      const auto fits = extent.to_int64();
      if (!fits || *fits < 1) {
        error(tiling.loops.empty() ? Span{} : loop(tiling.loops.front()).bound_span,
              fmt::format("rank {} has the size {}, expected 1 to 2^63 - 1", in_quotes(name), extent.str()));
        continue;
      }
      tiling.extent = *fits;
      einsum().ranks[rank].extent = *fits;
      if (tiling.loops.empty() && *fits > 1) {
        error(text_.loops.empty() ? text_.statement_span : text_.loops.back().variable_span,
              fmt::format("rank {} with {} indices has no loop", in_quotes(name), *fits),
              fmt::format("for {} in [0, {}):", name, *fits));
      }
    }
  }

  void check_ranges() {
    for (std::size_t rank = 0; rank < tilings_.size(); ++rank) {
      const Tiling& tiling = tilings_[rank];
      for (std::size_t i = 0; i < tiling.loops.size(); ++i) {
        const WrittenLoop& here = loop(tiling.loops[i]);
        result_.trips[static_cast<std::size_t>(tiling.loops[i])] = trip_bound(tiling, i).trips;
        if (tiling.tiles[i] > tiling.left(i)) {
          error(here.bound_span, fmt::format("a tile of {} is larger than what is left of rank {}, {}", tiling.tiles[i],
                                             in_quotes(einsum().ranks[rank].name), tiling.left(i)));
          break;
        }
        if (says(here.trips, tiling, i)) continue;
        error(here.bound_span,
              fmt::format("the range of {} does not cover rank {} exactly: {} in tiles of {}", in_quotes(here.variable),
                          in_quotes(einsum().ranks[rank].name), tiling.extent, tile_list(tiling)),
              range_hint(tiling, i));
        break;
      }
    }
  }

  static std::string tile_list(const Tiling& tiling) {
    std::vector<std::string> tiles;
    for (const std::int64_t tile : tiling.tiles) tiles.push_back(std::to_string(tile));
    return comma_list(tiles);
  }

  std::string range_hint(const Tiling& tiling, std::size_t i) const {
    const TripBound bound = trip_bound(tiling, i);
    if (bound.is_constant()) return fmt::format("expected {} trips", bound.trips);
    const bool plain = std::all_of(tiling.loops.begin(), tiling.loops.end(), [&](int index) {
      return loop(index).step == Count(1) && loop(index).start.is_constant() && loop(index).start.constant == Count(0);
    });
    if (!plain) return "the range of a loop inside ends at min(start + tile, size)";
    std::string terms;
    for (std::size_t k = 0; k < bound.terms.size(); ++k) {
      Affine term = bound.terms[k];
      std::string text = term.constant.str();
      term.constant = 0;
      if (!term.is_constant()) text += " " + numbered(term, text_.loops).replace(0, 1, "- ");
      terms += (k == 0 ? "" : ", ") + text;
    }
    const std::string least = "min(" + terms + ")";
    return fmt::format("expected [0, {})", bound.tile == 1 ? least : fmt::format("ceil({} / {})", least, bound.tile));
  }

  void check_einsum() {
    std::vector<EinsumFault> faults = check_form(einsum());
    if (faults.empty()) faults = check_sizes(einsum());
    for (const EinsumFault& fault : faults) {
      Span span = text_.statement ? text_.statement->assignment : text_.statement_span;
      if (fault.tensor >= 0) span = tensor_span(fault.tensor, fault.axis);
      if (fault.rank >= 0) {
        const Tiling& tiling = tilings_[static_cast<std::size_t>(fault.rank)];
        if (!tiling.loops.empty()) span = loop(tiling.loops.front()).variable_span;
      }
      error(span, fault.message, fault.hint);
    }
    if (!errors_.empty()) return;
    const auto again = parse_einsum(to_text(einsum()));  // its limits are those of every einsum
    if (!again) error(text_.statement_span, again.error().front().message, again.error().front().hint);
  }

  const NestText& text_;
  OpenSizes& open_sizes_;
  std::vector<LoopGroup> groups_;
  std::map<int, std::size_t> group_of_;
  std::vector<Tiling> tilings_;  ///< of each rank
  RankedNest result_;
  Diagnostics errors_;
};

}  // namespace

Result<RankedNest> resolve_ranks(const NestText& text, OpenSizes& open_sizes) {
  return RankResolver(text, open_sizes).resolve();
}

}  // namespace einflow::loops
