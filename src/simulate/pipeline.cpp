#include "simulate/pipeline.hpp"

#include <algorithm>

#include "mapping/atomic.hpp"

namespace einflow::execution {

namespace {

Count cycles_of_a_step(const Spec& spec) {
  const Compute& compute = spec.machine.compute();
  if (!executes(compute, spec.einsum)) return 1;  // no unit for it is stated: a step is one cycle
  Count operations = 1;
  for (const auto& [rank, extent] : compute.atomic) operations *= Count(extent);
  const ElementType* widest = nullptr;
  for (int t = 0; t < spec.einsum.output(); ++t) {
    const ElementType& type = spec.einsum.tensors[static_cast<std::size_t>(t)].type;
    if (!widest || type.bits > widest->bits) widest = &type;
  }
  const std::optional<Ratio> rate = figure_for(compute.rate, widest ? widest->name : std::string());
  return (Ratio(operations) / rate.value_or(Ratio(Count(1)))).ceil();
}

}  // namespace

Pipeline::Pipeline(const Spec& spec) : machine_(spec.machine), step_cycles_(cycles_of_a_step(spec)) {
  for (int level = 1; level < spec.machine.compute_level(); ++level) {
    const Storage* storage = spec.machine.storage(level);
    if (!storage) continue;
    Stage stage;
    stage.level = level;
    stage.buffers = storage->double_buffered ? 2 : 1;
    stage.shared_port = storage->shared_port;
    bool holds_anything = false;
    for (const std::vector<Hold>& holds : spec.mapping.holds) {
      for (std::size_t h = 1; h < holds.size(); ++h) {
        if (holds[h].level != level) continue;
        holds_anything = true;
        stage.depth = std::max(stage.depth, holds[h].depth);
        if (spec.machine.storage(holds[h - 1].level)->shared_port) stage.shared_port = true;
      }
    }
    if (holds_anything) stages_.push_back(std::move(stage));
  }
  std::stable_sort(stages_.begin(), stages_.end(), [](const Stage& a, const Stage& b) { return a.depth < b.depth; });
}

Pipeline::Stage* Pipeline::stage_of(int level) {
  const auto found = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& s) { return s.level == level; });
  return found == stages_.end() ? nullptr : &*found;
}

void Pipeline::count(std::vector<Port>& ports, int level, std::int64_t instance, Count bits, bool reads) {
  auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.level == level; });
  if (port == ports.end()) {
    const Storage& storage = *machine_.storage(level);
    ports.push_back({level, reads || storage.shared_port ? storage.read_bandwidth : storage.write_bandwidth, {}});
    port = std::prev(ports.end());
  }
  if (!port->bandwidth) return;
  const auto place = static_cast<std::size_t>(instance);
  if (place >= port->bits.size()) port->bits.resize(place + 1);
  port->bits[place] += bits;
}

void Pipeline::load(int level, std::int64_t instance, Count bits) {
  if (Stage* stage = stage_of(level)) count(stage->load_ports, level, instance, bits, /*reads=*/false);
}
void Pipeline::load_from(int level, int parent, std::int64_t instance, Count bits) {
  if (Stage* stage = stage_of(level)) count(stage->load_ports, parent, instance, bits, /*reads=*/true);
}
void Pipeline::drain(int level, std::int64_t instance, Count bits) {
  if (Stage* stage = stage_of(level)) count(stage->drain_ports, level, instance, bits, /*reads=*/true);
}
void Pipeline::drain_to(int level, int parent, std::int64_t instance, Count bits) {
  if (Stage* stage = stage_of(level)) count(stage->drain_ports, parent, instance, bits, /*reads=*/false);
}

/// Cycles until the busiest port is done; empties the ports.
Count Pipeline::longest(std::vector<Port>& ports) {
  Count cycles = 0;
  for (Port& port : ports) {
    if (port.bits.empty()) continue;
    const Count busiest = *std::max_element(port.bits.begin(), port.bits.end());
    cycles = std::max(cycles, (Ratio(busiest, Count(8)) / *port.bandwidth).ceil());
    std::fill(port.bits.begin(), port.bits.end(), Count(0));
  }
  return cycles;
}

void Pipeline::begin_tile(std::size_t s) {
  Stage& stage = stages_[s];
  const auto j = stage.tiles++;
  Count start = stage.load_end;
  if (s > 0) start = std::max(start, stages_[s - 1].load_end);
  if (j >= stage.buffers) start = std::max(start, stage.free[static_cast<std::size_t>((j - stage.buffers) % 2)]);
  if (stage.shared_port) start = std::max(start, stage.drain_end);
  stage.load_end = start + longest(stage.load_ports);
  if (stage.drain_waits) drain_tile(stage, stage.waiting_drain);
  if (s + 1 == stages_.size()) compute_end_ = std::max(stage.load_end, compute_end_);
}

void Pipeline::end_tile(std::size_t s, bool next_in_same_enclosing) {
  Stage& stage = stages_[s];
  stage.work_end = s + 1 == stages_.size() ? compute_end_ : stages_[s + 1].drain_end;
  const Count cycles = longest(stage.drain_ports);
  if (stage.shared_port && stage.buffers == 2 && next_in_same_enclosing) {
    stage.drain_waits = true;
    stage.waiting_drain = cycles;
  } else {
    drain_tile(stage, cycles);
  }
}

/// Drains the last tile whose work has ended. Where its drain has waited, the tile after it has begun already.
void Pipeline::drain_tile(Stage& stage, Count cycles) {
  const auto j = stage.tiles - (stage.drain_waits ? 2 : 1);
  Count start = std::max(stage.work_end, stage.drain_end);
  if (stage.shared_port) start = std::max(start, stage.load_end);
  stage.drain_end = start + cycles;
  stage.free[static_cast<std::size_t>(j % 2)] = stage.drain_end;
  stage.drain_waits = false;
}

void Pipeline::begin_tiles(int depth) {
  for (std::size_t s = stages_.size(); s-- > 0;) {
    if (stages_[s].depth < depth || stages_[s].tiles == 0) continue;
    end_tile(s, s == 0 || stages_[s - 1].depth < depth);
  }
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].depth >= depth) begin_tile(s);
  }
}

void Pipeline::step() { compute_end_ += step_cycles_; }

Count Pipeline::finish() {
  for (std::size_t s = stages_.size(); s-- > 0;) end_tile(s, /*next_in_same_enclosing=*/false);
  return stages_.empty() ? compute_end_ : stages_.front().drain_end;
}

}  // namespace einflow::execution
