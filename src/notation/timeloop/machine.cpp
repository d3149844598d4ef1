#include "notation/timeloop/machine.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::timeloop {

namespace {

/// Words that fit: with multiple buffering the room of one of the buffers.
Count room_of(const Unit& unit, bool double_buffered) {
  if (double_buffered) return *unit.words;
  const Ratio words = Ratio(*unit.words) / unit.multiple_buffering;
  if (words.overflowed()) return Count::overflow();
  return Count(words.numerator().value() / words.denominator().value());
}

/// Names of meshes are unique among the levels.
std::string fresh_name(std::string name, const Architecture& architecture, const Machine& machine) {
  const auto taken = [&] {
    return machine.level_named(name) >= 0 ||
           std::any_of(architecture.stages.begin(), architecture.stages.end(), [&](const Stage& stage) {
             const auto* unit = std::get_if<Unit>(&stage);
             return unit != nullptr && !unit->dummy && unit->name == name;
           });
  };
  while (taken()) name += "_";
  return name;
}

class MachineBuilder {
 public:
  MachineBuilder(const Architecture& architecture, const std::map<std::string, ActionEnergies>& energies,
                 const Directives* directives, bool link_transfers, Findings& findings)
      : architecture_(architecture),
        energies_(energies),
        directives_(directives),
        link_transfers_(link_transfers),
        findings_(findings),
        errors_(findings.errors),
        word_(std::get<Unit>(architecture.stages.front()).word_bits) {}

  MachineOfStages build() {
    Machine& machine = built_.machine;
    machine.name = architecture_.name;
    machine.clock_stated = true;
    if (architecture_.cycle_seconds) {
      machine.clock_hz = Ratio(Count(1)) / *architecture_.cycle_seconds;
    } else {
      assume(findings_, "clock: not stated, so 1 GHz, as in Timeloop's own GFLOPs");
    }
    for (std::size_t i = 0; i < architecture_.stages.size(); ++i) {
      const Stage& stage = architecture_.stages[i];
      std::optional<Level> level;
      if (const auto* fan_out = std::get_if<FanOut>(&stage)) {
        level = mesh(*fan_out, i);
      } else if (const Unit& unit = std::get<Unit>(stage); unit.compute) {
        level = compute(unit);
      } else if (!leaves_only_its_mesh(i)) {
        level = storage(unit, i);
      }
      built_.levels.push_back(level ? static_cast<int>(machine.levels.size()) : -1);
      if (level) machine.levels.push_back(std::move(*level));
    }
    tell_meshes();
    tell_energies();
    return std::move(built_);
  }

 private:
  bool leaves_only_its_mesh(std::size_t stage) const {
    const Unit& unit = std::get<Unit>(architecture_.stages[stage]);
    if (!unit.dummy || stage == 0) return false;
    if (directives_ == nullptr) return true;
    const std::vector<bool>& keeps = directives_->keeps[stage];
    return std::none_of(keeps.begin(), keeps.end(), [](bool keep) { return keep; });
  }

  Mesh mesh(const FanOut& fan_out, std::size_t stage) {
    Mesh mesh;
    mesh.name = fan_out.mesh;
    if (mesh.name.empty()) {
      // A dummy storage is there for its fan-out, which is called after it; any other has a mesh below it.
      mesh.name = leaves_only_its_mesh(stage - 1) ? fan_out.target : fan_out.target + "_mesh";
    }
    mesh.name = fresh_name(mesh.name, architecture_, built_.machine);
    if (fan_out.x > 1) mesh.axes.push_back({"x", fan_out.x});
    if (fan_out.y > 1) mesh.axes.push_back({"y", fan_out.y});
    mesh.multicast = mesh.reduction = true;
    mesh.forwarding = link_transfers_;
    return mesh;
  }

  Compute compute(const Unit& unit) {
    Compute level;
    level.name = unit.name;
    level.rate[""] = Ratio(Count(1));
    const auto found = energies_.find(unit.name);
    if (found != energies_.end() && found->second.compute) level.energy[""] = found->second.compute->to_double();
    assume(findings_, fmt::format("{}: one operation per cycle and instance", unit.name));
    return level;
  }

