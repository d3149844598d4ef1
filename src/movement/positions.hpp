// One rank's intervals at a hold, for all its loop positions, in classes of equal ones.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/count.hpp"
#include "mapping/mapping.hpp"
#include "movement/group.hpp"

namespace einflow {

/// How the coordinates of a spatial loop are taken together in a count.
enum class Join : std::uint8_t {
  separate,  ///< summed over: each coordinate by itself
  merged,    ///< siblings whose elements are united (multicast, reduction)
  fixed,     ///< one given coordinate only
};

class PositionCache;

/// What a count looks at: a tensor's tile inside the first `depth` loops, with the spatial loops joined so.
struct View {
  const Spec* spec = nullptr;
  int tensor = 0;
  int depth = 0;
  std::vector<Join> join;              ///< per loop outside the hold; temporal loops ignore it
  std::vector<std::int64_t> fixed_at;  ///< per loop: the coordinate, where fixed
  PositionCache* cache = nullptr;      ///< tables shared by the counts of one spec; may be absent
};

/// The interval of a rank at one sibling coordinate before and after a change of step, relative to the
/// position's base. Length 0: idle.
struct Cell {
  std::int64_t prev_begin = 0, prev_length = 0;
  std::int64_t now_begin = 0, now_length = 0;
  bool operator==(const Cell&) const = default;
};

/// A class of equal positions of the rank's own loops (temporal ones and separate coordinates).
struct Position {
  Count times = 1;                                     ///< how many positions are of this class
  std::int64_t base = 0;                               ///< first index; meaningful only where `inside` is false
  bool inside = true;                                  ///< no padding is met, whatever the group's other ranks do
  std::int64_t prev_reference = 0, now_reference = 0;  ///< lengths at coordinate 0: they decide which steps exist
  std::uint32_t first_cell = 0, cells = 0;             ///< merged sibling coordinates that are active before or after
};

/// All classes of a rank; the cells of all of them stand in one row.
struct PositionTable {
  std::vector<Position> positions;
  std::vector<Cell> cells;
  const Cell& cell(const Position& position, std::size_t k) const { return cells[position.first_cell + k]; }
};

/// Which change of step the positions describe: the first `outer` temporal loops of the rank stand still,
/// the next one goes from v to v + 1 if `pairs`, the others wrap from last to first. `outer` = all own temporal
/// loops and no pairs: no change at all, previous and present intervals are the same.
struct Change {
  int outer = 0;
  bool pairs = false;
  bool operator==(const Change&) const = default;
};

/// Classes of a rank's positions. `padding` is the group's padded extent, if any. Nothing where there would be
/// more than a few million classes (only padding wider than many tiles can do that).
std::optional<PositionTable> rank_positions(const View& view, int rank, const Group& group, Change change);

/// Position tables of one spec, made once: the same rank at the same depth looks alike for every tensor that it
/// meets without padding.
class PositionCache {
 public:
  /// The table, made on first use; null where there are too many classes.
  const PositionTable* get(const View& view, int rank, const Group& group, Change change);
  /// groups_of(), made on first use.
  const std::vector<Group>& groups(const Einsum& einsum, int tensor);

 private:
  struct Key {
    int rank = 0;
    int own_loops = 0;         ///< how many of the rank's loops stand outside
    std::uint64_t merged = 0;  ///< which of them are merged
    Change change;
    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    std::optional<PositionTable> table;
  };
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<std::vector<Group>> groups_;
};

/// Number of the rank's temporal loops outside the view's hold.
int temporal_loops(const View& view, int rank);

}  // namespace einflow
