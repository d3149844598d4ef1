#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/maestro/classify.hpp"
#include "notation/maestro/machine.hpp"
#include "notation/maestro/maestro.hpp"
#include "notation/maestro/plan.hpp"

namespace einflow {

namespace maestro {

namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

const char* word_of(Type type) {
  switch (type) {
    case Type::dsconv:
      return "DSCONV";
    case Type::ngconv:
      return "NGCONV";
    case Type::gemm:
      return "GEMM";
    default:
      return "CONV";
  }
}

/// Letters, digits and '_' only, not empty.
std::string plain_name(const std::string& name, const std::string& otherwise) {
  std::string plain;
  for (const char c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    plain += kept ? c : '_';
  }
  return plain.empty() ? otherwise : plain;
}

/// Writes the directives of one layer.
class DataflowWriter {
 public:
  explicit DataflowWriter(const Classified& operation) : operation_(operation) {
    for (const Rank& rank : operation.canonical.ranks) left_.push_back(rank.extent);
  }

  /// Nothing where a size leaves MAESTRO's 31 bits.
  std::optional<std::string> write(const std::vector<PlannedLevel>& levels) {
    std::string text;
    for (std::size_t level = 0; level < levels.size(); ++level) {
      if (level > 0) text += fmt::format("      Cluster({},P);\n", sized(Count(levels[level].units)));
      text += write_level(levels[level]);
    }
    if (too_large_) return std::nullopt;
    return text;
  }

  std::string dimensions() {
    std::string text;
    for (std::size_t rank = 0; rank < left_.size(); ++rank) {
      text += fmt::format("{}{}: {}", rank == 0 ? "" : ", ", dimension(static_cast<int>(rank)),
                          sized(whole(static_cast<int>(rank))));
    }
    return text;
  }

  /// Whether a tile under a stride has several outputs, which MAESTRO counts without the stride.
  bool strided_tiles() const { return strided_tiles_; }

 private:
  bool is(int rank, std::string_view name) const {
    return operation_.canonical.ranks[static_cast<std::size_t>(rank)].name == name;
  }
  bool convolution() const { return operation_.shape.type != Type::gemm; }
  bool windowed(int rank) const { return convolution() && (is(rank, "p") || is(rank, "q")); }
  bool tap(int rank) const { return convolution() && (is(rank, "r") || is(rank, "s")); }
  std::int64_t stride(int rank) const { return is(rank, "p") ? operation_.shape.stride_y : operation_.shape.stride_x; }
  std::int64_t left(int rank) const { return left_[static_cast<std::size_t>(rank)]; }
  int rank_named(std::string_view name) const { return operation_.canonical.rank_named(name); }

  std::string dimension(int rank) const {
    if (windowed(rank)) return is(rank, "p") ? "Y" : "X";
    std::string name = operation_.canonical.ranks[static_cast<std::size_t>(rank)].name;
    for (char& c : name) c = static_cast<char>(c - 'a' + 'A');
    return name;
  }

  std::int64_t sized(Count size) {
    if (!size.overflowed() && size <= Count(kLargestSize)) return *size.to_int64();
    too_large_ = true;
    return 1;
  }

  /// What is left of the dimension: rows for outputs. The dimensions themselves have rows that no output needs cut off.
  Count whole(int rank) const {
    if (!windowed(rank)) return left(rank);
    const int taps = rank_named(is(rank, "p") ? "r" : "s");
    return (Count(left(rank)) - 1) * Count(stride(rank)) + Count(left(taps));
  }

  std::string map(const char* word, int rank, std::int64_t size, std::int64_t offset) const {
    return fmt::format("      {}({},{}) {};\n", word, size, offset, dimension(rank));
  }

