#include "notation/timeloop/machine_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/timeloop/text.hpp"

namespace einflow::timeloop {

namespace {

constexpr std::int64_t kMostWords = (std::int64_t{1} << 32) - 1;

class MachineWriter {
 public:
  MachineWriter(const PlannedMachine& planned, Writing& writing, Diagnostics& errors)
      : planned_(planned), machine_(planned.machine), writing_(writing), errors_(errors) {}

  void write_architecture() {
    const std::string name = machine_name(), seconds = cycle();
    if (!machine_.source.empty() || !machine_.notes.empty()) left_out("the source and the notes of the machine");
    std::string& text = writing_.text;
    text += fmt::format("architecture:\n  version: {}\n", planned_.nodes ? "0.4" : "0.3");
    const std::string attributes = seconds.empty() ? "" : fmt::format("    attributes: {{{}}}\n", seconds);
    text += planned_.nodes ? "  nodes:\n  - !Container\n" : "  subtree:\n";
    text += fmt::format("  {} name: {}\n{}", planned_.nodes ? " " : "-", word(name), attributes);
    if (!planned_.nodes) text += "    local:\n";
    std::int64_t x = 1, y = 1;
    for (std::size_t i = 0; i < planned_.plan.stages.size(); ++i) {
      if (const auto* mesh = std::get_if<PlannedMesh>(&planned_.plan.stages[i])) {
        x *= mesh->x;
        y *= mesh->y;
        if (planned_.nodes) {
          text += fmt::format("  - !Container\n    name: {}\n    spatial: {{{}}}\n", word(planned_.names[i]),
                              axes_of(*mesh));
        }
        if (!mesh->mesh->source.empty()) left_out(fmt::format("{}: the source of its figures", mesh->mesh->name));
        continue;
      }
      const Storage* storage = std::get<PlannedStorage>(planned_.plan.stages[i]).storage;
      const std::string type = storage == nullptr ? "dummy_storage" : class_of(*storage, i == 0);
      std::string figures = storage == nullptr
                                ? (planned_.nodes ? "datawidth: 1, width: 1, depth: 1" : "word_bits: 1, entries: 1")
                                : storage_attributes(*storage);
      // In space a DRAM adds nothing up unless it says so; only the network's own counts depend on it.
      if (type == "DRAM" && i > 0) figures += ", reduction_supported: true";
      write_component(planned_.names[i], type, figures, x, y);
    }
    write_component(machine_.compute().name, "intmac", fmt::format("datawidth: {}", planned_.bits), x, y);
  }

  void write_energies() {
    std::string tables;
    for (const Level& level : machine_.levels) {
      const auto* storage = std::get_if<Storage>(&level);
      if (storage == nullptr || (!storage->read_energy && !storage->write_energy)) continue;
      tables += fmt::format("  - name: {}\n    actions:\n", word(storage->name));
      // Blocks have been told where the architecture was written.
      const std::int64_t words = words_of_access(*storage);
      if (storage->read_energy) tables += action("read", energy_text(*storage->read_energy, words));
      if (storage->write_energy) {
        const std::string energy = energy_text(*storage->write_energy, words);
        tables += action("write", energy) + action("update", energy);
      }
      for (const auto& energy : {storage->read_energy, storage->write_energy}) {
        if (!energy || energy->per != AccessEnergy::Per::byte) continue;
        writing_.conventions.push_back(
            fmt::format("{}: its energies per byte are those of words of {} bit", storage->name, planned_.bits));
        break;
      }
    }
    if (planned_.operation_energy) {
      tables += fmt::format("  - name: {}\n    actions:\n", word(machine_.compute().name)) +
                action("compute", fmt::format("{}", *planned_.operation_energy));
    }
    if (tables.empty()) {
      writing_.conventions.emplace_back("without energies Timeloop takes its built-in table");
      return;
    }
    writing_.text += fmt::format("ERT:\n  version: {}\n  tables:\n", planned_.nodes ? "0.4" : "0.3") + tables;
  }

