#include "notation/timeloop/directives.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/timeloop/factor_text.hpp"

namespace einflow::timeloop {

namespace {

constexpr std::size_t kMaximumDirectives = 1000;

class DirectiveReader {
 public:
  DirectiveReader(const Part& part, const Architecture& architecture, const Einsum& einsum, bool link_transfers,
                  Findings& findings)
      : part_(part),
        architecture_(architecture),
        einsum_(einsum),
        link_transfers_(link_transfers),
        findings_(findings),
        errors_(findings.errors),
        errors_before_(findings.errors.size()) {
    directives_.loops.resize(architecture.stages.size());
    directives_.keeps.assign(architecture.stages.size(), std::vector<bool>(einsum.tensors.size(), true));
    stated_.assign(architecture.stages.size(), std::vector<Span>(einsum.tensors.size()));
    loops_at_.resize(architecture.stages.size());
  }

  std::optional<Directives> read() {
    const YamlNode& mapping = *part_.node;
    if (!mapping.is_list()) {
      add_error(errors_, mapping.span,
                fmt::format("found {}, expected the mapping as a list of directives", describe(mapping)),
                "- {target: DRAM, type: temporal, factors: M=4 N=2, permutation: MN}");
      return std::nullopt;
    }
    if (mapping.items.size() > kMaximumDirectives) {
      add_error(errors_, mapping.span,
                fmt::format("{} directives; at most {} are read", mapping.items.size(), kMaximumDirectives));
      return std::nullopt;
    }
    for (const YamlNode& directive : mapping.items) read_directive(directive);
    for (const Constraint& constraint : architecture_.constraints) {
      const std::size_t first = errors_.size();
      read_constraint(constraint);
      stamp(errors_, first, architecture_.source);
    }
    if (!failed()) check_outermost();
    if (!failed()) check_products();
    return failed() ? std::nullopt : std::optional<Directives>(std::move(directives_));
  }

 private:
  bool failed() const { return errors_.size() > errors_before_; }

  void read_directive(const YamlNode& node) {
    const Fields fields(node, "a directive", keys_of(node), errors_);
    if (!node.is_map()) return;
    const auto type = fields.text("type");
    const YamlNode* target = fields.require("target", "target: the name of a level");
    if (!type) fields.require("type", "types: temporal, spatial, bypass");
    if (!type || target == nullptr || !target->is_scalar()) return;
    read_typed(node, *type, fields.find("type")->span, target->text, target->span);
  }

  /// Of the type that the directive has; of all types where it has none that is known.
  static std::vector<std::string> keys_of(const YamlNode& node) {
    const YamlNode* type = node.find("type");
    const std::string name = type != nullptr ? type->text : "";
    std::vector<std::string> keys{"target", "type"};
    const auto add = [&](std::vector<std::string> more) { keys.insert(keys.end(), more.begin(), more.end()); };
    const bool any = name != "temporal" && name != "spatial" && !is_bypass(name);
    if (any || !is_bypass(name)) add({"factors", "permutation", "no_reuse"});
    if (any || name == "spatial") add({"split", "no_link_transfer", "no_multicast_no_reduction"});
    if (any || name == "temporal") add({"no_temporal_reuse", "rmw_first_update"});
    if (any || is_bypass(name)) add({"keep", "bypass", "no_coalesce"});
    if (any) add({"modulo", "terms"});
    return keys;
  }

  static bool is_bypass(const std::string& type) {
    return type == "bypass" || type == "datatype" || type == "dataspace";
  }

  void read_constraint(const Constraint& constraint) {
    const std::vector<std::string> iteration{
        "type",  "target",           "factors",           "permutation", "no_reuse", "rmw_first_update",
        "split", "no_link_transfer", "no_temporal_reuse", "keep",        "bypass",   "no_coalesce"};
    const Fields fields(*constraint.node, "a constraint", iteration, errors_);
    if (!constraint.node->is_map()) return;
    read_typed(*constraint.node, constraint.type, constraint.node->span, constraint.target, constraint.node->span);
  }

