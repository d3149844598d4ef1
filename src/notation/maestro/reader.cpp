#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/maestro/levels.hpp"
#include "notation/maestro/machine.hpp"
#include "notation/maestro/maestro.hpp"
#include "notation/maestro/operation.hpp"
#include "notation/maestro/syntax.hpp"
#include "notation/maestro/words.hpp"

namespace einflow {

namespace maestro {

namespace {

constexpr std::size_t kLargestText = std::size_t{64} << 20;
constexpr std::int64_t kMostPes = std::int64_t{1} << 60;

/// What a layer's Dimensions and Stride say; errors without the name of their source.
class ShapeReader {
 public:
  ShapeReader(const Layer& layer, Diagnostics& errors) : layer_(layer), errors_(errors) {}

  std::optional<Shape> read() {
    const std::size_t errors_before = errors_.size();
    Shape shape;
    const std::string_view type = layer_.type.text;
    shape.type = type == "GEMM"     ? Type::gemm
                 : type == "DSCONV" ? Type::dsconv
                 : type == "NGCONV" ? Type::ngconv
                                    : Type::conv;
    check_names(shape.type);
    if (shape.type == Type::gemm) {
      read_gemm(shape);
    } else {
      read_convolution(shape);
    }
    if (errors_.size() != errors_before) return std::nullopt;
    return shape;
  }

