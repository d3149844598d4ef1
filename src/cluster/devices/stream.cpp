#include "cluster/devices/stream.hpp"

#include <algorithm>

#include "cluster/devices/rings.hpp"

namespace einflow::cluster::devices {

namespace {

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

std::size_t axis_of(const Stream& stream) { return at(stream.collective->axis); }

bool is_input(const Stream& stream) { return stream.collective->kind == CollectiveKind::all_gather; }

bool shifts(const Stream& stream) { return stream.collective->time->delivery == Delivery::shift; }

/// The number of the piece with which a device computes in a step.
std::int64_t piece_at(const Stream& stream, const DeviceMesh& mesh, std::int64_t device, std::int64_t step,
                      bool sums_travel) {
  if (!shifts(stream)) return step;
  const std::int64_t p = mesh.axes[axis_of(stream)].size;
  const std::int64_t first = coordinate_on(mesh, device, axis_of(stream)) - (sums_travel ? 1 : 0);
  return (first - step + 2 * p) % p;
}

/// What the device of that piece's number, in the line of this one, has at rest.
Box piece_box(const Stream& stream, const DeviceMesh& mesh, std::int64_t device, std::int64_t piece) {
  const std::int64_t owner = line_along(mesh, device, axis_of(stream))[at(piece)];
  const Placement& rest = is_input(stream) ? stream.collective->from : stream.collective->to;
  return held_box(stream.collective->ranks, rest, mesh, owner);
}

bool sums_travel(const std::vector<Stream>& streams) {
  return std::any_of(streams.begin(), streams.end(),
                     [](const Stream& stream) { return !is_input(stream) && shifts(stream); });
}

/// The interval of the time rank in the stream's piece of that step.
Interval time_interval(const LocalEinsum& step, const DeviceMesh& mesh, const Stream& stream, std::int64_t device,
                       std::int64_t time, bool travel) {
  const Box box = piece_box(stream, mesh, device, piece_at(stream, mesh, device, time, travel));
  for (std::size_t i = 0; i < box.size(); ++i) {
    if (stream.collective->ranks[i].name == step.work.time->rank) return box[i];
  }
  return {};
}

/// Device by device: what it has of a streamed operand in this step.
using Buffers = std::vector<Spread>;  ///< by stream

/// Brings an operand's pieces of a step into the buffers.
void bring(const DeviceMesh& mesh, const Stream& stream, std::int64_t time, bool travel, Wires& wires, Spread& buffer) {
  const Spread& stored = *stream.stored;
  for (const Line& line : lines_along(mesh, axis_of(stream))) {
    const auto p = static_cast<std::int64_t>(line.size());
    if (!shifts(stream)) {
      chain_broadcast(
          line, time, wires, [&](std::int64_t member, std::int64_t) { return stored[at(line[at(member)])].values; },
          [&](std::int64_t member, std::int64_t piece, const Values& values) {
            buffer[at(line[at(member)])] = {stored[at(line[at(piece)])].box, values};
          });
      continue;
    }
    // Every device's own piece is at home in the first step, or where sums travel in the last: it is not sent for.
    const std::int64_t own_at = travel ? p - 1 : 0;
    if (time != own_at) {
      for (std::int64_t i = 0; i < p; ++i) {
        const LocalArray& passed = time == 0 ? stored[at(line[at(i)])] : buffer[at(line[at(i)])];
        wires.send(line[at(i)], line[at((i + 1) % p)], passed.values);
      }
    }
    for (std::int64_t i = 0; i < p; ++i) {
      const std::int64_t device = line[at(i)];
      if (time == own_at) {
        buffer[at(device)] = stored[at(device)];
      } else {
        const Box box = piece_box(stream, mesh, device, piece_at(stream, mesh, device, time, travel));
        buffer[at(device)] = {box, wires.receive(line[at((i + p - 1) % p)], device)};
      }
    }
  }
}

/// Takes the output's terms of a step away: along the axis to the owner, or into the sums that pass by.
void take(const DeviceMesh& mesh, Stream& stream, std::int64_t time, const Spread& terms, Wires& wires, Spread& sums) {
  const auto axis = axis_of(stream);
  const std::string& op = stream.collective->from.states[axis].op;
  for (const Line& line : lines_along(mesh, axis)) {
    const auto p = static_cast<std::int64_t>(line.size());
    if (!shifts(stream)) {
      chain_reduce(
          line, time, op, wires, [&](std::int64_t member, std::int64_t) { return terms[at(line[at(member)])].values; },
          [&](std::int64_t member, std::int64_t, const Values& values) {
            stream.result[at(line[at(member)])].values = values;
          });
      continue;
    }
    for (std::int64_t i = 0; i < p && time > 0; ++i) {
      wires.send(line[at(i)], line[at((i + 1) % p)], sums[at(line[at(i)])].values);
    }
    for (std::int64_t i = 0; i < p; ++i) {
      const std::int64_t device = line[at(i)];
      LocalArray& sum = sums[at(device)];
      sum = terms[at(device)];
      if (time > 0) sum.values = combine(op, wires.receive(line[at((i + p - 1) % p)], device), sum.values);
      if (time == p - 1) stream.result[at(device)] = sum;
    }
  }
}

}  // namespace

bool go_together(const LocalEinsum& step, const DeviceMesh& mesh, const std::vector<Stream>& streams) {
  if (streams.empty()) return false;
  const bool travel = sums_travel(streams);
  const std::int64_t steps = mesh.axes[axis_of(streams.front())].size;
  const int rank = step.work.einsum.rank_named(step.work.time->rank);
  if (rank < 0 || steps == 1) return false;
  for (std::int64_t device = 0; device < device_count(mesh); ++device) {
    std::int64_t covered = 0;
    for (std::int64_t time = 0; time < steps; ++time) {
      const Interval first = time_interval(step, mesh, streams.front(), device, time, travel);
      covered += first.size();
      for (const Stream& stream : streams) {
        if (mesh.axes[axis_of(stream)].size != steps) return false;
        if (!(time_interval(step, mesh, stream, device, time, travel) == first)) return false;
      }
    }
    if (covered != share_of(step.work, mesh, device)[at(rank)].size()) return false;
  }
  return true;
}

Result<void> compute_streamed(const LocalEinsum& step, const DeviceMesh& mesh,
                              const std::vector<const Spread*>& operands, Spread* output, std::vector<Stream>& streams,
                              std::vector<std::int64_t>& buffers) {
  const Einsum& einsum = step.work.einsum;
  const auto devices = at(device_count(mesh));
  const std::int64_t steps = mesh.axes[axis_of(streams.front())].size;
  const bool travel = sums_travel(streams);
  const auto rank = at(einsum.rank_named(step.work.time->rank));
  std::vector<Spread> pieces(streams.size(), Spread(devices));  // of operands, or sums on their way
  std::vector<Wires> wires(streams.size(), Wires(device_count(mesh)));
  Spread terms(devices);
  buffers.assign(devices, 0);
  for (std::int64_t time = 0; time < steps; ++time) {
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (is_input(streams[s])) bring(mesh, streams[s], time, travel, wires[s], pieces[s]);
    }
    for (std::size_t device = 0; device < devices; ++device) {
      const auto number = static_cast<std::int64_t>(device);
      Box box = share_of(step.work, mesh, number);
      box[rank] = time_interval(step, mesh, streams.front(), number, time, travel);
      std::vector<const LocalArray*> arrays;
      for (std::size_t operand = 0; operand < operands.size(); ++operand) {
        const LocalArray* array = operands[operand] != nullptr ? &(*operands[operand])[device] : nullptr;
        for (std::size_t s = 0; s < streams.size(); ++s) {
          if (is_input(streams[s]) && streams[s].tensor == operand) array = &pieces[s][device];
        }
        arrays.push_back(array);
      }
      LocalArray* target = output != nullptr ? &(*output)[device] : &terms[device];
      if (output == nullptr) {
        *target = filled(part_of(einsum, at(einsum.output()), box), identity_of(reduction_of(einsum)));
      }
      if (auto done = compute(einsum, box, arrays, *target); !done) return done;
      std::int64_t room = output == nullptr ? static_cast<std::int64_t>(target->values.size()) : 0;
      for (const Spread& piece : pieces) room += static_cast<std::int64_t>(piece[device].values.size());
      buffers[device] = std::max(buffers[device], room);
    }
    for (std::size_t s = 0; s < streams.size(); ++s) {
      if (!is_input(streams[s])) take(mesh, streams[s], time, terms, wires[s], pieces[s]);
    }
  }
  for (std::size_t s = 0; s < streams.size(); ++s) streams[s].tally = wires[s].tally();
  return {};
}

}  // namespace einflow::cluster::devices