  void read_typed(const YamlNode& node, const std::string& type, const Span& type_span, const std::string& target,
                  const Span& target_span) {
    if (type == "temporal") {
      const int stage = unit_named(target, target_span);
      if (stage >= 0) read_loops(node, stage, false);
    } else if (type == "spatial") {
      const int stage = fan_out_named(target, target_span);
      if (stage >= 0) read_loops(node, stage, true);
    } else if (is_bypass(type)) {
      const int stage = unit_named(target, target_span);
      if (stage >= 0) read_bypass(node, stage);
    } else if (type == "skew") {
      add_error(errors_, type_span, "a skew of the instances' steps is not counted; they all work in step");
    } else {
      add_error(errors_, type_span, fmt::format("unknown type {}", in_quotes(type)),
                name_hint(type, {"temporal", "spatial", "bypass", "datatype", "dataspace"}, "types"));
    }
  }

  const Unit* unit_at(int stage) const {
    return std::get_if<Unit>(&architecture_.stages[static_cast<std::size_t>(stage)]);
  }

  /// A storage, by name or by number from the innermost; or -1.
  int unit_named(const std::string& name, const Span& span) {
    const auto number = parse_count(name);
    Count storages = 0;
    std::vector<std::string> names;
    for (int stage = static_cast<int>(architecture_.stages.size()) - 1; stage >= 0; --stage) {
      const Unit* unit = unit_at(stage);
      if (unit == nullptr || unit->compute) continue;
      if (unit->name == name || (number && *number == storages)) return stage;
      storages += 1;
      names.insert(names.begin(), unit->name);
    }
    const bool fan_out = is_fan_out(name);
    add_error(errors_, span,
              fan_out ? fmt::format("{} is a container; it has no loops in time and keeps nothing", in_quotes(name))
                      : fmt::format("there is no storage {}", in_quotes(name)),
              fan_out ? "storages: " + comma_list(names) : name_hint(name, names, "storages"));
    return -1;
  }

  bool is_fan_out(const std::string& name) const {
    return std::any_of(architecture_.stages.begin(), architecture_.stages.end(), [&](const Stage& stage) {
      const auto* fan_out = std::get_if<FanOut>(&stage);
      return fan_out != nullptr && fan_out->target == name;
    });
  }

  int fan_out_named(const std::string& name, const Span& span) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < architecture_.stages.size(); ++i) {
      const auto* fan_out = std::get_if<FanOut>(&architecture_.stages[i]);
      if (fan_out == nullptr) continue;
      if (fan_out->target == name) return static_cast<int>(i);
      names.push_back(fan_out->target);
    }
    bool known = false;
    for (const Stage& stage : architecture_.stages) {
      const auto* unit = std::get_if<Unit>(&stage);
      known = known || (unit != nullptr && unit->name == name);
    }
    add_error(errors_, span,
              !known ? fmt::format("there is no level {} with a fan-out", in_quotes(name))
              : architecture_.nodes
                  ? fmt::format("{} is there once; it has no 'spatial' to spread loops over", in_quotes(name))
                  : fmt::format("{} has no fan-out below it: the next level has as many instances", in_quotes(name)),
              known ? "levels with a fan-out: " + (names.empty() ? "none" : comma_list(names))
                    : name_hint(name, names, "levels with a fan-out"));
    return -1;
  }

  void read_loops(const YamlNode& node, int stage, bool spatial) {
    const auto at = static_cast<std::size_t>(stage);
    if (loops_at_[at].line != 0) {
      add_error(errors_, node.span,
                fmt::format("a second directive for the same loops (the first is on line {})", loops_at_[at].line));
      return;
    }
    loops_at_[at] = node.span;
    const std::string where = spatial ? std::get<FanOut>(architecture_.stages[at]).target : unit_at(stage)->name;
    bool zero = false;
    const YamlNode *factors_node = node.find("factors"), *permutation_node = node.find("permutation");
    std::vector<std::optional<Factor>> factors(einsum_.ranks.size());
    if (factors_node != nullptr) factors = read_factors(*factors_node, einsum_, zero, errors_);
    if (zero) assume(findings_, fmt::format("{}: a factor of 0 is the full bound of its dimension", where));
    std::vector<int> order;
    if (permutation_node != nullptr) order = read_permutation(*permutation_node, einsum_, errors_);
    std::vector<std::string> appended;
    for (int rank = 0; rank < static_cast<int>(einsum_.ranks.size()); ++rank) {
      if (std::find(order.begin(), order.end(), rank) != order.end()) continue;
      order.push_back(rank);
      const auto& factor = factors[static_cast<std::size_t>(rank)];
      if (factor && factor->bound > Count(1)) appended.push_back(einsum_.ranks[static_cast<std::size_t>(rank)].name);
    }
    if (!appended.empty() && factors_of_several(factors)) {
      assume(findings_, fmt::format("{}: the {}permutation lacks {}: outermost, the last outside", where,
                                    spatial ? "spatial " : "", comma_list(appended)));
    }
    const std::size_t split = spatial ? read_split(node, where) : 0;
    for (std::size_t i = order.size(); i-- > 0;) {
      auto& factor = factors[static_cast<std::size_t>(order[i])];
      if (!factor) continue;
      factor->y = spatial && i >= split;
      if (spatial) check_room(*factor, stage);
      directives_.loops[at].push_back(*factor);
    }
    read_reuse(node, where, spatial);
  }

