#include "notation/problem_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/message.hpp"
#include "notation/einsum_text.hpp"
#include "notation/fields.hpp"
#include "problem/constructors.hpp"
#include "problem/einsum_check.hpp"

namespace einflow {
namespace {

constexpr std::size_t kMaximumParts = 64;

/// "1 size", "2 sizes".
std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

/// An einsum and the text it was read from; constructors' einsums have none.
struct Part {
  Einsum einsum;
  const YamlNode* text = nullptr;
  ParsedEinsum places;
};

class ProblemReader {
 public:
  ProblemReader(const YamlNode& node, const std::vector<std::string>& more_keys, const YamlNode* outer_types,
                Diagnostics& errors)
      : errors_(errors), fields_(node, "the problem", all_keys(more_keys), errors), outer_types_(outer_types) {}

  std::optional<Cascade> read() {
    const std::size_t errors_before = errors_.size();
    if (!fields_.node().is_map()) return std::nullopt;
    Cascade cascade;
    cascade.name = fields_.text("name").value_or("");
    read_what(cascade.name);
    if (parts_.empty()) return std::nullopt;
    if (!constructed_) read_ranks();
    read_types(outer_types_, false);
    read_types(fields_.find("types"), true);
    read_shapes();
    for (Part& part : parts_) {
      if (errors_.size() == errors_before) report_sizes(part);
      cascade.einsums.push_back(std::move(part.einsum));
    }
    if (errors_.size() > errors_before) return std::nullopt;
    return cascade;
  }

 private:
  static std::vector<std::string> all_keys(const std::vector<std::string>& more_keys) {
    std::vector<std::string> keys = problem_keys();
    keys.insert(keys.end(), more_keys.begin(), more_keys.end());
    return keys;
  }

  void error(const Span& span, std::string message, std::string hint = {}) {
    add_error(errors_, span, std::move(message), std::move(hint));
  }

  /// The one key among einsum, cascade and the constructors.
  void read_what(const std::string& name) {
    std::vector<std::string> kinds = constructor_names();
    kinds.insert(kinds.begin(), {"einsum", "cascade"});
    const YamlNode* key = nullptr;
    for (const auto& [candidate, value] : fields_.node().entries) {
      if (std::find(kinds.begin(), kinds.end(), candidate.text) == kinds.end()) continue;
      if (key != nullptr) {
        error(candidate.span, fmt::format("the problem is given twice, as {} and as {}", in_quotes(key->text),
                                          in_quotes(candidate.text)));
        return;
      }
      key = &candidate;
    }
    if (key == nullptr) {
      const bool misspelt =
          std::any_of(fields_.node().entries.begin(), fields_.node().entries.end(),
                      [&](const auto& entry) { return !nearest_name(entry.key.text, kinds).empty(); });
      if (!misspelt) {  // else the unknown key has already been told
        error(fields_.node().span, "the problem does not say what is computed", "give one of: " + comma_list(kinds));
      }
      return;
    }
    if (key->text == "einsum") {
      const YamlNode* value = fields_.find("einsum");
      if (value != nullptr) read_einsum(*value, name);
      if (!parts_.empty()) read_share(fields_, parts_[0].einsum);
    } else if (key->text == "cascade") {
      refuse({"executes", "because"}, "belongs to one einsum; give it beside that einsum in the cascade");
      read_einsums();
    } else {
      refuse({"ranks", "shapes"}, fmt::format("is made by {}", in_quotes(key->text)));
      construct_parts(*key, *fields_.node().find(key->text), name);
      if (parts_.size() == 1) read_share(fields_, parts_[0].einsum);
      if (parts_.size() > 1) refuse({"executes", "because"}, "belongs to one einsum, and this makes several");
    }
  }

  void refuse(const std::vector<std::string>& keys, const std::string& reason) {
    for (const auto& [key, value] : fields_.node().entries) {
      if (std::find(keys.begin(), keys.end(), key.text) == keys.end()) continue;
      error(key.span, fmt::format("{} {}", in_quotes(key.text), reason));
    }
  }

  void read_einsum(const YamlNode& node, const std::string& name) {
    const auto text = read_text(node, "'einsum'", errors_);
    if (!text) return;
    auto parsed = parse_einsum_text(*text);
    if (!parsed) {
      for (Diagnostic& problem : parsed.error()) {
        error(place_inside(node, problem.span), std::move(problem.message), std::move(problem.hint));
      }
      return;
    }
    Part part{parsed->einsum, &node, std::move(*parsed)};
    part.einsum.name = name;
    parts_.push_back(std::move(part));
  }

