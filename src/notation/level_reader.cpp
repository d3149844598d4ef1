#include "notation/level_reader.hpp"

#include <fmt/format.h>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "problem/einsum.hpp"

namespace einflow {
namespace {

const std::vector<Measure> kBandwidth{Measure::bytes_per_cycle, Measure::bytes_per_second};
const std::vector<Measure> kRate{Measure::operations_per_cycle, Measure::operations_per_second};
const std::vector<Measure> kEnergy{Measure::picojoules_per_byte, Measure::picojoules_per_element,
                                   Measure::picojoules_per_access};
const std::vector<Measure> kHopEnergy{Measure::picojoules_per_byte, Measure::picojoules_per_element};

class LevelReader {
 public:
  LevelReader(const YamlNode& node, const Machine& machine, Diagnostics& errors)
      : node_(node), machine_(machine), errors_(errors) {}

  Storage storage(std::string name) const {
    const Fields fields(node_, "storage " + in_quotes(name),
                        {"storage", "capacity", "bandwidth", "energy", "access", "double_buffered", "source"}, errors_);
    Storage level;
    level.name = std::move(name);
    level.capacity_bits = bits(fields, "capacity");
    level.access_bits = bits(fields, "access");
    if (const YamlNode* bandwidth = fields.find("bandwidth")) read_bandwidth(*bandwidth, level);
    if (const YamlNode* energy = fields.find("energy")) read_energy(*energy, level);
    level.double_buffered = fields.flag("double_buffered").value_or(false);
    level.source = fields.text("source").value_or("");
    return level;
  }

  Mesh mesh(std::string name) const {
    const Fields fields(node_, "mesh " + in_quotes(name),
                        {"mesh", "axes", "multicast", "reduction", "forwarding", "systolic", "hop_energy", "source"},
                        errors_);
    Mesh level;
    level.name = std::move(name);
    if (const YamlNode* axes = fields.require("axes", "axes: {x: 16, y: 16}")) read_axes(*axes, level);
    level.multicast = fields.flag("multicast").value_or(false);
    level.reduction = fields.flag("reduction").value_or(false);
    level.forwarding = fields.flag("forwarding").value_or(false);
    if (level.forwarding && !level.multicast) {
      add_error(errors_, fields.find("forwarding")->span,
                fmt::format("the mesh {} forwards but does not multicast", in_quotes(level.name)),
                "forwarding needs multicast: true");
    }
    if (const YamlNode* systolic = fields.find("systolic")) read_systolic(*systolic, level);
    if (const YamlNode* hop = fields.find("hop_energy")) level.hop_energy = energy(*hop, kHopEnergy);
    level.source = fields.text("source").value_or("");
    return level;
  }

  Compute compute(std::string name) const {
    const Fields fields(node_, "compute level " + in_quotes(name),
                        {"compute", "rate", "energy", "atomic", "latches", "source"}, errors_);
    Compute level;
    level.name = std::move(name);
    if (const YamlNode* rate = fields.find("rate")) {
      by_type(*rate, [&](const std::string& type, const YamlNode& value) {
        if (const auto quantity = positive(value, kRate)) level.rate[type] = per_cycle(value, *quantity);
      });
    }
    if (const YamlNode* energy = fields.find("energy")) {
      by_type(*energy, [&](const std::string& type, const YamlNode& value) {
        const auto quantity = read_quantity(value, {Measure::picojoules_per_operation}, errors_);
        if (quantity) level.energy[type] = quantity->value.to_double();
      });
    }
    if (const YamlNode* atomic = fields.find("atomic")) read_atomic(*atomic, level);
    level.operand_latches = fields.flag("latches").value_or(false);
    level.source = fields.text("source").value_or("");
    return level;
  }

 private:
  std::optional<Count> bits(const Fields& fields, std::string_view key) const {
    const YamlNode* node = fields.find(key);
    if (node == nullptr) return std::nullopt;
    const auto size = read_quantity(*node, {Measure::size}, errors_);
    if (!size) return std::nullopt;
    if (!size->value.is_whole() || size->value.numerator() < Count(1)) {
      add_error(errors_, node->span,
                fmt::format("{} is not a whole number of bits, at least 1", in_quotes(node->text)));
      return std::nullopt;
    }
    return size->value.numerator();
  }

