// Lower bounds on what the inner part of a nest adds to a figure that is a sum over elements moved.
//
// Three bounds hold for whatever is put inside a place. At each place further in the larger of the first two and the
// third is taken; the sum over the places is made as small as what may be held there allows.
//
// Compulsory traffic: an element that arrives at a hold is new to everything inside it, so that it crosses each hold
// further in at least once; and at the innermost hold every operation (or atomic shape) takes its operands, shared at
// most by all children of the meshes that share.
//
// Traffic for want of room: where a tensor's tile at the place does not fit all instances of a place further in, some
// loop between the two cuts a rank of it into two tiles or more. That loop wraps whenever a loop outside advances, so
// that the tile comes anew at every step of the place.
//
// Traffic for room: from one step to the next, at a place, one temporal loop advances, of rank r, say. It replaces the
// whole tile of every tensor that r indexes by itself (not in a window). A step does at most the product of its lengths
// of operations, and its tiles fit the place. So the cost of a place is at least the operations times the least, over
// all lengths that fit and all ranks r, of (cost of the tiles that r replaces / product of the lengths). With longer
// lengths that ratio never grows: a range of lengths is bounded by its largest, and left out only if its smallest does
// not fit. Padded tensors are left aside. One transfer serves as many instances as the ranks that the tensor lacks (or
// has in a window) are spread over; all ranks together have no more trips than the meshes have room for.
#pragma once

#include <array>
#include <map>
#include <vector>

#include "search/imperfect_nest.hpp"

namespace einflow::imperfect {

/// What moving one element adds to the figure; vectors by machine level, then tensor.
struct Weights {
  explicit Weights(const Space& space);
  std::vector<std::vector<double>> read;     ///< read from a storage level
  std::vector<std::vector<double>> write;    ///< written to it
  std::vector<std::vector<double>> forward;  ///< handed to a sibling
  std::vector<std::vector<double>> hop;      ///< over a mesh
};

/// Elements that pass between a hold and its parent.
struct Passed {
  double merged = 0;     ///< as the parent sees them: parent reads or updates
  double alone = 0;      ///< as the instances see them: fills or drains
  double forwarded = 0;  ///< among siblings
};

/// Where each tensor is held innermost, so far.
struct Holders {
  std::vector<int> block;           ///< per tensor: the block of that place
  std::vector<double> residencies;  ///< per tensor: elements that arrive there, or at least so many
  std::vector<double> shared;       ///< per tensor: coordinates further in, of the loops so far, that one
                                    ///< transfer from there serves at most
  std::vector<double> arrivals;     ///< by block, then tensor: at least so many would arrive there
  double& arriving(int at, int tensor) { return arrivals[static_cast<std::size_t>(at) * block.size() + tensor]; }
  double arriving(int at, int tensor) const { return arrivals[static_cast<std::size_t>(at) * block.size() + tensor]; }
};

/// Sets `arrivals` from what is known of the ranks inside the block; ranks of which nothing is known are not `chosen`.
/// `positions`: per rank, at least so many outside the block's place.
void set_arrivals(const Space& space, int block, const std::vector<RankCuts>& inside, const std::vector<bool>& chosen,
                  const std::vector<double>& positions, Holders& holders);

/// Where rows of lengths fit: each rank between `low` and `high`.
struct Cell {
  Lengths low, high;
  std::vector<double> share;  ///< per tensor: elements of the tile of `high` / product of `high`
};

/// The ranges of lengths for a place, at most some thousands.
std::vector<Cell> cells_of(const Space& space, int block);

/// One figure.
class LinearBound {
 public:
  LinearBound(const Space& space, Weights weights);

  /// What is there whatever the nest: residencies of the outermost storage's outputs start from nothing.
  double constant() const { return constant_; }
  /// Cost of a crossing from a place to the next that holds the tensor (last block: to the operation).
  double crossing(int tensor, int parent, int child, const Passed& passed) const;
  /// Least cost of all crossings into places further in than the block.
  double ahead(int block, const Holders& holders) const;

 private:
  struct Price {  // of a crossing, per element
    double merged = 0, alone = 0;
    double shared_by = 1;  ///< instances that one transfer serves at most
  };
  const Price& price(int tensor, int parent, int child) const;
  Price make_price(int tensor, int parent, int child) const;
  bool may_forward(int tensor, int parent, int child) const;
  /// The holders that a bound starts from, and where each tensor is held innermost on the way inwards.
  struct Way {
    int from = 0;  ///< block
    const Holders* holders = nullptr;
    std::array<int, kMostTensors> at{};
  };
  double inwards(int block, const Way& way) const;
  double operands(const Way& way) const;
  double for_room(int block, unsigned held, const Way& way) const;
  double find_for_room(int block, unsigned held, const Way& way) const;
  double shared_by(int tensor, int child, const Way& way, const Lengths* spread) const;
  double replaced_at_least(const std::vector<double>& prices, const Cell& cell) const;
  double least_accesses(int tensor) const;

  const Space& space_;
  Weights weights_;
  double constant_ = 0;
  double operations_ = 0;
  std::vector<double> accesses_;                            ///< per tensor, of operands
  std::vector<Price> prices_;                               ///< by tensor, parent, child
  std::vector<std::vector<Cell>> cells_;                    ///< per block
  std::vector<std::vector<unsigned>> choices_;              ///< per block
  std::vector<std::vector<std::vector<Lengths>>> spreads_;  ///< [outer block][inner block]
  using RoomKey = std::array<int, 3 + 2 * kMostTensors>;
  mutable std::map<RoomKey, double> for_room_;
};

}  // namespace einflow::imperfect