 private:
  void error(std::string message) { errors_.push_back({{}, std::move(message), {}, {}}); }
  void left_out(std::string what) { writing_.left_out.push_back(std::move(what)); }

  /// "{word_bits: 16, ...}" in the words of the version.
  std::string storage_attributes(const Storage& storage) {
    const char* width = planned_.nodes ? "datawidth" : "word_bits";
    std::vector<std::string> all{fmt::format("{}: {}", width, planned_.bits)};
    const std::int64_t block = block_of(storage);
    if (planned_.nodes) {
      all.push_back(fmt::format("width: {}", planned_.bits * block));
    } else {
      all.push_back(fmt::format("block_size: {}", block));
    }
    if (storage.capacity_bits) all.push_back(size_of(storage, block));
    const auto bandwidth = [&](const char* name, const Ratio& bytes) {
      const std::string words = exact_decimal(bytes * Ratio(Count(8), Count(planned_.bits)));
      if (words.empty()) {
        error(fmt::format("a bandwidth of {}, {}/{} B per cycle, is no finite decimal of words of {} bit",
                          in_quotes(storage.name), bytes.numerator().str(), bytes.denominator().str(), planned_.bits));
      }
      all.push_back(fmt::format("{}: {}", name, words));
    };
    if (storage.shared_port && storage.read_bandwidth) {
      bandwidth("shared_bandwidth", *storage.read_bandwidth);
    } else {
      if (storage.read_bandwidth) bandwidth("read_bandwidth", *storage.read_bandwidth);
      if (storage.write_bandwidth) bandwidth("write_bandwidth", *storage.write_bandwidth);
    }
    if (storage.double_buffered) all.emplace_back("multiple_buffering: 2");
    if (!storage.source.empty()) left_out(fmt::format("{}: the source of its figures", storage.name));
    return joined(all, ", ");
  }

  /// Words of an access: more than one where its energy is per access.
  std::int64_t block_of(const Storage& storage) {
    const auto per_access = [](const std::optional<AccessEnergy>& energy) {
      return energy && energy->per == AccessEnergy::Per::access;
    };
    if (!per_access(storage.read_energy) && !per_access(storage.write_energy)) {
      if (storage.access_bits)
        left_out(fmt::format("{}: the width of its accesses; no energy is per access", storage.name));
      return 1;
    }
    const Count access = storage.access_bits.value_or(Count(planned_.bits));
    const bool whole = access.value() % planned_.bits == 0;
    if (!whole) {
      error(fmt::format("an access of {} moves {} bit, which is no whole number of words of {} bit",
                        in_quotes(storage.name), access.str(), planned_.bits));
      return 1;
    }
    if (per_access(storage.read_energy) != per_access(storage.write_energy) && storage.read_energy &&
        storage.write_energy) {
      error(fmt::format("{} has one energy per access and one per element or byte", in_quotes(storage.name)));
    }
    left_out(fmt::format("{}: whole accesses of each transfer; Timeloop rounds the sum", storage.name));
    const auto block = Count(access.value() / planned_.bits).to_int64();
    return block ? *block : 1;
  }

  std::string size_of(const Storage& storage, std::int64_t block) {
    const Count bits = *storage.capacity_bits;
    const Count words = bits.value() / planned_.bits;
    if (!(words * Count(planned_.bits) == bits)) {
      error(fmt::format("{} has room for {} bit, which is no whole number of words of {} bit", in_quotes(storage.name),
                        bits.str(), planned_.bits));
    }
    if (words <= Count(kMostWords)) {
      const bool deep = planned_.nodes && words.value() % block == 0;
      return deep ? fmt::format("depth: {}", Count(words.value() / block).str())
                  : fmt::format("entries: {}", words.str());
    }
    const Count kilobytes = bits.value() / 8192;
    if (!(kilobytes * Count(8192) == bits) || kilobytes > Count(kMostWords)) {
      error(fmt::format("{} has room for {} words, which is more than Timeloop reads", in_quotes(storage.name),
                        words.str()));
    }
    return fmt::format("sizeKB: {}", kilobytes.str());
  }

