// One hold of one tensor while the walk goes on: what each coordinate keeps there, where it comes from and goes to.
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/counts.hpp"
#include "mapping/mapping.hpp"
#include "simulate/arithmetic.hpp"
#include "simulate/elements.hpp"

namespace einflow::execution {

/// What one coordinate keeps of a tensor.
struct Buffer {
  Tile elements;
  std::vector<Value> values;  ///< beside `elements`
  std::vector<char> written;  ///< outputs, beside `elements`: an update has arrived in this residency
  /// Index of an element, or -1.
  std::ptrdiff_t find(Element element) const;
  void clear();
};

/// A hold: its buffers now, the tiles that the step about to begin wants, and the siblings that act as one.
struct Residence {
  int tensor = 0;
  int hold = 0;
  int level = 0;
  int depth = 0;
  bool compute = false;     ///< the compute level
  bool remembers = true;    ///< false at a compute level without operand latches: nothing survives a step
  bool forwarding = false;  ///< siblings may take from siblings

  /// By coordinate: the coordinate of the parent; the groups within which one read serves all that want the same
  /// element, and within which sums of the same element merge. Groups are numbers that differ for different groups.
  std::vector<std::int64_t> parent_of;
  std::vector<std::int64_t> read_group;
  std::vector<std::int64_t> update_group;

  std::vector<Buffer> now;  ///< by coordinate
  std::vector<Tile> next;   ///< by coordinate; empty = idle
  bool moved = false;       ///< `next` is of a step that has not begun yet
  std::vector<char> ever_active;
  HoldCounts counts;

  std::size_t coordinates() const { return now.size(); }
};

/// The hold with nothing in it.
Residence make_residence(const Spec& spec, int tensor, int hold);

}  // namespace einflow::execution
