#include "search/label_search.hpp"

#include <algorithm>
#include <cmath>

#include "search/mesh_spread.hpp"
#include "search/window_trail.hpp"

namespace einflow {

namespace {

// Sums of the same numbers in another order differ in their last digits.
constexpr double kNoise = 1e-11;
constexpr double kMostBytes = 1.4e9;
// Labels of one shape that a search which does not keep all of them keeps.
constexpr std::size_t kMostInBucket = 3;

/// One step of the way from the operation outwards.
struct Action {
  enum class Kind : std::int8_t { start, temporal, spatial, place };
  std::uint32_t before = 0;  ///< the step further in
  std::int32_t shape = 0;    ///< reached
  Kind kind = Kind::start;
  std::int8_t level = 0;    ///< spatial: machine level of the mesh; place: the place
  std::uint8_t held = 0;    ///< place: a bit for each tensor
  std::int32_t spread = 0;  ///< spatial: index into MeshSpreads::all()
};

template <int F, int T>
struct Label {
  std::array<double, F> spent{};                    ///< figures
  std::array<double, T> joined{};                   ///< elements that the next hold of the tensor gives or takes
  std::array<std::array<double, F>, T> sparable{};  ///< of `spent`, the next hold's part left aside
  std::array<double, T> at_once{};                  ///< elements transferred at once, where the price depends on it
  std::array<double, F> share{};                    ///< 1 / par trips that have divided the figure
  std::array<std::uint32_t, T> trail{};             ///< tensors with windows: WindowTrails
  double fill = 0;                                  ///< cycles of a systolic mesh's fill and drain
  Action action;                                    ///< that led here
  std::uint32_t stored = 0;                         ///< index of the action, once it is stored
  std::uint8_t open = 0;                            ///< bit: no loop outside the tensor's newest hold has moved it
  std::int8_t cell_tensor = -1;                     ///< the tensor whose tile changes in the array are charged
  std::int8_t last_place = -1;
  bool fill_open = false;
  bool turned = false;   ///< a temporal loop since the last place
  bool inexact = false;  ///< `spent` is a lower bound
};

template <int F, int T>
class LabelSearch {
 public:
  using L = Label<F, T>;
  using Bucket = std::vector<L>;
  using Buckets = std::vector<Bucket>;  ///< [shape]

  LabelSearch(const MapModel& model, const Parents& parents, const OuterBound& outer, WindowTrails& trails,
              const Goal& goal, const Known& known, const SearchLimits& limits)
      : m_(model),
        parents_(parents),
        outer_(outer),
        goal_(goal),
        known_(known),
        limits_(limits),
        trails_(trails),
        figures_(model.figure_count()),
        tensors_(model.tensor_count()) {
    for (int f = 0; f < figures_; ++f) {
      if (figure(f).kind == Figure::Kind::compute) compute_figure_ = f;
      if (figure(f).kind == Figure::Kind::spread) spread_figure_ = f;
    }
    for (int t = 0; t < tensors_; ++t) {
      loose_.push_back(loose_trips(t));
      overlap_.push_back(overlaps(t));
      std::vector<int> moving;
      for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
        const int g = tensor(t).group_of[static_cast<std::size_t>(rank)];
        if (g >= 0 && tensor(t).groups[static_cast<std::size_t>(g)].plain()) moving.push_back(rank);
      }
      plain_ranks_.push_back(std::move(moving));
      for (int place = 0; place < m_.place_count(); ++place) any_rounded_ = any_rounded_ || m_.rounded(t, place);
    }
    for (int place = 0; place < m_.place_count(); ++place)
      any_stationary_ = any_stationary_ || m_.stationary(place) >= 0;
    for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
      int lacking = 0;
      for (int t = 0; t < tensors_; ++t) lacking += tensor(t).group_of[static_cast<std::size_t>(rank)] < 0 ? 1 : 0;
      one_lacks_ = one_lacks_ && (lacking <= 1 || m_.shapes.extent(rank) == 1);
    }
    charges_array_ = compute_figure_ >= 0 && m_.systolic_mesh >= 0;
  }

  SearchOutcome run() {
    std::vector<Buckets> inside(static_cast<std::size_t>(parents_.count()));
    start(inside);
    for (int place = m_.place_count() - 1; place >= 0 && !stop_; --place) {
      // The meshes just outside the place further in are still to be passed.
      outcome_.bound = least_bound(inside, place + 1, place);
      if (place + 1 == m_.place_count()) outcome_.first_bound = outcome_.bound;
      if (limits_.bound_only) return std::move(outcome_);
      if (limits_.widest > 0) keep_widest(inside, place + 1, place);
      spread_over_meshes(inside, place + 1);
      if (stop_) break;
      if (limits_.widest > 0) keep_widest(inside, place, place);
      outcome_.bound = least_bound(inside, place, place);
      std::vector<Buckets> outside(static_cast<std::size_t>(parents_.count()));
      for (int packed = 0; packed < parents_.count() && !stop_; ++packed) {
        Buckets& buckets = inside[static_cast<std::size_t>(packed)];
        if (buckets.empty()) continue;
        enter(packed, place, 0);
        const unsigned held = parents_.held_at(packed, place);
        if (held == 0 && m_.needs_place(place)) {
          labels_ -= count_of(buckets);
          Buckets().swap(buckets);
          continue;
        }
        if (held == 0) {
          pass_on(buckets, outside[static_cast<std::size_t>(packed)], place, packed);
        } else {
          turn_loops(buckets, place, packed);
          if (place == 0) {
            finish(buckets);
          } else {
            put_place(buckets, outside, place, packed, held);
          }
        }
        labels_ -= count_of(buckets);
        Buckets().swap(buckets);
      }
      inside = std::move(outside);
    }
    outcome_.created = created_;
    outcome_.expanded = expanded_;
    outcome_.complete = !stop_ && !left_out_ && !limits_.direct;
    std::stable_sort(outcome_.found.begin(), outcome_.found.end(), [&](const FoundMapping& a, const FoundMapping& b) {
      return goal_value(goal_, a.first, a.cycles) < goal_value(goal_, b.first, b.cycles);
    });
    return std::move(outcome_);
  }

 private:
  const Figure& figure(int f) const { return m_.figures[static_cast<std::size_t>(f)]; }
  const TensorModel& tensor(int t) const { return m_.tensors[static_cast<std::size_t>(t)]; }

  // ---- where the search is: what is still to be passed

