#include "cluster/devices/copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/message.hpp"

namespace einflow::cluster::devices {

namespace {

/// Terms of the same sums in another order differ by rounding.
bool same(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * std::max({1.0, std::abs(a), std::abs(b)}) ||
         (std::isnan(a) && std::isnan(b));
}

bool is_partial(const Placement& placement, std::size_t axis) {
  return placement.states[axis].kind == StateKind::partial;
}

/// The device with coordinate 0 on all partial axes: terms of the same elements have the same.
std::int64_t without_partial_axes(const Placement& placement, const DeviceMesh& mesh, std::int64_t device) {
  for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
    if (is_partial(placement, axis)) device = line_along(mesh, device, axis).front();
  }
  return device;
}

}  // namespace

Copies::Copies(const DeviceMesh& mesh) : peak_(static_cast<std::size_t>(device_count(mesh)), 0) {}

Copy* Copies::find(const std::string& tensor, const Placement& placement) {
  const auto found = copies_.find(tensor);
  if (found == copies_.end()) return nullptr;
  for (Copy& copy : found->second) {
    if (copy.placement == placement) return &copy;
  }
  return nullptr;
}

Copy& Copies::put(const std::string& tensor, Copy copy) {
  if (Copy* const there = find(tensor, copy.placement)) return *there = std::move(copy);
  return copies_[tensor].emplace_back(std::move(copy));
}

bool Copies::drop(const std::string& tensor, const Placement& placement) {
  return std::erase_if(copies_[tensor], [&](const Copy& copy) { return copy.placement == placement; }) > 0;
}

void Copies::end_microbatch() {
  for (auto& [tensor, list] : copies_) std::erase_if(list, [](const Copy& copy) { return !copy.lasts; });
}

void Copies::note_peak(const std::vector<std::int64_t>& buffers) {
  for (std::size_t device = 0; device < peak_.size(); ++device) {
    std::int64_t held = buffers.empty() ? 0 : buffers[device];
    for (const auto& [tensor, list] : copies_) {
      for (const Copy& copy : list) held += static_cast<std::int64_t>(copy.arrays[device].values.size());
    }
    peak_[device] = std::max(peak_[device], held);
  }
}

Result<Spread> scattered(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh,
                         const Values& whole) {
  const LocalArray source{whole_box(ranks), whole};
  if (static_cast<std::int64_t>(whole.size()) != elements_of(source.box)) {
    return fail(fmt::format("expected {} values, found {}", elements_of(source.box), whole.size()));
  }
  Spread spread = spread_of(ranks, placement, mesh, 0);
  for (std::size_t device = 0; device < spread.size(); ++device) {
    spread[device].values = copy_out(source, spread[device].box);
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      const bool first = coordinate_on(mesh, static_cast<std::int64_t>(device), axis) == 0;
      if (first || !is_partial(placement, axis)) continue;
      spread[device] = filled(spread[device].box, identity_of(placement.states[axis].op));
    }
  }
  return spread;
}

Result<Values> gathered(const std::string& tensor, const Copy& copy, const DeviceMesh& mesh) {
  std::string op;
  for (const State& state : copy.placement.states) {
    if (state.kind != StateKind::partial) continue;
    if (!op.empty() && op != state.op) {
      return fail(fmt::format("tensor {} is partial in two ways: {} and {}", in_quotes(tensor), op, state.op));
    }
    op = state.op;
  }
  std::map<std::int64_t, LocalArray> joined;  // by the first of the devices that have terms of them
  for (std::size_t device = 0; device < copy.arrays.size(); ++device) {
    const LocalArray& term = copy.arrays[device];
    const std::int64_t first = without_partial_axes(copy.placement, mesh, static_cast<std::int64_t>(device));
    const auto [entry, is_new] = joined.emplace(first, term);
    if (!is_new) entry->second.values = combine(op, entry->second.values, term.values);
  }
  const Box whole = whole_box(copy.ranks);
  std::vector<std::optional<double>> values(static_cast<std::size_t>(elements_of(whole)));
  for (const auto& [device, array] : joined) {
    const std::vector<std::size_t> places = offsets(whole, array.box);
    for (std::size_t i = 0; i < places.size(); ++i) {
      std::optional<double>& value = values[places[i]];
      if (!value) value = array.values[i];
      if (!same(*value, array.values[i])) {
        return fail(fmt::format("tensor {}: device {} has {} where another has {}", in_quotes(tensor), device,
                                array.values[i], *value));
      }
    }
  }
  Values result;
  for (const std::optional<double>& value : values) {
    if (!value) return fail(fmt::format("tensor {}: no device has all of it", in_quotes(tensor)));
    result.push_back(*value);
  }
  return result;
}

Result<Shapes> shapes_of(const Program& program) {
  Shapes shapes;
  const auto add = [&](const std::string& tensor, const std::vector<Rank>& ranks) -> Result<void> {
    std::vector<std::vector<Rank>>& names = shapes[tensor];
    if (std::find(names.begin(), names.end(), ranks) != names.end()) return {};
    if (!names.empty() && whole_box(names.front()) != whole_box(ranks)) {
      return fail(fmt::format("tensor {} has another shape in one step than in another", in_quotes(tensor)));
    }
    names.push_back(ranks);
    return {};
  };
  for (const std::vector<Step>* steps : {&program.forward, &program.backward, &program.finish}) {
    for (const Step& step : *steps) {
      if (const auto* const collective = std::get_if<Collective>(&step)) {
        if (auto added = add(collective->tensor, collective->ranks); !added) return tl::unexpected(added.error());
      }
      const auto* const einsum = std::get_if<LocalEinsum>(&step);
      for (std::size_t t = 0; einsum != nullptr && t < einsum->work.einsum.tensors.size(); ++t) {
        auto ranks = ranks_of(einsum->work.einsum, t);
        if (!ranks) return tl::unexpected(ranks.error());
        if (auto added = add(einsum->work.einsum.tensors[t].name, *ranks); !added) {
          return tl::unexpected(added.error());
        }
      }
    }
  }
  return shapes;
}

const std::vector<Rank>* ranks_for(const std::vector<std::vector<Rank>>& names, const Placement& placement) {
  for (const std::vector<Rank>& ranks : names) {
    const bool has_all = std::all_of(placement.states.begin(), placement.states.end(), [&](const State& state) {
      return state.kind != StateKind::split ||
             std::any_of(ranks.begin(), ranks.end(), [&](const Rank& rank) { return rank.name == state.rank; });
    });
    if (has_all) return &ranks;
  }
  return nullptr;
}

}  // namespace einflow::cluster::devices