 private:
  void error(const Span& span, std::string message, std::string hint = {}) {
    if (!enough_errors(errors_)) errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  static const Number* find(const std::vector<DimensionSize>& entries, std::string_view name) {
    for (const DimensionSize& entry : entries) {
      if (entry.name.text == name) return &entry.size;
    }
    return nullptr;
  }
  const Number* find(std::string_view name) const { return find(layer_.dimensions, name); }

  void check_names(Type type) {
    static const std::vector<std::string> gemm = {"M", "N", "K"};
    static const std::vector<std::string> convolution = {"N", "K", "C", "G", "R", "S", "Y", "X", "Y'", "X'"};
    const std::vector<std::string>& names = type == Type::gemm ? gemm : convolution;
    for (const DimensionSize& entry : layer_.dimensions) {
      if (std::find(names.begin(), names.end(), entry.name.text) != names.end()) continue;
      error(entry.name.span, fmt::format("{} has no dimension {}", layer_.type.text, in_quotes(entry.name.text)),
            name_hint(entry.name.text, names, "dimensions"));
    }
    static const std::vector<std::string_view> strided = {"Y", "X", "Y'", "X'"};
    for (const DimensionSize& entry : layer_.strides) {
      const bool window = std::find(strided.begin(), strided.end(), entry.name.text) != strided.end();
      if (entry.size.value == 1 || (window && type != Type::gemm)) continue;
      error(entry.name.span,
            fmt::format("a stride of {}: only Y and X of a convolution have one", in_quotes(entry.name.text)));
    }
  }

  std::int64_t require(std::string_view name, std::string_view why = {}) {
    if (const Number* size = find(name)) return size->value;
    error(layer_.dimensions_span, fmt::format("{} needs the dimension {}{}", layer_.type.text, in_quotes(name), why));
    return 1;
  }

  void read_gemm(Shape& shape) {
    shape.m = require("M");
    shape.n = require("N");
    shape.k = require("K");
  }

  void read_convolution(Shape& shape) {
    shape.c = require("C");
    shape.r = require("R");
    shape.s = require("S");
    if (const Number* n = find("N")) shape.n = n->value;
    if (shape.type == Type::dsconv) {
      const Number* k = find("K");
      if (k != nullptr && k->value != 1) {
        error(k->span,
              fmt::format("DSCONV with K: {}: its output has no K, and the same work is done {} times", k->value,
                          k->value),
              "K: 1, or leave it out");
      }
    } else {
      shape.k = require("K");
    }
    if (shape.type == Type::ngconv) {
      shape.g = require("G");
    } else if (const Number* g = find("G"); g != nullptr && g->value != 1) {
      error(g->span, fmt::format("{} with G: {}: its tensors have no groups", layer_.type.text, g->value),
            "NGCONV is the grouped convolution; its K and C are those of a group");
    }
    shape.stride_y = stride("Y", "Y'");
    shape.stride_x = stride("X", "X'");
    const bool outputs = find("Y'") != nullptr || find("X'") != nullptr;
    if (outputs && (find("Y") != nullptr || find("X") != nullptr)) {
      const Number* const mixed = find("Y'") != nullptr ? find("Y'") : find("X'");
      error(mixed->span, "Dimensions give input sizes (Y, X) and output sizes (Y', X')", "either Y and X or Y' and X'");
      return;
    }
    shape.y = outputs ? rows(require("Y'"), shape.stride_y, shape.r, "Y'") : require("Y", " or 'Y''");
    shape.x = outputs ? rows(require("X'"), shape.stride_x, shape.s, "X'") : require("X", " or 'X''");
    check_filter(shape.y, shape.r, "Y", "R");
    check_filter(shape.x, shape.s, "X", "S");
  }

  void check_filter(std::int64_t rows, std::int64_t taps, const char* dimension, const char* filter) {
    const Number* const size = find(filter);
    if (size == nullptr || rows >= taps || find(dimension) == nullptr) return;
    error(size->span,
          fmt::format("a filter of {}: {} on an input of {}: {} has no output", filter, taps, dimension, rows),
          fmt::format("{} includes the padding", dimension));
  }

  std::int64_t stride(const char* input, const char* output) {
    const Number* const a = find(layer_.strides, input);
    const Number* const b = find(layer_.strides, output);
    if (a != nullptr && b != nullptr && a->value != b->value) {
      error(b->span, fmt::format("strides of {} and {} differ", in_quotes(input), in_quotes(output)));
    }
    return a != nullptr ? a->value : b != nullptr ? b->value : 1;
  }

  std::int64_t rows(std::int64_t outputs, std::int64_t stride, std::int64_t taps, const char* name) {
    const auto size = ((Count(outputs) - 1) * Count(stride) + Count(taps)).to_int64();
    if (size) return *size;
    error(find(name) == nullptr ? layer_.dimensions_span : find(name)->span, "the input is beyond 64 bits");
    return 1;
  }

  const Layer& layer_;
  Diagnostics& errors_;
};

/// The nest on its machine: every level's loops, a hold inside every level that the next one steps through, L1 inside
/// the last level with several units, the PE's own loops.
void place(const Levels& levels, std::int64_t pes, const Hardware& hardware, const Einsum& einsum, Machine& machine,
           Mapping& mapping) {
  std::size_t last = 0;
  for (std::size_t level = 0; level < levels.levels.size(); ++level) {
    if (levels.levels[level].units > 1) last = level;
  }
  std::vector<MachinePart> parts(1);
  for (std::size_t level = 0; level <= last; ++level) {
    if (level > 0 && levels.levels[level].steps()) parts.emplace_back();
    if (levels.levels[level].units > 1) parts.back().meshes.push_back(levels.levels[level].units);
  }
  machine = machine_of(pes, parts, hardware);
  std::vector<std::int64_t> left;
  for (const Rank& rank : einsum.ranks) left.push_back(rank.extent);
  const auto add = [&](const Cut& cut, int mesh) {
    std::int64_t& rest = left[static_cast<std::size_t>(cut.rank)];
    mapping.loops.push_back(
        {cut.spatial, cut.rank, cut.tile, 1 + (rest - 1) / cut.tile, mesh, mesh < 0 ? -1 : 0, cut.span});
    rest = cut.tile;
  };
  std::vector<Hold> holds{{0, 0, {}}};
  int at = 1;  // the machine's level that comes next
  for (std::size_t level = 0; level < levels.levels.size(); ++level) {
    const int depth = static_cast<int>(mapping.loops.size());
    if (level > last ? level == last + 1 : level > 0 && levels.levels[level].steps())
      holds.push_back({at++, depth, {}});
    const bool meshed = level <= last && levels.levels[level].units > 1;
    for (const Cut& cut : levels.levels[level].cuts) add(cut, cut.spatial ? at : -1);
    if (meshed) ++at;
  }
  if (last + 1 == levels.levels.size()) holds.push_back({at, static_cast<int>(mapping.loops.size()), {}});
  for (std::size_t rank = 0; rank < left.size(); ++rank) {
    if (left[rank] > 1) add({static_cast<int>(rank), 1, false, {}}, -1);
  }
  holds.push_back({machine.compute_level(), static_cast<int>(mapping.loops.size()), {}});
  mapping.holds.assign(einsum.tensors.size(), holds);
}

class DocumentReader {
 public:
  DocumentReader(const std::vector<SourceText>& sources, const ReadOptions& options)
      : sources_(sources), options_(options) {}