  std::vector<double> loose_trips(int t) const {
    std::vector<double> trips(static_cast<std::size_t>(m_.shapes.size()), 1);
    for (int shape = 0; shape < m_.shapes.size(); ++shape) {
      for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
        const int g = tensor(t).group_of[static_cast<std::size_t>(rank)];
        if (g >= 0 && tensor(t).groups[static_cast<std::size_t>(g)].plain()) continue;
        trips[static_cast<std::size_t>(shape)] *=
            static_cast<double>(m_.shapes.extent(rank) / m_.shapes.tile(shape, rank));
      }
    }
    return trips;
  }

  std::vector<double> overlaps(int t) const {
    std::vector<double> overlap(static_cast<std::size_t>(m_.shapes.size()), 1);
    for (const GroupReuse& group : tensor(t).groups) {
      if (group.plain()) continue;
      for (int shape = 0; shape < m_.shapes.size(); ++shape) {
        double& product = overlap[static_cast<std::size_t>(shape)];
        product *= std::max(1.0, group.present(group.tile_number(shape)) / static_cast<double>(group.touched()));
      }
    }
    return overlap;
  }

  /// Labels seen from now on have next holds `packed`, stand inside place `stage`, and `passed` of the meshes just
  /// outside the place `stage` of the chain are behind them.
  void enter(int packed, int stage, int passed) {
    packed_ = packed;
    stage_ = stage;
    ahead_.assign(static_cast<std::size_t>(tensors_), 1);
    spread_ahead_.assign(static_cast<std::size_t>(figures_), 1);
    sharing_ahead_ = 1;
    for (int place = 0; place <= stage; ++place) {
      const auto& gap = m_.meshes[static_cast<std::size_t>(place)];
      const int left = static_cast<int>(gap.size()) - (place == stage ? passed : 0);
      for (int k = 0; k < left; ++k) {
        const int mesh = gap[static_cast<std::size_t>(k)];
        const auto size = static_cast<double>(m_.machine.mesh(mesh)->size());
        if (m_.machine.mesh(mesh)->multicast || m_.machine.mesh(mesh)->reduction) sharing_ahead_ *= size;
        for (int t = 0; t < tensors_; ++t) {
          if (parents_.of(packed, t) < place && m_.shares(mesh, t)) ahead_[static_cast<std::size_t>(t)] *= size;
        }
        for (int f = 0; f < figures_; ++f) {
          if (m_.divided_by(f, mesh)) spread_ahead_[static_cast<std::size_t>(f)] *= size;
        }
      }
    }
    for (int t = 0; t < tensors_; ++t) parent_[static_cast<std::size_t>(t)] = parents_.of(packed, t);
    for (int t = 0; t < tensors_; ++t) add_hops_ahead(t, stage, passed, 1);
    // Where no price depends on how much is transferred at once, it is one number.
    for (int t = 0; t < tensors_; ++t) {
      for (int f = 0; f < figures_; ++f) {
        parent_price_[static_cast<std::size_t>(t)][static_cast<std::size_t>(f)] =
            m_.parent_cost(f, t, parent_[static_cast<std::size_t>(t)], 0);
      }
      depends_[static_cast<std::size_t>(t)] = m_.rounded(t, parent_[static_cast<std::size_t>(t)]);
    }
  }

  void add_hops_ahead(int t, int stage, int passed, double joined) {
    auto& hops = hops_ahead_[static_cast<std::size_t>(t)];
    auto& most = most_hops_ahead_[static_cast<std::size_t>(t)];
    hops.fill(0);
    most.fill(0);
    for (int place = stage; place > parent_[static_cast<std::size_t>(t)]; --place) {
      const auto& gap = m_.meshes[static_cast<std::size_t>(place)];
      for (int k = static_cast<int>(gap.size()) - 1 - (place == stage ? passed : 0); k >= 0; --k) {
        const int mesh = gap[static_cast<std::size_t>(k)];
        for (int f = 0; f < figures_; ++f) {
          const double hop = m_.hop_cost(f, t, mesh);
          hops[static_cast<std::size_t>(f)] += hop / joined;
          most[static_cast<std::size_t>(f)] += hop;
        }
        if (m_.shares(mesh, t)) joined *= static_cast<double>(m_.machine.mesh(mesh)->size());
      }
    }
  }

  /// What the next hold is charged for one element.
  double price(int f, int t, const L& label) const {
    const auto k = static_cast<std::size_t>(t);
    if (!depends_[k]) return parent_price_[k][static_cast<std::size_t>(f)];
    return m_.parent_cost(f, t, parent_[k], label.at_once[k]);
  }

  double least_price(int f, int t, const L& label) const {
    const auto k = static_cast<std::size_t>(t);
    return depends_[k] && ahead_[k] > 1 ? parent_price_[k][static_cast<std::size_t>(f)] : price(f, t, label);
  }

  bool is_open(const L& label, int t) const { return ((label.open >> t) & 1U) != 0; }

  // ---- bounds

  double least_figure(const L& label, int f, int shape, int outer_place, bool with_next_loop = true) const {
    const auto i = static_cast<std::size_t>(f);
    const auto s = static_cast<std::size_t>(shape);
    double least = label.spent[i];
    std::array<double, T> given, most;
    std::array<double, kMostRanks> lost;
    lost.fill(0);
    int shared = 0;
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      if (!is_open(label, t) && ahead_[k] <= 1 && hops_ahead_[k][i] == 0) continue;
      const double trips = tensor(t).plain ? tensor(t).without[s] : loose_[k][s];
      // Siblings joined may be transferred at once, so that fewer accesses are rounded up.
      if (depends_[k] && ahead_[k] > 1) least -= label.joined[k] * (price(f, t, label) - parent_price_[k][i]);
      // Before par lines of a mesh join anything, all that is asked for inside it crosses it.
      least += label.joined[k] * hops_ahead_[k][i] / (is_open(label, t) ? trips : 1);
      if (is_open(label, t)) {
        const double spared = most_spared(label, t, f, trips, s);
        least -= spared;
        // The next temporal loop decides which tensors go on sparing.
        if (ahead_[k] <= 1 && spared > 0) {
          for (const int rank : plain_ranks_[k]) lost[static_cast<std::size_t>(rank)] += spared;
        }
      } else {
        const double all = label.joined[k] * least_price(f, t, label);
        least -= all;
        // Every element is given at least once.
        const double once = tensor(t).touched / std::max(label.joined[k], 1.0);
        // Siblings whose windows overlap are joined by par lines that share another tensor too.
        const double windows = tensor(t).plain ? 1 : overlap_[k][s];
        given[static_cast<std::size_t>(shared)] = all / windows;
        most[static_cast<std::size_t>(shared++)] =
            std::max(std::min({ahead_[k] / windows, trips / windows, 1 / (windows * std::max(once, 1e-300))}), 1.0);
      }
    }
    if (with_next_loop && label.open != 0) least += least_lost(lost, shape);
    if (shared > 0) least += least_shared(given, most, shared, sharing_ahead_);
    if (f == compute_figure_ && label.fill_open) least -= label.fill;
    // What the outermost level is spared of the reads of the output stands in `spent` from the start.
    return (least > 0 ? least / spread_ahead_[i] : least) + outer_.at(outer_place, packed_, f, shape);
  }

  /// The most of an open tensor's part that loops and networks further out can still spare.
  double most_spared(const L& label, int t, int f, double trips, std::size_t shape) const {
    const auto k = static_cast<std::size_t>(t);
    const double own = std::max(label.sparable[k][static_cast<std::size_t>(f)], 0.0);
    double own_least = own / trips, given_least = label.joined[k] / trips;
    if (!tensor(t).plain) {
      // Every element is given at least once.
      given_least = std::max(given_least, std::min(tensor(t).touched, label.joined[k]));
      if (ahead_[k] <= 1 && label.trail[k] != 0) {
        const WindowTrails::Least& least = trails_.least(label.trail[k]);
        if (least.bounded) {
          const double lacking = tensor(t).without[shape];
          const double left = label.joined[k] - least.most_joined * lacking;
          given_least = std::max(given_least, least.untouched ? left / lacking : left);
          const bool one_hold = trails_.is_newest_of(label.trail[k], label.trail[k]);
          if (one_hold && least.untouched) own_least = std::max(own_least, own * least.share / lacking);
        }
      }
    }
    return own - own_least + (label.joined[k] - given_least) * least_price(f, t, label);
  }

  /// The least sum of given / M, each M between 1 and `most`. Where no par line is shared by two tensors, the product
  /// of all M is at most the number of coordinates.
  double least_shared(std::array<double, T>& given, std::array<double, T>& most, int count, double coordinates) const {
    double sum = 0;
    if (!one_lacks_) {
      for (int n = 0; n < count; ++n) sum += given[static_cast<std::size_t>(n)] / most[static_cast<std::size_t>(n)];
      return sum;
    }
    // At the optimum, given / M is one level for all that are at neither end; lower it until the coordinates are used.
    double low = 0, high = 0;
    for (int n = 0; n < count; ++n) high = std::max(high, given[static_cast<std::size_t>(n)]);
    const auto used_at = [&](double level) {
      double used = 1;
      for (int n = 0; n < count; ++n) {
        const auto k = static_cast<std::size_t>(n);
        if (given[k] > level) used *= std::min(given[k] / std::max(level, 1e-300), most[k]);
      }
      return used;
    };
    if (count == 1 || used_at(0) <= coordinates) {
      for (int n = 0; n < count; ++n) {
        const auto k = static_cast<std::size_t>(n);
        sum += given[k] / std::min(most[k], std::max(coordinates, 1.0));
      }
      return sum;
    }
    for (int step = 0; step < 12; ++step) {
      const double middle = (low + high) / 2;
      (used_at(middle) > coordinates ? low : high) = middle;
    }
    // `low` uses more coordinates than there are: the sum there is a lower bound.
    for (int n = 0; n < count; ++n) {
      const auto k = static_cast<std::size_t>(n);
      sum += given[k] > low ? given[k] / std::min(given[k] / std::max(low, 1e-300), most[k]) : given[k];
    }
    return sum;
  }

  bool needs_cycles() const { return goal_.kind != Goal::Kind::first || goal_.most_cycles < OuterBound::kNever; }

  /// Cycles, rounded up, where par lines on `mesh` may still come too (-1: none).
  double least_cycles(const L& label, int shape, int outer_place, int mesh) const {
    double cycles = 0;
    for (int f = 0; f < figures_; ++f) {
      const Figure::Kind kind = figure(f).kind;
      if (kind != Figure::Kind::port && kind != Figure::Kind::compute) continue;
      const double least = least_figure(label, f, shape, outer_place);
      // Par lines divide what an instance does, and may join what siblings ask for.
      cycles = std::max(cycles, mesh >= 0 ? least / static_cast<double>(m_.machine.mesh(mesh)->size()) : least);
    }
    return std::ceil(cycles * (1 - kNoise));
  }

  /// Whether a label of so much at least in figure 0, and `quick_cycles_`, may be better than what is known.
  bool worth(double first) const {
    if (first > goal_.most_first * (1 + kNoise)) return false;
    if (goal_.kind == Goal::Kind::front) {
      return std::none_of(known_.front.begin(), known_.front.end(), [&](const auto& point) {
        return point.first <= first * (1 + kNoise) && point.second <= quick_cycles_;
      });
    }
    return goal_value(goal_, first, quick_cycles_) < known_.value * (1 - kNoise);
  }

  /// Whether the label may become something better than what is known; `bound` is then the least that it may come to.
  bool promising(const L& label, int shape, int outer_place, double* bound = nullptr) const {
    double first = 0;
    if (goal_.has_first) {
      first = least_figure(label, 0, shape, outer_place);
      if (first >= OuterBound::kNever || first > goal_.most_first * (1 + kNoise)) return false;
    }
    if (spread_figure_ >= 0) {
      const auto i = static_cast<std::size_t>(spread_figure_);
      const double used = spread_ahead_[i] / label.spent[i];
      if (used < m_.request.constraints.least_utilization * m_.instances * (1 - 1e-9)) return false;
    }
    double cycles = 0;
    if (needs_cycles()) {
      cycles = least_cycles(label, shape, outer_place, -1);
      if (cycles >= OuterBound::kNever || cycles > goal_.most_cycles) return false;
    }
    if (!goal_.has_first && goal_.kind == Goal::Kind::first) return false;
    const double value = goal_value(goal_, first, cycles);
    if (bound != nullptr) *bound = value;
    if (goal_.kind == Goal::Kind::front) {
      return std::none_of(known_.front.begin(), known_.front.end(), [&](const auto& point) {
        return point.first <= first * (1 + kNoise) && point.second <= cycles;
      });
    }
    return value < known_.value * (1 - kNoise);
  }

  double least_bound(const std::vector<Buckets>& all, int stage, int outer_place) {
    double least = OuterBound::kNever;
    for (int packed = 0; packed < parents_.count(); ++packed) {
      const Buckets& buckets = all[static_cast<std::size_t>(packed)];
      if (buckets.empty()) continue;
      enter(packed, stage, 0);
      for (int shape = 0; shape < m_.shapes.size(); ++shape) {
        for (const L& label : buckets[static_cast<std::size_t>(shape)]) {
          double bound = 0;
          if (promising(label, shape, outer_place, &bound)) least = std::min(least, bound);
        }
      }
    }
    return least;
  }

  // ---- dominance

  /// Whether `a` is at least as good as `b` in every figure, whatever follows.
  bool dominates(const L& a, const L& b) {
    // The cheapest reason first: whatever follows, the worst case makes up for nothing that has been spent.
    if (a.spent[0] > b.spent[0] + kNoise * std::abs(b.spent[0])) return false;
    if (a.inexact || a.cell_tensor != b.cell_tensor) return false;
    if (any_stationary_ && (a.last_place != b.last_place || (!a.turned && b.turned))) return false;
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      if (!tensor(t).plain && is_open(b, t) && !trails_.alike(a.trail[k], b.trail[k]) &&
          !(ahead_[k] <= 1 && trails_.is_newest_of(a.trail[k], b.trail[k]))) {
        return false;
      }
      if (any_rounded_ && a.at_once[k] != b.at_once[k]) return false;
    }
    for (int f = 0; f < figures_; ++f) {
      if (excess(a, b, f) > kNoise * std::abs(b.spent[static_cast<std::size_t>(f)])) return false;
    }
    return true;
  }

  /// The most that `a` may come to spend more than `b` in a figure, both continued alike.
  double excess(const L& a, const L& b, int f) {
    const auto i = static_cast<std::size_t>(f);
    double more = a.spent[i] - b.spent[i];
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      const bool open_a = is_open(a, t), open_b = is_open(b, t);
      // What is charged for the elements later on.
      double later = most_hops_ahead_[k][i];
      if (depends_[k] && tensor(t).output && figure(f).kind == Figure::Kind::energy) {
        later += m_.read_price(t, parent_[k], a.at_once[k]);
      }
      if (!open_a && !open_b && ahead_[k] <= 1) {
        if (later > 0) more += later * std::max(0.0, a.joined[k] - b.joined[k]);
        continue;
      }
      // What may change is taken out, and the worst that it can come to put in.
      const double price_a = price(f, t, a);
      const double given_a = a.joined[k] * price_a, given_b = b.joined[k] * price(f, t, b);
      more -= given_a - given_b;
      if (!tensor(t).plain) {
        const bool alike = a.trail[k] != 0 && trails_.alike(a.trail[k], b.trail[k]);
        if (!alike && open_b) {
          // The newest holds are alike; b's older ones may spare all that they cost.
          more += std::max(0.0, b.sparable[k][i] - a.sparable[k][i]) +
                  std::max(0.0, a.joined[k] - b.joined[k]) * (price_a + later);
          continue;
        }
        const double joined = alike ? trails_.most_more(a.trail[k], a.joined[k], b.trail[k], b.joined[k])
                                    : std::max(0.0, a.joined[k] - b.joined[k] / ahead_[k]);
        more += joined * (price_a + later);
        continue;
      }
      const bool shrinks = open_b && !open_a;  // b's part may become as little as nothing
      more += shrinks ? given_a : std::max(0.0, given_a - given_b);
      if (later > 0) more += later * (shrinks ? a.joined[k] : std::max(0.0, a.joined[k] - b.joined[k]));
      const double spare_a = open_a ? a.sparable[k][i] : 0, spare_b = open_b ? b.sparable[k][i] : 0;
      more -= spare_a - spare_b;
      more += open_a && open_b ? std::max(0.0, spare_a - spare_b) : std::max(0.0, spare_a) + std::max(0.0, -spare_b);
    }
    if (f == compute_figure_ && (a.fill_open || b.fill_open)) {
      const double fill_a = a.fill_open ? a.fill : 0, fill_b = b.fill_open ? b.fill : 0;
      more -= fill_a - fill_b;
      more += a.fill_open && b.fill_open ? std::max(0.0, fill_a - fill_b) : fill_a;
    }
    return more;
  }

  void insert(Bucket& bucket, L&& label, int shape, int outer_place) {
    ++created_;
    if (!promising(label, shape, outer_place)) return;
    for (const L& other : bucket) {
      if (dominates(other, label)) return;
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < bucket.size(); ++i) {
      if (dominates(label, bucket[i])) continue;
      if (kept != i) bucket[kept] = bucket[i];
      ++kept;
    }
    labels_ += 1;
    labels_ -= bucket.size() - kept;
    bucket.resize(kept);
    if (limits_.widest > 0 && kept >= kMostInBucket) {
      --labels_;
      left_out_ = true;
      return;
    }
    bucket.push_back(std::move(label));
  }

  Bucket& bucket_of(Buckets& buckets, int shape) const {
    if (buckets.empty()) buckets.resize(static_cast<std::size_t>(m_.shapes.size()));
    return buckets[static_cast<std::size_t>(shape)];
  }

  static std::size_t count_of(const Buckets& buckets) {
    std::size_t count = 0;
    for (const Bucket& bucket : buckets) count += bucket.size();
    return count;
  }

  /// Index of the label's action.
  std::uint32_t stored(L& label) {
    if (label.stored != 0) return label.stored;
    actions_.push_back(label.action);
    label.stored = static_cast<std::uint32_t>(actions_.size() - 1);
    return label.stored;
  }

  void count_expanded() {
    if (++expanded_ % 1024 != 0) return;
    const double bytes =
        static_cast<double>(labels_) * sizeof(L) * 1.5 + static_cast<double>(actions_.size()) * sizeof(Action) * 2;
    if (bytes > kMostBytes) {
      stop_ = true;
      outcome_.stopped = "the limit of memory, 2 GB";
    } else if (limits_.go_on && !limits_.go_on(expanded_, outcome_.bound)) {
      stop_ = true;
      outcome_.stopped = "asked to stop";
    }
  }

  // ---- the operation

  void start(std::vector<Buckets>& inside) {
    const int stage = m_.compute_place();
    const bool latches = m_.machine.compute().operand_latches;
    for (const int packed : direct_only(first_parents())) {
      enter(packed, stage, 0);
      Buckets& buckets = inside[static_cast<std::size_t>(packed)];
      for (const int shape : m_.starts) {
        L label = operation(shape, latches);
        Bucket& bucket = bucket_of(buckets, shape);
        if (charges_array_ && m_.several_arrays) label.inexact = true;
        if (charges_array_ && m_.cell_place == stage && !m_.several_arrays) {
          choose_cell_tensor(label, (1U << tensors_) - 1, shape,
                             [&](L&& chosen) { insert(bucket, std::move(chosen), shape, stage - 1); });
        } else {
          insert(bucket, std::move(label), shape, stage - 1);
        }
      }
    }
  }

  std::vector<int> first_parents() const {
    std::vector<int> all{0};
    for (int t = 0; t < tensors_; ++t) {
      std::vector<int> extended;
      for (const int base : all) {
        for (int parent = m_.place_count() - 1; parent >= 0; --parent) {
          if (m_.may_hold(parent, t)) extended.push_back(parents_.with(base, t, parent));
          if (m_.must_hold(parent, t)) break;
        }
      }
      all = std::move(extended);
    }
    return all;
  }

  /// The nearest and the furthest of a list of next holds, where no others are looked at.
  std::vector<int> direct_only(std::vector<int> all) const {
    if (!limits_.direct || all.size() <= 2) return all;
    const auto sum = [&](int packed) {
      int places = 0;
      for (int t = 0; t < tensors_; ++t) places += parents_.of(packed, t);
      return places;
    };
    const auto by_sum = [&](int a, int b) { return sum(a) < sum(b); };
    const auto [furthest, nearest] = std::minmax_element(all.begin(), all.end(), by_sum);
    return {*furthest, *nearest};
  }

  L operation(int shape, bool latches) {
    const auto s = static_cast<std::size_t>(shape);
    L label;
    label.action.shape = shape;
    for (int f = 0; f < figures_; ++f) {
      const auto i = static_cast<std::size_t>(f);
      label.share[i] = 1;
      if (figure(f).kind == Figure::Kind::energy) label.spent[i] = m_.energy_floor;
      if (figure(f).kind == Figure::Kind::compute) label.spent[i] = m_.cycles_per_step * steps_outside(shape);
      if (figure(f).kind == Figure::Kind::spread) label.spent[i] = 1;
      label.spent[i] -= m_.spared(f);
    }
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      label.joined[k] = tensor(t).present[s] * tensor(t).without[s];
      if (depends_[k]) {
        if (tensor(t).plain) {
          label.at_once[k] = tensor(t).tile[s];
        } else {
          label.inexact = true;
        }
      }
      if (!tensor(t).plain) {
        label.trail[k] = trails_.placed(0, t, m_.compute_place(), parent_[k], shape);
        if (!latches && ahead_[k] <= 1) label.trail[k] = 0;
      }
      if (latches) label.open = static_cast<std::uint8_t>(label.open | (1U << t));
      for (int f = 0; f < figures_; ++f)
        label.spent[static_cast<std::size_t>(f)] += label.joined[k] * price(f, t, label);
    }
    return label;
  }

  double steps_outside(int shape) const {
    double steps = 1;
    for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
      steps *= static_cast<double>(m_.shapes.extent(rank) / m_.shapes.tile(shape, rank));
    }
    return steps;
  }

  /// A label for each tensor whose tile may be the one that changes least often in the cells of the systolic mesh.
  template <typename Visit>
  void choose_cell_tensor(const L& label, unsigned held, int shape, Visit&& visit) {
    const Mesh& mesh = *m_.machine.mesh(m_.systolic_mesh);
    const double rows = mesh.axes.empty() ? 1 : static_cast<double>(mesh.axes.front().size);
    double columns = 1;
    for (std::size_t axis = 1; axis < mesh.axes.size(); ++axis) columns *= static_cast<double>(mesh.axes[axis].size);
    for (int t = 0; t < tensors_; ++t) {
      if (((held >> t) & 1U) == 0) continue;
      L chosen = label;
      chosen.cell_tensor = static_cast<std::int8_t>(t);
      const bool shifts_rows = !tensor(t).output || mesh.systolic == SystolicTiming::drained;
      // Which of several tensors that change equally often is charged depends on the whole nest.
      if (held != (1U << t) && mesh.systolic != SystolicTiming::drained) chosen.inexact = true;
      chosen.fill = (rows + columns - 2 + (shifts_rows ? rows : 0)) * steps_outside(shape);
      chosen.fill_open = true;
      chosen.spent[static_cast<std::size_t>(compute_figure_)] += chosen.fill;
      visit(std::move(chosen));
    }
  }

  // ---- loops

  /// The next hold gives another number of elements; what it is charged follows.
  void set_joined(L& label, int t, double joined) {
    const auto k = static_cast<std::size_t>(t);
    for (int f = 0; f < figures_; ++f) {
      label.spent[static_cast<std::size_t>(f)] += (joined - label.joined[k]) * price(f, t, label);
    }
    label.joined[k] = joined;
  }

  void close(L& label, int t) {
    label.open = static_cast<std::uint8_t>(label.open & ~(1U << t));
    label.sparable[static_cast<std::size_t>(t)].fill(0);
  }

  void turn(L& label, int rank, double factor, int inner, int outer) {
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      if (!is_open(label, t)) continue;
      if (!tensor(t).plain) {
        const TrailSaving& saving = trails_.turned(label.trail[k], t, rank, inner, outer, stage_, ahead_[k] > 1);
        label.trail[k] = saving.next;
        if (!saving.open) {
          close(label, t);
          continue;
        }
        const double times = tensor(t).without[static_cast<std::size_t>(outer)];
        label.inexact = label.inexact || saving.inexact;
        for (int f = 0; f < figures_; ++f) {
          const auto i = static_cast<std::size_t>(f);
          const double saved = saving.figures[i] * times * label.share[i];
          label.spent[i] -= saved;
          label.sparable[k][i] -= saved;
        }
        set_joined(label, t, label.joined[k] - saving.joined * times);
        continue;
      }
      if (tensor(t).group_of[static_cast<std::size_t>(rank)] >= 0) {
        close(label, t);
        continue;
      }
      for (int f = 0; f < figures_; ++f) {
        const auto i = static_cast<std::size_t>(f);
        const double left = label.sparable[k][i] / factor;
        label.spent[i] -= label.sparable[k][i] - left;
        label.sparable[k][i] = left;
      }
      set_joined(label, t, label.joined[k] / factor);
    }
    if (!label.fill_open) return;
    if (tensor(label.cell_tensor).group_of[static_cast<std::size_t>(rank)] >= 0) {
      label.fill_open = false;
    } else {
      label.spent[static_cast<std::size_t>(compute_figure_)] -= label.fill - label.fill / factor;
      label.fill /= factor;
    }
  }

  /// What a label comes to at least in figure 0, places further out left aside, and what of it each tensor may still
  /// spare.
  void look_before_turning(const L& label, int shape) {
    turning_least_ = least_figure(label, 0, shape, stage_, false) - outer_.at(stage_, packed_, 0, shape);
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      turning_spare_[k] = 0;
      if (!is_open(label, t)) continue;
      const auto s = static_cast<std::size_t>(shape);
      const double trips = tensor(t).plain ? tensor(t).without[s] : loose_[k][s];
      // Of what it gives, networks ahead may join what loops do not spare.
      turning_spare_[k] = ahead_[k] > 1 ? 0 : most_spared(label, t, 0, trips, s);
    }
  }

  /// A quick look: a tensor that the loop moves on spares nothing any more.
  bool worth_turning(int rank, int larger, int place) const {
    double least = turning_least_ + outer_.at(place, packed_, 0, larger);
    for (int t = 0; t < tensors_; ++t) {
      const int g = tensor(t).group_of[static_cast<std::size_t>(rank)];
      if (g >= 0 && tensor(t).groups[static_cast<std::size_t>(g)].plain())
        least += turning_spare_[static_cast<std::size_t>(t)];
    }
    return worth(least);
  }

  bool may_turn(const L& label, int rank) const {
    if (!any_stationary_ || label.turned || label.last_place < 0) return true;
    const int t = m_.stationary(label.last_place);
    return t < 0 || tensor(t).group_of[static_cast<std::size_t>(rank)] < 0;
  }

  void turn_loops(Buckets& buckets, int place, int packed) {
    (void)packed;
    for (int shape = 0; shape < m_.shapes.size() && !stop_; ++shape) {
      const auto at = static_cast<std::size_t>(shape);
      for (std::size_t n = 0; n < buckets[at].size() && !stop_; ++n) {
        const std::uint32_t here = stored(buckets[at][n]);
        count_expanded();
        const L label = buckets[at][n];
        const bool quick = goal_.has_first;
        if (quick) look_before_turning(label, shape);
        quick_cycles_ = quick && needs_cycles() ? least_cycles(label, shape, place, -1) : 0;
        for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
          if (!may_turn(label, rank)) continue;
          for (const Shapes::Step& step : m_.shapes.larger(rank, m_.shapes.index(shape, rank))) {
            const int larger = m_.shapes.with(shape, rank, step.index);
            if (quick && !worth_turning(rank, larger, place)) continue;
            L next = label;
            turn(next, rank, static_cast<double>(step.factor), shape, larger);
            next.action = {here, larger, Action::Kind::temporal, 0, 0, 0};
            next.stored = 0;
            next.turned = true;
            insert(buckets[static_cast<std::size_t>(larger)], std::move(next), larger, place);
          }
        }
      }
    }
  }

  // ---- places

  /// A level that holds nothing has no place.
  void pass_on(Buckets& buckets, Buckets& outside, int place, int packed) {
    (void)packed;
    for (int shape = 0; shape < m_.shapes.size(); ++shape) {
      Bucket& bucket = buckets[static_cast<std::size_t>(shape)];
      for (L& label : bucket) {
        if (charges_array_ && place == m_.cell_place) label.inexact = true;
        insert(bucket_of(outside, shape), std::move(label), shape, place - 1);
      }
      labels_ -= bucket.size();
      bucket.clear();
    }
  }

  void put_place(Buckets& buckets, std::vector<Buckets>& outside, int place, int packed, unsigned held) {
    for (const int next : direct_only(next_parents(m_, parents_, packed, place))) {
      enter(packed, place, 0);
      std::vector<L> placed;
      for (int shape = 0; shape < m_.shapes.size() && !stop_; ++shape) {
        if (!m_.fits(place, held, shape)) continue;
        for (L& label : buckets[static_cast<std::size_t>(shape)]) {
          const std::uint32_t before = stored(label);
          L& copy = placed.emplace_back(label);
          put_holds(copy, place, held, next, shape);
          copy.action = {
              before, shape, Action::Kind::place, static_cast<std::int8_t>(place), static_cast<std::uint8_t>(held), 0};
          copy.stored = 0;
          copy.turned = false;
          copy.last_place = static_cast<std::int8_t>(place);
        }
      }
      enter(next, place, 0);
      for (L& label : placed) {
        const int shape = label.action.shape;
        Bucket& target = bucket_of(outside[static_cast<std::size_t>(next)], shape);
        if (charges_array_ && place == m_.cell_place && !m_.several_arrays) {
          choose_cell_tensor(label, held, shape,
                             [&](L&& chosen) { insert(target, std::move(chosen), shape, place - 1); });
        } else {
          insert(target, std::move(label), shape, place - 1);
        }
      }
    }
    enter(packed, place, 0);
  }

  void put_holds(L& label, int place, unsigned held, int next, int shape) {
    const auto s = static_cast<std::size_t>(shape);
    for (int t = 0; t < tensors_; ++t) {
      if (((held >> t) & 1U) == 0) continue;
      const auto k = static_cast<std::size_t>(t);
      const int parent = parents_.of(next, t);
      const bool open = is_open(label, t);
      const bool plain = tensor(t).plain;
      const double elements = tensor(t).present[s] * tensor(t).without[s];
      const double at_once = plain ? tensor(t).tile[s] : 0;
      if (!plain && (m_.rounded(t, place) || m_.rounded(t, parent))) label.inexact = true;
      for (int f = 0; f < figures_; ++f) {
        const auto i = static_cast<std::size_t>(f);
        double older = label.joined[k] * price(f, t, label);
        double own = elements * m_.own_cost(f, t, place, at_once);
        if (figure(f).kind == Figure::Kind::energy && tensor(t).output && m_.rounded(t, place)) {
          // Every update reads what it adds to but for one in a residency, in transfers as the updates come.
          const double read = m_.read_price(t, place, label.at_once[k]);
          label.spent[i] += label.joined[k] * read;
          older += label.joined[k] * read;
          own -= elements * read;
        }
        label.spent[i] += own;
        label.sparable[k][i] = (open ? label.sparable[k][i] + older : 0) + own;
      }
      label.joined[k] = elements;
      label.at_once[k] = m_.rounded(t, parent) ? at_once : 0;
      for (int f = 0; f < figures_; ++f) {
        label.spent[static_cast<std::size_t>(f)] += elements * m_.parent_cost(f, t, parent, label.at_once[k]);
      }
      label.open = static_cast<std::uint8_t>(label.open | (1U << t));
      if (!plain) label.trail[k] = trails_.placed(open ? label.trail[k] : 0, t, place, parent, shape);
    }
  }

  // ---- meshes

  void spread_over_meshes(std::vector<Buckets>& all, int place) {
    const auto& gap = m_.meshes[static_cast<std::size_t>(place)];
    for (int k = static_cast<int>(gap.size()) - 1; k >= 0 && !stop_; --k) {
      const int mesh = gap[static_cast<std::size_t>(k)];
      const MeshSpreads spreads(m_, mesh);
      for (int packed = 0; packed < parents_.count() && !stop_; ++packed) {
        Buckets& buckets = all[static_cast<std::size_t>(packed)];
        if (buckets.empty()) continue;
        enter(packed, place, static_cast<int>(gap.size()) - k);
        cross_mesh(buckets, mesh);
        spread_over_mesh(buckets, spreads, mesh, place - 1);
      }
    }
  }

  void spread_over_mesh(Buckets& buckets, const MeshSpreads& spreads, int mesh, int outer_place) {
    Buckets outside(buckets.size());
    for (int shape = 0; shape < m_.shapes.size() && !stop_; ++shape) {
      Bucket& bucket = buckets[static_cast<std::size_t>(shape)];
      for (L& label : bucket) {
        count_expanded();
        const std::uint32_t before = stored(label);
        quick_cycles_ = goal_.has_first && needs_cycles() ? least_cycles(label, shape, outer_place, mesh) : 0;
        for (int n = 0; n < static_cast<int>(spreads.all().size()); ++n) {
          const MeshSpread& spread = spreads.all()[static_cast<std::size_t>(n)];
          const int outer = spreads.applied(shape, spread);
          if (outer < 0 || !worth_spreading(label, spread, outer, mesh, outer_place)) continue;
          L next = label;
          int inner = shape;
          for (const MeshSpread::Rank& rank : spread.ranks) {
            const int reached = spreads.applied(inner, rank);
            divide(next, rank.rank, static_cast<double>(rank.trips), inner, reached, mesh);
            inner = reached;
          }
          for (int t = 0; t < tensors_; ++t) {
            const auto k = static_cast<std::size_t>(t);
            if (!is_open(next, t) && ahead_[k] <= 1) next.trail[k] = 0;
          }
          next.action = {before, outer, Action::Kind::spatial, static_cast<std::int8_t>(mesh), 0, n};
          next.stored = 0;
          insert(outside[static_cast<std::size_t>(outer)], std::move(next), outer, outer_place);
        }
      }
      labels_ -= bucket.size();
      Bucket().swap(bucket);
    }
    buckets = std::move(outside);
  }

  /// A quick look: whether the label so spread may become better than what is known.
  bool worth_spreading(const L& label, const MeshSpread& spread, int outer, int mesh, int outer_place) const {
    if (!goal_.has_first || m_.divided_by(0, mesh)) return true;
    const auto s = static_cast<std::size_t>(outer);
    double least = label.spent[0] + outer_.at(outer_place, packed_, 0, outer);
    std::array<double, kMostRanks> lost;
    lost.fill(0);
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      double joining = m_.shares(mesh, t) ? spread.lacking[k] : 1;
      if (!tensor(t).plain) joining *= overlap_[k][static_cast<std::size_t>(label.action.shape)];
      if (ahead_[k] > 1) joining *= ahead_[k];
      const double given = label.joined[k] * parent_price_[k][0];
      const double once = std::min(tensor(t).touched * parent_price_[k][0], given);
      const double all = std::max(given / joining, once);
      least -= given - all;
      if (depends_[k]) least -= label.joined[k] * (price(0, t, label) - parent_price_[k][0]);
      if (!is_open(label, t)) continue;
      const double own = std::max(label.sparable[k][0], 0.0);
      const double trips = tensor(t).plain ? tensor(t).without[s] : loose_[k][s];
      const double spared = own - own / trips + all - std::max(all / trips, once);
      least -= spared;
      if (ahead_[k] > 1) continue;
      for (const int rank : plain_ranks_[k]) lost[static_cast<std::size_t>(rank)] += spared;
    }
    if (label.open != 0) least += least_lost(lost, outer);
    return worth(least);
  }

  /// The next temporal loop decides which tensors go on sparing: the least that is lost to it, of what each rank's loop
  /// would lose.
  double least_lost(const std::array<double, kMostRanks>& lost, int shape) const {
    double least = OuterBound::kNever;
    for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
      if (!m_.shapes.is_whole(shape, rank)) least = std::min(least, lost[static_cast<std::size_t>(rank)]);
    }
    return least < OuterBound::kNever ? least : 0;
  }

  /// Elements that cross the mesh: what the hold inside asks for, joined by the meshes inside this one.
  void cross_mesh(Buckets& buckets, int mesh) {
    for (Bucket& bucket : buckets) {
      for (L& label : bucket) {
        for (int t = 0; t < tensors_; ++t) {
          const auto k = static_cast<std::size_t>(t);
          for (int f = 0; f < figures_; ++f) {
            const double hop = m_.hop_cost(f, t, mesh) * label.joined[k];
            label.spent[static_cast<std::size_t>(f)] += hop;
            if (is_open(label, t)) label.sparable[k][static_cast<std::size_t>(f)] += hop;
          }
        }
      }
    }
  }

  void divide(L& label, int rank, double factor, int inner, int outer, int mesh) {
    for (int f = 0; f < figures_; ++f) {
      if (!m_.divided_by(f, mesh)) continue;
      const auto i = static_cast<std::size_t>(f);
      label.spent[i] /= factor;
      label.share[i] /= factor;
      for (int t = 0; t < tensors_; ++t) label.sparable[static_cast<std::size_t>(t)][i] /= factor;
      if (f == compute_figure_) label.fill /= factor;
    }
    for (int t = 0; t < tensors_; ++t) {
      const auto k = static_cast<std::size_t>(t);
      const bool lacks = tensor(t).group_of[static_cast<std::size_t>(rank)] < 0;
      if (!tensor(t).plain) {
        if (label.trail[k] == 0) continue;
        const TrailSplit& split = trails_.split(label.trail[k], t, rank, inner, outer, mesh);
        label.trail[k] = split.next;
        label.inexact = label.inexact || split.inexact;
        set_joined(label, t, label.joined[k] * split.ratio);
        continue;
      }
      if (!m_.shares(mesh, t)) continue;
      if (lacks) {
        set_joined(label, t, label.joined[k] / factor);
      } else if (depends_[k]) {
        const L before = label;
        label.at_once[k] *= factor;
        for (int f = 0; f < figures_; ++f) {
          label.spent[static_cast<std::size_t>(f)] += label.joined[k] * (price(f, t, label) - price(f, t, before));
        }
      }
    }
  }

  // ---- limits

  /// Keeps the most promising labels only, as many of each choice of next holds.
  void keep_widest(std::vector<Buckets>& all, int stage, int outer_place) {
    for (int packed = 0; packed < parents_.count(); ++packed) {
      if (all[static_cast<std::size_t>(packed)].empty()) continue;
      enter(packed, stage, 0);
      keep_widest_of(all[static_cast<std::size_t>(packed)], outer_place);
    }
  }

  /// Likewise among the labels of the present next holds.
  void keep_widest_of(Buckets& buckets, int outer_place) {
    std::vector<double> bounds;
    const auto rate = [&](const L& label, int shape) {
      double bound = OuterBound::kNever;
      return promising(label, shape, outer_place, &bound) ? bound : OuterBound::kNever;
    };
    for (int shape = 0; shape < m_.shapes.size(); ++shape) {
      for (const L& label : buckets[static_cast<std::size_t>(shape)]) bounds.push_back(rate(label, shape));
    }
    if (bounds.size() <= limits_.widest) return;
    std::nth_element(bounds.begin(), bounds.begin() + static_cast<std::ptrdiff_t>(limits_.widest), bounds.end());
    const double limit = bounds[limits_.widest];
    left_out_ = true;
    for (int shape = 0; shape < m_.shapes.size(); ++shape) {
      Bucket& bucket = buckets[static_cast<std::size_t>(shape)];
      labels_ -= bucket.size();
      std::erase_if(bucket, [&](const L& label) { return rate(label, shape) > limit; });
      labels_ += bucket.size();
    }
  }

  // ---- complete mappings

  void finish(Buckets& buckets) {
    const int whole = m_.shapes.whole();
    if (!m_.fits(0, (1U << tensors_) - 1, whole)) return;
    const int output = m_.einsum.output();
    for (L& label : buckets[static_cast<std::size_t>(whole)]) {
      FoundMapping found;
      if (m_.rounded(output, 0) && figures_ > 0 && figure(0).kind == Figure::Kind::energy) {
        const auto k = static_cast<std::size_t>(output);
        label.spent[0] += (label.joined[k] - tensor(output).touched) * m_.read_price(output, 0, label.at_once[k]);
      }
      found.first = label.spent[0];
      for (int f = 0; f < figures_; ++f) {
        const Figure::Kind kind = figure(f).kind;
        if (kind != Figure::Kind::port && kind != Figure::Kind::compute) continue;
        found.cycles = std::max(found.cycles, std::ceil(label.spent[static_cast<std::size_t>(f)] * (1 - kNoise)));
      }
      found.exact = !label.inexact;
      found.mapping = mapping_of(stored(label));
      outcome_.found.push_back(std::move(found));
    }
  }

  Mapping mapping_of(std::uint32_t last) const {
    Mapping mapping;
    mapping.holds.assign(static_cast<std::size_t>(tensors_), {Hold{m_.places[0], 0, {}}});
    int shape = m_.shapes.whole();
    for (std::uint32_t at = last; actions_[at].kind != Action::Kind::start; at = actions_[at].before) {
      const Action& action = actions_[at];
      if (action.kind == Action::Kind::place) {
        for (int t = 0; t < tensors_; ++t) {
          if (((action.held >> t) & 1U) == 0) continue;
          mapping.holds[static_cast<std::size_t>(t)].push_back(
              {m_.places[static_cast<std::size_t>(action.level)], static_cast<int>(mapping.loops.size()), {}});
        }
        continue;
      }
      const int inner = actions_[action.before].shape;
      if (action.kind == Action::Kind::spatial) {
        add_par_lines(mapping, MeshSpreads(m_, action.level).all()[static_cast<std::size_t>(action.spread)],
                      action.level, shape);
      } else {
        add_loop(mapping, shape, inner);
      }
      shape = inner;
    }
    for (auto& holds : mapping.holds) {
      holds.push_back({m_.machine.compute_level(), static_cast<int>(mapping.loops.size()), {}});
    }
    return mapping;
  }

  void add_par_lines(Mapping& mapping, const MeshSpread& spread, int mesh, int outer) const {
    std::vector<std::int64_t> left;
    for (int rank = 0; rank < m_.shapes.ranks(); ++rank) left.push_back(m_.shapes.tile(outer, rank));
    for (const MeshSpread::Line& line : spread.lines) {
      std::int64_t& tile = left[static_cast<std::size_t>(line.rank)];
      tile /= line.trips;
      Loop loop;
      loop.spatial = true;
      loop.rank = line.rank;
      loop.tile = tile;
      loop.trips = line.trips;
      loop.mesh = mesh;
      loop.axis = line.axis;
      mapping.loops.push_back(loop);
    }
  }

  void add_loop(Mapping& mapping, int outer, int inner) const {
    for (int rank = 0; rank < m_.shapes.ranks(); ++rank) {
      const std::int64_t tile = m_.shapes.tile(inner, rank);
      const std::int64_t trips = m_.shapes.tile(outer, rank) / tile;
      if (trips == 1) continue;
      const bool same = !mapping.loops.empty() && !mapping.loops.back().spatial && mapping.loops.back().rank == rank &&
                        no_hold_at(mapping, static_cast<int>(mapping.loops.size()));
      if (same) {
        mapping.loops.back().tile = tile;
        mapping.loops.back().trips *= trips;
        continue;
      }
      Loop loop;
      loop.rank = rank;
      loop.tile = tile;
      loop.trips = trips;
      mapping.loops.push_back(loop);
    }
  }

  static bool no_hold_at(const Mapping& mapping, int depth) {
    for (const auto& holds : mapping.holds) {
      if (holds.back().depth == depth && depth > 0) return false;
    }
    return true;
  }

  const MapModel& m_;
  const Parents& parents_;
  const OuterBound& outer_;
  const Goal& goal_;
  const Known& known_;
  const SearchLimits& limits_;
  WindowTrails& trails_;  ///< learns as it is asked
  int figures_, tensors_;
  int compute_figure_ = -1, spread_figure_ = -1;
  bool any_rounded_ = false, any_stationary_ = false, charges_array_ = false;
  std::vector<std::vector<double>> loose_;  ///< [tensor][shape]: trips outside of the ranks whose loops may spare

  int packed_ = -1, stage_ = -1;
  std::vector<double> ahead_;  ///< [tensor]: the most that meshes up to the next hold can still join
  std::array<std::array<double, kMostFigures>, kMostTensors>
      hops_ahead_{};  ///< of one element, joined as much as can be
  std::array<std::array<double, kMostFigures>, kMostTensors> most_hops_ahead_{};  ///< likewise, none joined
  double sharing_ahead_ = 1;                   ///< coordinates of the meshes still to be passed that join anything
  bool one_lacks_ = true;                      ///< no rank is lacked by two tensors
  std::vector<std::vector<int>> plain_ranks_;  ///< [tensor]: ranks whose loops move it on to elements of its own
  std::vector<std::vector<double>> overlap_;   ///< [tensor][shape]: elements of all windows / elements touched
  std::vector<double> spread_ahead_;           ///< [figure]: the most that par lines can still divide it by
  std::array<int, kMostTensors> parent_{};
  std::array<std::array<double, kMostFigures>, kMostTensors> parent_price_{};
  std::array<bool, kMostTensors> depends_{};

  double turning_least_ = 0;
  double quick_cycles_ = 0;  ///< of the label being looked into
  std::array<double, kMostTensors> turning_spare_{};
  std::vector<Action> actions_{Action{}};
  std::uint64_t created_ = 0, expanded_ = 0;
  std::size_t labels_ = 0;
  bool stop_ = false, left_out_ = false;
  SearchOutcome outcome_;
};

}  // namespace

