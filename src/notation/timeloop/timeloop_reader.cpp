#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/message.hpp"
#include "notation/fields.hpp"
#include "notation/timeloop/machine.hpp"
#include "notation/timeloop/parts.hpp"
#include "notation/timeloop/problem.hpp"
#include "notation/timeloop/timeloop.hpp"

namespace einflow {

namespace timeloop {
namespace {

const std::vector<std::string> kCounted{"problem", "architecture", "mapping", "ERT"};
/// What other tools of the family read, or what bounds a search.
const std::vector<std::string> kOthers{"ART",
                                       "ERT_summary",
                                       "ART_summary",
                                       "mapper",
                                       "mapspace",
                                       "mapspace_constraints",
                                       "architecture_constraints",
                                       "constraints",
                                       "compound_components",
                                       "components",
                                       "variables",
                                       "globals",
                                       "model",
                                       "dumped_by_timeloop_front_end",
                                       "layout"};

bool is_empty(const YamlNode& node) {
  if (node.is_scalar()) return node.is_null();
  if (node.is_list()) return node.items.empty();
  return std::all_of(node.entries.begin(), node.entries.end(),
                     [](const YamlEntry& entry) { return entry.key.text == "version" || is_empty(entry.value); });
}

void check_parts(const Parts& parts, Findings& findings) {
  std::vector<std::string> all = kCounted;
  all.insert(all.end(), kOthers.begin(), kOthers.end());
  all.emplace_back("sparse_optimizations");
  for (const auto& [name, part] : parts.parts) {
    if (std::find(kCounted.begin(), kCounted.end(), name) != kCounted.end()) continue;
    const std::size_t first = findings.errors.size();
    if (name == "sparse_optimizations") {
      if (!is_empty(*part.node)) {
        add_error(findings.errors, part.key, "sparse optimizations are not counted; einflow counts dense tensors",
                  "leave the part out to count the dense problem");
      }
    } else if (std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end()) {
      if (!is_empty(*part.node)) {
        leave_out(findings, fmt::format("the part '{}' ({}, line {})", name, part.source, part.key.line));
      }
    } else {
      add_error(findings.errors, part.key, fmt::format("there is no part {} of a Timeloop input", in_quotes(name)),
                name_hint(name, all, "parts"));
    }
    stamp(findings.errors, first, part.source);
  }
}

/// --set link_transfers=true; nothing where a setting is wrong.
std::optional<bool> link_transfers_of(const ReadOptions& options, Diagnostics& errors) {
  bool on = false;
  for (const auto& [key, value] : options.settings) {
    if (key != "link_transfers") {
      add_error(errors, {},
                fmt::format("--set {}={}: there is no setting {} for Timeloop's files", key, value, in_quotes(key)),
                name_hint(key, {"link_transfers"}, "settings"));
    } else if (value != "true" && value != "false") {
      add_error(errors, {}, fmt::format("--set {}={}: expected true or false", key, value));
    } else {
      on = value == "true";
    }
  }
  return errors.empty() ? std::optional<bool>(on) : std::nullopt;
}

class Reader {
 public:
  Reader(const Parts& parts, const ReadOptions& options) : parts_(parts), options_(options) {}

  Result<Document> read() {
    const auto link_transfers = link_transfers_of(options_, findings_.errors);
    check_parts(parts_, findings_);
    const Part *problem = parts_.find("problem"), *architecture = parts_.find("architecture"),
               *mapping = parts_.find("mapping");
    if (problem == nullptr) {
      add_error(findings_.errors, {}, "the part 'problem' is missing",
                "give the problem's file, too: einflow analyze arch.yaml problem.yaml mapping.yaml");
    }
    if (architecture == nullptr && mapping != nullptr) {
      findings_.errors.push_back({mapping->key, "a mapping without the part 'architecture', which has its levels",
                                  "give the architecture's file, too", mapping->source});
    }
    if (architecture != nullptr && options_.machine) {
      findings_.errors.push_back({architecture->key, "--on beside an architecture; the text has a machine of its own",
                                  "", architecture->source});
    }
    DocumentLayer layer;
    std::optional<Einsum> einsum;
    if (problem != nullptr) einsum = read_problem(*problem, options_.ranks, findings_);
    std::optional<Architecture> chain;
    if (architecture != nullptr) chain = read_architecture(*architecture, findings_);
    const auto energies = chain ? energies_of(*chain) : std::map<std::string, ActionEnergies>{};
    std::optional<Directives> directives;
    if (einsum && chain && mapping != nullptr) {
      directives = read_directives(*mapping, *chain, *einsum, link_transfers.value_or(false), findings_);
    }
    if (failed() || !einsum) return failure();
    set_types(*einsum, chain ? &*chain : nullptr);
    if (chain) {
      if (mapping == nullptr) leave_out_constraints(*chain);
      auto built = machine_of(*chain, energies, directives ? &*directives : nullptr, *link_transfers, findings_);
      if (failed()) return failure();
      if (directives) {
        auto nest = build_mapping(nest_of(*directives, built, *einsum), *einsum, built.machine);
        if (!nest) {
          findings_.errors = nest.error();
          stamp(findings_.errors, 0, mapping->source);
          return failure();
        }
        layer.mapping = std::move(*nest);
      }
      layer.machine = std::move(built.machine);
    } else if (options_.machine) {
      layer.machine = options_.machine;
    }
    Document document;
    document.name = layer.name = layer.cascade.name = einsum->name;
    layer.cascade.einsums.push_back(std::move(*einsum));
    document.layers.push_back(std::move(layer));
    document.conventions = std::move(findings_.conventions);
    document.left_out = to_texts(findings_.left_out);
    return document;
  }

