#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/tangram/schedule.hpp"
#include "notation/tangram/tangram.hpp"

namespace einflow {

namespace {

using namespace tangram;  // NOLINT: the words of this notation

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> names{"OUTP", "OFMP", "BATP", "INPP"};
  return names;
}

/// What nn_dataflow writes beside a schedule: its own results.
const std::vector<std::string>& result_keys() {
  static const std::vector<std::string> keys{"cost",
                                             "time",
                                             "ops",
                                             "access",
                                             "nhops",
                                             "num_nhops",
                                             "seq",
                                             "sched_seq",
                                             "size",
                                             "nodes",
                                             "rot",
                                             "proc_time",
                                             "bus_time",
                                             "dram_time",
                                             "fetch",
                                             "noc_access",
                                             "remote_gbuf_access",
                                             "unit_size",
                                             "unit_cnt",
                                             "cost_op",
                                             "cost_access",
                                             "cost_noc",
                                             "cost_static",
                                             "total_nhops",
                                             "num_nodes",
                                             "ofmap_layout"};
  return keys;
}

class ScheduleReader {
 public:
  /// `head_known`: net, batch and resource had no errors, so that what depends on them can be told.
  ScheduleReader(const Resource& resource, std::optional<std::int64_t> batch, bool head_known, Diagnostics& errors)
      : resource_(resource), batch_(batch), head_known_(head_known), errors_(errors) {}

  /// The schedule of one entry of `layers`; nothing where it has errors.
  std::optional<Schedule> read(const std::string& name, const YamlNode& node, std::vector<std::string>& left_out) {
    const std::size_t errors_before = errors_.size();
    std::vector<std::string> keys{"layer", "pass", "ti", "to", "tb", "orders", "part", "bypass", "bs_subgrp"};
    const std::size_t own_keys = keys.size();
    keys.insert(keys.end(), result_keys().begin(), result_keys().end());
    const Fields fields(node, fmt::format("the layer {}", in_quotes(name)), keys, errors_);
    Schedule schedule;
    schedule.name = name;
    schedule.resource = resource_;
    if (const YamlNode* shape =
            fields.require("layer", "layer: {type: conv, nifm: 64, nofm: 128, sofm: 28, sfil: 3}")) {
      read_layer(*shape, schedule.layer);
    }
    read_blocking(fields, schedule);
    if (const YamlNode* part = fields.find("part")) {
      read_part(*part, schedule);
    } else if (head_known_ && !(resource_.nodes == Extent{}) && node.is_map() && node.find("part") == nullptr) {
      add_error(errors_, node.span,
                fmt::format("'part' is missing in the layer {}: the machine has {} x {} nodes", in_quotes(name),
                            resource_.nodes.h, resource_.nodes.w),
                "part: {order: [OUTP, OFMP, BATP, INPP], OUTP: [4, 4]}");
    }
    if (const YamlNode* pass = fields.find("pass")) {
      if (const auto pair = read_numbers(*pass, "pass", 2, 1, kMaximumSize)) schedule.pass = {(*pair)[0], (*pair)[1]};
    }
    if (const YamlNode* bypass = fields.find("bypass")) read_bypass(*bypass, schedule);
    if (const YamlNode* shared = fields.find("bs_subgrp")) refuse_sharing(*shared);
    std::vector<std::string> results;
    for (const auto& [key, value] : node.entries) {
      const auto known = std::find(keys.begin(), keys.end(), key.text);
      if (known != keys.end() && static_cast<std::size_t>(known - keys.begin()) >= own_keys)
        results.push_back(key.text);
    }
    if (!results.empty()) {
      left_out.push_back(fmt::format("{}: {}: results of nn_dataflow's own model", name, comma_list(results)));
    }
    if (errors_.size() != errors_before || !head_known_) return std::nullopt;
    if (const auto pass = check(schedule)) {
      schedule.pass = *pass;
      return schedule;
    } else {
      for (const Fault& fault : pass.error()) {
        static const std::map<Key, std::string> names{
            {Key::ti, "ti"}, {Key::to, "to"}, {Key::tb, "tb"}, {Key::part, "part"}, {Key::pass, "pass"}};
        const YamlNode* about = node.find(names.at(fault.key));
        add_error(errors_, about != nullptr ? about->span : node.span, fault.message, fault.hint);
      }
    }
    return std::nullopt;
  }