  Result<Document> read() {
    refuse_options();
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      if (sources_[source].text.size() > kLargestText) {
        error({}, source, "the text is larger than 64 MiB");
      } else {
        parse_source(sources_, source, text_, errors_);
      }
    }
    read_settings();
    if (text_.layers.empty() && errors_.empty()) {
      error({}, 0, "no network with a layer: nothing to analyse",
            "a mapping file has Network NAME { Layer NAME { Type ... Dimensions { ... } Dataflow { ... } } }");
    }
    for (const Layer& layer : text_.layers) {
      if (enough_errors(errors_)) break;
      read_layer(layer);
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    const auto pes = hardware("num_pes");
    if (!pes) {
      return fail(
          "num_pes is missing: the number of PEs decides how often spatial maps fold",
          fmt::format("--set num_pes=N, or a hardware file with 'num_pes: N'; with {} no layer folds", enough_pes_));
    }
    document_.name = text_.network;
    tell();
    return std::move(document_);
  }

 private:
  void error(const Span& span, std::size_t source, std::string message, std::string hint = {}) {
    if (!enough_errors(errors_)) errors_.push_back({span, std::move(message), std::move(hint), sources_[source].name});
  }
  void option_error(std::string message, std::string hint = {}) {
    errors_.push_back({{}, std::move(message), std::move(hint), {}});
  }

  void refuse_options() {
    if (options_.machine)
      option_error("--on: MAESTRO's mapping is for its own machine", "--set num_pes=N gives its size");
    if (!options_.ranks.empty()) option_error("-r: the sizes stand in the mapping file's Dimensions");
  }

  /// --set wins over a hardware file.
  void read_settings() {
    const std::vector<std::string> keys(kHardwareKeys.begin(), kHardwareKeys.end());
    for (const auto& [key, value] : options_.settings) {
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        option_error(fmt::format("--set: there is no setting {}", in_quotes(key)), name_hint(key, keys, "settings"));
        continue;
      }
      const auto number = whole_number(value);
      if (!number || *number < 1) {
        option_error(fmt::format("--set {}: found {}, expected a whole number of at least 1", key, in_quotes(value)));
        continue;
      }
      if (text_.hardware.count(key) != 0 && text_.hardware[key].value != *number) {
        document_.conventions.push_back(
            fmt::format("{} is {}, from --set; the file says {}", key, *number, text_.hardware[key].value));
      }
      text_.hardware[key] = {*number, {}};
    }
    const auto pes = hardware("num_pes");
    if (pes && *pes > kMostPes) option_error("num_pes is beyond what einflow counts, 2^60");
    const auto l1 = hardware("l1_size_cstr");
    if (l1 && *l1 > kMostPes) option_error("l1_size_cstr is beyond what einflow counts, 2^60");
  }

  std::optional<std::int64_t> hardware(const std::string& key) const {
    const auto found = text_.hardware.find(key);
    if (found == text_.hardware.end()) return std::nullopt;
    return found->second.value;
  }

  void read_layer(const Layer& layer) {
    Diagnostics found;
    const auto shape = ShapeReader(layer, found).read();
    Result<Einsum> einsum;
    if (shape) einsum = einsum_of(*shape);
    if (!einsum) {
      for (Diagnostic diagnostic : einsum.error()) {
        diagnostic.span = layer.dimensions_span;
        found.push_back(std::move(diagnostic));
      }
    }
    Result<Levels> levels;
    if (shape && einsum) levels = levels_of(layer, *shape, *einsum, hardware("num_pes"));
    if (!levels) found = levels.error();
    for (Diagnostic& diagnostic : found) error(diagnostic.span, layer.source, diagnostic.message, diagnostic.hint);
    if (!found.empty()) return;
    enough_pes_ = std::max(enough_pes_, levels->enough_pes);
    DocumentLayer made;
    made.name = unique_name(std::string(layer.name.text));
    einsum->name = made.name;
    const std::int64_t pes = hardware("num_pes").value_or(levels->enough_pes);
    Machine machine;
    Mapping mapping;
    place(*levels, pes, {hardware("noc_bw_cstr"), hardware("l1_size_cstr")}, *einsum, machine, mapping);
    remember(layer, *shape, *levels, machine, made.name);
    made.cascade.name = made.name;
    made.cascade.einsums.push_back(std::move(*einsum));
    made.machine = std::move(machine);
    made.mapping = std::move(mapping);
    document_.layers.push_back(std::move(made));
  }