  void read_einsums() {
    const YamlNode* list = fields_.find("cascade");
    if (list == nullptr) return;
    if (!list->is_list() || list->items.empty()) {
      return error(list->span, fmt::format("found {}, expected a list of einsums",
                                           list->is_list() ? "an empty list" : describe(*list)));
    }
    if (list->items.size() > kMaximumParts)
      return error(list->span, fmt::format("more than {} einsums", kMaximumParts));
    std::set<std::string> names;
    for (const YamlNode& item : list->items) {
      const std::size_t before = parts_.size();
      if (item.is_map()) {
        const Fields fields(item, "an einsum of the cascade", {"name", "einsum", "executes", "because"}, errors_);
        const YamlNode* einsum = fields.require("einsum");
        if (einsum != nullptr) read_einsum(*einsum, fields.text("name").value_or(""));
        if (parts_.size() > before) read_share(fields, parts_.back().einsum);
      } else {
        read_einsum(item, "");
      }
      if (parts_.size() == before) continue;
      Einsum& einsum = parts_.back().einsum;
      if (einsum.name.empty()) einsum.name = einsum.tensors.back().name;
      if (!names.insert(einsum.name).second) {
        error(item.span, fmt::format("an einsum {} was already given", in_quotes(einsum.name)),
              "an einsum without a name has that of its output");
      }
    }
  }

  void construct_parts(const YamlNode& key, const YamlNode& value, const std::string& name) {
    std::map<std::string, std::int64_t> parameters;
    const std::vector<std::string> known = constructor_parameters(key.text);
    if (!value.is_map() && !value.is_null()) {
      return error(value.span,
                   fmt::format("found {}, expected the sizes of {} as a map", describe(value), in_quotes(key.text)),
                   "sizes: " + comma_list(known));
    }
    bool good = true;
    for (const auto& [parameter, size] : value.entries) {
      if (enough_errors(errors_)) return;
      if (std::find(known.begin(), known.end(), parameter.text) == known.end()) {
        error(parameter.span, fmt::format("{} has no size {}", in_quotes(key.text), in_quotes(parameter.text)),
              name_hint(parameter.text, known, "sizes"));
        good = false;
        continue;
      }
      const bool flag = size.is_scalar() && !size.quoted && (size.text == "true" || size.text == "false");
      const auto number = flag ? std::optional<std::int64_t>(size.text == "true")
                               : read_integer(size, in_quotes(parameter.text), 0, errors_);
      good = good && number;
      if (number) parameters[parameter.text] = *number;
    }
    if (!good) return;
    auto cascade = construct(key.text, parameters);
    if (!cascade) {
      for (Diagnostic& problem : cascade.error()) {
        error(key.span, std::move(problem.message), std::move(problem.hint));
      }
      return;
    }
    constructed_ = true;
    for (Einsum& einsum : cascade->einsums) {
      if (!name.empty() && cascade->einsums.size() == 1) einsum.name = name;
      parts_.push_back({std::move(einsum), nullptr, {}});
    }
  }

  void read_share(const Fields& fields, Einsum& einsum) {
    const YamlNode *executes = fields.find("executes"), *because = fields.find("because");
    if (executes == nullptr) {
      if (because != nullptr) error(because->span, "'because' says why 'executes' is below 1, but that is missing");
      return;
    }
    const auto share = executes->is_scalar() ? parse_share(executes->text) : std::nullopt;
    if (!share || share->overflowed() || share->numerator() < Count(1) || Ratio(Count(1)) < *share) {
      return error(executes->span,
                   fmt::format("found {}, expected the share of the operations that is executed, above 0 and at most 1",
                               describe(*executes)),
                   "executes: \"8193/16384\" (or 0.5, or 50%)");
    }
    if (because == nullptr) {
      return error(executes->span, "'executes' needs 'because', the reason why not all operations are executed",
                   "because: causal mask");
    }
    einsum.executed = {*share, read_text(*because, "'because'", errors_).value_or("")};
  }

