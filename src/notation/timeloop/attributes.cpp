#include "notation/timeloop/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/fields.hpp"

namespace einflow::timeloop {

namespace {

// Which words stand for what: Timeloop commit 4cf6d4c, its storage and arithmetic models.
const std::vector<std::string> kWord{"word_bits", "word_width", "datawidth"};
const std::vector<std::string> kBlock{"block_size", "n_words"};
const std::vector<std::string> kCluster{"cluster_size"};
const std::vector<std::string> kWidth{"width", "memory_width", "data_storage_width"};
const std::vector<std::string> kDepth{"depth", "memory_depth", "data_storage_depth"};

/// Those that change no count where they are 0, false or empty, and would otherwise.
const std::vector<std::string> kMustBeOff{"network_fill_latency", "network_drain_latency", "allow_overbooking",
                                          "per_dataspace_bandwidth_consumption_scale"};
const std::vector<std::string> kSizes{"entries", "sizeKB"};
const std::vector<std::string> kOthers{
    "read_bandwidth", "write_bandwidth", "shared_bandwidth", "bandwidth", "multiple_buffering", "vector_access_energy",
    "meshX",          "meshY",           "instances"};
/// Energies that Timeloop adds to those of accesses and operations.
const std::vector<std::string> kOtherEnergies{"energy_per_hop", "router_energy", "wire_energy", "adder_energy",
                                              "addr_gen_energy"};

class AttributeReader {
 public:
  AttributeReader(const Attributes& attributes, std::int64_t named_instances, bool in_tree, Unit& unit,
                  Findings& findings)
      : attributes_(attributes),
        named_instances_(named_instances),
        in_tree_(in_tree),
        unit_(unit),
        findings_(findings),
        errors_(findings.errors) {}

  void read() {
    if (const auto bits = whole(kWord, 1)) unit_.word_bits = *bits;
    if (unit_.compute) {
      word_only_ = true;
    } else {
      read_access();
      read_size();
      read_rates();
    }
    if (in_tree_) read_instances();
    tell_others();
  }

 private:
  /// The one of several words that is given. Two that differ are an error.
  const YamlEntry* find(const std::vector<std::string>& words) {
    const YamlEntry* found = nullptr;
    for (const std::string& word : words) {
      for (const YamlEntry* entry : attributes_) {
        if (entry->key.text != word) continue;
        taken_.insert(word);
        if (entry->value.is_null()) continue;
        if (found != nullptr && found->key.text != word && found->value.text != entry->value.text) {
          add_error(errors_, entry->key.span,
                    fmt::format("{} {} and {} {} (line {}) say different things of {}", in_quotes(word),
                                in_quotes(entry->value.text), in_quotes(found->key.text), in_quotes(found->value.text),
                                found->key.span.line, in_quotes(unit_.name)));
        }
        if (found == nullptr) found = entry;
        break;
      }
    }
    return found;
  }

  std::string what(const YamlEntry& entry) const {
    return fmt::format("{} of {}", in_quotes(entry.key.text), in_quotes(unit_.name));
  }

  std::optional<std::int64_t> whole(const std::vector<std::string>& words, std::int64_t minimum) {
    const YamlEntry* entry = find(words);
    return entry == nullptr ? std::nullopt : read_whole(entry->value, what(*entry), minimum, errors_);
  }

  /// A figure above 0.
  std::optional<Ratio> figure(const std::string& word) {
    const YamlEntry* entry = find({word});
    if (entry == nullptr) return std::nullopt;
    auto value = read_decimal(entry->value, what(*entry), errors_);
    if (value && value->numerator() == Count(0)) {
      add_error(errors_, entry->value.span, fmt::format("{} is 0", what(*entry)),
                "leave it out where it is not known or not limited");
      return std::nullopt;
    }
    return value;
  }

