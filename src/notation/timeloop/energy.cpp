#include "notation/timeloop/energy.hpp"

#include <fmt/format.h>

#include <set>

#include "base/message.hpp"
#include "notation/fields.hpp"

namespace einflow::timeloop {

namespace {

// The first action of each list that is there is taken (Timeloop commit 4cf6d4c, include/model/topology.hpp).
const std::vector<std::string> kRead{"random_read", "read"};
const std::vector<std::string> kFill{"random_fill", "random_write", "fill", "write"};
const std::vector<std::string> kUpdate{"random_update", "random_write", "update", "write"};
const std::vector<std::string> kCompute{"mac_random", "mult_random", "mac", "mult", "compute"};

/// "System.PE[0..15].RF[0..3]" names RF.
std::string component_of(const std::string& table) {
  std::string plain;
  bool inside = false;
  for (const char c : table) {
    if (c == '[') inside = true;
    if (!inside) plain += c;
    if (c == ']') inside = false;
  }
  return plain.substr(plain.rfind('.') + 1);
}

std::optional<Ratio> first_of(const std::vector<std::string>& actions, const std::map<std::string, Ratio>& energies,
                              std::set<std::string>& taken) {
  for (const std::string& action : actions) {
    const auto found = energies.find(action);
    if (found == energies.end()) continue;
    taken.insert(action);
    return found->second;
  }
  return std::nullopt;
}

std::map<std::string, Ratio> read_actions(const YamlNode& node, const std::string& component, Diagnostics& errors) {
  std::map<std::string, Ratio> energies;
  if (!node.is_list()) {
    add_error(errors, node.span, fmt::format("found {}, expected a list of actions", describe(node)));
    return energies;
  }
  for (const YamlNode& item : node.items) {
    const Fields fields(item, "an action", {"name", "energy", "arguments"}, errors);
    const auto name = fields.text("name");
    if (!name) fields.require("name");
    const YamlNode* energy = fields.require("energy");
    if (!name || energy == nullptr) continue;
    const auto value =
        read_decimal(*energy, fmt::format("the energy of {} of {}", in_quotes(*name), in_quotes(component)), errors);
    if (!value) continue;
    const auto [entry, fresh] = energies.emplace(*name, *value);
    if (!fresh && entry->second < *value) entry->second = *value;
  }
  return energies;
}

}  // namespace

std::map<std::string, ActionEnergies> read_energies(const Part& part, const std::set<std::string>& levels,
                                                    Findings& findings) {
  const std::size_t first = findings.errors.size();
  std::map<std::string, ActionEnergies> components;
  const Fields fields(*part.node, "the energy table", {"version", "tables"}, findings.errors);
  const YamlNode* tables = part.node->is_map() ? fields.require("tables") : nullptr;
  if (tables != nullptr && !tables->is_list()) {
    add_error(findings.errors, tables->span, fmt::format("found {}, expected a list of tables", describe(*tables)),
              "the tables of version 0.3 and 0.4 are a list: - {name: System.DRAM, actions: [...]}");
    tables = nullptr;
  }
  std::map<std::string, int> lines;
  std::vector<std::string> others;
  const std::vector<YamlNode> none;
  for (const YamlNode& item : tables == nullptr ? none : tables->items) {
    const Fields table(item, "a table", {"name", "actions", "primitive_estimations"}, findings.errors);
    const auto name = table.text("name");
    const YamlNode* actions = table.require("actions");
    if (!name) table.require("name");
    if (!name || actions == nullptr) continue;
    const std::string component = component_of(*name);
    if (levels.count(component) == 0) {
      others.push_back(component);
      continue;
    }
    const auto [other, fresh] = lines.emplace(component, item.span.line);
    if (!fresh) {
      add_error(findings.errors, item.span,
                fmt::format("a table of {} was already given on line {}", in_quotes(component), other->second));
      continue;
    }
    const auto energies = read_actions(*actions, component, findings.errors);
    std::set<std::string> taken;
    ActionEnergies& found = components[component];
    found.read = first_of(kRead, energies, taken);
    found.fill = first_of(kFill, energies, taken);
    found.update = first_of(kUpdate, energies, taken);
    found.compute = first_of(kCompute, energies, taken);
    std::vector<std::string> left;
    for (const auto& [action, energy] : energies) {
      if (taken.count(action) == 0 && !(energy.numerator() == Count(0))) left.push_back(action);
    }
    if (!left.empty()) leave_out(findings, "energy of " + comma_list(left), component);
  }
  if (!others.empty()) {
    leave_out(findings, "energies of components that are no levels: " + comma_list(others));
  }
  stamp(findings.errors, first, part.source);
  return components;
}

}  // namespace einflow::timeloop
