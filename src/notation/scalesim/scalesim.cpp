#include "notation/scalesim/scalesim.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/scalesim/array.hpp"
#include "notation/scalesim/configuration.hpp"
#include "notation/scalesim/lines.hpp"
#include "notation/scalesim/topology.hpp"
#include "problem/constructors.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {

namespace {

using namespace scalesim;

const char* const kCommandLine = "<command line>";

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The first line that says something and is no comment of an INI file.
std::string_view first_line(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    if (!line.empty() && line.front() != '#' && line.front() != ';') return line;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return {};
}

bool is_configuration(const SourceText& source) {
  return ends_with(source.name, ".cfg") ||
         (!ends_with(source.name, ".csv") && first_line(source.text).substr(0, 1) == "[");
}

/// "vgg16" of "topologies/vgg16.csv".
std::string stem_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  const std::size_t dot = file.rfind('.');
  return dot == std::string::npos || dot == 0 ? file : file.substr(0, dot);
}

tl::unexpected<Diagnostics> command_line_error(std::string message, std::string hint = {}) {
  return tl::unexpected(Diagnostics{{{}, std::move(message), std::move(hint), kCommandLine}});
}

/// The configuration with --set put over it.
struct Settings {
  Configuration configuration;
  SystolicTiming timing = SystolicTiming::last_operation;
  bool given = false;  ///< one of the array's own keys
};

Result<Settings> apply_settings(Configuration configuration, const std::map<std::string, std::string>& settings) {
  static const std::vector<std::string> keys{"ArrayHeight", "ArrayWidth", "Dataflow", "timing"};
  Settings result{std::move(configuration), SystolicTiming::last_operation, false};
  for (const auto& [key, value] : settings) {
    const auto refuse = [&, name = key, found = value](const char* expected, const std::vector<std::string>& words) {
      return command_line_error(fmt::format("--set {}: found {}, expected {}", name, in_quotes(found), expected),
                                words.empty() ? "" : name_hint(found, words, "words"));
    };
    if (key == "ArrayHeight" || key == "ArrayWidth") {
      const auto number = whole_number(value);
      if (!number) return refuse("a whole number of at least 1", {});
      (key == "ArrayHeight" ? result.configuration.height : result.configuration.width) = number;
    } else if (key == "Dataflow") {
      result.configuration.dataflow = dataflow_named(value);
      if (!result.configuration.dataflow) return refuse("os, ws or is", {"os", "ws", "is"});
    } else if (key == "timing") {
      if (value != "last-operation" && value != "drained") {
        return refuse("last-operation or drained", {"last-operation", "drained"});
      }
      if (value == "drained") result.timing = SystolicTiming::drained;
    } else {
      return command_line_error(fmt::format("--set {}: SCALE-Sim's topology has no such setting", in_quotes(key)),
                                name_hint(key, keys, "settings"));
    }
    if (key != "timing") result.given = true;
  }
  return result;
}

/// The array that the settings say; nothing where they say none at all. `configuration` is nullptr without a file.
Result<std::optional<Array>> array_of(const Settings& settings, const SourceText* configuration) {
  const Configuration& said = settings.configuration;
  if (configuration == nullptr && !settings.given) return std::nullopt;
  std::vector<std::string> missing;
  if (!said.height) missing.emplace_back("ArrayHeight");
  if (!said.width) missing.emplace_back("ArrayWidth");
  if (!said.dataflow) missing.emplace_back("Dataflow");
  const std::string source = configuration == nullptr ? kCommandLine : configuration->name;
  if (!missing.empty()) {
    return tl::unexpected(Diagnostics{
        {{},
         fmt::format("the array is not complete; missing: {}", comma_list(missing)),
         configuration == nullptr ? "--set ArrayHeight=32 --set ArrayWidth=32 --set Dataflow=ws"
                                  : "[architecture_presets] has ArrayHeight : 32, ArrayWidth : 32, Dataflow : ws",
         source}});
  }
  if (Count(*said.height) * Count(*said.width) >= Count(std::int64_t{1} << 62)) {
    return tl::unexpected(Diagnostics{
        {{}, fmt::format("an array of {} x {} has 2^62 cells or more", *said.height, *said.width), {}, source}});
  }
  return Array{*said.height, *said.width, *said.dataflow, settings.timing};
}

/// The matrix product that SCALE-Sim makes of a row; nothing where a size leaves 64 bits or their product 128.
std::optional<Einsum> product_of(const Row& row) {
  std::optional<std::int64_t> m = row.m;
  std::optional<std::int64_t> k = row.k;
  if (!row.product) {
    m = (Count(row.output_height()) * Count(row.output_width())).to_int64();
    k = (Count(row.filter_height) * Count(row.filter_width) * Count(row.channels)).to_int64();
  }
  const std::int64_t n = row.product ? row.n : row.filters;
  if (!m || !k || (Count(*m) * Count(n) * Count(*k)).overflowed()) return std::nullopt;
  return matmul(*m, n, *k);
}