  /// Words of an access and instances that share it: from the width where only one of them is given.
  void read_access() {
    const auto block = whole(kBlock, 1), cluster = whole(kCluster, 1), width = whole(kWidth, 1);
    unit_.block = block.value_or(1);
    unit_.cluster = cluster.value_or(1);
    if (!width) return;
    const YamlEntry* entry = find(kWidth);
    const Count parts = Count(unit_.word_bits) * Count(block.value_or(1));
    const Count all = block && cluster ? parts * Count(*cluster) : parts;
    const bool fits = !all.overflowed() && all <= Count(*width) && *width % *all.to_int64() == 0;
    if (!fits || (block && cluster && all != Count(*width))) {
      add_error(
          errors_, entry->value.span,
          fmt::format("the width of {}, {} bit, is not made of its words of {} bit{}", in_quotes(unit_.name), *width,
                      unit_.word_bits, block ? fmt::format(" and its accesses of {} words", *block) : std::string()));
      return;
    }
    if (block && !cluster) unit_.cluster = *width / *parts.to_int64();
    if (!block) unit_.block = std::max<std::int64_t>(1, *width / unit_.word_bits / unit_.cluster);
  }

  void read_size() {
    const YamlEntry *entries = find({"entries"}), *depth = find(kDepth), *kilobytes = find({"sizeKB"});
    const YamlEntry* given = entries != nullptr ? entries : depth != nullptr ? depth : kilobytes;
    if (given == nullptr) return;
    for (const YamlEntry* other : {depth, kilobytes}) {
      if (other == nullptr || other == given) continue;
      add_error(
          errors_, other->key.span,
          fmt::format("{} stands beside {} (line {}); one of them says the size of {}", in_quotes(other->key.text),
                      in_quotes(given->key.text), given->key.span.line, in_quotes(unit_.name)));
      return;
    }
    const auto value = read_whole(given->value, what(*given), 1, errors_);
    if (!value) return;
    Count words = *value;
    if (given == depth) words = words * Count(unit_.block);
    if (given == kilobytes) words = Count((words * Count(8192)).value() / unit_.word_bits);
    if (words == Count(0)) {
      add_error(errors_, given->value.span, fmt::format("{} has no room for a word", in_quotes(unit_.name)));
      return;
    }
    unit_.words = words;
  }

  void read_rates() {
    unit_.read_bandwidth = figure("read_bandwidth");
    unit_.write_bandwidth = figure("write_bandwidth");
    unit_.shared_bandwidth = figure("shared_bandwidth");
    if (const auto both = figure("bandwidth")) {
      assume(findings_, fmt::format("{}: 'bandwidth' is half for reads and half for writes", unit_.name));
      const Ratio half = *both / Ratio(Count(2));
      if (!unit_.read_bandwidth) unit_.read_bandwidth = half;
      if (!unit_.write_bandwidth) unit_.write_bandwidth = half;
    }
    if (unit_.shared_bandwidth && (unit_.read_bandwidth || unit_.write_bandwidth)) {
      add_error(errors_, find({"shared_bandwidth"})->key.span,
                fmt::format("{} has a shared port and one for a direction; einflow has one or the other",
                            in_quotes(unit_.name)));
    }
    if (const auto buffers = figure("multiple_buffering")) {
      unit_.multiple_buffering = *buffers;
      if (*buffers < Ratio(Count(1))) {
        add_error(errors_, find({"multiple_buffering"})->value.span,
                  fmt::format("'multiple_buffering' of {} is below 1", in_quotes(unit_.name)));
      }
    }
    if (const YamlEntry* energy = find({"vector_access_energy"})) {
      unit_.access_energy = read_decimal(energy->value, what(*energy), errors_);
    }
  }