  /// Extents of the ranks; all parts share them by name.
  void read_ranks() {
    const bool any = std::any_of(parts_.begin(), parts_.end(), [](const Part& p) { return !p.einsum.ranks.empty(); });
    const std::string hint = "ranks: {m: 1024, n: 1024, k: 1024}";
    const YamlNode* ranks = any ? fields_.require("ranks", hint) : fields_.find("ranks");
    if (ranks == nullptr) return;
    if (!ranks->is_map()) {
      return error(ranks->span, fmt::format("found {}, expected the ranks with their extents", describe(*ranks)), hint);
    }
    std::vector<std::string> known;
    for (const Part& part : parts_) {
      for (const Rank& rank : part.einsum.ranks) {
        if (std::find(known.begin(), known.end(), rank.name) == known.end()) known.push_back(rank.name);
      }
    }
    for (const auto& [key, value] : ranks->entries) {
      if (enough_errors(errors_)) return;
      if (std::find(known.begin(), known.end(), key.text) == known.end()) {
        error(key.span, fmt::format("unknown rank {}", in_quotes(key.text)), name_hint(key.text, known, "ranks"));
        continue;
      }
      const auto extent = read_integer(value, "rank " + in_quotes(key.text), 1, errors_);
      if (!extent) continue;
      for (Part& part : parts_) {
        const int rank = part.einsum.rank_named(key.text);
        if (rank >= 0) part.einsum.ranks[static_cast<std::size_t>(rank)].extent = *extent;
      }
    }
    for (const Part& part : parts_) {
      for (std::size_t r = 0; r < part.einsum.ranks.size(); ++r) {
        const std::string& name = part.einsum.ranks[r].name;
        if (ranks->find(name) != nullptr || !missing_.insert(name).second) continue;
        error(place_inside(*part.text, part.places.ranks[r]), fmt::format("rank {} has no extent", in_quotes(name)),
              fmt::format("ranks: {{{}: ...}}", name));
      }
    }
  }

  std::vector<std::string> tensor_names() const {
    std::vector<std::string> names;
    for (const Part& part : parts_) {
      for (const Tensor& tensor : part.einsum.tensors) {
        if (std::find(names.begin(), names.end(), tensor.name) == names.end()) names.push_back(tensor.name);
      }
    }
    return names;
  }

  std::optional<ElementType> read_type(const YamlNode& node) {
    const auto text = read_text(node, "an element type", errors_);
    if (!text) return std::nullopt;
    const auto type = find_element_type(*text);
    if (!type) {
      std::vector<std::string> names;
      for (const ElementType& known : element_types()) names.push_back(known.name);
      error(node.span, fmt::format("unknown element type {}", in_quotes(*text)), name_hint(*text, names, "types"));
    }
    return type;
  }

  /// A map from tensors to types, or one type for all of them.
  void read_types(const YamlNode* types, bool tensors_must_exist) {
    if (types == nullptr) return;
    if (!types->is_map()) {
      if (const auto type = read_type(*types)) {
        for (Part& part : parts_) {
          for (Tensor& tensor : part.einsum.tensors) tensor.type = *type;
        }
      }
      return;
    }
    const std::vector<std::string> names = tensor_names();
    for (const auto& [key, value] : types->entries) {
      if (enough_errors(errors_)) return;
      if (std::find(names.begin(), names.end(), key.text) == names.end()) {
        if (!tensors_must_exist) continue;
        error(key.span, fmt::format("unknown tensor {}", in_quotes(key.text)), name_hint(key.text, names, "tensors"));
        continue;
      }
      const auto type = read_type(value);
      if (!type) continue;
      for (Part& part : parts_) {
        const int tensor = part.einsum.tensor_named(key.text);
        if (tensor >= 0) part.einsum.tensors[static_cast<std::size_t>(tensor)].type = *type;
      }
    }
  }