  /// A figure per cycle from one per cycle or per second.
  Ratio per_cycle(const YamlNode& node, const Quantity& quantity) const {
    const bool seconds =
        quantity.measure == Measure::bytes_per_second || quantity.measure == Measure::operations_per_second;
    if (!seconds) return quantity.value;
    if (!machine_.clock_stated) {
      add_error(errors_, node.span, "a figure per second needs the machine's clock", "clock: 1 GHz, beside 'levels'");
      return quantity.value;
    }
    const Ratio ratio = quantity.value / machine_.clock_hz;
    if (ratio.overflowed()) add_error(errors_, node.span, "the figure per cycle does not fit in 128 bits");
    return ratio;
  }

  std::optional<Quantity> positive(const YamlNode& node, const std::vector<Measure>& measures) const {
    const auto quantity = read_quantity(node, measures, errors_);
    if (quantity && quantity->value.numerator() == Count(0)) {
      add_error(errors_, node.span,
                fmt::format("{} is 0; leave the key out where the figure is not known", in_quotes(node.text)));
      return std::nullopt;
    }
    return quantity;
  }

  std::optional<Ratio> bandwidth(const YamlNode& node) const {
    const auto quantity = positive(node, kBandwidth);
    return quantity ? std::optional<Ratio>(per_cycle(node, *quantity)) : std::nullopt;
  }

  void read_bandwidth(const YamlNode& node, Storage& level) const {
    if (node.is_scalar()) {
      level.read_bandwidth = level.write_bandwidth = bandwidth(node);
      return;
    }
    const Fields fields(node, "the bandwidth of " + in_quotes(level.name), {"read", "write", "shared"}, errors_);
    const YamlNode *read = fields.find("read"), *write = fields.find("write"), *shared = fields.find("shared");
    if (shared != nullptr) {
      if (read != nullptr || write != nullptr) {
        add_error(errors_, shared->span, "'shared' is for a port that reads and writes in turn; it stands alone");
      }
      level.read_bandwidth = bandwidth(*shared);
      level.shared_port = true;
      return;
    }
    if (read != nullptr) level.read_bandwidth = bandwidth(*read);
    if (write != nullptr) level.write_bandwidth = bandwidth(*write);
  }

  std::optional<AccessEnergy> energy(const YamlNode& node, const std::vector<Measure>& measures) const {
    const auto quantity = read_quantity(node, measures, errors_);
    if (!quantity) return std::nullopt;
    AccessEnergy energy;
    energy.picojoules = quantity->value.to_double();
    if (quantity->measure == Measure::picojoules_per_element) energy.per = AccessEnergy::Per::element;
    if (quantity->measure == Measure::picojoules_per_access) energy.per = AccessEnergy::Per::access;
    return energy;
  }

  void read_energy(const YamlNode& node, Storage& level) const {
    if (node.is_scalar()) {
      level.read_energy = level.write_energy = energy(node, kEnergy);
    } else {
      const Fields fields(node, "the energy of " + in_quotes(level.name), {"read", "write"}, errors_);
      if (const YamlNode* read = fields.find("read")) level.read_energy = energy(*read, kEnergy);
      if (const YamlNode* write = fields.find("write")) level.write_energy = energy(*write, kEnergy);
    }
    const auto per_access = [](const auto& figure) { return figure && figure->per == AccessEnergy::Per::access; };
    const bool needs_access = per_access(level.read_energy) || per_access(level.write_energy);
    if (needs_access && node_.find("access") == nullptr) {
      add_error(errors_, node.span,
                fmt::format("energy per access needs the width of an access of {}", in_quotes(level.name)),
                "access: 8 B");
    }
  }

  void read_axes(const YamlNode& node, Mesh& level) const {
    if (!node.is_map() || node.entries.empty()) {
      add_error(
          errors_, node.span,
          fmt::format("found {}, expected the axes of mesh {} with their sizes", describe(node), in_quotes(level.name)),
          "axes: {x: 16, y: 16}");
      return;
    }
    if (node.entries.size() > 16) return add_error(errors_, node.span, "more than 16 axes");
    for (const auto& [key, value] : node.entries) {
      auto name = read_name(key, "an axis", errors_);
      const auto size = read_integer(value, "the axis " + in_quotes(key.text), 1, errors_);
      if (name && size) level.axes.push_back({std::move(*name), *size});
    }
  }

