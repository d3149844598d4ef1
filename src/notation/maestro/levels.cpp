#include "notation/maestro/levels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"

namespace einflow::maestro {

bool ClusterLevel::steps() const {
  return std::any_of(cuts.begin(), cuts.end(), [](const Cut& cut) { return !cut.spatial; });
}

namespace {

constexpr std::size_t kMostLevels = 4;

/// A map, its dimension looked up.
struct Map {
  const Directive* directive = nullptr;
  Dimension dimension;
  std::int64_t tile = 1;  ///< in indices of its rank, at most what is left
  bool spatial() const { return directive->kind == Directive::Kind::spatial; }
  std::string text() const {
    return fmt::format("{}({},{}) {}", spatial() ? "SpatialMap" : "TemporalMap", directive->size.value,
                       directive->offset.value, directive->dimension.text);
  }
};

class LevelReader {
 public:
  LevelReader(const Layer& layer, const Shape& shape, const Einsum& einsum)
      : layer_(layer), shape_(shape), einsum_(einsum) {
    for (const Rank& rank : einsum.ranks) left_.push_back(rank.extent);
  }

  Result<Levels> read(const std::optional<std::int64_t>& pes) {
    split();
    if (errors_.empty()) count_units(pes);
    for (std::size_t level = 0; level < maps_.size() && errors_.empty(); ++level) read_level(level);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(result_);
  }