  /// [a, b, ...] of `count` whole numbers.
  std::optional<std::vector<std::int64_t>> read_numbers(const YamlNode& node, const std::string& what,
                                                        std::size_t count, std::int64_t minimum, std::int64_t maximum,
                                                        const std::string& hint = {}) {
    if (!node.is_list() || node.items.size() != count) {
      add_error(errors_, node.span,
                node.is_list()
                    ? fmt::format("{} has {} numbers, expected {}", what, node.items.size(), count)
                    : fmt::format("found {}, expected a list of {} numbers for {}", describe(node), count, what),
                hint);
      return std::nullopt;
    }
    std::vector<std::int64_t> numbers;
    for (const YamlNode& item : node.items) {
      if (const auto number = read_number(item, what, minimum, maximum)) numbers.push_back(*number);
    }
    if (numbers.size() != count) return std::nullopt;
    return numbers;
  }

  std::optional<std::int64_t> read_number(const YamlNode& node, const std::string& what, std::int64_t minimum,
                                          std::int64_t maximum) {
    const auto number = read_integer(node, what, minimum, errors_);
    if (!number || *number <= maximum) return number;
    add_error(errors_, node.span, fmt::format("{} is too large for {}", in_quotes(node.text), what),
              fmt::format("expected {} to {}", minimum, maximum));
    return std::nullopt;
  }

  /// [h, w], or one number for both.
  void read_extent(const YamlNode* node, const std::string& what, std::int64_t maximum, Extent& extent) {
    if (node == nullptr) return;
    if (node->is_list()) {
      if (const auto pair = read_numbers(*node, what, 2, 1, maximum)) extent = {(*pair)[0], (*pair)[1]};
    } else if (const auto side = read_number(*node, what, 1, maximum)) {
      extent = {*side, *side};
    }
  }