  /// Stored sizes of a tensor's axes.
  void read_shapes() {
    const YamlNode* shapes = constructed_ ? nullptr : fields_.find("shapes");
    if (shapes == nullptr) return;
    if (!shapes->is_map()) {
      return error(shapes->span,
                   fmt::format("found {}, expected the tensors with their stored sizes", describe(*shapes)),
                   "shapes: {I: [1, 64, 56, 56]}");
    }
    const std::vector<std::string> names = tensor_names();
    for (const auto& [key, value] : shapes->entries) {
      if (enough_errors(errors_)) return;
      if (std::find(names.begin(), names.end(), key.text) == names.end()) {
        error(key.span, fmt::format("unknown tensor {}", in_quotes(key.text)), name_hint(key.text, names, "tensors"));
        continue;
      }
      if (!value.is_list()) {
        error(value.span,
              fmt::format("found {}, expected the sizes of {} as a list", describe(value), in_quotes(key.text)));
        continue;
      }
      std::vector<std::int64_t> sizes;
      for (const YamlNode& item : value.items) {
        if (const auto size = read_integer(item, "a size of " + in_quotes(key.text), 1, errors_))
          sizes.push_back(*size);
      }
      if (sizes.size() == value.items.size()) set_shape(key, value, sizes);
    }
  }

  void set_shape(const YamlNode& key, const YamlNode& value, const std::vector<std::int64_t>& sizes) {
    for (Part& part : parts_) {
      const int index = part.einsum.tensor_named(key.text);
      if (index < 0) continue;
      Tensor& tensor = part.einsum.tensors[static_cast<std::size_t>(index)];
      if (tensor.axes.size() != sizes.size()) {
        error(value.span, fmt::format("found {}, expected {} for tensor {}", counted(sizes.size(), "size"),
                                      counted(tensor.axes.size(), "size"), in_quotes(to_text(tensor, part.einsum))));
        continue;
      }
      for (std::size_t a = 0; a < sizes.size(); ++a) tensor.axes[a].stored_size = sizes[a];
    }
  }

  void report_sizes(const Part& part) {
    for (EinsumFault& fault : check_sizes(part.einsum)) {
      Span span = fields_.node().span;
      if (part.text != nullptr) {
        span = part.text->span;
        if (fault.tensor >= 0) {
          const auto t = static_cast<std::size_t>(fault.tensor);
          const Span inside =
              fault.axis < 0 ? part.places.tensors[t] : part.places.axes[t][static_cast<std::size_t>(fault.axis)];
          span = place_inside(*part.text, inside);
        }
      }
      error(span, std::move(fault.message), std::move(fault.hint));
    }
  }

  Diagnostics& errors_;
  Fields fields_;
  const YamlNode* outer_types_;
  std::vector<Part> parts_;
  std::set<std::string> missing_;
  bool constructed_ = false;
};

}  // namespace

std::vector<std::string> problem_keys() {
  std::vector<std::string> keys{"name", "einsum", "cascade", "ranks", "types", "shapes", "executes", "because"};
  for (std::string& name : constructor_names()) keys.push_back(std::move(name));
  return keys;
}

std::optional<Cascade> read_cascade(const YamlNode& node, const std::vector<std::string>& more_keys,
                                    const YamlNode* outer_types, Diagnostics& errors) {
  return ProblemReader(node, more_keys, outer_types, errors).read();
}

std::vector<std::string> untyped_tensors(const Einsum& einsum, const YamlNode* types, const YamlNode* outer_types) {
  std::vector<std::string> untyped;
  const auto states = [](const YamlNode* map, const std::string& tensor) {
    return map != nullptr && (map->is_map() ? map->find(tensor) != nullptr : !map->is_null());
  };
  for (const Tensor& tensor : einsum.tensors) {
    if (!states(types, tensor.name) && !states(outer_types, tensor.name)) untyped.push_back(tensor.name);
  }
  return untyped;
}

std::optional<Einsum> choose_part(const Cascade& cascade, const std::optional<std::string>& part, const Span& span,
                                  const std::string& prefix, Diagnostics& errors) {
  std::vector<std::string> names, bare_names;
  for (const Einsum& einsum : cascade.einsums) {
    if (part ? einsum.name == *part : cascade.einsums.size() == 1) return einsum;
    bare_names.push_back(einsum.name);
    names.push_back(prefix + einsum.name);
  }
  if (part) {
    const std::string nearest = nearest_name(*part, bare_names);
    add_error(
        errors, span, fmt::format("there is no part {}", in_quotes(*part)),
        nearest.empty() ? "parts: " + comma_list(names) : fmt::format("did you mean {}?", in_quotes(prefix + nearest)));
  } else {
    add_error(errors, span, fmt::format("the problem has {} parts; choose one", names.size()),
              "parts: " + comma_list(names));
  }
  return std::nullopt;
}

}  // namespace einflow
