#include "notation/machine_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/level_reader.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumLevels = 64;

/// The clock, if it is stated.
void read_clock(const Fields& fields, Machine& machine, Diagnostics& errors) {
  const YamlNode* node = fields.find("clock");
  if (node == nullptr) return;
  const auto clock = read_quantity(*node, {Measure::frequency}, errors);
  if (!clock) return;
  if (clock->value.numerator() == Count(0)) return add_error(errors, node->span, "the clock is 0");
  machine.clock_hz = clock->value;
  machine.clock_stated = true;
}

/// Names are unique, the outermost level is storage, the last and only the last is the compute level.
void check_chain(const Machine& machine, const std::vector<Span>& spans, const YamlNode& levels, Diagnostics& errors) {
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const std::string& name = machine.level_name(static_cast<int>(i));
    const auto first = static_cast<std::size_t>(machine.level_named(name));
    if (first < i) {
      add_error(errors, spans[i],
                fmt::format("a level {} was already given on line {}", in_quotes(name), spans[first].line),
                "levels need names of their own");
    }
    if (std::holds_alternative<Compute>(machine.levels[i]) && i + 1 < machine.levels.size()) {
      add_error(errors, spans[i], fmt::format("the compute level {} is not the last level", in_quotes(name)),
                "there is one compute level, the innermost");
    }
  }
  if (!std::holds_alternative<Storage>(machine.levels.front())) {
    add_error(errors, spans.front(),
              fmt::format("the outermost level {} is not a storage; every tensor starts in the outermost storage",
                          in_quotes(machine.level_name(0))));
  }
  if (!std::holds_alternative<Compute>(machine.levels.back())) {
    const bool none = std::none_of(machine.levels.begin(), machine.levels.end(),
                                   [](const Level& level) { return std::holds_alternative<Compute>(level); });
    if (none) {
      add_error(errors, levels.span, "the machine has no compute level",
                "add {compute: NAME, rate: 1 op/cycle} as the last level");
    }
  }
  const Count instances = machine.compute_instances();
  if (instances.overflowed() || instances >= Count(Count::Int{1} << 62)) {
    add_error(errors, levels.span, "the machine has 2^62 compute instances or more");
  }
}

void add_convention(std::vector<std::string>& conventions, const std::vector<std::string>& names,
                    std::string_view what) {
  if (!names.empty()) conventions.push_back(fmt::format("{}: {} (not stated)", comma_list(names), what));
}

/// What was assumed of levels whose lines are silent.
void tell_conventions(const Machine& machine, const std::vector<const YamlNode*>& nodes,
                      std::vector<std::string>& conventions) {
  if (!machine.clock_stated) conventions.push_back("clock: not stated, so times are in cycles only");
  std::vector<std::string> unbounded, single, no_multicast, no_reduction, no_forwarding;
  for (std::size_t i = 0; i < machine.levels.size(); ++i) {
    const std::string& name = machine.level_name(static_cast<int>(i));
    const auto silent = [&](std::string_view key) { return nodes[i]->find(key) == nullptr; };
    if (std::holds_alternative<Storage>(machine.levels[i])) {
      if (silent("capacity")) unbounded.push_back(name);
      if (silent("double_buffered")) single.push_back(name);
    } else if (std::holds_alternative<Mesh>(machine.levels[i])) {
      if (silent("multicast")) no_multicast.push_back(name);
      if (silent("reduction")) no_reduction.push_back(name);
      if (silent("forwarding")) no_forwarding.push_back(name);
    } else if (silent("latches")) {
      conventions.push_back(fmt::format("{}: no operand latches, every operation reads its inputs (not stated)", name));
    }
  }
  add_convention(conventions, unbounded, "unbounded capacity");
  add_convention(conventions, single, "not double-buffered");
  add_convention(conventions, no_multicast, "no multicast");
  add_convention(conventions, no_reduction, "no reduction");
  add_convention(conventions, no_forwarding, "no forwarding");
}

}  // namespace

std::optional<Machine> read_machine(const YamlNode& node, Diagnostics& errors, std::vector<std::string>& conventions) {
  const std::size_t errors_before = errors.size();
  Machine machine;
  const Fields fields(node, "the machine", {"name", "clock", "levels", "source", "notes"}, errors);
  if (!node.is_map()) return std::nullopt;
  machine.name = fields.text("name").value_or("");
  machine.source = fields.text("source").value_or("");
  if (const YamlNode* notes = fields.find("notes")) machine.notes = read_texts(*notes, "'notes'", errors);
  read_clock(fields, machine, errors);

  const YamlNode* levels =
      fields.require("levels", "levels: a list, the outermost storage first, the compute level last");
  if (levels == nullptr) return std::nullopt;
  if (!levels->is_list() || levels->items.empty()) {
    add_error(
        errors, levels->span,
        fmt::format("found {}, expected a list of levels", levels->is_list() ? "an empty list" : describe(*levels)));
    return std::nullopt;
  }
  if (levels->items.size() > kMaximumLevels) {
    add_error(errors, levels->span, fmt::format("more than {} levels", kMaximumLevels));
    return std::nullopt;
  }
  std::vector<Span> spans;
  std::vector<const YamlNode*> nodes;
  for (const YamlNode& item : levels->items) {
    auto level = read_level(item, machine, errors);
    if (!level) continue;
    spans.push_back(level->name_span);
    nodes.push_back(&item);
    machine.levels.push_back(std::move(level->level));
  }
  const bool all_read = machine.levels.size() == levels->items.size();
  if (all_read) check_chain(machine, spans, *levels, errors);
  if (errors.size() > errors_before) return std::nullopt;
  tell_conventions(machine, nodes, conventions);
  return machine;
}

}  // namespace einflow
