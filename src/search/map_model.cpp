#include "search/map_model.hpp"

#include <algorithm>
#include <cmath>

#include "cost/figures.hpp"
#include "cost/time.hpp"
#include "mapping/atomic.hpp"

namespace einflow {

namespace {

AccessPrice price_of(const Storage& storage, const std::optional<AccessEnergy>& energy, double bits) {
  AccessPrice price;
  if (!energy) return price;
  switch (energy->per) {
    case AccessEnergy::Per::byte:
      price.per_element = energy->picojoules * bits / 8;
      break;
    case AccessEnergy::Per::element:
      price.per_element = energy->picojoules;
      break;
    case AccessEnergy::Per::access:
      price.per_access = energy->picojoules;
      price.width_bits = storage.access_bits ? storage.access_bits->to_double() : bits;
      break;
  }
  return price;
}

Figure port(int level, bool reads, bool writes, const Ratio& bytes_per_cycle) {
  Figure figure;
  figure.kind = Figure::Kind::port;
  figure.level = level;
  figure.inside = level;
  figure.reads = reads;
  figure.writes = writes;
  const double per_bit = 1 / (8 * bytes_per_cycle.to_double());
  if (reads) figure.per_bit_read = per_bit;
  if (writes) figure.per_bit_written = per_bit;
  return figure;
}

}  // namespace

double AccessPrice::of_element(double elements, double bits) const {
  double price = per_element;
  if (per_access > 0 && elements > 0) price += per_access * std::ceil(elements * bits / width_bits) / elements;
  return price;
}

double AccessPrice::least_of_element(double bits) const {
  return per_access > 0 ? per_element + per_access * bits / width_bits : per_element;
}

void MapModel::add_tensors() {
  for (int t = 0; t < static_cast<int>(einsum.tensors.size()); ++t) {
    TensorModel tensor;
    tensor.output = einsum.is_output(t);
    tensor.bits = einsum.tensors[static_cast<std::size_t>(t)].type.bits;
    tensor.group_of.assign(einsum.ranks.size(), -1);
    for (Group group : groups_of(einsum, t)) {
      if (!group.indexed) continue;
      for (const Term& term : group.terms) {
        tensor.group_of[static_cast<std::size_t>(term.rank)] = static_cast<int>(tensor.groups.size());
      }
      // A rank of one index never moves; tiles of a rank by itself do not overlap, whatever its stride.
      std::erase_if(group.terms, [&](const Term& term) { return shapes.extent(term.rank) == 1; });
      if (group.terms.size() == 1 && !group.stored) group.terms[0].coefficient = 1;
      tensor.groups.emplace_back(group, shapes);
      tensor.plain = tensor.plain && tensor.groups.back().plain();
    }
    const auto count = static_cast<std::size_t>(shapes.size());
    tensor.present.assign(count, 1);
    tensor.tile.assign(count, 1);
    tensor.without.assign(count, 1);
    for (int shape = 0; shape < shapes.size(); ++shape) {
      const auto s = static_cast<std::size_t>(shape);
      for (const GroupReuse& group : tensor.groups) {
        const int number = group.tile_number(shape);
        tensor.present[s] *= group.present(number);
        tensor.tile[s] *= static_cast<double>(group.largest(number));
      }
      for (int rank = 0; rank < shapes.ranks(); ++rank) {
        if (tensor.group_of[static_cast<std::size_t>(rank)] >= 0) continue;
        tensor.without[s] *= static_cast<double>(shapes.extent(rank) / shapes.tile(shape, rank));
      }
    }
    tensor.touched = tensor.tile.back();
    tensors.push_back(std::move(tensor));
  }
}

void MapModel::add_places() {
  std::vector<int> outside;
  for (int level = 0; level < static_cast<int>(machine.levels.size()); ++level) {
    if (const Mesh* mesh = machine.mesh(level)) {
      outside.push_back(level);
      if (mesh->systolic != SystolicTiming::none) {
        several_arrays = systolic_mesh >= 0;
        systolic_mesh = level;
      }
      continue;
    }
    if (machine.storage(level) != nullptr) places.push_back(level);
    meshes.push_back(outside);
    if (systolic_mesh >= 0 && cell_place < 0) cell_place = static_cast<int>(meshes.size()) - 1;
    outside.clear();
  }
  for (const int level : places) {
    const Storage& storage = *machine.storage(level);
    std::vector<std::array<AccessPrice, 2>> prices;
    for (const TensorModel& tensor : tensors) {
      prices.push_back(
          {price_of(storage, storage.read_energy, tensor.bits), price_of(storage, storage.write_energy, tensor.bits)});
    }
    prices_.push_back(std::move(prices));
  }
  instances = machine.compute_instances().to_double();
}

void MapModel::add_figures(const std::vector<Figure::Kind>& kinds, int traffic_level) {
  const Spec spec{einsum, machine, {}};
  if (const auto step = einflow::cycles_per_step(spec)) cycles_per_step = step->to_double();
  for (const Figure::Kind kind : kinds) {
    Figure figure;
    figure.kind = kind;
    switch (kind) {
      case Figure::Kind::traffic:
        figure.level = traffic_level;
        figure.reads = figure.writes = true;
        figure.per_bit_read = figure.per_bit_written = 1;
        figures.push_back(figure);
        break;
      case Figure::Kind::compute:
        if (cycles_per_step == 0) break;
        [[fallthrough]];
      case Figure::Kind::spread:
        figure.inside = machine.compute_level();
        figures.push_back(figure);
        break;
      case Figure::Kind::energy:
        figures.push_back(figure);
        break;
      case Figure::Kind::port:
        for (const int level : places) {
          const Storage& storage = *machine.storage(level);
          if (storage.shared_port) {
            if (storage.read_bandwidth) figures.push_back(port(level, true, true, *storage.read_bandwidth));
            continue;
          }
          if (storage.read_bandwidth) figures.push_back(port(level, true, false, *storage.read_bandwidth));
          if (storage.write_bandwidth) figures.push_back(port(level, false, true, *storage.write_bandwidth));
        }
        break;
    }
  }
  const auto operation = executes(machine.compute(), einsum)
                             ? figure_for(machine.compute().energy, compute_type(einsum).name)
                             : std::nullopt;
  if (operation) energy_floor = *operation * einsum.executed_operations().to_double();
}

void MapModel::add_starts() {
  const auto layouts = atomic_layouts(einsum, machine.compute());
  for (int shape = 0; shape < shapes.size(); ++shape) {
    bool taken = layouts.empty() && shape == 0;
    for (const std::vector<AtomicRole>& layout : layouts) {
      bool fits_layout = true;
      std::vector<bool> in_role(static_cast<std::size_t>(shapes.ranks()), false);
      for (const AtomicRole& role : layout) {
        std::int64_t product = 1;
        for (const int rank : role.ranks) {
          in_role[static_cast<std::size_t>(rank)] = true;
          const std::int64_t tile = shapes.tile(shape, rank);
          product = product > role.extent / tile ? role.extent + 1 : product * tile;
        }
        fits_layout = fits_layout && product <= role.extent;
      }
      for (int rank = 0; rank < shapes.ranks(); ++rank) {
        if (!in_role[static_cast<std::size_t>(rank)]) fits_layout = fits_layout && shapes.tile(shape, rank) == 1;
      }
      taken = taken || fits_layout;
    }
    if (taken) starts.push_back(shape);
  }
}

Result<std::unique_ptr<MapModel>> MapModel::make(const MapRequest& request, const std::vector<Figure::Kind>& kinds,
                                                 int traffic_level) {
  std::unique_ptr<MapModel> model(new MapModel(request));
  if (model->shapes.count().overflowed() || Count(Shapes::kMost) < model->shapes.count()) {
    return fail(model->shapes.count().str() + " tile shapes are too many to search",
                "the ranks' extents have too many divisors: split a rank, or fix tiles");
  }
  if (static_cast<int>(request.einsum.ranks.size()) > kMostRanks)
    return fail("more than 24 ranks are too many to search");
  if (static_cast<int>(request.einsum.tensors.size()) > kMostTensors) {
    return fail("more than 6 tensors are too many to search");
  }
  model->add_tensors();
  for (const TensorModel& tensor : model->tensors) {
    for (const GroupReuse& group : tensor.groups) {
      if (!group.tractable()) return fail("a padded axis has too many positions to search over");
    }
  }
  model->add_places();
  model->add_figures(kinds, traffic_level);
  if (model->figure_count() > kMostFigures) return fail("the machine has too many ports to search over");
  model->add_starts();
  return model;
}

bool MapModel::may_hold(int place, int tensor) const {
  const auto& holding = request.constraints.holding;
  if (place == 0) return true;
  if (holding.empty()) return true;
  const auto& level = holding[static_cast<std::size_t>(places[static_cast<std::size_t>(place)])];
  return level.empty() || level[static_cast<std::size_t>(tensor)] != Holding::bypassed;
}

bool MapModel::must_hold(int place, int tensor) const {
  if (place == 0) return true;
  const auto p = static_cast<std::size_t>(places[static_cast<std::size_t>(place)]);
  if (stationary(place) == tensor) return true;
  const auto& holding = request.constraints.holding;
  return !holding.empty() && !holding[p].empty() && holding[p][static_cast<std::size_t>(tensor)] == Holding::held;
}

int MapModel::stationary(int place) const {
  const auto& stationary = request.constraints.stationary;
  return stationary.empty() ? -1 : stationary[static_cast<std::size_t>(places[static_cast<std::size_t>(place)])];
}

bool MapModel::needs_place(int place) const {
  const auto& tiles = request.constraints.tile;
  if (tiles.empty()) return false;
  const auto& tile = tiles[static_cast<std::size_t>(places[static_cast<std::size_t>(place)])];
  return std::any_of(tile.begin(), tile.end(), [](std::int64_t wanted) { return wanted > 0; });
}

bool MapModel::fits(int place, unsigned held, int shape) const {
  const int level = places[static_cast<std::size_t>(place)];
  const auto& tiles = request.constraints.tile;
  if (!tiles.empty() && !tiles[static_cast<std::size_t>(level)].empty()) {
    for (int rank = 0; rank < shapes.ranks(); ++rank) {
      const std::int64_t wanted = tiles[static_cast<std::size_t>(level)][static_cast<std::size_t>(rank)];
      if (wanted > 0 && shapes.tile(shape, rank) != wanted) return false;
    }
  }
  const Storage& storage = *machine.storage(level);
  if (!storage.capacity_bits) return true;
  double bits = 0;
  for (int t = 0; t < tensor_count(); ++t) {
    const TensorModel& tensor = tensors[static_cast<std::size_t>(t)];
    if ((held >> t) & 1U) bits += tensor.tile[static_cast<std::size_t>(shape)] * tensor.bits;
  }
  return bits * (storage.double_buffered ? 2 : 1) <= storage.capacity_bits->to_double();
}

std::int64_t MapModel::forced_trips(int mesh, int axis, int rank) const {
  const auto& spread = request.constraints.spread;
  if (spread.empty()) return 0;
  const auto& axes = spread[static_cast<std::size_t>(mesh)];
  if (axes.empty() || axes[static_cast<std::size_t>(axis)].empty()) return 0;
  return axes[static_cast<std::size_t>(axis)][static_cast<std::size_t>(rank)];
}

bool MapModel::may_spread(int mesh, int axis, int rank, std::int64_t trips) const {
  const std::int64_t forced = forced_trips(mesh, axis, rank);
  return forced == 0 || forced == trips;
}

bool MapModel::shares(int mesh, int tensor) const {
  const Mesh& network = *machine.mesh(mesh);
  return tensors[static_cast<std::size_t>(tensor)].output ? network.reduction : network.multicast;
}

double MapModel::own_cost(int figure, int tensor, int place, double elements) const {
  if (place == compute_place()) return 0;
  const Figure& f = figures[static_cast<std::size_t>(figure)];
  const TensorModel& t = tensors[static_cast<std::size_t>(tensor)];
  const int level = places[static_cast<std::size_t>(place)];
  if (f.kind == Figure::Kind::energy) {
    // An output's drains and the residencies that its updates need not read cancel, but where accesses are rounded.
    if (t.output) return rounded(tensor, place) ? read_price(tensor, place, elements) : 0;
    const AccessPrice& written = prices_[static_cast<std::size_t>(place)][static_cast<std::size_t>(tensor)][1];
    return elements > 0 ? written.of_element(elements, t.bits) : written.least_of_element(t.bits);
  }
  if (f.level != level || t.output) return 0;
  return f.per_bit_written * t.bits;
}

double MapModel::parent_cost(int figure, int tensor, int parent, double elements) const {
  const Figure& f = figures[static_cast<std::size_t>(figure)];
  const TensorModel& t = tensors[static_cast<std::size_t>(tensor)];
  if (f.kind == Figure::Kind::energy) {
    const auto& [read, written] = prices_[static_cast<std::size_t>(parent)][static_cast<std::size_t>(tensor)];
    if (!t.output) return read_price(tensor, parent, elements);
    const double writing = elements > 0 ? written.of_element(elements, t.bits) : written.least_of_element(t.bits);
    // Where accesses are rounded, what is read back is known only when the parent is placed.
    return rounded(tensor, parent) ? writing : writing + read.per_element;
  }
  if (f.level != places[static_cast<std::size_t>(parent)]) return 0;
  return (f.per_bit_read + (t.output ? f.per_bit_written : 0)) * t.bits;
}

double MapModel::read_price(int tensor, int place, double elements) const {
  const AccessPrice& read = prices_[static_cast<std::size_t>(place)][static_cast<std::size_t>(tensor)][0];
  const double bits = tensors[static_cast<std::size_t>(tensor)].bits;
  return elements > 0 ? read.of_element(elements, bits) : read.least_of_element(bits);
}

double MapModel::spared(int figure) const {
  const int output = einsum.output();
  const TensorModel& t = tensors[static_cast<std::size_t>(output)];
  const Figure& f = figures[static_cast<std::size_t>(figure)];
  if (f.kind == Figure::Kind::energy) return rounded(output, 0) ? 0 : t.touched * read_price(output, 0, 0);
  return f.level == places[0] ? t.touched * f.per_bit_read * t.bits : 0;
}

double MapModel::hop_cost(int figure, int tensor, int mesh) const {
  if (figures[static_cast<std::size_t>(figure)].kind != Figure::Kind::energy) return 0;
  const auto& hop = machine.mesh(mesh)->hop_energy;
  if (!hop) return 0;
  const double bits = tensors[static_cast<std::size_t>(tensor)].bits;
  return hop->per == AccessEnergy::Per::byte ? hop->picojoules * bits / 8 : hop->picojoules;
}

double MapModel::forward_cost(int figure, int tensor, int place) const {
  if (place == compute_place()) return 0;
  const Figure& f = figures[static_cast<std::size_t>(figure)];
  const double bits = tensors[static_cast<std::size_t>(tensor)].bits;
  if (f.kind == Figure::Kind::energy) {
    return prices_[static_cast<std::size_t>(place)][static_cast<std::size_t>(tensor)][0].least_of_element(bits);
  }
  return f.level == places[static_cast<std::size_t>(place)] ? f.per_bit_read * bits : 0;
}

bool MapModel::rounded(int tensor, int place) const {
  if (place == compute_place()) return false;
  const auto& prices = prices_[static_cast<std::size_t>(place)][static_cast<std::size_t>(tensor)];
  return prices[0].rounded() || prices[1].rounded();
}

double MapModel::largest_spread(int figure, int place) const {
  double spread = 1;
  for (int outer = 0; outer <= place; ++outer) {
    for (const int mesh : meshes[static_cast<std::size_t>(outer)]) {
      if (divided_by(figure, mesh)) spread *= static_cast<double>(machine.mesh(mesh)->size());
    }
  }
  return spread;
}

}  // namespace einflow
