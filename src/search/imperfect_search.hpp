// Branch and bound over imperfect nests: block by block inwards, and within a block what is held, which temporal loop
// is innermost, how each rank is cut, and in which order.
#pragma once

#include <ctime>
#include <limits>
#include <optional>

#include "movement/uniform.hpp"
#include "search/imperfect_crossing.hpp"
#include "search/imperfect_figures.hpp"
#include "search/imperfect_order.hpp"
#include "search/imperfect_reload.hpp"

namespace einflow::imperfect {

/// A nest down to the place of a block, counted exactly so far.
struct Node {
  Mapping mapping;  ///< its holds end at that place
  std::vector<RankCuts> cuts;
  Holders holders;
  Sums known;
  std::vector<double> instances;  ///< per block: most in use at its place; beyond the node, all that may be
  Value bound;
};

/// A block that is being chosen.
struct Open {
  const Node* outside = nullptr;
  int block = 0;
  unsigned held = 0;
  int innermost = -1;               ///< rank; kNone, kAny
  std::vector<bool> chosen;         ///< per rank
  std::vector<Cut> cuts;            ///< where chosen
  std::vector<RankCuts> inside;     ///< where chosen
  std::vector<std::int64_t> room;   ///< per axis: how many trips the other ranks may have
  static constexpr int kNone = -1;  ///< no temporal loop in the block
  static constexpr int kAny = -2;   ///< the order does not matter
};

/// What was found.
struct Found {
  Spec spec;
  Value value;
};

class Search {
 public:
  Search(const Space& space, Count most_mappings);
  Result<MapResult> run();

 private:
  template <typename T>
  struct Child {
    Value bound;
    double size = 0;  ///< breaks ties: larger tiles first
    T what;
  };

  /// One search from the root: all of it, or a first look at some of it that may find a good nest early.
  enum class Look { few_detours, few_tiles, all };
  void explore(Look look);
  /// Visits children, those of the lowest bound first; what is left out when the search stops is noted.
  template <typename T, typename Visit>
  void visit(std::vector<Child<T>>& children, Visit&& visit_child);

  void choose_holds(const Node& outside, int block);
  void choose_innermost(const Open& open);
  void choose_cuts(const Open& open);
  void choose_order(const Open& open);
  void finish(const Node& node);

  bool is_looked_at(std::int64_t tile, std::int64_t left, std::int64_t room) const;
  bool may_be_innermost(const Open& open, int rank) const;
  std::vector<Cut> ways_to_cut(const Open& open, int rank) const;
  void add_spatial(const Open& open, int rank, Cut& cut, std::int64_t left, std::vector<Cut>& found) const;
  void set_cut(const Open& open, int rank, const Cut& cut, Open& next) const;
  bool may_fit(const Open& open) const;

  /// Least that nests have which agree with the choice; `order` (outermost first) where that is chosen too.
  Value bound_of(const Open& open, const std::vector<int>* order = nullptr) const;
  void find_unchosen(const Open& open) const;
  void set_shared(const Open& open, Holders& holders) const;
  void find_loops_for(const Open& open, int tensor) const;
  void find_longest_tiles(const Open& open) const;
  double least_steps(const Open& open) const;
  std::vector<double> instances_of(const Open& open) const;
  std::optional<Node> closed(const Open& open, const std::vector<int>& order);
  bool count_into(const Open& open, Node& node);
  CountedCrossing crossing_of(const HoldCounts& counts, int tensor) const;
  void add_loops(const Open& open, const std::vector<int>& order, std::vector<Loop>& loops) const;

  bool is_hopeless(const Value& bound) const;
  void take(const Spec& spec, const Cost& cost);
  void note_open(const Value& bound) { open_bound_ = std::min(open_bound_, figures_.objective(bound)); }
  bool is_over();
  void stop(const std::string& why);
  void tell_progress(double seconds);
  MapResult result() const;
  Diagnostics nothing_found() const;

  const Space& space_;
  const Figures figures_;
  const StepBound steps_;
  Count most_mappings_;
  UniformLaw uniform_;
  /// Memory that bound_of() uses again and again.
  struct Scratch {
    explicit Scratch(const Space& space) : reload(space) {}
    Reload reload;
    Unchosen unchosen;
    std::vector<Loop> loops;
    std::vector<int> order;
    Lengths lengths, longest, left;
    std::vector<double> positions, spread;
    std::vector<const LengthClasses*> reference;
    Holders holders;
    std::vector<Passed> passed;
    Sums sums;
  };
  mutable Scratch scratch_;
  Spec spec_;  ///< whose mapping is counted
  Counts counts_;
  std::vector<Found> best_;
  std::optional<Diagnostics> error_;
  std::string stopped_;
  double open_bound_ = std::numeric_limits<double>::infinity();
  Value root_bound_;
  Count states_ = 0;
  Count counted_ = 0;
  Look look_ = Look::all;
  int detours_ = 0;                   ///< with few detours: how far from the lowest bounds it may still go
  mutable std::int64_t bounded_ = 0;  ///< choices, in this look
  std::clock_t start_ = 0;
  double told_at_ = 0;
  unsigned ticks_ = 0;
};

/// Nests in the space before capacity, as far as mapper.hpp's `mappings` goes; 0 where that is too many to count.
double count_of_mappings(const Space& space);

}  // namespace einflow::imperfect