 private:
  void read_layer(const YamlNode& node, Layer& layer) {
    static const std::map<std::string, std::pair<LayerType, std::vector<std::string>>> types{
        {"conv", {LayerType::conv, {"type", "nifm", "nofm", "sofm", "sfil", "strd", "batch"}}},
        {"fc", {LayerType::fc, {"type", "nifm", "nofm", "sfil", "batch"}}},
        {"pool", {LayerType::pool, {"type", "nofm", "sofm", "sreg", "strd", "batch"}}},
        {"eltwise", {LayerType::eltwise, {"type", "nofm", "sofm", "nreg", "batch"}}}};
    static const std::vector<std::string> names{"conv", "fc", "pool", "eltwise"};
    const std::vector<std::string> any{"type", "nifm", "nofm", "sofm", "sfil", "sreg", "nreg", "strd", "batch"};
    const YamlNode* type = node.is_map() ? node.find("type") : nullptr;
    const auto found = type != nullptr && type->is_scalar() ? types.find(type->text) : types.end();
    if (found == types.end()) {
      const Fields fields(node, "'layer'", any, errors_);
      if (const YamlNode* value = fields.require("type", "types: " + comma_list(names))) {
        add_error(errors_, value->span, fmt::format("found {}, expected a type of layer", describe(*value)),
                  name_hint(value->is_scalar() ? value->text : "", names, "types"));
      }
      return;
    }
    layer.type = found->second.first;
    const auto& keys = found->second.second;
    const auto has = [&](const std::string& key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
    const Fields fields(node, "a layer of type " + found->first, any, errors_);
    for (const auto& [key, value] : node.entries) {
      if (has(key.text) || std::find(any.begin(), any.end(), key.text) == any.end()) continue;
      add_error(errors_, key.span, fmt::format("a layer of type {} has no {}", found->first, in_quotes(key.text)),
                "keys: " + comma_list(keys));
    }
    const auto number = [&](const char* key, std::int64_t& value) {
      if (const YamlNode* given = fields.require(key)) value = read_number(*given, key, 1, kMaximumSize).value_or(1);
    };
    if (has("nifm")) number("nifm", layer.nifm);
    number("nofm", layer.nofm);
    if (has("sofm")) read_extent(fields.require("sofm"), "sofm", kMaximumSize, layer.sofm);
    if (layer.type == LayerType::fc) read_extent(fields.find("sfil"), "sfil", kMaximumSize, layer.sfil);
    if (layer.type == LayerType::conv) read_extent(fields.require("sfil"), "sfil", kMaximumSize, layer.sfil);
    if (has("sreg")) {
      read_extent(fields.require("sreg"), "sreg", kMaximumSize, layer.sfil);
      layer.strd = layer.sfil;  // as nn_dataflow's PoolingLayer
    }
    if (has("strd")) read_extent(fields.find("strd"), "strd", kMaximumSize, layer.strd);
    if (has("nreg")) number("nreg", layer.nreg);
    if (const YamlNode* batch = fields.find("batch")) {
      layer.batch = read_number(*batch, "batch", 1, kMaximumSize).value_or(1);
    } else if (batch_) {
      layer.batch = *batch_;
    } else if (head_known_ && node.find("batch") == nullptr) {
      add_error(errors_, node.span, "'batch' is missing, here and for the whole net", "batch: 16");
    }
  }

  void read_blocking(const Fields& fields, Schedule& schedule) {
    static const std::array<const char*, 3> names{"ti", "to", "tb"};
    for (std::size_t loop = 0; loop < 3; ++loop) {
      const std::string hint =
          fmt::format("{}: [2, 4, 1]: factors DRAM to GBUF, GBUF to REGF, inside REGF", names[loop]);
      const YamlNode* node = fields.require(names[loop], hint);
      if (node == nullptr) continue;
      if (const auto factors = read_numbers(*node, names[loop], 3, 1, kMaximumSize, hint)) {
        for (std::size_t level = 0; level < 3; ++level) schedule.factors[level][loop] = (*factors)[level];
      }
    }
    const YamlNode* orders =
        fields.require("orders", "orders: [[1, 0, 2], [0, 1, 2]]: for IFM, OFM, BAT; 0 = innermost");
    if (orders == nullptr) return;
    if (!orders->is_list() || orders->items.size() != 2) {
      add_error(errors_, orders->span,
                orders->is_list() ? fmt::format("orders is a list of {}, expected 2", orders->items.size())
                                  : fmt::format("found {}, expected a list of 2 orders", describe(*orders)),
                "orders: [[1, 0, 2], [0, 1, 2]]: DRAM to GBUF, GBUF to REGF");
      return;
    }
    for (std::size_t level = 0; level < 2; ++level) {
      const YamlNode& item = orders->items[level];
      const auto order = read_numbers(item, "an order", 3, 0, 2);
      if (!order) continue;
      if (std::set<std::int64_t>(order->begin(), order->end()).size() != 3) {
        add_error(errors_, item.span, "an order gives 0, 1 and 2 once each", "places of IFM, OFM, BAT; 0 = innermost");
        continue;
      }
      for (std::size_t loop = 0; loop < 3; ++loop) schedule.orders[level][loop] = static_cast<int>((*order)[loop]);
    }
  }

  void read_part(const YamlNode& node, Schedule& schedule) {
    const YamlNode* order = nullptr;
    if (node.is_list()) {  // nn_dataflow's PartitionScheme: order, then the factors in its numbering
      if (node.items.size() != 2 || !node.items[1].is_list() || node.items[1].items.size() != 4) {
        add_error(errors_, node.span, "a list for part is [order, factors] with 4 factors (h, w)",
                  "part: [[2, 0, 1, 3], [[1, 4], [1, 1], [4, 1], [1, 1]]]");
        return;
      }
      order = &node.items[0];
      for (std::size_t kind = 0; kind < 4; ++kind) {
        read_extent(&node.items[1].items[kind], part_names()[kind], kMaximumSide, schedule.parts[kind]);
      }
    } else {
      std::vector<std::string> keys{"order"};
      keys.insert(keys.end(), part_names().begin(), part_names().end());
      const Fields fields(node, "'part'", keys, errors_);
      if (!node.is_map()) return;
      for (std::size_t kind = 0; kind < 4; ++kind) {
        const YamlNode* pair = fields.find(part_names()[kind]);
        if (pair == nullptr) continue;
        if (const auto sides = read_numbers(*pair, part_names()[kind] + " (h, w)", 2, 1, kMaximumSide)) {
          schedule.parts[kind] = {(*sides)[0], (*sides)[1]};
        }
      }
      order = fields.require("order", "kinds, outermost first: order: [BATP, OUTP, OFMP, INPP]");
    }
    if (order != nullptr) read_part_order(*order, schedule);
  }

  void read_part_order(const YamlNode& node, Schedule& schedule) {
    const std::string hint = "kinds, outermost first: [BATP, OUTP, OFMP, INPP], or their numbers [2, 0, 1, 3]";
    if (!node.is_list() || node.items.size() != 4) {
      add_error(errors_, node.span, fmt::format("found {}, expected a list of the 4 kinds", describe(node)), hint);
      return;
    }
    std::set<int> seen;
    for (std::size_t place = 0; place < 4; ++place) {
      const YamlNode& item = node.items[place];
      int kind = -1;
      for (int k = 0; k < 4 && item.is_scalar(); ++k) {
        if (item.text == part_names()[static_cast<std::size_t>(k)] || item.text == std::to_string(k)) kind = k;
      }
      if (kind < 0) {
        add_error(errors_, item.span, fmt::format("found {}, expected a kind of part", describe(item)), hint);
        return;
      }
      if (!seen.insert(kind).second) {
        add_error(errors_, item.span,
                  fmt::format("{} stands twice in the order", part_names()[static_cast<std::size_t>(kind)]), hint);
        return;
      }
      schedule.part_order[place] = kind;
    }
  }

  /// true: every tensor may skip GBUF; false: none; a list: these may.
  void read_bypass(const YamlNode& node, Schedule& schedule) {
    static const std::vector<std::string> names{"FIL", "IFM", "OFM"};
    if (node.is_scalar()) {
      if (const auto all = read_flag(node, "bypass", errors_)) schedule.bypass = {*all, *all, *all};
      return;
    }
    schedule.bypass = {false, false, false};
    for (const std::string& name : read_texts(node, "bypass", errors_)) {
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end()) {
        const auto item = std::find_if(node.items.begin(), node.items.end(),
                                       [&](const YamlNode& candidate) { return candidate.text == name; });
        add_error(errors_, item == node.items.end() ? node.span : item->span,
                  fmt::format("unknown tensor {}", in_quotes(name)), name_hint(name, names, "tensors"));
        continue;
      }
      schedule.bypass[static_cast<std::size_t>(found - names.begin())] = true;
    }
  }