  static bool factors_of_several(const std::vector<std::optional<Factor>>& factors) {
    return std::count_if(factors.begin(), factors.end(),
                         [](const auto& factor) { return factor && factor->bound > Count(1); }) > 1;
  }

  /// How many dimensions of the permutation, innermost first, are along X.
  std::size_t read_split(const YamlNode& node, const std::string& where) {
    const YamlNode* split = node.find("split");
    if (split == nullptr || split->is_null()) {
      assume(findings_, fmt::format("{}: no split is given, so its spatial loops are along X", where));
      return einsum_.ranks.size();
    }
    const auto number = read_whole(*split, "'split'", 0, errors_);
    return static_cast<std::size_t>(number.value_or(0));
  }

  /// An axis of one instance is no axis of the mesh.
  void check_room(const Factor& factor, int stage) {
    const auto& fan_out = std::get<FanOut>(architecture_.stages[static_cast<std::size_t>(stage)]);
    if (factor.bound == Count(1) || (factor.y ? fan_out.y : fan_out.x) > 1) return;
    const std::string& name = einsum_.ranks[static_cast<std::size_t>(factor.rank)].name;
    add_error(errors_, factor.span,
              fmt::format("the fan-out of {} has one instance along {}, needed are {} (of {})",
                          in_quotes(fan_out.target), factor.y ? "Y" : "X", factor.bound.str(), name),
              factor.y
                  ? fmt::format("'split' says how many dimensions, from the innermost, are along X; the room is {} x 1",
                                fan_out.x)
                  : fmt::format("'split: 0' puts all dimensions along Y; the room is 1 x {}", fan_out.y));
  }

  std::vector<int> tensors_of(const YamlNode& node, std::string_view what) {
    std::vector<int> tensors;
    std::vector<std::string> names;
    for (const Tensor& tensor : einsum_.tensors) names.push_back(tensor.name);
    if (node.is_null()) return tensors;
    const std::vector<YamlNode> single{node};
    for (const YamlNode& item : node.is_list() ? node.items : single) {
      const auto name = read_text(item, what, errors_);
      if (!name) continue;
      const int tensor = einsum_.tensor_named(*name);
      if (tensor >= 0) {
        tensors.push_back(tensor);
      } else {
        add_error(errors_, item.span, fmt::format("unknown data space {}", in_quotes(*name)),
                  name_hint(*name, names, "data spaces"));
      }
    }
    return tensors;
  }

  std::string names_of(const std::vector<int>& tensors) const {
    std::vector<std::string> names;
    for (const int tensor : tensors) names.push_back(einsum_.tensors[static_cast<std::size_t>(tensor)].name);
    return comma_list(names);
  }

  /// What forbids reuse has no word in einflow.
  void read_reuse(const YamlNode& node, const std::string& where, bool spatial) {
    for (const auto& [key, value] : node.entries) {
      const bool temporal_reuse = key.text == "no_temporal_reuse" || (key.text == "no_reuse" && !spatial);
      const bool spatial_reuse = key.text == "no_multicast_no_reduction" || (key.text == "no_reuse" && spatial);
      if (!temporal_reuse && !spatial_reuse && key.text != "rmw_first_update" && key.text != "no_link_transfer")
        continue;
      const std::vector<int> tensors = tensors_of(value, in_quotes(key.text));
      if (tensors.empty()) continue;
      if (spatial_reuse || (key.text == "no_link_transfer" && link_transfers_)) {
        add_error(
            errors_, key.span,
            fmt::format("{} for some data spaces; a mesh of einflow has its abilities for all", in_quotes(key.text)));
      } else if (temporal_reuse) {
        leave_out(findings_,
                  fmt::format("'{}' of {}: einflow keeps the tile, its counts are lower", key.text, names_of(tensors)),
                  where);
      } else if (key.text == "rmw_first_update") {
        leave_out(findings_,
                  fmt::format("'rmw_first_update' of {}: einflow's first update reads nothing", names_of(tensors)),
                  where);
      }
    }
  }