  void read_systolic(const YamlNode& node, Mesh& level) const {
    const auto text = read_text(node, "'systolic'", errors_);
    if (!text) return;
    if (*text == "last-operation") {
      level.systolic = SystolicTiming::last_operation;
    } else if (*text == "drained") {
      level.systolic = SystolicTiming::drained;
    } else {
      add_error(errors_, node.span,
                fmt::format("found {}, expected last-operation or drained for 'systolic'", in_quotes(*text)),
                name_hint(*text, {"last-operation", "drained"}, "a fold ends with its"));
    }
  }

  /// Reads one figure for any type (called ""), or a map of them by element type.
  template <typename Read>
  void by_type(const YamlNode& node, const Read& read) const {
    if (!node.is_map()) return read("", node);
    for (const auto& [key, value] : node.entries) {
      if (enough_errors(errors_)) return;
      if (!find_element_type(key.text)) {
        std::vector<std::string> names;
        for (const ElementType& type : element_types()) names.push_back(type.name);
        add_error(errors_, key.span, fmt::format("unknown element type {}", in_quotes(key.text)),
                  name_hint(key.text, names, "types"));
      }
      read(key.text, value);
    }
  }

  void read_atomic(const YamlNode& node, Compute& level) const {
    if (!node.is_map()) {
      add_error(errors_, node.span,
                fmt::format("found {}, expected the atomic shape as a map of ranks", describe(node)),
                "atomic: {m: 16, n: 8, k: 16}");
      return;
    }
    Count operations = 1;
    for (const auto& [key, value] : node.entries) {
      auto rank = read_name(key, "a rank", errors_);
      const auto extent = read_integer(value, "rank " + in_quotes(key.text), 1, errors_);
      if (!rank || !extent) continue;
      operations *= Count(*extent);
      level.atomic.emplace_back(std::move(*rank), *extent);
    }
    if (operations.overflowed() || operations >= Count(Count::Int{1} << 62)) {
      add_error(errors_, node.span, "the atomic shape has 2^62 operations or more");
    }
  }

  const YamlNode& node_;
  const Machine& machine_;
  Diagnostics& errors_;
};

}  // namespace

std::optional<ReadLevel> read_level(const YamlNode& node, const Machine& machine, Diagnostics& errors) {
  if (!node.is_map()) {
    add_error(errors, node.span, fmt::format("found {}, expected a level", describe(node)),
              "{storage: NAME, ...}, {mesh: NAME, ...} or {compute: NAME, ...}");
    return std::nullopt;
  }
  const std::vector<std::string> kinds{"storage", "mesh", "compute"};
  std::string kind;
  for (const std::string& candidate : kinds) {
    if (node.find(candidate) == nullptr) continue;
    if (!kind.empty()) {
      add_error(errors, node.span, fmt::format("the level is both a {} and a {}", kind, candidate));
      return std::nullopt;
    }
    kind = candidate;
  }
  if (kind.empty()) {
    std::string hint = "keys: storage, mesh, compute";
    Span span = node.span;
    for (const auto& [key, value] : node.entries) {
      const std::string nearest = nearest_name(key.text, kinds);
      if (nearest.empty()) continue;
      hint = fmt::format("did you mean {}?", in_quotes(nearest));
      span = key.span;
      break;
    }
    add_error(errors, span, "the level is neither a storage nor a mesh nor the compute level", std::move(hint));
    return std::nullopt;
  }
  const YamlNode& name_node = *node.find(kind);
  auto name = read_name(name_node, "a level", errors);
  if (!name) return std::nullopt;
  const LevelReader reader(node, machine, errors);
  if (kind == "storage") return ReadLevel{reader.storage(std::move(*name)), name_node.span};
  if (kind == "mesh") return ReadLevel{reader.mesh(std::move(*name)), name_node.span};
  return ReadLevel{reader.compute(std::move(*name)), name_node.span};
}

}  // namespace einflow
