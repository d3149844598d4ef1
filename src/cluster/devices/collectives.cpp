#include "cluster/devices/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "cluster/devices/rings.hpp"

namespace einflow::cluster::devices {

namespace {

std::size_t at(std::int64_t device) { return static_cast<std::size_t>(device); }

bool by_broadcast(const Collective& collective) {
  return collective.time && collective.time->delivery == Delivery::broadcast;
}

void all_gather(const Collective& collective, const Line& line, const Spread& before, Spread& after, Wires& wires) {
  const auto own = [&](std::int64_t member, std::int64_t) { return before[at(line[at(member)])].values; };
  const auto write = [&](std::int64_t member, std::int64_t piece, const Values& values) {
    copy_in(after[at(line[at(member)])], before[at(line[at(piece)])].box, values);
  };
  if (!by_broadcast(collective)) {
    ring_all_gather(line, wires, own, write);
    return;
  }
  for (std::size_t piece = 0; piece < line.size(); ++piece) {
    chain_broadcast(line, static_cast<std::int64_t>(piece), wires, own, write);
  }
}

void reduce_scatter(const Collective& collective, const Line& line, const std::string& op, const Spread& before,
                    Spread& after, Wires& wires) {
  const auto term = [&](std::int64_t member, std::int64_t piece) {
    return copy_out(before[at(line[at(member)])], after[at(line[at(piece)])].box);
  };
  const auto write = [&](std::int64_t member, std::int64_t, const Values& values) {
    after[at(line[at(member)])].values = values;
  };
  if (!by_broadcast(collective)) {
    ring_reduce_scatter(line, op, wires, term, write);
    return;
  }
  for (std::size_t piece = 0; piece < line.size(); ++piece) {
    chain_reduce(line, static_cast<std::int64_t>(piece), op, wires, term, write);
  }
}

void all_reduce(const Line& line, const std::string& op, const Spread& before, Spread& after, Wires& wires) {
  const Interval all{0, static_cast<std::int64_t>(before[at(line.front())].values.size())};
  const auto p = static_cast<std::int64_t>(line.size());
  const auto chunk = [&](std::int64_t number) { return cut(all, p, number); };
  const auto part = [&](const Values& values, std::int64_t number) {
    return Values(values.begin() + chunk(number).begin, values.begin() + chunk(number).end);
  };
  const auto write = [&](std::int64_t member, std::int64_t number, const Values& values) {
    std::copy(values.begin(), values.end(), after[at(line[at(member)])].values.begin() + chunk(number).begin);
  };
  ring_reduce_scatter(
      line, op, wires,
      [&](std::int64_t member, std::int64_t number) { return part(before[at(line[at(member)])].values, number); },
      write);
  ring_all_gather(
      line, wires,
      [&](std::int64_t member, std::int64_t number) { return part(after[at(line[at(member)])].values, number); },
      write);
}

void send_common(std::int64_t from, std::int64_t to, const Spread& before, Spread& after, Wires& wires) {
  const Box common = intersection(before[at(from)].box, after[at(to)].box);
  Values values = copy_out(before[at(from)], common);
  if (from != to) {
    wires.send(from, to, std::move(values));
    values = wires.receive(from, to);
  }
  copy_in(after[at(to)], common, values);
}

void all_to_all(const Line& line, const Spread& before, Spread& after, Wires& wires) {
  for (std::size_t step = 0; step < line.size(); ++step) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      send_common(line[i], line[(i + step) % line.size()], before, after, wires);
    }
  }
}

void redistribute(const Collective& collective, const DeviceMesh& mesh, const Spread& before, Spread& after,
                  Wires& wires) {
  const std::int64_t devices = device_count(mesh);
  for (std::int64_t to = 0; to < devices; ++to) {
    for (std::int64_t from = 0; from < devices; ++from) {
      bool serves = true;
      for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
        const bool same = coordinate_on(mesh, from, axis) == coordinate_on(mesh, to, axis);
        serves = serves && (same || collective.from.states[axis].kind == StateKind::split);
      }
      if (serves) send_common(from, to, before, after, wires);
    }
  }
}

void slice_out(const Collective& collective, const DeviceMesh& mesh, const Spread& before, Spread& after) {
  const auto axis = static_cast<std::size_t>(collective.axis);
  const State& to = collective.to.states[axis];
  for (std::size_t device = 0; device < before.size(); ++device) {
    const bool first = coordinate_on(mesh, static_cast<std::int64_t>(device), axis) == 0;
    if (to.kind == StateKind::partial && !first) {
      after[device] = filled(after[device].box, identity_of(to.op));
    } else {
      after[device].values = copy_out(before[device], after[device].box);
    }
  }
}

/// Whether the pieces of each line are cut out of what its members have on the other side, nothing left out.
bool pieces_partition(const Spread& pieces, const Spread& wholes, const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    for (const std::int64_t member : line) {
      std::int64_t sum = 0;
      for (const std::int64_t other : line) {
        if (!contains(wholes[at(member)].box, pieces[at(other)].box)) return false;
        sum += elements_of(pieces[at(other)].box);
      }
      if (sum != elements_of(wholes[at(member)].box)) return false;
    }
  }
  return true;
}