  void refuse_sharing(const YamlNode& node) {
    const auto sizes = read_numbers(node, "bs_subgrp", 3, 1, kMaximumSize);
    if (!sizes || *std::max_element(sizes->begin(), sizes->end()) == 1) return;
    add_error(errors_, node.span, "nodes that share a buffered tile and pass its parts round have no nest",
              "schedules without buffer sharing have bs_subgrp [1, 1, 1]");
  }

  const Resource& resource_;
  std::optional<std::int64_t> batch_;
  bool head_known_;
  Diagnostics& errors_;
};

Resource read_resource(const Fields& top, Diagnostics& errors) {
  Resource resource;
  const YamlNode* node =
      top.require("resource", "resource: {dim_nodes: 1, dim_array: 16, size_gbuf: 65536, size_regf: 256}");
  if (node == nullptr) return resource;
  const Fields fields(*node, "'resource'",
                      {"dim_nodes", "dim_array", "size_gbuf", "size_regf", "word", "access_forwarding"}, errors);
  if (!node->is_map()) return resource;
  ScheduleReader reader(resource, std::nullopt, true, errors);
  reader.read_extent(fields.find("dim_nodes"), "dim_nodes", kMaximumSide, resource.nodes);
  reader.read_extent(fields.require("dim_array", "dim_array: [16, 16]"), "dim_array", kMaximumSide, resource.array);
  const std::int64_t most_words = std::int64_t{1} << 50;
  if (const YamlNode* words = fields.find("size_gbuf")) {
    resource.size_gbuf = reader.read_number(*words, "size_gbuf", 1, most_words);
  }
  if (const YamlNode* words = fields.find("size_regf")) {
    resource.size_regf = reader.read_number(*words, "size_regf", 1, most_words);
  }
  if (const YamlNode* bits = fields.find("word")) {
    resource.word = static_cast<int>(reader.read_number(*bits, "word", 1, 1024).value_or(16));
  }
  resource.access_forwarding = fields.flag("access_forwarding").value_or(false);
  return resource;
}

void add_conventions(const std::vector<Schedule>& schedules, const YamlNode& top,
                     std::vector<std::string>& conventions) {
  const auto note = [&](bool applies, const char* convention) {
    if (applies) conventions.emplace_back(convention);
  };
  const auto any = [&](auto holds) { return std::any_of(schedules.begin(), schedules.end(), holds); };
  const auto layout = [](const Schedule& schedule) {
    const Layer layer = node_layer(schedule);
    return row_stationary(layer.sfil, layer.sofm.h, schedule.resource.array);
  };
  const YamlNode* resource = top.find("resource");
  const Resource& machine = schedules.front().resource;
  const bool many = !(machine.nodes == Extent{});
  note(true, "row stationary: r over ARRAY.h, p over ARRAY.w, one row of a map in a PE");
  note(true, "what the array has no room for is folded, what is small is replicated");
  note(true, "GBUF holds what it saves fetches of, and what `bypass` does not let skip it");
  note(true, "REGF keeps rows that the loops outside leave in place, of others a window");
  note(resource != nullptr && resource->find("word") == nullptr, "a word has 16 bits: int16");
  note(many && machine.access_forwarding, "access_forwarding: what several nodes need leaves DRAM once");
  note(many && !machine.access_forwarding, "without access_forwarding each node reads and updates DRAM for itself");
  note(any([](const Schedule& schedule) {
         Count parts = 1;
         for (const Extent& part : schedule.parts) parts *= Count(part.h) * Count(part.w);
         return parts < Count(schedule.resource.nodes.h) * Count(schedule.resource.nodes.w);
       }),
       "nodes without a part are idle");
  note(any([](const Schedule& schedule) { return schedule.layer.type == LayerType::pool; }),
       "pooling is by max; the counts of a mean are the same");
  note(any([&](const Schedule& schedule) { return layout(schedule).fold_maps > 1; }),
       "rows of a map beyond the array are slices: part of BAT, outside its images");
  note(any([&](const Schedule& schedule) { return layout(schedule).fold_filter > 1; }),
       "rows of a filter beyond the array are folds, round the innermost loop");
}

/// Whether `word` stands there as a key.
bool has_key(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const char before = at == 0 ? '\n' : text[at - 1];
    std::size_t behind = at + word.size();
    if (behind < text.size() && (text[behind] == '"' || text[behind] == '\'')) ++behind;
    while (behind < text.size() && text[behind] == ' ') ++behind;
    if (behind < text.size() && text[behind] == ':' &&
        std::string_view("\n \t\r{,\"'").find(before) != std::string_view::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_tangram(const SourceText& source) {
  const std::string_view text = std::string_view(source.text).substr(0, std::size_t{1} << 20);
  return has_key(text, "ti") && has_key(text, "to") && has_key(text, "tb") && has_key(text, "nofm");
}

Result<Document> read_tangram(const std::vector<SourceText>& sources, const ReadOptions& options) {
  if (sources.size() != 1) return fail("a schedule is one file");
  if (!options.settings.empty()) {
    return fail(fmt::format("unknown setting {}", in_quotes(options.settings.begin()->first)),
                "schedules have no settings");
  }
  if (!options.ranks.empty()) return fail("a schedule has the sizes of its layers", "leave -r out");
  if (options.machine) return fail("a schedule has its machine in `resource`", "leave --on out");
  const auto root = parse_yaml(sources.front().text);
  if (!root) return tl::unexpected(root.error());
  Diagnostics errors;
  const Fields top(*root, "the schedule", {"net", "batch", "resource", "layers"}, errors);
  if (!root->is_map()) return tl::unexpected(std::move(errors));

  Document document;
  document.name = top.text("net").value_or("");
  const Resource resource = read_resource(top, errors);
  std::optional<std::int64_t> batch;
  if (const YamlNode* node = top.find("batch")) {
    batch =
        ScheduleReader(resource, std::nullopt, true, errors).read_number(*node, "batch", 1, kMaximumSize).value_or(1);
  }
  ScheduleReader reader(resource, batch, errors.empty(), errors);
  std::vector<Schedule> schedules;
  const YamlNode* layers =
      top.require("layers", "layers: {NAME: {layer: ..., ti: ..., to: ..., tb: ..., orders: ...}}");
  if (layers != nullptr && (!layers->is_map() || layers->entries.empty())) {
    add_error(errors, layers->span,
              fmt::format("found {}, expected a map of layers by name",
                          layers->is_map() ? "an empty map" : describe(*layers)));
  } else if (layers != nullptr) {
    for (const auto& [name, node] : layers->entries) {
      if (enough_errors(errors)) break;
      const auto schedule = reader.read(name.text, node, document.left_out);
      if (schedule) schedules.push_back(*schedule);
    }
  }
  for (const Schedule& schedule : schedules) {
    if (!errors.empty()) break;
    auto spec = spec_of(schedule);
    if (!spec) return tl::unexpected(spec.error());
    DocumentLayer layer;
    layer.name = schedule.name;
    layer.cascade.name = schedule.name;
    layer.cascade.einsums.push_back(std::move(spec->einsum));
    layer.machine = std::move(spec->machine);
    layer.mapping = std::move(spec->mapping);
    document.layers.push_back(std::move(layer));
  }
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  add_conventions(schedules, *root, document.conventions);
  return document;
}

}  // namespace einflow
