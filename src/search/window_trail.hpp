// Tensors with windows: what of a hold's tile a loop further out leaves in place depends on the loops between. A trail
// is what must be known of them, interned to a number.
//
// With tiles that divide, what a loop leaves in place depends on the loops inside it only through the shape that they
// reach, not through their order: each of them goes from its last index to its first. So a trail is the tile, the par
// lines and the shape reached. Only where a network further out may still join siblings must it also be known which
// loops have left what in place, for what siblings share is then another number.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "search/map_model.hpp"

namespace einflow {

/// A par line over a rank of a window.
struct TrailPar {
  int rank = 0;
  int mesh = -1;  ///< machine level; -1: outside the hold's parent
  std::int64_t stride = 1;
  std::int64_t factor = 1;
  auto operator<=>(const TrailPar&) const = default;
};

/// A temporal loop that left something in place.
struct TrailTurn {
  std::vector<int> reached;  ///< before the loop
  int pars = 0;              ///< how many par lines stand inside it
  int rank = -1;             ///< -1: one that the tensor lacks
  std::int64_t factor = 1;
  double weight = 1;  ///< positions of the ranks that the tensor lacks, relative to the first such loop
  auto operator<=>(const TrailTurn&) const = default;
};

/// A hold and what has happened outside it so far.
struct WindowHold {
  int tensor = 0;
  int place = 0;
  int parent = 0;
  std::vector<int> tiles;                             ///< GroupReuse::tile_number() of each group
  std::vector<int> reached;                           ///< index of the tile reached, of each rank; 0 where no window
  std::vector<TrailPar> pars;                         ///< innermost first
  std::vector<std::pair<int, std::int64_t>> lacking;  ///< (mesh, trips) of par lines whose rank the tensor lacks
  std::vector<TrailTurn> turns;                       ///< newest hold, networks ahead
  double weight = 1;                                  ///< of the next turn
  bool open = true;  ///< no loop has moved the tensor on to elements that it never overlaps
  int divided = 0;   ///< par lines so far: 0 none, 1 all on meshes that forward, 2 other
  auto operator<=>(const WindowHold&) const = default;
};

/// The holds of one tensor whose counts may still change, innermost first.
struct WindowTrail {
  std::vector<WindowHold> holds;
  auto operator<=>(const WindowTrail&) const = default;
};

/// What a temporal loop leaves in place for each position of the ranks that the tensor lacks (outside the loop).
struct TrailSaving {
  std::uint32_t next = 0;
  std::array<double, kMostFigures> figures{};  ///< without the newest hold's parent; of all instances
  double joined = 0;                           ///< elements that the newest hold's parent need not give
  bool open = false;
  bool inexact = false;  ///< an upper bound
};

/// What a par line changes.
struct TrailSplit {
  std::uint32_t next = 0;
  double ratio = 1;      ///< elements that the parent gives, after / before
  bool inexact = false;  ///< a lower bound
};

/// All trails of a search. Number 0: nothing is known, nothing can change. Not to be shared by threads.
class WindowTrails {
 public:
  explicit WindowTrails(const MapModel& model) : model_(model) {
    trails_.push_back({});
    kind_.push_back(0);
    newest_.push_back(0);
  }

  /// The tensor gets a hold at the place; its older ones stay as they are.
  std::uint32_t placed(std::uint32_t trail, int tensor, int place, int parent, int shape);
  /// A temporal loop of the rank between two shapes, the meshes outside the places stage + 1 and further in having been
  /// crossed. `ahead`: networks still to be passed may join siblings.
  const TrailSaving& turned(std::uint32_t trail, int tensor, int rank, int inner, int outer, int stage, bool ahead);
  const TrailSplit& split(std::uint32_t trail, int tensor, int rank, int inner, int outer, int mesh);
  bool open(std::uint32_t trail) const { return !trails_[trail].holds.empty() && trails_[trail].holds.back().open; }

  /// Whether two trails are alike but for the loops that left something in place.
  bool alike(std::uint32_t a, std::uint32_t b) const { return a == b || kind_[a] == kind_[b]; }
  /// What loops further out can spare of the newest hold's traffic at most, those of ranks that the tensor lacks and
  /// that stand next to the hold left aside: these divide it besides, where it is `untouched`.
  struct Least {
    bool known = false;
    bool bounded = false;    ///< else the loops may spare any part of it
    bool untouched = true;   ///< no loop has moved a window yet
    double most_joined = 0;  ///< elements that the parent need not give, per position of the lacking ranks
    double share = 0;        ///< of an untouched hold's traffic that is left, its own and that of its networks
  };
  const Least& least(std::uint32_t trail);
  /// Whether `a` has one hold, and it is the newest of `b`.
  bool is_newest_of(std::uint32_t a, std::uint32_t b) const { return a != 0 && newest_[b] == a; }
  /// The most by which `a` may come to give more elements than `b`, being alike, where now they give so many.
  double most_more(std::uint32_t a, double given_a, std::uint32_t b, double given_b);

 private:
  struct Move {
    std::uint32_t trail;
    int rank, inner, outer, where;
    bool operator==(const Move&) const = default;
  };
  struct MoveHash {
    std::size_t operator()(const Move& move) const {
      std::uint64_t mixed = move.trail;
      for (const int part : {move.rank, move.inner, move.outer, move.where}) {
        mixed = (mixed ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
        mixed ^= mixed >> 29U;
      }
      return mixed;
    }
  };
  std::uint32_t number_of(WindowTrail trail);
  TrailSaving compute_turn(std::uint32_t trail, int tensor, int rank, int inner, int outer, int stage, bool ahead);
  double kept(const WindowHold& hold, const std::vector<int>& reached, int pars, int rank, std::int64_t factor,
              bool alone, int beyond, bool forwarded, bool padded = true) const;
  double present(const WindowHold& hold) const;
  /// Whether no temporal loop has moved a window yet.
  bool untouched(const WindowHold& hold) const;
  /// Elements that the parent gives, in units of the positions of the lacking ranks at the first turn.
  double relative(const WindowHold& hold) const;
  double relative_of(std::uint32_t trail);

  const MapModel& model_;
  std::vector<WindowTrail> trails_;
  std::map<WindowTrail, std::uint32_t> numbers_;
  std::unordered_map<Move, TrailSaving, MoveHash> turns_;
  std::unordered_map<Move, TrailSplit, MoveHash> splits_;
  std::vector<double> relative_;       ///< by number; < 0: not yet known
  std::vector<Least> least_;           ///< by number
  std::vector<std::uint32_t> newest_;  ///< by number: the trail of the newest hold alone
  std::vector<std::uint32_t> kind_;    ///< by number: of the trail without turns
};

}  // namespace einflow