  Storage storage(const Unit& unit, std::size_t stage) {
    Storage level;
    level.name = unit.name;
    level.double_buffered = unit.multiple_buffering == Ratio(Count(2));
    if (unit.words) {
      const Count room = room_of(unit, level.double_buffered);
      if (!room.overflowed() && room < Count(1)) {
        add_error(unit, fmt::format("{} has no room for a word in each of its buffers", in_quotes(unit.name)));
      }
      level.capacity_bits = room * Count(word_);
      if (level.capacity_bits->overflowed()) add_error(unit, fmt::format("{} is too large", in_quotes(unit.name)));
      if (!level.double_buffered && !(unit.multiple_buffering == Ratio(Count(1)))) {
        assume(findings_,
               fmt::format("{}: the capacity is that of one of its buffers, {} words", unit.name, room.str()));
      }
    }
    if (unit.word_bits != word_) {
      assume(findings_, fmt::format("{}: words of {} bit count as words of {} bit, as many fit and move", unit.name,
                                    unit.word_bits, word_));
    }
    const Ratio bytes = Ratio(Count(word_), Count(8));
    if (unit.shared_bandwidth) {
      level.shared_port = true;
      level.read_bandwidth = *unit.shared_bandwidth * bytes;
    } else {
      if (unit.read_bandwidth) level.read_bandwidth = *unit.read_bandwidth * bytes;
      if (unit.write_bandwidth) level.write_bandwidth = *unit.write_bandwidth * bytes;
    }
    for (const auto& figure : {level.read_bandwidth, level.write_bandwidth}) {
      if (figure && figure->overflowed())
        add_error(unit, fmt::format("a bandwidth of {} is too large", in_quotes(unit.name)));
    }
    set_energies(unit, stage, level);
    return level;
  }

  /// Instances that share one access: those in use over the clusters in use, which Timeloop takes for all that there
  /// are as long as there are instances for them.
  Ratio sharing(const Unit& unit, std::size_t stage) {
    if (unit.cluster == 1) return Ratio(Count(1));
    Count all = 1, used = 1;
    for (std::size_t i = 0; i < stage; ++i) {
      const auto* fan_out = std::get_if<FanOut>(&architecture_.stages[i]);
      if (fan_out == nullptr) continue;
      all *= Count(fan_out->x) * Count(fan_out->y);
      if (directives_ == nullptr) continue;
      for (const Factor& factor : directives_->loops[i]) used *= factor.bound;
    }
    if (directives_ == nullptr) used = all;
    const Count clusters = std::min(ceil_div(all, Count(unit.cluster)), used);
    if (all.overflowed() || used.overflowed()) return Ratio(Count(1));
    assume(findings_, fmt::format("{}: {} instances share an access; for {} in use there are {}", unit.name,
                                  unit.cluster, used.str(), clusters.str()));
    return Ratio(used, clusters);
  }

  /// Per word: an access moves a block of words, and is shared by the instances of a cluster.
  void set_energies(const Unit& unit, std::size_t stage, Storage& level) {
    ActionEnergies energies;
    const auto found = energies_.find(unit.name);
    if (found != energies_.end()) energies = found->second;
    if (unit.access_energy) energies.read = energies.fill = energies.update = unit.access_energy;
    if (!energies.read && !energies.fill) return;
    const Ratio share = Ratio(Count(unit.block)) * sharing(unit, stage);
    const auto per_word = [&](const Ratio& access) {
      const Ratio energy = access / share;
      if (energy.overflowed())
        add_error(unit, fmt::format("an energy of {} has too many digits", in_quotes(unit.name)));
      return AccessEnergy{energy.to_double(), AccessEnergy::Per::element};
    };
    if (energies.read) level.read_energy = per_word(*energies.read);
    if (energies.fill) level.write_energy = per_word(*energies.fill);
    if (energies.fill && energies.update && !(*energies.fill == *energies.update)) dear_updates_.push_back(unit.name);
    stated_ = true;
    if (unit.block > 1) blocks_.push_back(unit.name);
  }

  void tell_energies() {
    if (!stated_) {
      assume(findings_, "energies: not given; Timeloop's built-in table is not taken");
      return;
    }
    assume(findings_, "energies: of the ERT, per word; a write costs what a fill does there");
    if (!dear_updates_.empty()) {
      assume(findings_, fmt::format("{}: updates have another energy in the ERT; writes take the fill's",
                                    comma_list(dear_updates_)));
    }
    if (!blocks_.empty()) {
      assume(findings_, fmt::format("{}: energy of an access spread over its words, not rounded", comma_list(blocks_)));
    }
  }