  /// Timeloop asks for the size of a storage that is no DRAM.
  static const char* class_of(const Storage& storage, bool outermost) {
    return outermost || !storage.capacity_bits ? "DRAM" : "SRAM";
  }

  std::string machine_name() {
    std::string name;
    for (const char c : machine_.name) {
      const bool plain =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
      name += plain ? c : '_';
    }
    if (name.empty() || name[0] == '-' || (name[0] >= '0' && name[0] <= '9')) name = "System" + name;
    while (std::find(planned_.names.begin(), planned_.names.end(), name) != planned_.names.end() ||
           machine_.level_named(name) >= 0)
      name += "_";
    if (name != machine_.name) {
      left_out(fmt::format("the name of the machine, {}, which is {}", in_quotes(machine_.name), name));
    }
    return name;
  }

  /// "global_cycle_seconds: 0.000000001", or nothing.
  std::string cycle() {
    if (!machine_.clock_stated) {
      left_out("that no clock is stated; without one it is read as 1 GHz");
      return {};
    }
    const std::string seconds = exact_decimal(Ratio(Count(1)) / machine_.clock_hz);
    if (seconds.empty()) left_out("the clock: its cycle is no finite decimal; it is read as 1 GHz");
    return seconds.empty() ? seconds : "global_cycle_seconds: " + seconds;
  }

  static std::string axes_of(const PlannedMesh& mesh) {
    std::vector<std::string> axes;
    if (mesh.x > 1) axes.push_back(fmt::format("meshX: {}", mesh.x));
    if (mesh.y > 1) axes.push_back(fmt::format("meshY: {}", mesh.y));
    return joined(axes, ", ");
  }

  void write_component(const std::string& name, const std::string& type, const std::string& figures, std::int64_t x,
                       std::int64_t y) {
    if (planned_.nodes) {
      writing_.text += fmt::format("  - !Component\n    name: {}\n    class: {}\n    attributes: {{{}}}\n", word(name),
                                   type, figures);
      return;
    }
    const std::string instances = x * y == 1 ? "" : fmt::format("[0..{}]", x * y - 1);
    writing_.text += fmt::format("    - name: {}\n      class: {}\n      attributes: {{{}, meshX: {}, meshY: {}}}\n",
                                 instances.empty() ? word(name) : name + instances, type, figures, x, y);
  }

  /// Picojoules of an access of `words` words.
  std::string energy_text(const AccessEnergy& energy, std::int64_t words) const {
    switch (energy.per) {
      case AccessEnergy::Per::access:
        return fmt::format("{}", energy.picojoules);
      case AccessEnergy::Per::element:
        return fmt::format("{}", energy.picojoules * static_cast<double>(words));
      case AccessEnergy::Per::byte:
        return fmt::format("{}", energy.picojoules * static_cast<double>(words * planned_.bits) / 8);
    }
    return {};
  }

  std::int64_t words_of_access(const Storage& storage) const {
    for (const auto& energy : {storage.read_energy, storage.write_energy}) {
      if (!energy || energy->per != AccessEnergy::Per::access) continue;
      return Count(storage.access_bits.value_or(Count(planned_.bits)).value() / planned_.bits).to_int64().value_or(1);
    }
    return 1;
  }

  static std::string action(const char* name, const std::string& energy) {
    return fmt::format("    - {{name: {}, arguments: {{}}, energy: {}}}\n", name, energy);
  }

  const PlannedMachine& planned_;
  const Machine& machine_;
  Writing& writing_;
  Diagnostics& errors_;
};

}  // namespace

void write_architecture(const PlannedMachine& planned, Writing& writing, Diagnostics& errors) {
  MachineWriter(planned, writing, errors).write_architecture();
}

void write_energies(const PlannedMachine& planned, Writing& writing) {
  Diagnostics none;
  MachineWriter(planned, writing, none).write_energies();
}

}  // namespace einflow::timeloop
