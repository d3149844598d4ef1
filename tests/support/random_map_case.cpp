#include "support/random_map_case.hpp"

#include <algorithm>
#include <random>

#include "problem/constructors.hpp"
#include "support/builders.hpp"
#include "support/exhaustive_mapper.hpp"

namespace einflow::testing {

namespace {

constexpr std::int64_t kFewestNests = 10;
constexpr int kTriesOfExtents = 30;

/// Numbers that are the same with every standard library.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : engine_(seed) {}
  /// 0 .. n-1.
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1)));
  }
  bool once_in(std::int64_t n) { return below(n) == 0; }
  bool mostly() { return below(4) != 0; }
  template <typename T>
  const T& one_of(const std::vector<T>& options) {
    return options[static_cast<std::size_t>(below(static_cast<std::int64_t>(options.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

// ---- problem

/// Extents of a case that is tried again and again with smaller ones until its nests are few enough.
class Extents {
 public:
  Extents(Draw& draw, int tried) : draw_(draw), largest_(std::max(2, 11 - tried / 2)), once_in_(tried > 10 ? 2 : 8) {}
  std::int64_t next() {
    static const std::vector<std::int64_t> kRising{2, 3, 2, 4, 4, 6, 5, 8, 9, 12, 16};
    if (draw_.once_in(once_in_)) return 1;
    return kRising[static_cast<std::size_t>(draw_.below(largest_))];
  }
  std::int64_t window() { return 1 + draw_.below(3); }

 private:
  Draw& draw_;
  int largest_;
  int once_in_;
};

/// Of an axis with that many outputs and taps. The input is as long as it must be, or longer.
ConvolutionAxis draw_axis(Draw& draw, std::int64_t outputs, std::int64_t kernel) {
  ConvolutionAxis axis;
  axis.kernel = kernel;
  axis.stride = draw.once_in(3) ? 2 : 1;
  axis.dilation = draw.once_in(4) ? 2 : 1;
  const std::int64_t reach = (outputs - 1) * axis.stride + (kernel - 1) * axis.dilation + 1;
  if (draw.once_in(3) && kernel > 1 && reach > 2) axis.padding = 1;
  axis.size = reach - 2 * axis.padding + draw.below(axis.stride);
  return axis;
}

Einsum draw_convolution(Draw& draw, Extents& extents, std::size_t axes, bool depthwise) {
  Convolution shape;
  shape.in_channels = shape.out_channels = extents.next();
  if (!depthwise) shape.out_channels = extents.next();
  for (std::size_t axis = 0; axis < axes; ++axis) {
    shape.axes.push_back(draw_axis(draw, extents.next(), extents.window()));
  }
  return depthwise ? depthwise_convolution(shape).value() : convolution(shape).value();
}

Einsum draw_plain(Draw& draw, Extents& extents, int kind) {
  static const std::vector<std::vector<std::string>> kTexts{
      {"Y[m,n] += X[m,k] * W[k,n]"},
      {"Y[m,n] += X[m,k] * W[k,n]"},
      {"Y[b,m,n] += X[b,m,k] * W[b,k,n]"},
      {"Y[m] += X[m,k] * W[k]"},
      {"Y[m,n] = exp(X[m,n])", "Y[m,n] = X[m,n] + B[n]", "Y[m,n] = X[m] / B[n]"},
      {"Y[i,r] = T[i,r] * B[r] * C[i]", "Y[i,r] = T[i] * B[r] * C[r]"},
      {"Y[m] += X[m,k]", "Y[m] max= X[m,k]", "Y[] += X[m,k]"}};
  Einsum problem = einsum(draw.one_of(kTexts[static_cast<std::size_t>(kind)]), {});
  for (Rank& rank : problem.ranks) rank.extent = extents.next();
  return problem;
}

Einsum draw_einsum(Draw& draw, int kind, int tried) {
  Extents extents(draw, tried);
  Einsum problem = kind < 7    ? draw_plain(draw, extents, kind)
                   : kind == 7 ? draw_convolution(draw, extents, 1, false)
                   : kind == 8 ? draw_convolution(draw, extents, 2, false)
                               : draw_convolution(draw, extents, 1, true);
  const std::vector<ElementType> types{{"int8", 8}, {"bf16", 16}, {"fp32", 32}};
  for (Tensor& tensor : problem.tensors) tensor.type = draw.one_of(types);
  return problem;
}

// ---- machine

std::optional<Ratio> draw_bandwidth(Draw& draw) {
  if (draw.once_in(5)) return std::nullopt;
  return Ratio(Count(1 + draw.below(12)), Count(2));
}

std::optional<AccessEnergy> draw_energy(Draw& draw, bool per_access) {
  if (draw.once_in(6)) return std::nullopt;
  AccessEnergy energy;
  energy.picojoules = static_cast<double>(1 + draw.below(40)) / 4;
  energy.per = draw.once_in(2) ? AccessEnergy::Per::byte : AccessEnergy::Per::element;
  if (per_access && draw.mostly()) energy.per = AccessEnergy::Per::access;
  return energy;
}

/// What the machine as a whole leaves unsaid.
struct Silence {
  bool energies = false;
  bool times = false;
};

Storage draw_storage(Draw& draw, const std::string& name, Silence silence) {
  Storage level = storage(name);
  if (!silence.times) {
    level.read_bandwidth = draw_bandwidth(draw);
    level.shared_port = level.read_bandwidth && draw.once_in(3);
    if (!level.shared_port) level.write_bandwidth = draw_bandwidth(draw);
  }
  if (!silence.energies && draw.mostly()) {
    const bool per_access = draw.once_in(3);
    if (per_access) level.access_bits = Count(8 * (1 + draw.below(8)));
    level.read_energy = draw_energy(draw, per_access);
    level.write_energy = draw_energy(draw, per_access);
  }
  level.double_buffered = draw.once_in(3);
  return level;
}

Mesh draw_mesh(Draw& draw, const std::string& name, Silence silence) {
  Mesh level = mesh(name, 2 + draw.below(3), {});
  if (draw.once_in(2)) level.axes.push_back({"y", 2 + draw.below(3)});
  level.multicast = draw.below(3) != 0;
  level.forwarding = level.multicast && draw.once_in(2);
  level.reduction = draw.once_in(2);
  if (draw.once_in(4)) {
    level.systolic = draw.once_in(2) ? SystolicTiming::drained : SystolicTiming::last_operation;
  }
  if (!silence.energies && draw.once_in(2)) {
    level.hop_energy = AccessEnergy{static_cast<double>(1 + draw.below(8)) / 4,
                                    draw.once_in(2) ? AccessEnergy::Per::byte : AccessEnergy::Per::element};
  }
  return level;
}

Compute draw_compute(Draw& draw, const Einsum& einsum, Silence silence) {
  Compute level;
  level.name = "MAC";
  if (!silence.times && draw.below(5) != 0) level.rate[""] = Ratio(Count(1 + draw.below(4)), Count(1 + draw.below(2)));
  if (!silence.energies && draw.mostly()) {
    level.energy[draw.once_in(4) ? "bf16" : ""] = static_cast<double>(1 + draw.below(10)) / 4;
  }
  level.operand_latches = draw.once_in(4);
  const bool not_executed = einsum.tensors.size() == 3 && !einsum.is_mac();  // by a matrix shape
  if (!draw.once_in(not_executed ? 2 : 3)) return level;
  if (draw.mostly() && einsum.tensors.size() == 3) {
    for (const char* name : {"m", "n", "k"}) level.atomic.emplace_back(name, 1 + draw.below(4));
    return level;
  }
  for (const Rank& rank : einsum.ranks) {
    if (draw.once_in(2)) level.atomic.emplace_back(rank.name, 1 + draw.below(4));
  }
  return level;
}

/// Two to four storages, and up to two meshes anywhere between the outermost and the compute level.
Machine draw_machine(Draw& draw, const Einsum& einsum) {
  const Silence silence{draw.once_in(12), draw.once_in(12)};
  const int storages = 2 + static_cast<int>(std::min(draw.below(3), draw.below(4)));
  std::vector<std::int64_t> meshes(static_cast<std::size_t>(draw.below(3)));  // after which storage each stands
  for (std::int64_t& after : meshes) after = draw.below(storages);
  std::vector<Level> levels;
  int mesh_number = 0;
  for (int s = 0; s < storages; ++s) {
    levels.emplace_back(draw_storage(draw, s == 0 ? "DRAM" : "L" + std::to_string(s), silence));
    for (const std::int64_t after : meshes) {
      if (after != s) continue;
      levels.emplace_back(draw_mesh(draw, std::string(1, static_cast<char>('A' + mesh_number++)), silence));
    }
  }
  levels.emplace_back(draw_compute(draw, einsum, silence));
  Machine result = machine(std::move(levels));
  result.clock_stated = draw.once_in(4);
  return result;
}

/// Room for a part of what the tensors need together, or for all, or unbounded.
void draw_capacities(Draw& draw, const Einsum& einsum, Machine& machine) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : einsum.tensors) {
    std::int64_t elements = 1;
    for (const Axis& axis : tensor.axes) {
      std::int64_t reach = 1;
      for (const Term& term : axis.terms) {
        reach += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
      }
      elements *= reach;
    }
    bytes += elements * tensor.type.bits / 8;
  }
  for (std::size_t level = 0; level < machine.levels.size(); ++level) {
    Storage* storage = std::get_if<Storage>(&machine.levels[level]);
    if (!storage) continue;
    storage->capacity_bits.reset();
    if (draw.once_in(4)) continue;
    if (level > 0) {
      storage->capacity_bits = Count(8 * (1 + draw.below(draw.once_in(2) ? bytes : (bytes + 3) / 4)));
    } else if (draw.once_in(3)) {
      storage->capacity_bits = Count(8 * (draw.once_in(8) ? std::max<std::int64_t>(bytes / 2, 1) : 2 * bytes));
    }
  }
}

// ---- constraints

/// Constraints that a given nest meets.
class ConstraintDraw {
 public:
  ConstraintDraw(Draw& draw, const Spec& model) : draw_(draw), model_(model) {}

  MapConstraints draw() {
    MapConstraints constraints;
    if (draw_.once_in(2)) constraints.holding = holding();
    if (draw_.once_in(2)) constraints.tile = tile();
    if (draw_.once_in(2)) constraints.stationary = stationary();
    if (draw_.once_in(2)) constraints.spread = spread();
    if (draw_.once_in(2)) {
      std::int64_t used = 1;
      for (const Loop& loop : model_.mapping.loops) used *= loop.spatial ? loop.trips : 1;
      const double share = static_cast<double>(used) / model_.machine.compute_instances().to_double();
      for (const double least : {0.25, 0.5, 0.75, 1.0}) {
        if (least <= share || draw_.once_in(16)) constraints.least_utilization = least;
      }
    }
    return constraints;
  }

 private:
  std::size_t levels() const { return model_.machine.levels.size(); }

  /// The level's hold of some tensor; null where it holds nothing.
  const Hold* place(std::size_t level) const {
    for (const auto& holds : model_.mapping.holds) {
      for (const Hold& hold : holds) {
        if (hold.level == static_cast<int>(level)) return &hold;
      }
    }
    return nullptr;
  }

  bool is_storage(std::size_t level) const { return model_.machine.storage(static_cast<int>(level)) != nullptr; }

  std::vector<std::vector<Holding>> holding() {
    std::vector<std::vector<Holding>> result(levels());
    for (std::size_t level = 0; level < levels(); ++level) {
      if (!is_storage(level)) continue;
      for (const auto& holds : model_.mapping.holds) {
        const bool held =
            std::any_of(holds.begin(), holds.end(), [&](const Hold& h) { return h.level == static_cast<int>(level); });
        const Holding same = held ? Holding::held : Holding::bypassed;
        result[level].push_back(draw_.once_in(2) ? same : Holding::free);
      }
    }
    return result;
  }

  std::vector<std::vector<std::int64_t>> tile() {
    std::vector<std::vector<std::int64_t>> result(levels());
    for (std::size_t level = 0; level < levels(); ++level) {
      if (!is_storage(level)) continue;
      result[level].assign(model_.einsum.ranks.size(), 0);
      const Hold* hold = place(level);
      if (!hold) continue;
      const std::vector<std::int64_t> left = tile_at(model_, hold->depth);
      for (std::size_t rank = 0; rank < left.size(); ++rank) {
        if (draw_.once_in(4)) result[level][rank] = left[rank];
        if (level > 0 && draw_.once_in(40)) result[level][rank] = 2;  // which may not be possible
      }
    }
    return result;
  }

  std::vector<int> stationary() {
    std::vector<int> result(levels(), -1);
    for (std::size_t level = 1; level < levels(); ++level) {
      if (!is_storage(level)) continue;
      MapConstraints one;
      for (int tensor = 0; tensor <= model_.einsum.output(); ++tensor) {
        one.stationary.assign(levels(), -1);
        one.stationary[level] = tensor;
        const bool meets = violated_constraint(model_, one).empty();
        if ((meets && draw_.once_in(2)) || draw_.once_in(40)) result[level] = tensor;
      }
    }
    return result;
  }

  std::vector<std::vector<std::vector<std::int64_t>>> spread() {
    std::vector<std::vector<std::vector<std::int64_t>>> result(levels());
    for (std::size_t level = 0; level < levels(); ++level) {
      const Mesh* mesh = model_.machine.mesh(static_cast<int>(level));
      if (!mesh) continue;
      result[level].resize(mesh->axes.size());
      for (std::size_t axis = 0; axis < mesh->axes.size(); ++axis) {
        auto& trips = result[level][axis];
        trips.assign(model_.einsum.ranks.size(), 1);
        for (const Loop& loop : model_.mapping.loops) {
          const bool here = loop.spatial && loop.mesh == static_cast<int>(level) && loop.axis == static_cast<int>(axis);
          if (here) trips[static_cast<std::size_t>(loop.rank)] = loop.trips;
        }
        for (std::int64_t& count : trips) count = draw_.once_in(2) ? count : 0;
      }
    }
    return result;
  }

  Draw& draw_;
  const Spec& model_;
};

/// Constraints that one of the case's nests meets, drawn from all of them.
MapConstraints draw_constraints(Draw& draw, const MapCase& map_case) {
  std::int64_t chosen = draw.below(map_case.nests);
  MapConstraints constraints;
  for_each_nest(map_case.einsum, map_case.machine, {}, [&](const Spec& spec) {
    if (chosen-- > 0) return true;
    constraints = ConstraintDraw(draw, spec).draw();
    return false;
  });
  return constraints;
}

}  // namespace

MapCase random_map_case(std::uint64_t seed, std::int64_t most_nests) {
  Draw draw(seed);
  while (true) {
    MapCase result;
    const int kind = static_cast<int>(draw.below(10));
    const bool constrained = draw.once_in(3);
    const std::int64_t most = constrained ? 3 * most_nests : most_nests;
    result.machine = draw_machine(draw, draw_einsum(draw, kind, kTriesOfExtents));
    for (int tried = 0; tried < kTriesOfExtents; ++tried) {
      result.einsum = draw_einsum(draw, kind, tried);
      result.nests = count_nests(result.einsum, result.machine, {}, most + 1);
      if (result.nests < kFewestNests || result.nests > most) continue;
      draw_capacities(draw, result.einsum, result.machine);
      if (constrained) {
        result.constraints = draw_constraints(draw, result);
        result.nests = count_nests(result.einsum, result.machine, result.constraints, most_nests + 1);
        if (result.nests > most_nests) continue;
      }
      return result;
    }
  }
}

}  // namespace einflow::testing