  void tell_meshes() {
    std::vector<std::string> names;
    for (const Level& level : built_.machine.levels) {
      if (const auto* mesh = std::get_if<Mesh>(&level)) names.push_back(mesh->name);
    }
    if (names.empty()) return;
    assume(findings_, fmt::format("{}: multicast, reduction; {}", comma_list(names),
                                  link_transfers_ ? "forwarding for link transfers"
                                                  : "link transfers with --set link_transfers=true"));
  }

  void add_error(const Unit& unit, std::string message) {
    errors_.push_back({unit.span, std::move(message), {}, architecture_.source});
  }

  const Architecture& architecture_;
  const std::map<std::string, ActionEnergies>& energies_;
  const Directives* directives_;
  const bool link_transfers_;
  Findings& findings_;
  Diagnostics& errors_;
  const std::int64_t word_;
  MachineOfStages built_;
  bool stated_ = false;
  std::vector<std::string> dear_updates_;
  std::vector<std::string> blocks_;
};

}  // namespace

ElementType word_type(std::int64_t bits) {
  for (const std::string& name : {fmt::format("int{}", bits), fmt::format("{}-bit", bits)}) {
    if (auto type = find_element_type(name)) return *type;
  }
  return {};
}

MachineOfStages machine_of(const Architecture& architecture, const std::map<std::string, ActionEnergies>& energies,
                           const Directives* directives, bool link_transfers, Findings& findings) {
  return MachineBuilder(architecture, energies, directives, link_transfers, findings).build();
}

std::vector<NestLine> nest_of(const Directives& directives, const MachineOfStages& built, const Einsum& einsum) {
  std::vector<NestLine> lines;
  // The tile inside a loop is the product of the bounds of its dimension further in.
  std::vector<Count> inside(einsum.ranks.size(), Count(1));
  std::vector<std::vector<Count>> tiles(directives.loops.size());
  for (std::size_t stage = directives.loops.size(); stage-- > 0;) {
    const auto& loops = directives.loops[stage];
    tiles[stage].resize(loops.size());
    for (std::size_t i = loops.size(); i-- > 0;) {
      Count& product = inside[static_cast<std::size_t>(loops[i].rank)];
      tiles[stage][i] = product;
      product *= loops[i].bound;
    }
  }
  std::vector<Count> left;
  for (const Rank& rank : einsum.ranks) left.emplace_back(rank.extent);
  for (std::size_t stage = 0; stage < directives.loops.size(); ++stage) {
    const int level_index = built.levels[stage];
    const std::string level = level_index < 0 ? "" : built.machine.level_name(level_index);
    if (level_index > 0 && built.machine.storage(level_index) != nullptr) {
      NestLine hold;
      hold.kind = NestLine::Kind::at;
      hold.level = {level, {}};
      for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
        if (directives.keeps[stage][t]) hold.tensors.push_back({einsum.tensors[t].name, {}});
      }
      if (!hold.tensors.empty()) lines.push_back(std::move(hold));
    }
    for (std::size_t i = 0; i < directives.loops[stage].size(); ++i) {
      const Factor& factor = directives.loops[stage][i];
      const auto rank = static_cast<std::size_t>(factor.rank);
      const Count& tile = tiles[stage][i];
      if (!tile.overflowed() && left[rank] > tile) {
        NestLine loop;
        const bool spatial = level_index >= 0 && built.machine.mesh(level_index) != nullptr;
        loop.kind = spatial ? NestLine::Kind::spatial : NestLine::Kind::temporal;
        loop.span = loop.number_span = factor.span;
        loop.ranks.push_back({einsum.ranks[rank].name, factor.span});
        loop.number = *tile.to_int64();
        if (spatial) {
          loop.mesh = {level, factor.span};
          loop.axis = {factor.y ? "y" : "x", factor.span};
        }
        lines.push_back(std::move(loop));
        left[rank] = tile;
      }
    }
  }
  return lines;
}

}  // namespace einflow::timeloop