/// Whether what each device gets is what the members of its line have.
bool line_has_all(const Spread& before, const Spread& after, const Line& line) {
  for (const std::int64_t to : line) {
    std::int64_t found = 0;
    for (const std::int64_t from : line) found += elements_of(intersection(before[at(from)].box, after[at(to)].box));
    if (found != elements_of(after[at(to)].box)) return false;
  }
  return true;
}

tl::unexpected<Diagnostics> misfit(const Collective& collective, const std::string& what) {
  return fail(fmt::format("a collective of tensor {}: {}", in_quotes(collective.tensor), what));
}

bool is_change(const Collective& collective, StateKind from, StateKind to) {
  const auto axis = static_cast<std::size_t>(collective.axis);
  return collective.from.states[axis].kind == from && collective.to.states[axis].kind == to;
}

bool fits_kind(const Collective& collective) {
  switch (collective.kind) {
    case CollectiveKind::all_reduce:
      return is_change(collective, StateKind::partial, StateKind::replicated);
    case CollectiveKind::reduce_scatter:
      return is_change(collective, StateKind::partial, StateKind::split);
    case CollectiveKind::all_gather:
      return is_change(collective, StateKind::split, StateKind::replicated);
    case CollectiveKind::all_to_all:
      return is_change(collective, StateKind::split, StateKind::split);
    case CollectiveKind::slice:
      return is_change(collective, StateKind::replicated, StateKind::split) ||
             is_change(collective, StateKind::replicated, StateKind::partial);
    case CollectiveKind::redistribute:
      return std::none_of(collective.from.states.begin(), collective.from.states.end(),
                          [](const State& state) { return state.kind == StateKind::partial; }) &&
             std::none_of(collective.to.states.begin(), collective.to.states.end(),
                          [](const State& state) { return state.kind == StateKind::partial; });
  }
  return false;
}

}  // namespace

Spread spread_of(const std::vector<Rank>& ranks, const Placement& placement, const DeviceMesh& mesh, double value) {
  Spread spread;
  for (std::int64_t device = 0; device < device_count(mesh); ++device) {
    spread.push_back(filled(held_box(ranks, placement, mesh, device), value));
  }
  return spread;
}

Result<void> check_states(const Collective& collective, const DeviceMesh& mesh) {
  for (const Placement* placement : {&collective.from, &collective.to}) {
    if (placement->states.size() != mesh.axes.size()) return misfit(collective, "one state for each axis of the mesh");
    for (const State& state : placement->states) {
      const bool has_rank = std::any_of(collective.ranks.begin(), collective.ranks.end(),
                                        [&](const Rank& rank) { return rank.name == state.rank; });
      if (state.kind == StateKind::split && !has_rank) return misfit(collective, "it has no rank " + state.rank);
      if (state.kind == StateKind::partial && !is_reduction(state.op)) {
        return misfit(collective, "no reduction " + state.op);
      }
    }
  }
  if (collective.kind != CollectiveKind::redistribute) {
    if (collective.axis < 0 || static_cast<std::size_t>(collective.axis) >= mesh.axes.size()) {
      return misfit(collective, "no such axis of the mesh");
    }
    for (std::size_t axis = 0; axis < mesh.axes.size(); ++axis) {
      if (static_cast<int>(axis) == collective.axis) continue;
      if (!(collective.from.states[axis] == collective.to.states[axis])) {
        return misfit(collective, "it changes the state on another axis than its own");
      }
    }
  }
  if (!fits_kind(collective)) return misfit(collective, "its states are not those that its kind changes");
  return {};
}

Result<Spread> carry_out(const Collective& collective, const DeviceMesh& mesh, const Spread& before, Wires& wires) {
  if (auto fits = check_states(collective, mesh); !fits) return tl::unexpected(fits.error());
  Spread after = spread_of(collective.ranks, collective.to, mesh, 0);
  if (collective.kind == CollectiveKind::redistribute) {
    Line all;
    for (std::int64_t device = 0; device < device_count(mesh); ++device) all.push_back(device);
    redistribute(collective, mesh, before, after, wires);
    return after;
  }
  const auto axis = static_cast<std::size_t>(collective.axis);
  const std::string op = collective.from.states[axis].op;
  const std::vector<Line> lines = lines_along(mesh, axis);
  const char* const not_innermost = "on its axis it does not make or join the innermost pieces";
  if (collective.kind == CollectiveKind::slice) {
    for (std::size_t device = 0; device < before.size(); ++device) {
      if (!contains(before[device].box, after[device].box)) return misfit(collective, not_innermost);
    }
    slice_out(collective, mesh, before, after);
    return after;
  }
  if (collective.kind == CollectiveKind::all_gather && !pieces_partition(before, after, lines)) {
    return misfit(collective, not_innermost);
  }
  if (collective.kind == CollectiveKind::reduce_scatter && !pieces_partition(after, before, lines)) {
    return misfit(collective, not_innermost);
  }
  for (const Line& line : lines) {
    if (collective.kind == CollectiveKind::all_gather) all_gather(collective, line, before, after, wires);
    if (collective.kind == CollectiveKind::reduce_scatter) reduce_scatter(collective, line, op, before, after, wires);
    if (collective.kind == CollectiveKind::all_reduce) all_reduce(line, op, before, after, wires);
    if (collective.kind == CollectiveKind::all_to_all) {
      if (!line_has_all(before, after, line)) return misfit(collective, not_innermost);
      all_to_all(line, before, after, wires);
    }
  }
  return after;
}

}  // namespace einflow::cluster::devices
