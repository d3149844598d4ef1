#include "notation/timeloop/architecture.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/timeloop/attributes.hpp"

namespace einflow::timeloop {

namespace {

constexpr std::size_t kMaximumUnits = 64;
constexpr std::size_t kMaximumAttributes = 1000;

bool contains_one_of(const std::string& text, const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

// Classes are known by a part of their names (Timeloop commit 4cf6d4c).
const std::vector<std::string> kStorages{"DRAM", "SRAM", "regfile", "smartbuffer", "storage"};
const std::vector<std::string> kMultipliers{"mac", "compute"};
const std::vector<std::string> kNetworks{"XY_NoC", "Legacy", "ReductionTree", "SimpleMulticast"};

const YamlNode* attributes_of(const YamlNode& node, Diagnostics& errors) {
  const YamlNode* attributes = node.find("attributes");
  if (attributes == nullptr || attributes->is_null() || attributes->is_map()) {
    return attributes != nullptr && attributes->is_map() ? attributes : nullptr;
  }
  add_error(errors, attributes->span, fmt::format("found {}, expected the attributes as a map", describe(*attributes)));
  return nullptr;
}

class ArchitectureReader {
 public:
  ArchitectureReader(const Part& part, Findings& findings)
      : part_(part), findings_(findings), errors_(findings.errors), errors_before_(findings.errors.size()) {}

  std::optional<Architecture> read() {
    const YamlNode& node = *part_.node;
    const Fields fields(node, "the architecture", {"version", "subtree", "nodes"}, errors_);
    if (!node.is_map()) return std::nullopt;
    const YamlNode *subtree = node.find("subtree"), *nodes = node.find("nodes");
    if ((subtree == nullptr) == (nodes == nullptr)) {
      add_error(errors_, part_.key,
                subtree == nullptr ? "the architecture has neither 'subtree' (v0.3) nor 'nodes' (v0.4)"
                                   : "the architecture has both 'subtree' (v0.3) and 'nodes' (v0.4)");
      return std::nullopt;
    }
    architecture_.nodes = nodes != nullptr;
    architecture_.source = part_.source;
    if (nodes != nullptr) {
      read_nodes(*nodes);
    } else {
      read_subtree(*subtree);
      if (!failed()) add_fan_outs();
    }
    if (!failed()) check();
    return failed() ? std::nullopt : std::optional<Architecture>(std::move(architecture_));
  }

 private:
  bool failed() const { return errors_.size() > errors_before_; }

  // v0.3: a tree with one branch at each level, whose components stand in `local`.

  void read_subtree(const YamlNode& first) {
    const YamlNode* subtree = &first;
    std::int64_t instances = 1;
    bool outermost = true;
    while (subtree != nullptr) {
      if (!subtree->is_list() || subtree->items.size() != 1) {
        add_error(
            errors_, subtree->span,
            fmt::format("found {}, expected a list of one subtree",
                        subtree->is_list() ? fmt::format("{} subtrees", subtree->items.size()) : describe(*subtree)),
            "Timeloop's tree has one branch at each level");
        return;
      }
      const YamlNode& node = subtree->items[0];
      const Fields fields(node, "a subtree", {"name", "local", "subtree", "attributes"}, errors_);
      const YamlNode* name_node = fields.require("name");
      const auto name = name_node == nullptr ? std::nullopt : read_counted_name(*name_node, "a subtree", errors_);
      if (name) multiply(instances, name->count, name_node->span);
      if (outermost && name) architecture_.name = name->name;
      outermost = false;
      if (const YamlNode* attributes = attributes_of(node, errors_)) {
        for (const YamlEntry& entry : attributes->entries) {
          read_cycle(entry);
          if (entry.key.text != "global_cycle_seconds") {
            leave_out(findings_, fmt::format("'{}' of the subtree (line {})", entry.key.text, entry.key.span.line));
          }
        }
      }
      if (const YamlNode* local = fields.find("local")) read_local(*local, instances);
      subtree = fields.find("subtree");
    }
  }

  void multiply(std::int64_t& instances, std::int64_t by, const Span& span) {
    const auto product = (Count(instances) * Count(by)).to_int64();
    if (!product) add_error(errors_, span, "the number of instances does not fit in 64 bits");
    instances = product.value_or(1);
  }

  void read_local(const YamlNode& local, std::int64_t around) {
    if (!local.is_list()) {
      add_error(errors_, local.span, fmt::format("found {}, expected a list of components", describe(local)));
      return;
    }
    for (const YamlNode& node : local.items) {
      const Fields fields(node, "a component", {"name", "class", "subclass", "attributes"}, errors_);
      const YamlNode *name_node = fields.require("name"), *class_node = fields.require("class");
      if (name_node == nullptr || class_node == nullptr) continue;
      const auto name = read_counted_name(*name_node, "a component", errors_);
      const auto type = read_text(*class_node, "'class'", errors_);
      if (!name || !type) continue;
      std::int64_t instances = around;
      multiply(instances, name->count, name_node->span);
      Attributes attributes;
      if (const YamlNode* own = attributes_of(node, errors_)) {
        for (const YamlEntry& entry : own->entries) attributes.push_back(&entry);
      }
      add_unit(*name, *name_node, *type, *class_node, attributes, instances, true);
    }
  }

  /// Between units of different numbers of instances.
  void add_fan_outs() {
    std::vector<Stage> stages;
    const Unit* outer = nullptr;
    for (const Stage& stage : architecture_.stages) {
      const Unit& unit = std::get<Unit>(stage);
      if (outer != nullptr && (unit.mesh_x % outer->mesh_x != 0 || unit.mesh_y % outer->mesh_y != 0)) {
        add_error(errors_, unit.span,
                  fmt::format("{} x {} instances of {} cannot be shared among {} x {} of {}", unit.mesh_x, unit.mesh_y,
                              in_quotes(unit.name), outer->mesh_x, outer->mesh_y, in_quotes(outer->name)));
      } else if (outer != nullptr && (unit.mesh_x != outer->mesh_x || unit.mesh_y != outer->mesh_y)) {
        stages.push_back(FanOut{outer->name, "", unit.mesh_x / outer->mesh_x, unit.mesh_y / outer->mesh_y, unit.span});
      }
      stages.push_back(unit);
      outer = &unit;
    }
    architecture_.stages = std::move(stages);
  }

  // v0.4: a list of nodes from outside in; each may be there several times for one of what is outside it.

  void read_nodes(const YamlNode& nodes) {
    if (!nodes.is_list()) {
      add_error(errors_, nodes.span, fmt::format("found {}, expected a list of nodes", describe(nodes)));
      return;
    }
    for (const YamlNode& node : nodes.items) {
      if (node.tag() == "!Container" || node.tag() == "!Component" || node.tag() == "!Nothing") {
        read_node(node);
      } else if (node.tag() == "!Hierarchical") {
        const Fields fields(node, "a hierarchy", {"nodes"}, errors_);
        if (const YamlNode* inner = fields.require("nodes")) read_nodes(*inner);
      } else if (node.tag() == "!Parallel" || node.tag() == "!Pipelined") {
        add_error(errors_, node.span,
                  fmt::format("components beside each other ({}) are not a chain of levels", node.tag().substr(1)),
                  "write them one after the other, each with the data spaces that it keeps and bypasses");
      } else {
        add_error(errors_, node.span,
                  node.tag().empty() ? std::string("a node without a tag")
                                     : fmt::format("the tag {} is no kind of node", in_quotes(node.tag())),
                  "kinds: !Container, !Component, !Hierarchical, !Nothing");
      }
    }
  }

  void read_node(const YamlNode& node) {
    const bool container = node.tag() == "!Container";
    const Fields fields(node, container ? "a container" : "a component",
                        {"name", "class", "subclass", "attributes", "spatial", "constraints", "sparse_optimizations",
                         "required_actions", "area_scale", "energy_scale", "enabled", "networks"},
                        errors_);
    if (node.tag() == "!Nothing") return;
    if (const auto enabled = fields.find("enabled");
        enabled != nullptr && !read_yes(*enabled, "'enabled'", errors_).value_or(true)) {
      return;
    }
    const YamlNode* name_node = fields.require("name");
    const auto name = name_node == nullptr ? std::nullopt : read_counted_name(*name_node, "a node", errors_);
    if (!name) return;
    if (architecture_.name.empty() && container) architecture_.name = name->name;
    refuse_sparse(fields);
    if (fields.find("networks") != nullptr) {
      add_error(errors_, fields.find("networks")->span,
                "networks of their own are not read; einflow's meshes multicast and reduce");
    }
    if (const YamlNode* scale = fields.find("energy_scale"); scale != nullptr && scale->text != "1") {
      add_error(errors_, scale->span, "'energy_scale' is not applied; write the scaled energies into the ERT");
    }
    for (const char* key : {"required_actions", "area_scale"}) {
      if (const YamlNode* value = node.find(key); value != nullptr && !value->is_null()) {
        leave_out(findings_, fmt::format("'{}'", key), name->name);
      }
    }
    if (name->count != 1) {
      return add_error(errors_, name_node->span, "several instances in a name of v0.4",
                       "spatial: {meshX: 4, meshY: 2} says how many there are");
    }
    if (const YamlNode* spatial = fields.find("spatial")) read_spatial(*spatial, *name, name_node->span, container);
    if (const YamlNode* constraints = fields.find("constraints")) read_constraints(*constraints, name->name);
    const YamlNode* own = attributes_of(node, errors_);
    if (container) {
      if (own == nullptr) return;
      Attributes now;  // the innermost container's come first
      for (const YamlEntry& entry : own->entries) {
        read_cycle(entry);
        now.push_back(&entry);
      }
      now.insert(now.end(), inherited_.begin(), inherited_.end());
      inherited_ = std::move(now);
      return;
    }
    const YamlNode* class_node = fields.require("class");
    const auto type = class_node == nullptr ? std::nullopt : read_text(*class_node, "'class'", errors_);
    if (!type) return;
    Attributes attributes;
    if (own != nullptr) {
      for (const YamlEntry& entry : own->entries) attributes.push_back(&entry);
    }
    attributes.insert(attributes.end(), inherited_.begin(), inherited_.end());
    add_unit(*name, *name_node, *type, *class_node, attributes, 1, false);
  }

  void refuse_sparse(const Fields& fields) {
    const YamlNode* sparse = fields.find("sparse_optimizations");
    if (sparse == nullptr || (sparse->items.empty() && sparse->entries.empty() && !sparse->is_scalar())) return;
    add_error(errors_, sparse->span, "sparse optimizations are not counted; einflow counts dense tensors",
              "take 'sparse_optimizations' out to count the dense problem");
  }

  void read_spatial(const YamlNode& node, const CountedName& name, const Span& span, bool container) {
    const Fields fields(node, "'spatial'", {"meshX", "meshY"}, errors_);
    FanOut fan_out{name.name, container ? name.name : "inter_" + name.name + "_spatial", 1, 1, span};
    if (const YamlNode* x = fields.find("meshX")) fan_out.x = read_whole(*x, "'meshX'", 1, errors_).value_or(1);
    if (const YamlNode* y = fields.find("meshY")) fan_out.y = read_whole(*y, "'meshY'", 1, errors_).value_or(1);
    if (fan_out.x > 1 || fan_out.y > 1) architecture_.stages.push_back(fan_out);
  }

  void read_constraints(const YamlNode& node, const std::string& target) {
    const Fields fields(node, "'constraints'", {"temporal", "spatial", "dataspace", "max_overbooked_proportion"},
                        errors_);
    if (!node.is_map()) return;
    for (const auto& [key, value] : node.entries) {
      if (value.is_null() || (value.is_map() && value.entries.empty())) continue;
      architecture_.constraints.push_back({target, key.text, &value});
    }
  }

  // Both.

  void read_cycle(const YamlEntry& entry) {
    if (entry.key.text != "global_cycle_seconds") return;
    const auto seconds = read_decimal(entry.value, "'global_cycle_seconds'", errors_);
    if (!seconds) return;
    if (seconds->numerator() == Count(0)) {
      add_error(errors_, entry.value.span, "a cycle of 0 seconds");
      return;
    }
    architecture_.cycle_seconds = *seconds;
  }

  void add_unit(const CountedName& name, const YamlNode& name_node, const std::string& type, const YamlNode& type_node,
                const Attributes& attributes, std::int64_t instances, bool in_tree) {
    if (type == "nothing") return;
    if (contains_one_of(type, kNetworks)) {
      add_error(
          errors_, type_node.span,
          fmt::format("a network of its own ({}) is not read; einflow's meshes multicast and reduce", in_quotes(type)));
      return;
    }
    const bool storage = contains_one_of(type, kStorages);
    if (!storage && !contains_one_of(type, kMultipliers)) {
      if (in_tree) {
        leave_out(findings_, fmt::format("the component of class {}, which Timeloop skips, too", in_quotes(type)),
                  name.name);
      } else {
        add_error(errors_, type_node.span,
                  fmt::format("the class {} is neither a storage nor a multiplier", in_quotes(type)),
                  "storages have DRAM, SRAM, regfile, smartbuffer or storage in it, multipliers mac or compute");
      }
      return;
    }
    if (architecture_.stages.size() >= 2 * kMaximumUnits) {
      add_error(errors_, name_node.span, fmt::format("more than {} levels", kMaximumUnits));
      return;
    }
    if (attributes.size() > kMaximumAttributes) {
      add_error(errors_, name_node.span,
                fmt::format("{} has more than {} attributes", in_quotes(name.name), kMaximumAttributes));
      return;
    }
    Unit unit;
    unit.name = name.name;
    unit.span = name_node.span;
    unit.compute = !storage;
    unit.dummy = type.find("dummy") != std::string::npos;
    read_attributes(attributes, instances, in_tree, unit, findings_);
    for (const YamlEntry* entry : attributes) read_cycle(*entry);
    architecture_.stages.push_back(std::move(unit));
  }

  void check() {
    std::vector<std::pair<std::string, Span>> names;
    Count instances = 1;
    const Unit* multipliers = nullptr;
    for (const Stage& stage : architecture_.stages) {
      if (const auto* fan_out = std::get_if<FanOut>(&stage)) {
        instances *= Count(fan_out->x) * Count(fan_out->y);
        if (fan_out->mesh == fan_out->target) names.emplace_back(fan_out->mesh, fan_out->span);
        continue;
      }
      const Unit& unit = std::get<Unit>(stage);
      names.emplace_back(unit.name, unit.span);
      if (multipliers != nullptr) {
        add_error(errors_, unit.span,
                  fmt::format("{} stands inside the multipliers {} (line {}); they are the innermost",
                              in_quotes(unit.name), in_quotes(multipliers->name), multipliers->span.line));
      }
      if (unit.compute) multipliers = &unit;
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        if (names[i].first != names[j].first) continue;
        add_error(
            errors_, names[i].second,
            fmt::format("a level {} was already given on line {}", in_quotes(names[i].first), names[j].second.line));
      }
    }
    if (multipliers == nullptr) {
      add_error(errors_, part_.key, "the architecture has no multipliers", "the innermost component has class intmac");
    }
    const Unit* outermost = architecture_.stages.empty() ? nullptr : std::get_if<Unit>(&architecture_.stages.front());
    if (outermost == nullptr || outermost->compute) {
      add_error(errors_, part_.key, "the outermost level is no storage; every tensor starts in the outermost storage");
    } else if (outermost->mesh_x != 1 || outermost->mesh_y != 1) {
      add_error(errors_, outermost->span,
                fmt::format("the outermost storage {} has {} x {} instances; einflow's has one",
                            in_quotes(outermost->name), outermost->mesh_x, outermost->mesh_y));
    }
    if (instances.overflowed() || instances >= Count(Count::Int{1} << 62)) {
      add_error(errors_, part_.key, "the machine has 2^62 multipliers or more");
    }
  }

  const Part& part_;
  Findings& findings_;
  Diagnostics& errors_;
  const std::size_t errors_before_;
  Architecture architecture_;
  Attributes inherited_;
};

}  // namespace

std::optional<Architecture> read_architecture(const Part& part, Findings& findings) {
  const std::size_t first = findings.errors.size();
  auto architecture = ArchitectureReader(part, findings).read();
  stamp(findings.errors, first, part.source);
  return architecture;
}

}  // namespace einflow::timeloop
