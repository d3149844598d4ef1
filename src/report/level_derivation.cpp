#include "report/level_derivation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cost/figures.hpp"
#include "cost/time.hpp"
#include "movement/movement.hpp"

namespace einflow {

namespace {

/// A sum in names and in values; terms of zero are left out of both.
struct Sum {
  std::string names;
  std::string values;

  void add(const std::string& name, Count value) {
    if (value == Count(0)) return;
    names += (names.empty() ? "" : " + ") + name;
    values += (values.empty() ? "" : " + ") + value.str();
  }
  void add_product(const std::string& name, const std::string& factor, const std::string& value) {
    names += (names.empty() ? "" : " + ") + name;
    values += (values.empty() ? "" : " + ") + factor + " * " + value;
  }
  bool empty() const { return values.empty(); }
};

std::string exact(const Ratio& ratio) {
  if (ratio.is_whole()) return ratio.numerator().str();
  return fmt::format("({} / {})", ratio.numerator().str(), ratio.denominator().str());
}

class LevelDeriver {
 public:
  LevelDeriver(const Spec& spec, const Counts& counts) : spec_(spec), counts_(counts) {}

  void level(const LevelCost& cost, const BusiestInstance* busiest, const std::vector<AccessCounts>& accesses) {
    level_ = spec_.machine.level_name(cost.level);
    storage_ = spec_.machine.storage(cost.level);
    Sum read, written, held;
    for (const TensorTraffic& traffic : cost.tensors) {
      const std::string& tensor = spec_.einsum.tensors[static_cast<std::size_t>(traffic.tensor)].name;
      const std::string bits = element_bits(spec_, traffic.tensor).str();
      elements(cost.level, traffic, tensor);
      read.add_product(fmt::format("reads of {0} * bits of {0}", tensor), traffic.reads.str(), bits);
      written.add_product(fmt::format("writes of {0} * bits of {0}", tensor), traffic.writes.str(), bits);
      const HoldCounts& own = counts_of(counts_, traffic.tensor, hold_at(spec_.mapping, traffic.tensor, cost.level));
      held.add_product(fmt::format("tile of {0} * bits of {0}", tensor), own.tile_elements.str(), bits);
    }
    if (read.empty()) return;
    put("bytes_read", cost.bytes_read, "(" + read.names + ") / 8", "(" + read.values + ") / 8");
    put("bytes_written", cost.bytes_written, "(" + written.names + ") / 8", "(" + written.values + ") / 8");
    const char* twice = storage_->double_buffered ? " * 2 / 8" : " / 8";
    put("occupancy_bytes", cost.occupancy_bytes, "(" + held.names + ")" + twice, "(" + held.values + ")" + twice);
    if (cost.cycles && busiest != nullptr) cycles(cost, *busiest);
    if (cost.energy_picojoules) energy(cost, accesses);
  }

  void compute(const TimeCost& time) {
    level_ = spec_.machine.level_name(spec_.machine.compute_level());
    const std::optional<Count> step = cycles_per_step(spec_);
    if (time.compute && step) {
      put("cycles", *time.compute, "steps * cycles of a step", time.steps.str() + " * " + step->str());
    }
  }

  std::vector<LevelDerivation> result;

 private:
  void put(std::string quantity, std::variant<Count, Ratio, double> value, std::string symbolic, std::string formula) {
    result.push_back({level_, std::move(quantity), value, std::move(symbolic), std::move(formula)});
  }

  void elements(int level, const TensorTraffic& traffic, const std::string& tensor) {
    const int hold = hold_at(spec_.mapping, traffic.tensor, level);
    const HoldCounts& own = counts_of(counts_, traffic.tensor, hold);
    const HoldCounts& child = counts_of(counts_, traffic.tensor, hold + 1);
    const auto& holds = spec_.mapping.holds[static_cast<std::size_t>(traffic.tensor)];
    const std::string& inner = spec_.machine.level_name(holds[static_cast<std::size_t>(hold) + 1].level);
    Sum reads, writes;
    reads.add("parent_reads of " + inner, child.parent_reads);
    reads.add("parent_rmw_reads of " + inner, child.parent_rmw_reads);
    reads.add("forwarded", own.forwarded);
    reads.add("drains", own.drains);
    writes.add("fills", own.fills);
    writes.add("parent_updates of " + inner, child.parent_updates);
    if (!reads.empty()) put("reads of " + tensor, traffic.reads, reads.names, reads.values);
    if (!writes.empty()) put("writes of " + tensor, traffic.writes, writes.names, writes.values);
  }

