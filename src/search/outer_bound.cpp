#include "search/outer_bound.hpp"

#include <algorithm>

namespace einflow {

std::vector<int> next_parents(const MapModel& model, const Parents& parents, int packed, int place) {
  std::vector<int> result{packed};
  const unsigned held = parents.held_at(packed, place);
  for (int t = 0; t < model.tensor_count(); ++t) {
    if (((held >> t) & 1U) == 0) continue;
    std::vector<int> extended;
    for (const int base : result) {
      for (int parent = place - 1; parent >= 0; --parent) {
        if (model.may_hold(parent, t)) extended.push_back(parents.with(base, t, parent));
        if (model.must_hold(parent, t)) break;
      }
    }
    result = std::move(extended);
  }
  return result;
}

OuterBound::OuterBound(const MapModel& model, const Parents& parents)
    : model_(model), parents_(parents), shapes_(static_cast<std::size_t>(model.shapes.size())) {
  for (int t = 0; t < model.tensor_count(); ++t) {
    std::vector<std::vector<double>> by_rank;
    for (int rank = 0; rank <= model.shapes.ranks(); ++rank) {
      std::vector<double> least(shapes_);
      for (int shape = 0; shape < model.shapes.size(); ++shape) {
        least[static_cast<std::size_t>(shape)] = moved(t, shape, rank < model.shapes.ranks() ? rank : -1);
      }
      by_rank.push_back(std::move(least));
    }
    moved_.push_back(std::move(by_rank));
  }
  tables_.resize(static_cast<std::size_t>(model.place_count()));
  for (int place = 0; place < model.place_count(); ++place) {
    auto& table = tables_[static_cast<std::size_t>(place)];
    table.resize(static_cast<std::size_t>(parents.count()));
    for (int packed = 0; packed < parents.count(); ++packed) {
      bool valid = true;
      for (int t = 0; t < model.tensor_count(); ++t) {
        valid = valid && parents.of(packed, t) <= place && model.may_hold(parents.of(packed, t), t);
        for (int between = parents.of(packed, t) + 1; between <= place; ++between) {
          valid = valid && !model.must_hold(between, t);
        }
      }
      if (valid) fill(place, packed);
    }
  }
}

// Least number of elements of the tensor that enter (or leave) a hold of this shape, where the innermost temporal loop
// outside cuts `rank`; -1: where no temporal loop is outside.
double OuterBound::moved(int tensor, int shape, int rank) const {
  const TensorModel& t = model_.tensors[static_cast<std::size_t>(tensor)];
  const auto s = static_cast<std::size_t>(shape);
  const double all = t.present[s] * t.without[s];
  if (rank < 0) return all;
  const int g = t.group_of[static_cast<std::size_t>(rank)];
  if (g < 0) return t.touched;
  const GroupReuse& group = t.groups[static_cast<std::size_t>(g)];
  const int term = group.term_of(rank);
  if (group.plain() || term < 0) return all;  // a rank of one index has no loop
  // The loop slides a window. What a step keeps is at most what the tile overlaps its next position with, if no other
  // rank of the group can undo the move.
  for (const Term& other : group.group().terms) {
    if (other.rank != rank && model_.shapes.tile(shape, other.rank) != model_.shapes.extent(other.rank)) {
      return t.touched;
    }
  }
  const int number = group.tile_number(shape);
  if (group.width(number) == 0) return t.touched;
  const std::int64_t shift = group.coefficient(term) * model_.shapes.tile(shape, rank);
  double least = t.without[s] * group.brought(number, shift);
  for (std::size_t other = 0; other < t.groups.size(); ++other) {
    if (static_cast<int>(other) != g) least *= t.groups[other].present(t.groups[other].tile_number(shape));
  }
  return std::max(least, t.touched);
}

void OuterBound::add_place(int place, unsigned held, int packed, std::vector<double>& cost) const {
  const MapModel& m = model_;
  const int ranks = m.shapes.ranks();
  // Per tensor: the most that networks up to the parent join.
  std::array<double, kMostTensors> joining{};
  for (int t = 0; t < m.tensor_count(); ++t) {
    joining[static_cast<std::size_t>(t)] = 1;
    for (int gap = parents_.of(packed, t) + 1; gap <= place; ++gap) {
      for (const int mesh : m.meshes[static_cast<std::size_t>(gap)]) {
        if (m.shares(mesh, t))
          joining[static_cast<std::size_t>(t)] *= static_cast<double>(m.machine.mesh(mesh)->size());
      }
    }
  }
  for (int figure = 0; figure < m.figure_count(); ++figure) {
    std::array<double, kMostTensors> own{}, parent{}, hops{};
    for (int t = 0; t < m.tensor_count(); ++t) {
      if (((held >> t) & 1U) == 0) continue;
      const auto k = static_cast<std::size_t>(t);
      const int above = parents_.of(packed, t);
      own[k] = m.own_cost(figure, t, place, 0) / m.largest_spread(figure, place);
      parent[k] = m.parent_cost(figure, t, above, 0) / m.largest_spread(figure, above);
      if (m.tensors[k].output && m.figures[static_cast<std::size_t>(figure)].kind == Figure::Kind::energy &&
          m.rounded(t, above)) {
        parent[k] += 0;  // what is read back is charged at the parent
      }
      for (int gap = above + 1; gap <= place; ++gap) {
        for (const int mesh : m.meshes[static_cast<std::size_t>(gap)]) hops[k] += m.hop_cost(figure, t, mesh);
      }
    }
    double* out = cost.data() + static_cast<std::size_t>(figure) * shapes_;
    for (std::size_t shape = 0; shape < shapes_; ++shape) {
      double least = kNever;
      for (int rank = 0; rank <= ranks; ++rank) {
        if (rank < ranks && m.shapes.tile(static_cast<int>(shape), rank) == m.shapes.extent(rank)) continue;
        double sum = 0;
        for (int t = 0; t < m.tensor_count(); ++t) {
          if (((held >> t) & 1U) == 0) continue;
          const auto k = static_cast<std::size_t>(t);
          const TensorModel& tensor = m.tensors[k];
          const double elements = moved_[k][static_cast<std::size_t>(rank)][shape];
          const double most = tensor.plain ? std::min(joining[k], tensor.without[shape]) : joining[k];
          const double joined = std::max(elements / most, tensor.touched);
          sum += elements * own[k] + joined * (parent[k] + hops[k]);
        }
        least = std::min(least, sum);
      }
      out[shape] += least;
    }
  }
}

void OuterBound::fill(int place, int packed) {
  const MapModel& m = model_;
  const auto figures = static_cast<std::size_t>(m.figure_count());
  auto& table = tables_[static_cast<std::size_t>(place)][static_cast<std::size_t>(packed)];
  table.assign(figures * shapes_, 0);
  if (place == 0) {
    for (std::size_t figure = 0; figure < figures; ++figure) {
      for (std::size_t shape = 0; shape < shapes_; ++shape) table[figure * shapes_ + shape] = 0;
    }
    return;
  }
  const unsigned held = parents_.held_at(packed, place);
  if (held == 0 && m.needs_place(place)) {
    table.clear();
    return;
  }
  if (held == 0) {
    table = tables_[static_cast<std::size_t>(place - 1)][static_cast<std::size_t>(packed)];
    return;
  }
  std::fill(table.begin(), table.end(), kNever);
  for (const int next : next_parents(m, parents_, packed, place)) {
    const std::vector<double>& outer = tables_[static_cast<std::size_t>(place - 1)][static_cast<std::size_t>(next)];
    if (outer.empty()) continue;
    std::vector<double> cost = outer;
    add_place(place, held, next, cost);
    for (std::size_t i = 0; i < cost.size(); ++i) table[i] = std::min(table[i], cost[i]);
  }
  for (int shape = 0; shape < m.shapes.size(); ++shape) {
    if (m.fits(place, held, shape)) continue;
    for (std::size_t figure = 0; figure < figures; ++figure) {
      table[figure * shapes_ + static_cast<std::size_t>(shape)] = kNever;
    }
  }
  // Loops between this place and what is inside it: any larger shape may be the one here.
  for (int shape = m.shapes.size() - 1; shape >= 0; --shape) {
    for (int rank = 0; rank < m.shapes.ranks(); ++rank) {
      for (const Shapes::Step& step : m.shapes.larger(rank, m.shapes.index(shape, rank))) {
        const auto larger = static_cast<std::size_t>(m.shapes.with(shape, rank, step.index));
        for (std::size_t figure = 0; figure < figures; ++figure) {
          double& here = table[figure * shapes_ + static_cast<std::size_t>(shape)];
          here = std::min(here, table[figure * shapes_ + larger]);
        }
      }
    }
  }
}

}  // namespace einflow
