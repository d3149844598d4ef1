// What the search compares: the objective's figures of a nest, exactly or bounded from below.
#pragma once

#include <optional>
#include <vector>

#include "cost/cost.hpp"
#include "search/imperfect_bound.hpp"
#include "search/imperfect_nest.hpp"

namespace einflow::imperfect {

/// Energies that differ by less than this part count as equal: sums are rounded.
constexpr double kEqual = 1e-12;

/// The figures of a nest, or lower bounds on them; those that the objective does not need stay 0.
struct Value {
  double energy = 0;   ///< pJ
  double cycles = 0;   ///< overlapped
  double traffic = 0;  ///< bits
  Value at_least(const Value& other) const;
};

/// Known sums, one for each linear figure of the objective.
using Sums = std::vector<double>;

class Figures {
 public:
  /// Requires that the machine states what the objective needs (see missing_figure()).
  explicit Figures(const Space& space);

  bool front() const { return space_.request.front; }
  bool needs_cycles() const { return needs_cycles_; }
  int linear_count() const { return static_cast<int>(linear_.size()); }
  const LinearBound& bound(int figure) const { return linear_[static_cast<std::size_t>(figure)].bound; }

  /// Bounds from sums of everything moved, least steps, and the most instances in use at each block's place.
  Value value(const Sums& sums, double steps, const std::vector<double>& instances) const;
  /// As `analyze` has it.
  Value exact(const Spec& spec, const Cost& cost) const;
  /// The objective; with `front` the energy.
  double objective(const Value& value) const;
  /// What nests are looked at by first.
  double order(const Value& value) const;

 private:
  struct Linear {
    enum class Kind { energy, port, traffic };
    Kind kind = Kind::energy;
    int block = 0;  ///< whose instances share it; port only
    LinearBound bound;
  };
  void add_energy();
  void add_traffic(int level);
  void add_ports();
  void add_port(int block, const std::optional<Ratio>& bandwidth, bool reads, bool writes);

  const Space& space_;
  std::vector<Linear> linear_;
  bool needs_cycles_ = false;
  double compute_energy_ = 0;
  double cycles_per_step_ = 0;
};

/// What the machine does not state and the objective needs; empty where it has all.
std::string missing_figure(const Space& space);

}  // namespace einflow::imperfect
