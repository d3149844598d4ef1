// A problem on a machine as the mapper sees it: the places of the nest, what they may hold, and what each element that
// moves costs in every figure that the search compares.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "search/group_reuse.hpp"
#include "search/mapper.hpp"
#include "search/shapes.hpp"

namespace einflow {

/// Most tensors and figures that a search handles.
constexpr int kMostTensors = 6;
constexpr int kMostFigures = 16;
constexpr int kMostRanks = 24;

/// One figure that a search adds up. Figures of a level are of one of its instances: a `par` line outside the level
/// divides them.
struct Figure {
  enum class Kind {
    energy,   ///< pJ
    traffic,  ///< bits that a level reads and writes, all instances
    port,     ///< cycles of a level's port
    compute,  ///< cycles of the steps, and of a systolic mesh's fill and drain
    spread,   ///< share of the compute instances that one in use stands for: 1 / instances in use
  };
  Kind kind = Kind::energy;
  int level = -1;       ///< machine level; port, traffic
  bool reads = false;   ///< port: carries reads
  bool writes = false;  ///< port: carries writes
  int inside = -1;      ///< a par line on a mesh outside this machine level divides the figure; -1: none does
  double per_bit_read = 0, per_bit_written = 0;  ///< port and traffic
};

/// What one access or one element costs at a level.
struct AccessPrice {
  double per_element = 0;
  double per_access = 0;
  double width_bits = 0;  ///< of an access
  bool rounded() const { return per_access > 0; }
  /// Of one element, where `elements` of `bits` each are transferred at once.
  double of_element(double elements, double bits) const;
  /// Not rounded: never above of_element().
  double least_of_element(double bits) const;
};

/// Per tensor.
struct TensorModel {
  bool output = false;
  bool plain = true;  ///< no window and no padding: its tiles never overlap
  double bits = 0;
  std::vector<GroupReuse> groups;  ///< indexed ones
  std::vector<int> group_of;       ///< per rank, or -1
  std::vector<double> present;     ///< per shape: elements, summed over all positions of its own ranks
  std::vector<double> tile;        ///< per shape: elements of the largest tile
  std::vector<double> without;     ///< per shape: product of trips outside of the ranks that it lacks
  double touched = 0;              ///< elements
};

class MapModel {
 public:
  /// The figures that the objective and its ties need. Errors: see best_mapping().
  static Result<std::unique_ptr<MapModel>> make(const MapRequest& request, const std::vector<Figure::Kind>& kinds,
                                                int traffic_level);

  const MapRequest& request;
  const Einsum& einsum;
  const Machine& machine;
  Shapes shapes;
  std::vector<TensorModel> tensors;
  std::vector<Figure> figures;

  std::vector<int> places;               ///< machine levels of the storages, outermost first
  std::vector<std::vector<int>> meshes;  ///< [place]: machine levels of the meshes just outside, outermost first
  std::vector<int> starts;               ///< shapes that the operation may be left with
  int systolic_mesh = -1;                ///< machine level, where one is charged
  int cell_place = -1;                   ///< the place in its cells; places.size() = the compute level
  bool several_arrays = false;
  double cycles_per_step = 0;

  int place_count() const { return static_cast<int>(places.size()); }
  int compute_place() const { return place_count(); }
  int tensor_count() const { return static_cast<int>(tensors.size()); }
  int figure_count() const { return static_cast<int>(figures.size()); }

  bool may_hold(int place, int tensor) const;
  bool must_hold(int place, int tensor) const;
  /// Whether the held tensors' tiles fit the place and its tile constraint. `held` has a bit for each tensor.
  bool fits(int place, unsigned held, int shape) const;
  int stationary(int place) const;
  /// Whether a tile is asked for there, so that something must be held.
  bool needs_place(int place) const;
  /// Whether `par` of the rank may have that many trips on the axis.
  bool may_spread(int mesh, int axis, int rank, std::int64_t trips) const;
  std::int64_t forced_trips(int mesh, int axis, int rank) const;
  bool shares(int mesh, int tensor) const;

  /// Cost of one element that is written to or drained from its hold; of one that its parent gives or takes; of one
  /// that crosses a mesh. `elements` are transferred at once.
  double own_cost(int figure, int tensor, int place, double elements) const;
  double parent_cost(int figure, int tensor, int parent, double elements) const;
  double hop_cost(int figure, int tensor, int mesh) const;
  double forward_cost(int figure, int tensor, int place) const;
  /// Whether the cost at the place depends on how many elements are transferred at once.
  bool rounded(int tensor, int place) const;
  /// Whether a par line on the mesh divides the figure.
  bool divided_by(int figure, int mesh) const { return mesh < figures[static_cast<std::size_t>(figure)].inside; }
  /// Product of the sizes of the meshes outside `place` that divide the figure.
  double largest_spread(int figure, int place) const;
  /// Energy of reading one element of `elements` transferred at once; 0 elements: not rounded.
  double read_price(int tensor, int place, double elements) const;
  /// What the outermost level is spared of the output's reads: residencies start from nothing.
  double spared(int figure) const;

  double energy_floor = 0;  ///< of the operations, pJ: the same for every mapping
  double instances = 0;     ///< compute instances

 private:
  MapModel(const MapRequest& asked)
      : request(asked), einsum(asked.einsum), machine(asked.machine), shapes(asked.einsum) {}
  void add_tensors();
  void add_places();
  void add_figures(const std::vector<Figure::Kind>& kinds, int traffic_level);
  void add_starts();
  std::vector<std::vector<std::array<AccessPrice, 2>>> prices_;  ///< [place][tensor]: read, written
};

}  // namespace einflow