/// The convolution itself. A last window that reaches past the input finds implicit zeros there.
std::optional<Einsum> convolution_of(const Row& row) {
  Convolution shape;
  shape.in_channels = row.channels;
  shape.out_channels = row.filters;
  shape.axes = {{row.height, row.filter_height, row.stride_height, 0, 1, 0},
                {row.width, row.filter_width, row.stride_width, 0, 1, 0}};
  auto einsum = convolution(shape);
  if (!einsum) return std::nullopt;
  const std::int64_t sizes[] = {row.output_height(), row.output_width()};
  const char* const names[] = {"p", "q"};
  bool rounded = false;
  for (int i = 0; i < 2; ++i) {
    std::int64_t& extent = einsum->ranks[static_cast<std::size_t>(einsum->rank_named(names[i]))].extent;
    rounded = rounded || extent != sizes[i];
    extent = sizes[i];
  }
  if (rounded) {
    const std::int64_t stored[] = {1, row.channels, row.height, row.width};
    for (std::size_t axis = 0; axis < 4; ++axis) einsum->tensors[0].axes[axis].stored_size = stored[axis];
  }
  if (!check_sizes(*einsum).empty()) return std::nullopt;
  return std::move(*einsum);
}

/// Whether a window of the row reaches past the input.
bool is_rounded(const Row& row) {
  return !row.product && ((row.height - row.filter_height) % row.stride_height != 0 ||
                          (row.width - row.filter_width) % row.stride_width != 0);
}

class NetworkReader {
 public:
  NetworkReader(const SourceText& topology, const SourceText* configuration, const ReadOptions& options)
      : topology_(topology), configuration_(configuration), options_(options) {}

  Result<Document> read() {
    Configuration configuration;
    Diagnostics errors;
    if (configuration_ != nullptr) {
      auto read = read_configuration(*configuration_);
      if (read) configuration = std::move(*read);
      if (!read) errors = read.error();
    }
    auto topology = read_topology(topology_);
    if (!topology) errors.insert(errors.begin(), topology.error().begin(), topology.error().end());
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    auto settings = apply_settings(std::move(configuration), options_.settings);
    if (!settings) return tl::unexpected(settings.error());
    const auto array = array_of(*settings, configuration_);
    if (!array) return tl::unexpected(array.error());
    if (*array && options_.machine) {
      return command_line_error("--on gives a machine, and the array is one already",
                                "leave out --on, or the configuration and the settings of the array");
    }
    document_.name =
        settings->configuration.run_name.empty() ? stem_of(topology_.name) : settings->configuration.run_name;
    document_.left_out = topology->left_out;
    document_.left_out.insert(document_.left_out.end(), settings->configuration.left_out.begin(),
                              settings->configuration.left_out.end());
    check_sparsity(*topology, settings->configuration);
    const std::optional<Machine> machine = *array ? std::optional<Machine>(machine_of(**array)) : std::nullopt;
    document_.layers.reserve(topology->rows.size());
    for (const Row& row : topology->rows) {
      if (!enough_errors(errors_)) add_layer(row, *array, machine);
    }
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    say_conventions(*topology, *array);
    return std::move(document_);
  }

 private:
  /// Ratios are an error where SCALE-Sim applies them; else it takes the weights as dense, and so does einflow.
  void check_sparsity(const Topology& topology, const Configuration& configuration) {
    std::size_t ignored = 0;
    const Row* first = nullptr;
    for (const Row& row : topology.rows) {
      if (row.sparsity.stored == row.sparsity.of) continue;
      if (configuration.sparse) {
        add_error(errors_, row.sparsity_span,
                  fmt::format("{}:{} sparse weights: einflow counts dense tensors only", row.sparsity.stored,
                              row.sparsity.of),
                  "write 1:1, or SparsitySupport : false");
        if (!errors_.empty()) errors_.back().source = topology_.name;
      } else {
        if (first == nullptr) first = &row;
        ++ignored;
      }
    }
    if (first != nullptr) {
      document_.left_out.push_back(fmt::format("{}:{}: sparsity {}:{}{}: SparsitySupport is off, so weights are dense",
                                               topology_.name, first->line, first->sparsity.stored, first->sparsity.of,
                                               ignored > 1 ? fmt::format(" and {} more", ignored - 1) : ""));
    }
  }