  std::string write_level(const PlannedLevel& level) {
    const std::vector<std::int64_t> before = left_;
    std::vector<bool> written(left_.size(), false);
    std::vector<std::int64_t> after = left_;
    std::string text;
    for (const PlannedMap& planned : level.maps) {
      const char* const word = planned.spatial ? "SpatialMap" : "TemporalMap";
      written[static_cast<std::size_t>(planned.rank)] = true;
      after[static_cast<std::size_t>(planned.rank)] = planned.tile;
      if (planned.tile >= left(planned.rank)) {
        const std::int64_t all = sized(whole(planned.rank));
        text += map(word, planned.rank, all, all);
      } else if (tap(planned.rank)) {  // unit u takes block u of the rows and of the filter's rows
        const int outputs = rank_named(is(planned.rank, "r") ? "p" : "q");
        written[static_cast<std::size_t>(outputs)] = true;
        text += map(word, outputs, planned.tile, planned.tile) + map(word, planned.rank, planned.tile, planned.tile);
      } else if (windowed(planned.rank)) {
        const int taps = rank_named(is(planned.rank, "p") ? "r" : "s");
        const Count rows = (Count(planned.tile) - 1) * Count(stride(planned.rank)) + Count(left(taps));
        text += map(word, planned.rank, sized(rows), sized(Count(planned.tile) * Count(stride(planned.rank))));
      } else {
        text += map(word, planned.rank, sized(Count(planned.tile)), sized(Count(planned.tile)));
      }
    }
    for (int rank = 0; rank < static_cast<int>(left_.size()); ++rank) {
      if (windowed(rank) && stride(rank) > 1 && after[static_cast<std::size_t>(rank)] > 1) strided_tiles_ = true;
      if (written[static_cast<std::size_t>(rank)]) continue;
      const std::int64_t all = sized(whole(rank));
      text += map("TemporalMap", rank, all, all);
    }
    left_ = after;
    return text;
  }

  const Classified& operation_;
  std::vector<std::int64_t> left_;
  bool too_large_ = false;
  bool strided_tiles_ = false;
};

/// A layer as planned, before the parts that all layers share are known.
struct PlannedLayer {
  std::int64_t pes = 1;     ///< units of all levels
  std::int64_t in_top = 1;  ///< PEs in a unit of the top level
  std::int64_t top = 1;     ///< units of the top level
  Hardware hardware;
};

class DocumentWriter {
 public:
  explicit DocumentWriter(const Document& document) : document_(document) {}

  Result<Writing> write() {
    if (document_.layers.empty()) return fail("nothing to write: the document has no layer");
    std::string layers;
    for (std::size_t layer = 0; layer < document_.layers.size() && !enough_errors(errors_); ++layer) {
      layers += write_layer(document_.layers[layer], layer);
    }
    if (errors_.empty()) check_pes();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    for (const Uncounted& operation : document_.uncounted) {
      leave_out(fmt::format("{} x {}: {}", operation.repeat, operation.operation, operation.because));
    }
    for (const DocumentFigure& figure : document_.figures) leave_out(fmt::format("the figure {}", figure.name));
    writing_.text = hardware_text() + "\nNetwork " + plain_name(document_.name, "network") + " {\n" + layers + "}\n";
    return std::move(writing_);
  }

 private:
  void leave_out(std::string text) { writing_.left_out.push_back(std::move(text)); }

  std::string write_layer(const DocumentLayer& layer, std::size_t number) {
    const std::string shown = layer.name.empty() ? fmt::format("layer {}", number + 1) : in_quotes(layer.name);
    const auto refuse = [&](const Diagnostics& errors) {
      for (Diagnostic diagnostic : errors) {
        if (document_.layers.size() > 1) diagnostic.message = fmt::format("{}: {}", shown, diagnostic.message);
        diagnostic.span = {};
        if (!enough_errors(errors_)) errors_.push_back(std::move(diagnostic));
      }
      return std::string();
    };
    const auto spec = spec_of(layer);
    if (!spec) return refuse(spec.error());
    if (!layer.mapping) {
      return refuse({{{}, "there is no mapping, and MAESTRO's layers have directives", "give the spec a mapping", {}}});
    }
    const auto operation = classify(spec->einsum);
    if (!operation) return refuse(operation.error());
    const auto levels = plan(*operation, spec->machine, spec->mapping);
    if (!levels) return refuse(levels.error());
    DataflowWriter writer(*operation);
    const std::string dimensions = writer.dimensions();
    const auto dataflow = writer.write(*levels);
    if (!dataflow) return refuse({{{}, "a size is 2^31 or more, which MAESTRO cannot read", {}, {}}});
    if (const auto wrong = add_machine(*levels, *spec)) return refuse({{{}, *wrong, {}, {}}});

    const std::string name = layer_name(layer, number, spec->einsum.name);
    if (layer.repeat != 1) leave_out(fmt::format("{}: that it occurs {} times", shown, layer.repeat));
    if (!operation->same) {
      leave_out(fmt::format("{}: names and order of ranks and tensors; it reads back as {}", shown,
                            to_text(operation->canonical)));
    }
    leave_out_types(spec->einsum, shown);
    leave_out_machine(spec->machine, shown);
    if (writer.strided_tiles()) {
      writing_.conventions.push_back(fmt::format(
          "{}: MAESTRO counts the outputs of a tile without its stride; einflow reads the text exactly", shown));
    }
    std::string text = fmt::format("  Layer {} {{\n    Type: {}\n", name, word_of(operation->shape.type));
    if (operation->shape.stride_y != 1 || operation->shape.stride_x != 1) {
      text += fmt::format("    Stride {{ Y: {}, X: {} }}\n", operation->shape.stride_y, operation->shape.stride_x);
    }
    text += fmt::format("    Dimensions {{ {} }}\n    Dataflow {{\n{}    }}\n  }}\n", dimensions, *dataflow);
    return text;
  }