  void read_bypass(const YamlNode& node, int stage) {
    const auto at = static_cast<std::size_t>(stage);
    if (const YamlNode* coalesce = node.find("no_coalesce");
        coalesce != nullptr && !tensors_of(*coalesce, "'no_coalesce'").empty()) {
      add_error(errors_, coalesce->span, "'no_coalesce' is not counted by einflow");
    }
    for (const bool keep : {true, false}) {
      const YamlNode* names = node.find(keep ? "keep" : "bypass");
      if (names == nullptr) continue;
      for (const int tensor : tensors_of(*names, keep ? "'keep'" : "'bypass'")) {
        const auto t = static_cast<std::size_t>(tensor);
        if (stated_[at][t].line != 0 && directives_.keeps[at][t] != keep) {
          add_error(errors_, names->span,
                    fmt::format("{} is kept and bypassed at {} (line {})", in_quotes(einsum_.tensors[t].name),
                                in_quotes(unit_at(stage)->name), stated_[at][t].line));
        }
        stated_[at][t] = names->span;
        directives_.keeps[at][t] = keep;
      }
    }
  }

  void check_outermost() {
    for (std::size_t t = 0; t < einsum_.tensors.size(); ++t) {
      if (directives_.keeps[0][t]) continue;
      add_error(errors_, stated_[0][t],
                fmt::format("{} bypasses {}; every tensor starts in the outermost storage",
                            in_quotes(einsum_.tensors[t].name), in_quotes(unit_at(0)->name)));
    }
  }

  /// Timeloop's rule: with p = p * bound + residual - 1 over the loops of a dimension, outermost first, p + 1 is its
  /// bound.
  void check_products() {
    for (std::size_t rank = 0; rank < einsum_.ranks.size(); ++rank) {
      Count product = 0;
      std::string factors;
      Span last = part_.key;
      for (std::size_t stage = 0; stage < directives_.loops.size(); ++stage) {
        for (const Factor& factor : directives_.loops[stage]) {
          if (factor.rank != static_cast<int>(rank)) continue;
          product = product * factor.bound + factor.residual - 1;
          if (factor.bound == Count(1)) continue;
          last = factor.span;
          factors += fmt::format("{}{}{}", factors.empty() ? "" : " x ", factor.bound.str(),
                                 factor.residual == factor.bound ? "" : "," + factor.residual.str());
        }
      }
      const Count found = product + 1;
      const Rank& dimension = einsum_.ranks[rank];
      if (!found.overflowed() && found == Count(dimension.extent)) continue;
      add_error(errors_, last,
                fmt::format("the factors of {} give {}, its bound is {}", in_quotes(dimension.name), found.str(),
                            dimension.extent),
                factors.empty() ? fmt::format("no level has a factor of {}", dimension.name)
                                : fmt::format("its factors, from outside: {}", factors));
    }
    for (auto& loops : directives_.loops) {
      loops.erase(std::remove_if(loops.begin(), loops.end(), [](const Factor& f) { return f.bound == Count(1); }),
                  loops.end());
    }
  }

  const Part& part_;
  const Architecture& architecture_;
  const Einsum& einsum_;
  const bool link_transfers_;
  Findings& findings_;
  Diagnostics& errors_;
  const std::size_t errors_before_;
  Directives directives_;
  std::vector<std::vector<Span>> stated_;  // where keep or bypass of a tensor was given
  std::vector<Span> loops_at_;             // where the loops of a stage were given
};

}  // namespace

std::optional<Directives> read_directives(const Part& part, const Architecture& architecture, const Einsum& einsum,
                                          bool link_transfers, Findings& findings) {
  const std::size_t first = findings.errors.size();
  auto directives = DirectiveReader(part, architecture, einsum, link_transfers, findings).read();
  stamp(findings.errors, first, part.source);
  return directives;
}

}  // namespace einflow::timeloop