double goal_value(const Goal& goal, double first, double cycles) {
  switch (goal.kind) {
    case Goal::Kind::first:
      return first;
    case Goal::Kind::cycles:
      return cycles;
    case Goal::Kind::product:
    case Goal::Kind::front:
      break;
  }
  return first * cycles;
}

SearchOutcome search_labels(const MapModel& model, const Parents& parents, const OuterBound& outer,
                            WindowTrails& trails, const Goal& goal, const Known& known, const SearchLimits& limits) {
  const int figures = model.figure_count();
  const int tensors = model.tensor_count();
  if (tensors <= 3) {
    if (figures <= 1) return LabelSearch<1, 3>(model, parents, outer, trails, goal, known, limits).run();
    if (figures <= 4) return LabelSearch<4, 3>(model, parents, outer, trails, goal, known, limits).run();
    if (figures <= 8) return LabelSearch<8, 3>(model, parents, outer, trails, goal, known, limits).run();
    return LabelSearch<kMostFigures, 3>(model, parents, outer, trails, goal, known, limits).run();
  }
  if (figures <= 1) return LabelSearch<1, kMostTensors>(model, parents, outer, trails, goal, known, limits).run();
  return LabelSearch<kMostFigures, kMostTensors>(model, parents, outer, trails, goal, known, limits).run();
}

}  // namespace einflow