  std::string layer_name(const DocumentLayer& layer, std::size_t number, const std::string& einsum_name) {
    std::string name = plain_name(layer.name, fmt::format("layer_{}", number + 1));
    while (!names_.insert(name).second) name += "_";
    if (name != layer.name && !layer.name.empty())
      leave_out(fmt::format("the name {}: it is written {}", in_quotes(layer.name), name));
    if (einsum_name != layer.name && !einsum_name.empty())
      leave_out(fmt::format("{}: the einsum's name {}", name, in_quotes(einsum_name)));
    return name;
  }

  /// The reason where the layer does not fit the machine that MAESTRO describes.
  std::optional<std::string> add_machine(const std::vector<PlannedLevel>& levels, const Spec& spec) {
    PlannedLayer made;
    Count pes = 1;
    for (const PlannedLevel& level : levels) pes *= Count(level.units);
    if (pes.overflowed() || pes > Count(kLargestSize)) return "the machine has 2^31 PEs or more";
    made.pes = *pes.to_int64();
    made.top = levels.front().units;
    made.in_top = made.pes / made.top;
    made.hardware = hardware_of(spec);
    layers_.push_back(made);
    return std::nullopt;
  }

  /// Elements per cycle and elements, where the figures are the same throughout and whole.
  static Hardware hardware_of(const Spec& spec) {
    Hardware hardware;
    const int bits = spec.einsum.tensors.front().type.bits;
    for (const Tensor& tensor : spec.einsum.tensors) {
      if (tensor.type.bits != bits) return hardware;
    }
    std::vector<const Storage*> storages;
    for (int level = 0; level < spec.machine.compute_level(); ++level) {
      if (const Storage* storage = spec.machine.storage(level)) storages.push_back(storage);
    }
    const auto& bandwidth = storages.front()->read_bandwidth;
    bool same = bandwidth.has_value();
    for (std::size_t at = 0; at + 1 < storages.size(); ++at) {
      same = same && !storages[at]->shared_port && storages[at]->read_bandwidth == bandwidth &&
             storages[at]->write_bandwidth == bandwidth;
    }
    same = same && !storages.back()->read_bandwidth && !storages.back()->write_bandwidth;
    if (same) {
      const Ratio elements = *bandwidth * Ratio(Count(8), Count(bits));
      const auto whole = elements.is_whole() ? elements.numerator().to_int64() : std::nullopt;
      if (whole && *whole >= 1 && *whole <= kLargestSize) hardware.noc_bandwidth = whole;
    }
    const auto& capacity = storages.back()->capacity_bits;
    if (capacity && !capacity->overflowed() && capacity->value() % bits == 0) {
      const auto elements = Count(capacity->value() / bits).to_int64();
      if (elements && *elements >= 1 && *elements <= kLargestSize) hardware.l1_elements = elements;
    }
    return hardware;
  }

  void leave_out_types(const Einsum& einsum, const std::string& shown) {
    const ElementType byte{"int8", 8};
    const bool bytes = std::all_of(einsum.tensors.begin(), einsum.tensors.end(),
                                   [&](const Tensor& tensor) { return tensor.type == byte; });
    if (!bytes) leave_out(fmt::format("{}: the element types; all read back as int8", shown));
  }