  void cycles(const LevelCost& cost, const BusiestInstance& busiest) {
    const auto port = [](Count bits, const Ratio& bandwidth) {
      return fmt::format("ceil({} / 8 / {})", bits.str(), exact(bandwidth));
    };
    if (storage_->shared_port) {
      if (!storage_->read_bandwidth) return;
      put("cycles", *cost.cycles, "ceil(bits moved by the busiest instance / 8 / bandwidth)",
          port(busiest.moved_bits, *storage_->read_bandwidth));
      return;
    }
    std::string names, values;
    const auto direction = [&](const char* verb, Count bits, const std::optional<Ratio>& bandwidth) {
      if (!bandwidth) return;
      names += fmt::format("{}ceil(bits {} by the busiest instance / 8 / bandwidth)", names.empty() ? "" : ", ", verb);
      values += (values.empty() ? "" : ", ") + port(bits, *bandwidth);
    };
    direction("read", busiest.read_bits, storage_->read_bandwidth);
    direction("written", busiest.written_bits, storage_->write_bandwidth);
    const bool both = storage_->read_bandwidth && storage_->write_bandwidth;
    put("cycles", *cost.cycles, both ? "max(" + names + ")" : names, both ? "max(" + values + ")" : values);
  }

  void energy(const LevelCost& cost, const std::vector<AccessCounts>& accesses) {
    Sum sum;
    for (const TensorTraffic& traffic : cost.tensors) {
      const std::string& tensor = spec_.einsum.tensors[static_cast<std::size_t>(traffic.tensor)].name;
      AccessCounts counted;
      for (const AccessCounts& entry : accesses) {
        if (entry.level == cost.level && entry.tensor == traffic.tensor) counted = entry;
      }
      const auto part = [&](const char* verb, const std::optional<AccessEnergy>& energy, Count elements, Count access) {
        if (!energy) return;
        const Count bits = elements * element_bits(spec_, traffic.tensor);
        const std::string each = fmt::format("{}", energy->picojoules);
        switch (energy->per) {
          case AccessEnergy::Per::byte:
            return sum.add_product(fmt::format("bytes of {} {} * pJ/B", tensor, verb), bits.str() + " / 8", each);
          case AccessEnergy::Per::element:
            return sum.add_product(fmt::format("elements of {} {} * pJ", tensor, verb), elements.str(), each);
          case AccessEnergy::Per::access:
            return sum.add_product(fmt::format("accesses of {} {} * pJ", tensor, verb), access.str(), each);
        }
      };
      part("read", storage_->read_energy, traffic.reads, counted.reads);
      part("written", storage_->write_energy, traffic.writes, counted.writes);
    }
    put("energy_pj", *cost.energy_picojoules, sum.names, sum.values);
  }

  const Spec& spec_;
  const Counts& counts_;
  std::string level_;
  const Storage* storage_ = nullptr;
};

}  // namespace

Result<std::vector<LevelDerivation>> derive_levels(const Spec& spec, const Counts& counts, const Cost& cost) {
  const auto busiest = busiest_instances(spec);
  if (!busiest) return tl::unexpected(busiest.error());
  const auto accesses = access_counts(spec);
  if (!accesses) return tl::unexpected(accesses.error());
  LevelDeriver deriver(spec, counts);
  for (const LevelCost& level : cost.levels) {
    const auto found = std::find_if(busiest->begin(), busiest->end(),
                                    [&](const BusiestInstance& entry) { return entry.level == level.level; });
    deriver.level(level, found == busiest->end() ? nullptr : &*found, *accesses);
  }
  deriver.compute(cost.time);
  return std::move(deriver.result);
}

}  // namespace einflow