  void add_layer(const Row& row, const std::optional<Array>& array, const std::optional<Machine>& machine) {
    auto einsum = array || row.product ? product_of(row) : convolution_of(row);
    if (!einsum) {
      add_error(errors_, {row.line, 1, std::max(1, code_points(row.name))},
                fmt::format("the sizes of {} are too large to count", in_quotes(row.name)),
                "each rank must fit in 64 bits, the operations in 128");
      errors_.back().source = topology_.name;
      return;
    }
    for (Tensor& tensor : einsum->tensors) tensor.type = word_;
    DocumentLayer layer;
    layer.name = unique_name(row);
    layer.repeat = row.repeat;
    einsum->name = layer.name;
    if (array) layer.mapping = mapping_of(*array, *einsum);
    layer.machine = machine;
    layer.cascade.name = layer.name;
    layer.cascade.einsums.push_back(std::move(*einsum));
    document_.layers.push_back(std::move(layer));
  }

  /// Its name, or layerN as SCALE-Sim's folders count from 0; repeated names get a number.
  std::string unique_name(const Row& row) {
    std::string name = row.name.empty() ? fmt::format("layer{}", document_.layers.size()) : row.name;
    std::size_t& times = names_[name];
    if (++times == 1) return name;
    repeated_ = true;
    std::string numbered = fmt::format("{}_{}", name, times);
    while (!names_.emplace(numbered, 1).second) numbered = fmt::format("{}_{}", name, ++times);
    return numbered;
  }

  void say_conventions(const Topology& topology, const std::optional<Array>& array) {
    std::vector<std::string>& said = document_.conventions;
    const auto& rows = topology.rows;
    const bool convolutions = !rows.front().product;
    if (array && convolutions) {
      said.emplace_back(
          "each convolution is the matrix product that SCALE-Sim makes of it (im2col): m output pixels, n filters, k = "
          "filter height x filter width x channels; a pixel of several windows is counted in each");
    }
    if (convolutions) said.emplace_back("one input image; no padding: the IFMAP's sizes are as given");
    std::vector<std::string> rounded;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (is_rounded(rows[i])) rounded.push_back(document_.layers[i].name);
    }
    if (!rounded.empty()) {
      said.push_back(
          fmt::format("output sizes are rounded up where the stride does not divide, as SCALE-Sim does: the last "
                      "window reaches past "
                      "the input, where there are zeros ({})",
                      comma_list(rounded, 6)));
    }
    if (std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.repeat > 1; })) {
      said.emplace_back(
          "a row with DP in its name is depthwise: one layer of one channel, as often as it has channels");
    }
    if (repeated_) said.emplace_back("layers of the same name are numbered");
    said.emplace_back("a word is one byte (int8), as in SCALE-Sim's kB");
    if (!array) return;
    said.emplace_back(
        "one read of the SRAM serves a whole row or column of the array; partial sums of a fold add up inside it, "
        "those of "
        "successive folds in the SRAM, which reads them back (SCALE-Sim writes them and counts no such read)");
    said.emplace_back(array->timing == SystolicTiming::drained
                          ? "timing drained: a fold ends when its last result has left the array (R cycles more than "
                            "SCALE-Sim's code for os)"
                          : "timing last-operation, as SCALE-Sim's code counts: a fold ends with its last operation; "
                            "SCALE-Sim prints the number of the last cycle, one less than the cycles");
    said.emplace_back("the machine ends at the SRAM, which holds every tensor whole: DRAM is not counted");
  }

  const SourceText& topology_;
  const SourceText* configuration_;
  const ReadOptions& options_;
  Document document_;
  ElementType word_ = *find_element_type("int8");
  std::unordered_map<std::string, std::size_t> names_;  // with the number that the last of that name was given
  bool repeated_ = false;
  Diagnostics errors_;
};

}  // namespace

bool is_scalesim(const SourceText& source) {
  if (ends_with(source.name, ".csv") || ends_with(source.name, ".cfg")) return true;
  const std::string_view line = first_line(source.text);
  return line == "[general]" || line == "[architecture_presets]" || line.substr(0, 11) == "Layer name," ||
         line.substr(0, 6) == "Layer,";
}

Result<Document> read_scalesim(const std::vector<SourceText>& sources, const ReadOptions& options) {
  const SourceText* topology = nullptr;
  const SourceText* configuration = nullptr;
  for (const SourceText& source : sources) {
    const SourceText*& place = is_configuration(source) ? configuration : topology;
    if (place != nullptr) {
      return tl::unexpected(
          Diagnostics{{{},
                       fmt::format("a second {}; the first is {}", &place == &topology ? "topology" : "configuration",
                                   in_quotes(place->name)),
                       "one topology (.csv) and at most one configuration (.cfg) are read together",
                       source.name}});
    }
    place = &source;
  }
  if (topology == nullptr) {
    return tl::unexpected(Diagnostics{{{},
                                       "a configuration without a topology: there is no layer to count",
                                       "give both files: einflow analyze topology.csv scale.cfg --layer NAME",
                                       configuration == nullptr ? std::string() : configuration->name}});
  }
  if (!options.ranks.empty()) return command_line_error("-r gives sizes, and a topology has all of them");
  return NetworkReader(*topology, configuration, options).read();
}

}  // namespace einflow
