// What one group of ranks contributes where tiles divide: elements present at all positions, the largest tile, and what
// stays when a loop advances (docs/law.md section 4, product form), for tiles told by their sizes alone.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "movement/group.hpp"
#include "movement/runs.hpp"
#include "search/shapes.hpp"

namespace einflow {

/// A loop over one of the group's ranks: it cuts into `factor` tiles of `stride` indices.
struct GroupLoop {
  int term = 0;  ///< of the group
  std::int64_t stride = 1;
  std::int64_t factor = 1;
  auto operator<=>(const GroupLoop&) const = default;
};

/// How siblings are taken together.
enum class Together : std::uint8_t {
  alone,      ///< each by itself
  joined,     ///< united where a bit says so; an element stays where every holder after the change held it before
  forwarded,  ///< united likewise; an element stays where any sibling held it before
};

class GroupReuse {
 public:
  GroupReuse(const Group& group, const Shapes& shapes);

  /// One rank, coefficient 1, nothing padded: its tiles never overlap.
  bool plain() const { return plain_; }
  const Group& group() const { return group_; }
  /// Whether there are few enough positions to be added up.
  bool tractable() const { return tractable_; }

  int tile_number(int shape) const;
  /// Sum over all positions of the number of elements.
  double present(int tile) const { return tiles_[static_cast<std::size_t>(tile)].present; }
  std::int64_t largest(int tile) const { return tiles_[static_cast<std::size_t>(tile)].largest; }
  /// Elements that any position touches.
  std::int64_t touched() const { return tiles_.back().largest; }
  /// A tile is one interval of this width; 0 where it has holes.
  std::int64_t width(int tile) const;
  /// Sum over all positions of what a move by `shift` or more certainly brings; the tile being one interval.
  double brought(int tile, std::int64_t shift) const;

  /// Sum over all positions of the number of elements, the coordinates of the loops `united` taken together.
  double present(int tile, const std::vector<GroupLoop>& united) const;

  /// What stays at the changes of a temporal loop, summed over all positions outside it. The temporal loops inside it,
  /// of this group, are `inside`: they go from last to first. `own` is the loop itself where its rank is of this group.
  /// Not `padded`: as if everything existed, which is never less.
  double kept(int tile, const std::vector<GroupLoop>& inside, const std::optional<GroupLoop>& own, Together together,
              const std::vector<GroupLoop>& united, bool padded = true) const;

  std::int64_t coefficient(int term) const { return group_.terms[static_cast<std::size_t>(term)].coefficient; }
  int term_of(int rank) const;
  /// Tile of one of its ranks.
  std::int64_t tile_length(int tile, int term) const { return lengths_of(tile)[static_cast<std::size_t>(term)]; }

 private:
  struct Tile {
    Runs image;
    double present = 0;
    std::int64_t largest = 0;
    std::vector<std::int64_t> sizes;  ///< of every position, where padding is met; else empty
    double positions = 1;
  };
  Tile tile_of(const std::vector<std::int64_t>& lengths) const;
  std::vector<std::int64_t> lengths_of(int tile) const;
  /// Offsets of all positions, those left out where a loop of `fixed` is not at its first index.
  std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& lengths,
                                    const std::vector<GroupLoop>& fixed) const;
  std::vector<std::int64_t> sibling_offsets(const std::vector<GroupLoop>& united) const;
  std::int64_t clipped(Runs runs, std::int64_t offset) const;
  double kept_at(int tile, std::int64_t prev, std::int64_t now, Together together,
                 const std::vector<std::int64_t>& united, bool padded) const;

  using Question = std::vector<std::int64_t>;
  struct QuestionHash {
    std::size_t operator()(const Question& question) const;
  };

  Group group_;
  const Shapes& shapes_;
  bool plain_ = false;
  bool tractable_ = true;
  std::vector<int> radix_;
  std::vector<Tile> tiles_;
  mutable std::unordered_map<Question, double, QuestionHash> known_;  ///< sums over padded positions
};

}  // namespace einflow