 private:
  bool failed() const { return !findings_.errors.empty(); }

  Result<Document> failure() {
    sort_by_place(findings_.errors);
    return tl::unexpected(std::move(findings_.errors));
  }

  std::map<std::string, ActionEnergies> energies_of(const Architecture& chain) {
    const Part* table = parts_.find("ERT");
    if (table == nullptr) return {};
    std::set<std::string> levels;
    for (const Stage& stage : chain.stages) {
      if (const auto* unit = std::get_if<Unit>(&stage)) levels.insert(unit->name);
    }
    return read_energies(*table, levels, findings_);
  }

  void set_types(Einsum& einsum, const Architecture* chain) {
    std::int64_t bits = 16;
    if (chain == nullptr) {
      assume(findings_, "element types: words of 16 bit, Timeloop's default");
    } else {
      const Unit& outermost = std::get<Unit>(chain->stages.front());
      bits = outermost.word_bits;
      assume(findings_, fmt::format("element types: of every tensor the word of {}, {} bit", outermost.name, bits));
      if (word_type(bits).bits != bits) {
        findings_.errors.push_back({outermost.span,
                                    fmt::format("words of {} bit; einflow has types of 1 to 1024 bit", bits), "",
                                    chain->source});
      }
    }
    for (Tensor& tensor : einsum.tensors) tensor.type = word_type(bits);
  }

  void leave_out_constraints(const Architecture& chain) {
    std::vector<std::string> names;
    for (const Constraint& constraint : chain.constraints) {
      if (names.empty() || names.back() != constraint.target) names.push_back(constraint.target);
    }
    if (names.empty()) return;
    leave_out(findings_, "constraints of a search, for there is no 'mapping': " + comma_list(names));
  }

  const Parts& parts_;
  const ReadOptions& options_;
  Findings findings_;
};

bool begins_with_key(std::string_view line, std::string_view key) {
  return line.substr(0, key.size()) == key && line.size() > key.size() && line[key.size()] == ':';
}

}  // namespace
}  // namespace timeloop

bool is_timeloop(const SourceText& source) {
  bool own = false, problem = false, shape = false, mapping = false, target = false;
  const std::string_view text = source.text;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    begin = end + 1;
    for (const char* key : {"einflow", "machine"}) own = own || timeloop::begins_with_key(line, key);
    for (const char* key : {"architecture", "ERT", "ART", "sparse_optimizations", "architecture_constraints",
                            "mapspace", "mapspace_constraints", "mapper", "compound_components"}) {
      if (timeloop::begins_with_key(line, key)) return !own;
    }
    problem = problem || timeloop::begins_with_key(line, "problem");
    mapping = mapping || timeloop::begins_with_key(line, "mapping");
    const std::string_view word = line.substr(std::min(line.find_first_not_of(" -{"), line.size()));
    for (const char* key : {"shape", "instance", "data_spaces", "data-spaces"}) {
      shape = shape || timeloop::begins_with_key(word, key);
    }
    target = target || word.substr(0, 7) == "target:";
  }
  return !own && ((problem && shape) || (mapping && target));
}

Result<Document> read_timeloop(const std::vector<SourceText>& sources, const ReadOptions& options) {
  const auto parts = timeloop::read_parts(sources);
  if (!parts) return tl::unexpected(parts.error());
  return timeloop::Reader(*parts, options).read();
}

}  // namespace einflow