  /// What of the machine does not come back, none of which a count of elements depends on.
  void leave_out_machine(const Machine& machine, const std::string& shown) {
    const Hardware& hardware = layers_.back().hardware;
    std::vector<std::string> lost;
    const auto add = [&lost](bool applies, std::string what) {
      if (applies && std::find(lost.begin(), lost.end(), what) == lost.end()) lost.push_back(std::move(what));
    };
    for (int level = 0; level < machine.compute_level(); ++level) {
      const Mesh* const mesh = machine.mesh(level);
      if (mesh == nullptr) continue;
      add(mesh->axes.size() > 1, "that a mesh has several axes");
      add(mesh->size() == 1, "a mesh of one unit");
      add(mesh->systolic != SystolicTiming::none, "systolic timing");
      add(mesh->hop_energy.has_value(), "energies");
      add(!mesh->source.empty(), "sources");
    }
    int number = 0;
    for (int level = 0; level < machine.compute_level(); ++level) {
      const Storage* const storage = machine.storage(level);
      if (storage == nullptr) continue;
      const bool innermost = storage == innermost_storage(machine);
      add(storage->read_energy || storage->write_energy, "energies");
      add(storage->access_bits.has_value(), "widths of accesses");
      add((storage->read_bandwidth || storage->write_bandwidth) && !hardware.noc_bandwidth, "bandwidths");
      add(storage->capacity_bits && !(innermost && hardware.l1_elements), "the capacity of " + storage->name);
      add(storage->double_buffered != (number > 0), "which storages are double-buffered");
      add(!storage->source.empty(), "sources");
      ++number;
    }
    const Compute& compute = machine.compute();
    add(!(compute.rate.size() == 1 && compute.rate.begin()->first.empty() &&
          compute.rate.begin()->second == Ratio(Count(1))),
        "the rate of the compute level");
    add(!compute.energy.empty(), "energies");
    add(machine.clock_stated, "the clock");
    add(!machine.source.empty() || !machine.notes.empty() || !compute.source.empty(), "sources");
    add(!names_kept(machine), "the names of the machine and its levels");
    if (!lost.empty()) leave_out(fmt::format("{}: of the machine: {}", shown, comma_list(lost)));
  }

  static const Storage* innermost_storage(const Machine& machine) {
    const Storage* found = nullptr;
    for (int level = 0; level < machine.compute_level(); ++level) {
      if (const Storage* storage = machine.storage(level)) found = storage;
    }
    return found;
  }

  /// Whether the levels have the names that a reader gives them.
  bool names_kept(const Machine& machine) const {
    int meshes = 0;
    int storages = 0;
    const Storage* const innermost = innermost_storage(machine);
    bool kept = machine.name == fmt::format("maestro-{}", layers_.back().pes) && machine.compute().name == "MAC";
    for (int level = 0; level < machine.compute_level(); ++level) {
      if (const Mesh* mesh = machine.mesh(level)) {
        kept = kept && mesh->name == fmt::format("array{}", meshes++) && mesh->axes.front().name == "unit";
      } else if (const Storage* storage = machine.storage(level)) {
        const std::string name = storages == 0 ? "L2" : storage == innermost ? "L1" : fmt::format("C{}", storages);
        kept = kept && storage->name == name;
        ++storages;
      }
    }
    return kept;
  }

  /// One number of PEs for all layers: the top level takes what its clusters leave.
  void check_pes() {
    for (const PlannedLayer& layer : layers_) pes_ = std::max(pes_, layer.pes);
    for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
      const std::int64_t top = pes_ / layers_[layer].in_top;
      if (top == layers_[layer].top) continue;
      errors_.push_back(
          {{},
           fmt::format("{}: its machine has {} units at the top, and would get {} of the {} PEs of the network's "
                       "largest machine",
                       in_quotes(document_.layers[layer].name), layers_[layer].top, top, pes_),
           "a network in MAESTRO runs on one machine: --layer NAME writes one layer",
           {}});
    }
  }

  std::string hardware_text() {
    std::string text = fmt::format("num_pes: {}\n", pes_);
    std::string keys = fmt::format("--num_pes={}", pes_);
    const auto add = [&](const char* key, std::optional<std::int64_t> Hardware::* figure) {
      const auto& first = layers_.front().hardware.*figure;
      const bool same = std::all_of(layers_.begin(), layers_.end(),
                                    [&](const PlannedLayer& layer) { return layer.hardware.*figure == first; });
      if (!same) leave_out(fmt::format("{}: it differs between layers", key));
      if (!same || !first) return;
      text += fmt::format("{}: {}\n", key, *first);
      keys += fmt::format(" --{}={}", key, *first);
    };
    add("noc_bw_cstr", &Hardware::noc_bandwidth);
    add("l1_size_cstr", &Hardware::l1_elements);
    writing_.conventions.push_back(
        fmt::format("the first lines are the hardware: MAESTRO passes over them and wants {}", keys));
    return text;
  }

  const Document& document_;
  Writing writing_;
  Diagnostics errors_;
  std::vector<PlannedLayer> layers_;
  std::unordered_set<std::string> names_;
  std::int64_t pes_ = 1;
};

}  // namespace

}  // namespace maestro

Result<Writing> write_maestro(const Document& document) { return maestro::DocumentWriter(document).write(); }

}  // namespace einflow