  void read_instances() {
    const auto x = whole({"meshX"}, 1), y = whole({"meshY"}, 1);
    const std::int64_t all = whole({"instances"}, 1).value_or(named_instances_);
    if (x && y) {
      unit_.mesh_x = *x;
      unit_.mesh_y = *y;
    } else if (x) {
      unit_.mesh_x = *x;
      unit_.mesh_y = all / *x;
    } else if (y) {
      unit_.mesh_y = *y;
      unit_.mesh_x = all / *y;
    } else {
      unit_.mesh_x = all;
    }
    if (Count(unit_.mesh_x) * Count(unit_.mesh_y) == Count(all) && unit_.mesh_x > 0 && unit_.mesh_y > 0) return;
    add_error(
        errors_, unit_.span,
        x && y ? fmt::format("{} has {} instances, but meshX and meshY say {} x {}", in_quotes(unit_.name), all, *x, *y)
               : fmt::format("{} has {} instances, which {} = {} does not divide", in_quotes(unit_.name), all,
                             x ? "meshX" : "meshY", x ? *x : *y));
    unit_.mesh_x = unit_.mesh_y = 1;
  }

  /// What no count depends on is left out; what may be a misspelt figure is an error.
  void tell_others() {
    std::vector<std::string> counted = kOthers;
    for (const auto* words : {&kWord, &kBlock, &kCluster, &kWidth, &kDepth, &kSizes}) {
      counted.insert(counted.end(), words->begin(), words->end());
    }
    for (const YamlEntry* entry : attributes_) {
      const std::string& key = entry->key.text;
      if (taken_.count(key) > 0 || !told_.insert(key).second) continue;
      const bool number = entry->value.is_scalar();
      const bool off =
          entry->value.is_null() ||
          (number && (entry->value.text == "0" || entry->value.text == "false" || entry->value.text == "False")) ||
          (!number && entry->value.items.empty() && entry->value.entries.empty());
      const auto is_one_of = [&](const std::vector<std::string>& words) {
        return std::find(words.begin(), words.end(), key) != words.end();
      };
      if (is_one_of(kMustBeOff)) {
        if (off) continue;
        add_error(errors_, entry->key.span, fmt::format("{} is not counted by einflow", what(*entry)),
                  "take it out to count without it");
      } else if (key == "global_cycle_seconds") {
        continue;  // of the whole machine: the architecture reads it
      } else if (is_one_of(kOtherEnergies)) {
        leave_out(findings_, fmt::format("'{}', an energy of the network", key), unit_.name);
      } else if (word_only_ || is_one_of(counted)) {
        leave_out(findings_, fmt::format("'{}'", key), unit_.name);
      } else if (const std::string near = nearest_name(key, counted); !near.empty() && number && !is_known_other(key)) {
        add_error(errors_, entry->key.span, fmt::format("unknown attribute {}", what(*entry)),
                  fmt::format("did you mean {}?", in_quotes(near)));
      } else {
        leave_out(findings_, fmt::format("'{}'", key), unit_.name);
      }
    }
  }

  /// Words of Accelergy's plug-ins that happen to be near a figure's.
  static bool is_known_other(const std::string& key) {
    static const std::vector<std::string> words{"n_banks",
                                                "num_banks",
                                                "n_ports",
                                                "num_ports",
                                                "n_rdwr_ports",
                                                "n_rd_ports",
                                                "n_wr_ports",
                                                "technology",
                                                "type",
                                                "metadata_width",
                                                "metadata_depth",
                                                "metadata_word_bits",
                                                "metadata_datawidth",
                                                "metadata_block_size",
                                                "min_utilization"};
    return std::find(words.begin(), words.end(), key) != words.end();
  }

  const Attributes& attributes_;
  const std::int64_t named_instances_;
  const bool in_tree_;
  Unit& unit_;
  Findings& findings_;
  Diagnostics& errors_;
  bool word_only_ = false;
  std::set<std::string> taken_;
  std::set<std::string> told_;
};

}  // namespace

void read_attributes(const Attributes& attributes, std::int64_t named_instances, bool in_tree, Unit& unit,
                     Findings& findings) {
  AttributeReader(attributes, named_instances, in_tree, unit, findings).read();
}

}  // namespace einflow::timeloop