 private:
  void error(const Span& span, std::string message, std::string hint = {}) {
    errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  std::int64_t& left(int rank) { return left_[static_cast<std::size_t>(rank)]; }

  /// Cuts the list at the clusters; looks the dimensions up.
  void split() {
    maps_.emplace_back();
    std::vector<std::string_view> names;
    for (const DimensionSize& entry : layer_.dimensions) names.push_back(entry.name.text);
    for (const char* const primed : {"Y'", "X'", "Y", "X"}) {
      if (shape_.type != Type::gemm && std::find(names.begin(), names.end(), primed) == names.end())
        names.push_back(primed);
    }
    for (const Directive& directive : layer_.dataflow) {
      if (directive.kind == Directive::Kind::cluster) {
        clusters_.push_back(&directive);
        if (clusters_.size() == kMostLevels) {
          error(directive.span, "a fourth Cluster: MAESTRO has at most four levels, three clusters");
          return;
        }
        maps_.emplace_back();
        continue;
      }
      if (std::find(names.begin(), names.end(), directive.dimension.text) == names.end()) {
        error(directive.dimension.span,
              fmt::format("the layer has no dimension {}", in_quotes(directive.dimension.text)),
              name_hint(directive.dimension.text, {names.begin(), names.end()}, "dimensions"));
        continue;
      }
      Map map;
      map.directive = &directive;
      map.dimension = dimension_of(directive.dimension.text, einsum_, shape_);
      for (const Map& other : maps_.back()) {
        const bool same = map.dimension.rank >= 0 ? other.dimension.rank == map.dimension.rank
                                                  : other.directive->dimension.text == directive.dimension.text;
        if (!same) continue;
        const bool both = other.directive->dimension.text != directive.dimension.text;
        error(
            directive.dimension.span,
            both ? fmt::format("{} and {} in one level walk over the same rows",
                               in_quotes(other.directive->dimension.text), in_quotes(directive.dimension.text))
                 : fmt::format("a second map of {} in one level repeats the work", in_quotes(directive.dimension.text)),
            fmt::format("one map a dimension and level; the first is on line {}", other.directive->span.line));
        break;
      }
      maps_.back().push_back(map);
    }
    for (std::size_t level = 0; level < maps_.size(); ++level) check_spatial_maps(level);
  }

  void check_spatial_maps(std::size_t level) {
    std::vector<const Map*> spatial;
    for (const Map& map : maps_[level]) {
      if (map.spatial()) spatial.push_back(&map);
    }
    if (spatial.size() == 1 || spatial.size() == 2) return;
    const std::string place =
        level == 0 ? "the top level" : fmt::format("the level below Cluster({})", clusters_[level - 1]->size.value);
    if (spatial.size() > 2) {
      error(spatial[2]->directive->span, fmt::format("a third SpatialMap in {}: there are one or two", place),
            "put it into a level of its own, below a Cluster");
    }
    if (!spatial.empty()) return;
    Span span = level == 0 ? layer_.span : clusters_[level - 1]->span;
    if (!maps_[level].empty()) span = maps_[level].front().directive->span;
    error(span, fmt::format("{} has no SpatialMap: every level needs one or two", place),
          "SpatialMap(Sz(DIM),Sz(DIM)) DIM takes a whole dimension and uses one unit");
  }

  void count_units(const std::optional<std::int64_t>& pes) {
    Count product = 1;
    for (const Directive* cluster : clusters_) {
      product *= Count(cluster->size.value);
      const bool too_many = product.overflowed() || product > Count(std::int64_t{1} << 60);
      if (!too_many && (!pes || product <= Count(*pes))) continue;
      error(cluster->size.span,
            too_many ? std::string("the clusters have more units than einflow counts, 2^60")
                     : fmt::format("the clusters need {} PEs, the machine has {}", product.str(), *pes),
            too_many ? "" : "num_pes is at least the product of all clusters");
      return;
    }
    const std::int64_t within = *product.to_int64();
    result_.levels.resize(maps_.size());
    result_.levels[0].units = pes ? *pes / within : (std::int64_t{1} << 61) / within;
    result_.idle_pes = pes ? *pes % within : 0;
    result_.enough_pes = within;
    for (std::size_t level = 1; level < maps_.size(); ++level)
      result_.levels[level].units = clusters_[level - 1]->size.value;
  }

  void read_level(std::size_t number) {
    ClusterLevel& level = result_.levels[number];
    std::vector<Map>& maps = maps_[number];
    const std::vector<std::int64_t> before = left_;
    const auto [first, second] = spatial_pair(maps);
    const bool diagonal = second != nullptr && level.units > 1 && share_units(*first, *second, level.units);
    if (!errors_.empty()) return;
    for (Map& map : maps) {
      const bool paired = diagonal && (&map == first || &map == second);
      if (paired && map.dimension.kind != Dimension::Kind::taps) continue;
      read_map(map, level, before, paired);
      if (number == 0 && map.spatial() && errors_.empty() && map.dimension.rank >= 0) {
        const std::int64_t positions = 1 + (before[static_cast<std::size_t>(map.dimension.rank)] - 1) / map.tile;
        const Count need = Count(positions) * Count(result_.enough_pes);
        result_.enough_pes = need.to_int64().value_or(result_.enough_pes);
      }
    }
    result_.diagonal = result_.diagonal || diagonal;
  }

  static std::pair<const Map*, const Map*> spatial_pair(const std::vector<Map>& maps) {
    std::pair<const Map*, const Map*> found{nullptr, nullptr};
    for (const Map& map : maps) {
      if (map.spatial()) (found.first == nullptr ? found.first : found.second) = &map;
    }
    return found;
  }

  /// Whether two spatial maps of a level are one parallel index: unit u takes block u of the rows and block u of the
  /// filter's rows, which meet in the one output row that there is. Maps of one position each are no loop.
  bool share_units(const Map& a, const Map& b, std::int64_t units) {
    const Map& rows = a.dimension.kind == Dimension::Kind::taps ? b : a;
    const Map& taps = a.dimension.kind == Dimension::Kind::taps ? a : b;
    const Span& span = b.directive->span;
    const bool window = taps.dimension.kind == Dimension::Kind::taps && rows.dimension.kind == Dimension::Kind::rows &&
                        taps.dimension.partner == rows.dimension.rank;
    if (!window) {
      if (takes_all(a) && takes_all(b)) return false;
      error(span,
            fmt::format("{} and {} share their units: unit u takes part u of both, and what other pairs of parts have "
                        "to compute is left out",
                        in_quotes(a.text()), in_quotes(b.text())),
            "two independent parallel loops are two levels, with a Cluster between");
      return false;
    }
    if (takes_all(taps) && takes_all(rows)) return false;
    const std::int64_t tile = taps.directive->size.value;
    const auto refuse = [&](std::string reason, std::string hint) {
      error(span, fmt::format("{} and {}: {}", in_quotes(a.text()), in_quotes(b.text()), reason), std::move(hint));
      return false;
    };
    if (left(rows.dimension.rank) != 1) {
      return refuse(
          fmt::format("the pair makes one output, and the tile of the level above has {}", left(rows.dimension.rank)),
          fmt::format("above, map {} with a tile of one output", rows.directive->dimension.text));
    }
    if (rows.directive->size.value != tile || rows.directive->offset.value != tile ||
        taps.directive->offset.value != tile) {
      return refuse("their units meet in one output only where all sizes and offsets are equal",
                    fmt::format("SpatialMap(1,1) {}; SpatialMap(1,1) {}", rows.directive->dimension.text,
                                taps.directive->dimension.text));
    }
    if (Count(tile) * Count(units) < Count(left(taps.dimension.rank))) {
      return refuse(
          fmt::format("{} units do not take all {} of {}: the folds of the two maps are independent loops, and "
                      "only equal folds have work",
                      units, left(taps.dimension.rank), taps.directive->dimension.text),
          fmt::format("a Cluster of {} units", 1 + (left(taps.dimension.rank) - 1) / tile));
    }
    return true;
  }

  /// Whether the map gives all that is left in one position.
  bool takes_all(const Map& map) {
    const Dimension& dimension = map.dimension;
    const std::int64_t size = map.directive->size.value;
    switch (dimension.kind) {
      case Dimension::Kind::none:
        return true;
      case Dimension::Kind::rows: {
        const Count rows = (Count(left(dimension.rank)) - 1) * Count(dimension.stride) + Count(left(dimension.partner));
        return Count(size) >= rows;
      }
      default:
        return size >= left(dimension.rank);
    }
  }

  /// Adds the loops of a map to the level. Sets the map's tile.
  void read_map(Map& map, ClusterLevel& level, const std::vector<std::int64_t>& before, bool paired) {
    const Dimension& dimension = map.dimension;
    if (dimension.kind == Dimension::Kind::none) return;
    const std::int64_t all = left(dimension.rank);
    Count step = map.directive->offset.value;
    if (!set_tile(map, before, step, paired)) return;
    // A map, spatial ones too, ends with the first tile that touches the end: K of 128 in tiles of 2 at offset 1
    // are 127 positions in MAESTRO. A tile that takes all is the only one.
    if (map.tile >= all) {
      map.tile = all;
      return;
    }
    if (step != Count(map.tile)) {
      refuse_offset(map);
      return;
    }
    const Span span = map.directive->span;
    if (!map.spatial() || level.units == 1) {
      level.cuts.push_back({dimension.rank, map.tile, false, span});
    } else {
      const Count fold = Count(level.units) * Count(map.tile);
      if (fold < Count(all)) level.cuts.push_back({dimension.rank, *fold.to_int64(), false, span});
      level.cuts.push_back({dimension.rank, map.tile, true, span});
    }
    left(dimension.rank) = map.tile;
  }

  /// The tile in indices of the map's rank, and the step from one tile to the next.
  bool set_tile(Map& map, const std::vector<std::int64_t>& before, Count& step, bool paired) {
    const Dimension& dimension = map.dimension;
    const Number& size = map.directive->size;
    map.tile = size.value;
    if (dimension.kind == Dimension::Kind::taps && !paired && size.value < left(dimension.rank)) {
      const std::string rows = dimension.partner == einsum_.rank_named("p") ? "Y" : "X";
      error(size.span,
            map.spatial() ? fmt::format("{} cuts the filter; without {} beside it its parts do not meet in one output",
                                        in_quotes(map.text()), in_quotes("SpatialMap " + rows))
                          : fmt::format("{}: a loop over parts of the filter; MAESTRO takes all {} of {} at once",
                                        in_quotes(map.text()), left(dimension.rank), map.directive->dimension.text),
            map.spatial() ? fmt::format("SpatialMap(1,1) {}; SpatialMap(1,1) {} under a tile of one output", rows,
                                        map.directive->dimension.text)
                          : fmt::format("TemporalMap(Sz({0}),Sz({0})) {0}", map.directive->dimension.text));
      return false;
    }
    if (dimension.kind == Dimension::Kind::rows) return set_tile_of_rows(map, before, step);
    if (dimension.kind == Dimension::Kind::outputs && dimension.stride > 1) {
      // MAESTRO turns T outputs into T + R - 1 rows, whatever the stride, and counts ceil(T / stride) outputs in them.
      const Count unstrided = (Count(left(dimension.rank)) - 1) * Count(dimension.stride) + 1;
      if (size.value > 1 && Count(size.value) < unstrided) {
        error(size.span,
              fmt::format("{} with a stride of {}: MAESTRO takes the size for rows without stride",
                          in_quotes(map.text()), dimension.stride),
              fmt::format("a tile of {} outputs is said by its rows: {}({},{}) {}", size.value,
                          map.spatial() ? "SpatialMap" : "TemporalMap",
                          (Count(size.value - 1) * Count(dimension.stride) +
                           Count(before[static_cast<std::size_t>(dimension.partner)]))
                              .str(),
                          (Count(size.value) * Count(dimension.stride)).str(),
                          map.directive->dimension.text.substr(0, 1)));
        return false;
      }
      step = map.tile;
    }
    return true;
  }

  bool set_tile_of_rows(Map& map, const std::vector<std::int64_t>& before, Count& step) {
    const Dimension& dimension = map.dimension;
    const std::int64_t taps = before[static_cast<std::size_t>(dimension.partner)];
    const std::int64_t size = map.directive->size.value;
    const char* const filter = dimension.rank == einsum_.rank_named("p") ? "R" : "S";
    if (size < taps) {
      error(map.directive->size.span,
            fmt::format("{}: a tile of {} under a filter of {} gives no output", in_quotes(map.text()), size, taps),
            fmt::format("{}(Sz({}),{}) {} gives one output", map.spatial() ? "SpatialMap" : "TemporalMap", filter,
                        dimension.stride, map.directive->dimension.text));
      return false;
    }
    map.tile = (size - taps) / dimension.stride + 1;
    if (dimension.stride > 1) {
      // MAESTRO sets the offset to outputs x stride, whatever is written.
      if (map.tile < left(dimension.rank) && step != Count(map.tile) * Count(dimension.stride)) {
        result_.offset_not_used = true;
      }
      step = map.tile;
    }
    return true;
  }

  void refuse_offset(const Map& map) {
    const std::int64_t offset = map.directive->offset.value;
    const bool window = map.dimension.kind == Dimension::Kind::rows;
    const bool gap = offset > map.tile;
    const std::string size = window ? fmt::format("the {} output{} of its tile", map.tile, map.tile == 1 ? "" : "s")
                                    : fmt::format("its size {}", map.tile);
    error(map.directive->offset.span,
          fmt::format("{}: the offset {} is {} than {}: {}", in_quotes(map.text()), offset, gap ? "larger" : "smaller",
                      size, gap ? "what lies between two tiles is left out" : "neighbouring tiles repeat work"),
          fmt::format("{}({},{}) {} does everything once", map.spatial() ? "SpatialMap" : "TemporalMap",
                      map.directive->size.value, map.tile, map.directive->dimension.text));
  }

  const Layer& layer_;
  const Shape& shape_;
  const Einsum& einsum_;
  std::vector<std::vector<Map>> maps_;  // by level
  std::vector<const Directive*> clusters_;
  std::vector<std::int64_t> left_;
  Levels result_;
  Diagnostics errors_;
};

}  // namespace

Result<Levels> levels_of(const Layer& layer, const Shape& shape, const Einsum& einsum,
                         const std::optional<std::int64_t>& pes) {
  return LevelReader(layer, shape, einsum).read(pes);
}

}  // namespace einflow::maestro