  std::string unique_name(const std::string& written) {
    const std::string base = written.empty() ? "layer" : written;
    if (!written.empty() && names_.insert(base).second) return base;
    for (std::size_t& number = used_[base];;) {
      std::string name = fmt::format("{}_{}", base, ++number + (written.empty() ? 0 : 1));
      if (!names_.insert(name).second) continue;
      renamed_ = renamed_.empty() ? name : renamed_;
      return name;
    }
  }

  void remember(const Layer& layer, const Shape& shape, const Levels& levels, const Machine& machine,
                const std::string& name) {
    const auto first = [&](std::string& of) { of = of.empty() ? name : of; };
    if (shape.type != Type::gemm) first(convolution_);
    if (layer.type.text == "TRCONV") first(transposed_);
    if (levels.diagonal) first(diagonal_);
    if (levels.offset_not_used) first(offset_);
    if (machine.level_named("C1") >= 0) first(cluster_);
    if (levels.idle_pes > 0 && idle_.empty()) idle_ = fmt::format("{}: {} of its PEs", name, levels.idle_pes);
  }

  void tell() {
    std::vector<std::string>& lines = document_.conventions;
    const auto line = [&lines](bool applies, std::string text) {
      if (applies) lines.push_back(std::move(text));
    };
    line(true, "an element is 1 B (int8): MAESTRO's sizes and bandwidths are in elements");
    line(true, "L2 holds all tensors: MAESTRO fills it once and models no DRAM traffic");
    line(true, "a step's reads are multicast and partial sums merge, as MAESTRO assumes");
    line(true, "a PE does its tile rank by rank as the einsum declares them: MAESTRO states no order");
    line(!convolution_.empty(), "output rows and columns (Y', X') are the ranks p and q");
    line(!cluster_.empty(), fmt::format("C1, C2, ... hold the tile of a cluster whose units step through it ({}): "
                                        "MAESTRO counts L2 reads as if it were kept, and has no memory for it",
                                        cluster_));
    line(!diagonal_.empty(),
         fmt::format("two spatial maps over rows and filter rows ({}) are one parallel loop over the filter's",
                     diagonal_));
    line(!offset_.empty(), fmt::format("with a stride the written offset is not used ({}), as in MAESTRO", offset_));
    line(!transposed_.empty(), fmt::format("TRCONV ({}) is a plain convolution, as MAESTRO computes it", transposed_));
    line(!idle_.empty(), fmt::format("PEs that belong to no whole cluster are not on the machine ({})", idle_));
    line(!renamed_.empty(), fmt::format("layers without a name of their own are numbered ({})", renamed_));
    line(text_.carriage_returns, "the lines end in CR LF, which MAESTRO itself refuses");
    line(hardware("l1_size_cstr").has_value(),
         "l1_size_cstr is a capacity, of two tiles: a mapping above it is refused, where MAESTRO warns");
    const auto left_out = [&](const char* key, const char* because) {
      if (const auto value = hardware(key))
        document_.left_out.push_back(fmt::format("{}: {}: {}", key, *value, because));
    };
    left_out("l2_size_cstr", "L2 holds whole tensors here, the tiles of two steps there");
    left_out("NoC_NumHops", "einflow's times have no latency of a network");
    left_out("offchip_bw_cstr", "MAESTRO charges it at every step, whether anything is fetched or not");
  }

  const std::vector<SourceText>& sources_;
  const ReadOptions& options_;
  Text text_;
  Document document_;
  Diagnostics errors_;
  std::int64_t enough_pes_ = 1;
  std::unordered_set<std::string> names_;
  std::map<std::string, std::size_t> used_;
  // The first layer to which a convention applies.
  std::string convolution_, transposed_, diagonal_, offset_, cluster_, idle_, renamed_;
};

}  // namespace

}  // namespace maestro

bool is_maestro(const SourceText& source) {
  const std::string& name = source.name;
  if (name.size() > 2 && name.compare(name.size() - 2, 2, ".m") == 0) return true;
  const std::string_view first = maestro::Words(source.text).peek().text;
  const auto& keys = maestro::kHardwareKeys;
  return first == "Network" || first == "Constant" || std::find(keys.begin(), keys.end(), first) != keys.end();
}

Result<Document> read_maestro(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.empty()) return fail("no mapping file");
  return maestro::DocumentReader(sources, options).read();
}

}  // namespace einflow
