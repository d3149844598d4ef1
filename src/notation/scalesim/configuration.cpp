#include "notation/scalesim/configuration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/count.hpp"
#include "base/message.hpp"
#include "base/utf8.hpp"
#include "notation/fields.hpp"
#include "notation/scalesim/lines.hpp"

namespace einflow::scalesim {

namespace {

constexpr std::size_t kLargestConfiguration = std::size_t{1} << 20;

/// What a key's value must look like, as scale_config.py reads it.
enum class Value { text, number, numbers, flag, dataflow, bandwidth_mode };

/// Why a key of a group changes no count.
enum class Group { used, sram, bandwidth, addresses, layout, sparsity, dram, files };

struct Key {
  std::string_view section;
  std::string_view name;
  Value value;
  Group group;
};

constexpr std::string_view kArchitecture = "architecture_presets";

constexpr std::array kKeys = {
    Key{"general", "run_name", Value::text, Group::used},
    Key{kArchitecture, "ArrayHeight", Value::number, Group::used},
    Key{kArchitecture, "ArrayWidth", Value::number, Group::used},
    Key{kArchitecture, "Dataflow", Value::dataflow, Group::used},
    Key{kArchitecture, "IfmapSramSzkB", Value::number, Group::sram},
    Key{kArchitecture, "FilterSramSzkB", Value::number, Group::sram},
    Key{kArchitecture, "OfmapSramSzkB", Value::number, Group::sram},
    Key{kArchitecture, "IfmapSramSz", Value::number, Group::sram},
    Key{kArchitecture, "FilterSramSz", Value::number, Group::sram},
    Key{kArchitecture, "OfmapSramSz", Value::number, Group::sram},
    Key{kArchitecture, "IfmapOffset", Value::number, Group::addresses},
    Key{kArchitecture, "FilterOffset", Value::number, Group::addresses},
    Key{kArchitecture, "OfmapOffset", Value::number, Group::addresses},
    Key{kArchitecture, "Bandwidth", Value::numbers, Group::bandwidth},
    Key{kArchitecture, "MemoryBanks", Value::number, Group::layout},
    Key{kArchitecture, "OnChipMemoryBanks", Value::number, Group::layout},
    Key{kArchitecture, "OnChipMemoryBankPorts", Value::number, Group::layout},
    Key{kArchitecture, "ReadRequestBuffer", Value::number, Group::dram},
    Key{kArchitecture, "WriteRequestBuffer", Value::number, Group::dram},
    Key{"layout", "IfmapCustomLayout", Value::flag, Group::layout},
    Key{"layout", "IfmapSRAMBankBandwidth", Value::number, Group::layout},
    Key{"layout", "IfmapSRAMBankNum", Value::number, Group::layout},
    Key{"layout", "IfmapSRAMBankPort", Value::number, Group::layout},
    Key{"layout", "FilterCustomLayout", Value::flag, Group::layout},
    Key{"layout", "FilterSRAMBankBandwidth", Value::number, Group::layout},
    Key{"layout", "FilterSRAMBankNum", Value::number, Group::layout},
    Key{"layout", "FilterSRAMBankPort", Value::number, Group::layout},
    Key{"sparsity", "SparsitySupport", Value::flag, Group::used},
    Key{"sparsity", "SparseRep", Value::text, Group::sparsity},
    Key{"sparsity", "OptimizedMapping", Value::flag, Group::sparsity},
    Key{"sparsity", "BlockSize", Value::number, Group::sparsity},
    Key{"sparsity", "NonZeroElems", Value::number, Group::sparsity},
    Key{"sparsity", "RandomNumberGeneratorSeed", Value::number, Group::sparsity},
    Key{"run_presets", "InterfaceBandwidth", Value::bandwidth_mode, Group::bandwidth},
    Key{"run_presets", "UseRamulatorTrace", Value::flag, Group::dram},
    Key{"network_presets", "TopologyCsvLoc", Value::text, Group::files},
};

std::string_view reason(Group group) {
  switch (group) {
    case Group::sram:
      return "what the SRAMs take from DRAM depends on them and on the tool's prefetching; it is not counted";
    case Group::bandwidth:
      return "cycles are those of the array, without stalls for DRAM";
    case Group::addresses:
      return "no count depends on addresses";
    case Group::layout:
      return "bank conflicts are not counted";
    case Group::sparsity:
      return "SparsitySupport is off";
    case Group::dram:
      return "DRAM's timing is not counted";
    case Group::files:
      return "the topology is the file that was given";
    case Group::used:
      break;
  }
  return "";
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> section_names() {
  std::vector<std::string> names;
  for (const Key& key : kKeys) {
    if (names.empty() || names.back() != key.section) names.emplace_back(key.section);
  }
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> key_names(std::string_view section) {
  std::vector<std::string> names;
  for (const Key& key : kKeys) {
    if (key.section == section) names.emplace_back(key.name);
  }
  return names;
}

class ConfigurationReader {
 public:
  explicit ConfigurationReader(const SourceText& source) : source_(source) {}

  Result<Configuration> read() {
    if (source_.text.size() > kLargestConfiguration) {
      add_error(errors_, {}, "the configuration is larger than 1 MiB");
      return failed();
    }
    for_each_line(source_.text, [&](const Line& line) {
      if (!enough_errors(errors_)) read_line(line);
    });
    if (!errors_.empty()) return failed();
    if (configuration_.sparse && optimized_mapping_) {
      add_error(errors_, *optimized_mapping_,
                "OptimizedMapping draws a sparsity of its own for every layer; einflow counts dense tensors only",
                "SparsitySupport: False counts the dense layers");
      return failed();
    }
    if (configuration_.sparse) left_.erase(Group::sparsity);
    for (const auto& [group, entry] : left_) {
      configuration_.left_out.push_back(
          fmt::format("{}:{}: {}: {}", source_.name, entry.line, entry.text, reason(group)));
    }
    return std::move(configuration_);
  }

 private:
  struct LeftOut {
    int line = 0;
    std::string text;
  };

  tl::unexpected<Diagnostics> failed() {
    for (Diagnostic& error : errors_) error.source = source_.name;
    return tl::unexpected(std::move(errors_));
  }

  void read_line(const Line& line) {
    const std::string_view text = trimmed(line.text);
    if (text.empty() || text.front() == '#' || text.front() == ';') return;
    if (text.front() == '[') return read_section(line, text);
    const std::size_t cut = text.find_first_of("=:");
    if (cut == std::string_view::npos) {
      add_error(errors_, line.span_of(text),
                fmt::format("found {}, expected [SECTION], KEY : VALUE or KEY = VALUE", in_quotes(text)),
                "a comment starts with # or ;");
      return;
    }
    const std::string_view name = trimmed(text.substr(0, cut));
    const std::string_view value = trimmed(text.substr(cut + 1));
    if (section_.empty()) {
      if (!section_told_) {
        add_error(errors_, line.span_of(text), "the key stands before the first section",
                  "sections: " + comma_list(section_names()));
      }
      section_told_ = true;
      return;
    }
    if (section_known_) read_key(line, name, value);
  }

  void read_section(const Line& line, std::string_view text) {
    const std::size_t close = text.find(']');
    const bool whole = close != std::string_view::npos && trimmed(text.substr(close + 1)).empty();
    section_ = std::string(whole ? trimmed(text.substr(1, close - 1)) : "?");
    section_known_ = false;
    if (!whole) {
      add_error(errors_, line.span_of(text), fmt::format("found {}, expected [SECTION]", in_quotes(text)));
      return;
    }
    const std::vector<std::string> names = section_names();
    if (std::find(names.begin(), names.end(), section_) == names.end()) {
      add_error(errors_, line.span_of(text), fmt::format("unknown section {}", in_quotes(section_)),
                name_hint(section_, names, "sections"));
      return;
    }
    if (!sections_.emplace(section_, line.number).second) {
      add_error(errors_, line.span_of(text),
                fmt::format("the section {} is given twice (line {})", in_quotes(section_), sections_[section_]));
      return;
    }
    section_known_ = true;
  }

  void read_key(const Line& line, std::string_view name, std::string_view value) {
    const auto key = std::find_if(kKeys.begin(), kKeys.end(), [&](const Key& candidate) {
      return candidate.section == section_ && lower(candidate.name) == lower(name);
    });
    if (key == kKeys.end()) {
      const auto elsewhere = std::find_if(kKeys.begin(), kKeys.end(),
                                          [&](const Key& candidate) { return lower(candidate.name) == lower(name); });
      add_error(errors_, line.span_of(name.empty() ? trimmed(line.text) : name),
                fmt::format("unknown key {} in [{}]", in_quotes(name), section_),
                elsewhere != kKeys.end() ? fmt::format("it belongs into [{}]", elsewhere->section)
                                         : name_hint(name, key_names(section_), "keys"));
      return;
    }
    const auto [known, is_new] = keys_.emplace(key->name, line.number);
    if (!is_new) {
      add_error(errors_, line.span_of(name),
                fmt::format("the key {} is given twice (line {})", in_quotes(key->name), known->second));
      return;
    }
    const Span span = value.empty() ? line.span_of(name) : line.span_of(value);
    if (value.empty()) {
      add_error(errors_, span, fmt::format("{} has no value, expected {}", key->name, expected(*key)));
      return;
    }
    if (!fits(*key, value)) {
      std::string hint;
      if (value.find_first_of("#;") != std::string_view::npos) hint = "a comment stands on a line of its own";
      if (key->value == Value::dataflow) hint = name_hint(value, {"os", "ws", "is"}, "dataflows");
      add_error(errors_, span, fmt::format("{}: found {}, expected {}", key->name, in_quotes(value), expected(*key)),
                hint);
      return;
    }
    take(*key, value, span, line.number);
  }

  static bool array_size(const Key& key) { return key.value == Value::number && key.group == Group::used; }

  static std::string expected(const Key& key) {
    switch (key.value) {
      case Value::number:
        return array_size(key) ? "a whole number of at least 1" : "a whole number";
      case Value::numbers:
        return "whole numbers with commas between them";
      case Value::flag:
        return "True or False";
      case Value::dataflow:
        return "os, ws or is";
      case Value::bandwidth_mode:
        return "CALC or USER";
      case Value::text:
        break;
    }
    return "a text";
  }

  static bool fits(const Key& key, std::string_view value) {
    switch (key.value) {
      case Value::number:
        return array_size(key) ? whole_number(value).has_value() : parse_count(value).has_value();
      case Value::numbers:
        return std::all_of(value.begin(), value.end(),
                           [](char c) { return (c >= '0' && c <= '9') || c == ',' || c == ' '; });
      case Value::flag:
        return lower(value) == "true" || lower(value) == "false";
      case Value::dataflow:
        return dataflow_named(value).has_value();
      case Value::bandwidth_mode:
        return value == "CALC" || value == "USER";
      case Value::text:
        break;
    }
    return true;
  }

  void take(const Key& key, std::string_view value, const Span& span, int line) {
    if (std::string_view(key.name) == "OptimizedMapping" && lower(value) == "true") optimized_mapping_ = span;
    if (key.group != Group::used) {
      LeftOut& entry = left_[key.group];
      if (entry.text.empty()) entry.line = line;
      entry.text += fmt::format("{}{} = {}", entry.text.empty() ? "" : ", ", key.name, printable(value, 60));
      return;
    }
    if (key.name == "run_name") configuration_.run_name = std::string(value);
    if (key.name == "ArrayHeight") configuration_.height = whole_number(value);
    if (key.name == "ArrayWidth") configuration_.width = whole_number(value);
    if (key.name == "Dataflow") configuration_.dataflow = dataflow_named(value);
    if (key.name == "SparsitySupport") {
      configuration_.sparse = lower(value) == "true";
      configuration_.sparse_span = span;
    }
  }

  const SourceText& source_;
  std::optional<Span> optimized_mapping_;  ///< where it is switched on
  Configuration configuration_;
  std::string section_;
  bool section_known_ = false;
  bool section_told_ = false;
  std::map<std::string, int> sections_;   // with the line of each
  std::map<std::string_view, int> keys_;  // likewise
  std::map<Group, LeftOut> left_;
  Diagnostics errors_;
};

}  // namespace

std::optional<std::int64_t> whole_number(std::string_view text) {
  const std::optional<Count> count = parse_count(text);
  if (!count || *count < Count(1)) return std::nullopt;
  return count->to_int64();
}

Result<Configuration> read_configuration(const SourceText& source) { return ConfigurationReader(source).read(); }

}  // namespace einflow::scalesim
