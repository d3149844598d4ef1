// einops.reduce and einops.rearrange.
#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/python/operations.hpp"
#include "notation/python/subscripts.hpp"

namespace einflow::python {

namespace {

/// einops.reduce and rearrange.
class PatternLowering {
 public:
  PatternLowering(Call& call, TensorValue& tensor, Pattern pattern)
      : call_(call), lowering_(call.lowering), tensor_(tensor), pattern_(std::move(pattern)) {}

  /// `reduction`: "sum", "mean", "max", "min", "prod"; "" for a rearrangement.
  std::optional<TensorValue> lower(const std::string& reduction) {
    if (!expand_ellipsis() || !read_sizes() || !find_sizes()) return std::nullopt;
    std::vector<std::string> kept;
    std::vector<std::int64_t> shape;
    for (const auto& axis : pattern_.right) {
      Count size = 1;
      for (const Label& label : axis) {
        if (sizes_.count(label.name) == 0) {
          return lowering_.error(label.place, fmt::format("{} is not on the left of '->'", in_quotes(label.name)));
        }
        if (std::find(kept.begin(), kept.end(), label.name) != kept.end()) {
          return lowering_.error(label.place,
                                 fmt::format("{} occurs twice on the right of '->'", in_quotes(label.name)));
        }
        kept.push_back(label.name);
        size *= Count(sizes_.at(label.name));
      }
      const auto whole = size.overflowed() ? std::nullopt : size.to_int64();
      if (!whole) return call_.error("an axis beyond 64 bits");
      shape.push_back(*whole);
    }
    const bool reduces = kept.size() < sizes_.size();
    if (reduces && reduction.empty()) {
      return call_.error_at("pattern", "einops.rearrange keeps every axis, but some on the left are not on the right",
                            "einops.reduce(x, pattern, \"sum\") sums over them");
    }
    if (!reduces) {
      lowering_.uncounted("rearrange", "a view or a copy, without arithmetic");
      return tensor_of(shape, tensor_.type);
    }
    return reduced(reduction, kept, shape);
  }

 private:
  bool expand_ellipsis() {
    std::size_t named = 0, ellipses = 0;
    for (const auto& axis : pattern_.left) {
      const bool ellipsis = axis.size() == 1 && axis.front().name == "...";
      ++(ellipsis ? ellipses : named);
    }
    const std::size_t axes = tensor_.shape.size();
    if (ellipses > 1 || named > axes || (ellipses == 0 && named != axes)) {
      call_.error_at("pattern", fmt::format("the tensor has {} axes, {}; the left side of the pattern has {}", axes,
                                            shape_text(tensor_.shape), pattern_.left.size()));
      return false;
    }
    const auto expand = [&](std::vector<std::vector<Label>>& side) {
      std::vector<std::vector<Label>> made;
      for (auto& axis : side) {
        if (axis.size() != 1 || axis.front().name != "...") {
          made.push_back(std::move(axis));
          continue;
        }
        for (std::size_t e = 0; e < axes - named; ++e) made.push_back({{fmt::format("...{}", e), axis.front().place}});
      }
      side = std::move(made);
    };
    expand(pattern_.left);
    expand(pattern_.right);
    return true;
  }

  /// h2=2 and the like.
  bool read_sizes() {
    for (const Value& value : call_.rest) {
      if (value.keyword.empty() || value.kind != Value::Kind::integer || value.integer < 1 ||
          value.integer > kLargestSize) {
        lowering_.error(value.place, fmt::format("found {}, expected the size of an axis: h2=2", describe(value)));
        return false;
      }
      given_[value.keyword] = {value.integer, value.keyword_place};
    }
    return true;
  }

  bool find_sizes() {
    for (std::size_t a = 0; a < pattern_.left.size(); ++a) {
      const auto& axis = pattern_.left[a];
      const std::int64_t size = tensor_.shape[a];
      Count known = 1;
      const Label* open = nullptr;
      for (const Label& label : axis) {
        if (sizes_.count(label.name) != 0) {
          lowering_.error(label.place, fmt::format("{} occurs twice on the left of '->'", in_quotes(label.name)));
          return false;
        }
        const auto given = given_.find(label.name);
        sizes_[label.name] = given == given_.end() ? 1 : given->second.first;
        if (given != given_.end()) {
          known *= Count(given->second.first);
          used_.insert(label.name);
        } else if (open == nullptr) {
          open = &label;
        } else {
          lowering_.error(
              label.place,
              fmt::format("the size of {} or of {} must be given", in_quotes(open->name), in_quotes(label.name)),
              fmt::format("{}=2", label.name));
          return false;
        }
      }
      const bool divides = !known.overflowed() && (open == nullptr ? known == Count(size) : size % known.value() == 0);
      if (!divides) {
        const Place place =
            axis.empty() ? call_.argument("pattern").place : Place{axis.front().place.begin, axis.back().place.end};
        lowering_.error(place, fmt::format("axis {} has size {}, the pattern makes it {} {}", a, size,
                                           open == nullptr ? "" : "a multiple of", known.str()));
        return false;
      }
      if (open != nullptr) sizes_[open->name] = static_cast<std::int64_t>(size / known.value());
    }
    for (const auto& [name, given] : given_) {
      if (used_.count(name) != 0) continue;
      lowering_.error(given.second, fmt::format("the pattern has no axis {}", in_quotes(name)));
      return false;
    }
    return true;
  }

  std::optional<TensorValue> reduced(const std::string& reduction, const std::vector<std::string>& kept,
                                     const std::vector<std::int64_t>& shape) {
    std::set<std::string> taken;
    std::map<std::string, std::string> ranks;
    for (const auto& axis : pattern_.left) {
      for (const Label& label : axis) {
        const bool ellipsis = label.name.front() == '.';
        if (!ellipsis) ranks[label.name] = lowering_.rank(label.name, sizes_.at(label.name), taken);
      }
    }
    for (const auto& axis : pattern_.left) {
      for (const Label& label : axis) {
        if (ranks.count(label.name) == 0) ranks[label.name] = lowering_.rank("b", sizes_.at(label.name), taken);
      }
    }
    std::vector<NamedAxis> stored(tensor_.shape.size());
    for (std::size_t a = 0; a < pattern_.left.size(); ++a) {
      NamedAxis& made = stored[static_cast<std::size_t>(tensor_.stored_at[a])];
      std::int64_t coefficient = 1;
      for (std::size_t i = pattern_.left[a].size(); i-- > 0;) {
        const std::string& label = pattern_.left[a][i].name;
        made.terms.insert(made.terms.begin(), {ranks.at(label), coefficient});
        coefficient *= sizes_.at(label);  // at most the size of the axis
      }
    }
    std::erase_if(stored, [](const NamedAxis& axis) { return axis.terms.empty(); });
    std::vector<std::string> output;
    for (const std::string& label : kept) output.push_back(ranks.at(label));
    const bool mean = reduction == "mean";
    const std::string reduce = reduction == "prod" ? "*" : reduction == "max" || reduction == "min" ? reduction : "+";
    auto made =
        lowering_.add(call_.place, {reduction, "*", reduce, {}}, {{&tensor_, "X", stored}}, output, mean ? "T" : "Y");
    if (made && mean) {
      const Count all = elements_of(tensor_.shape), left = elements_of(shape);
      lowering_.convention(fmt::format("a mean is a sum and a scale by 1/{}", Count(all.value() / left.value()).str()));
      made = elementwise({"scale", "scale", "", {}}, {&*made}, "Y", call_.place, lowering_);
    }
    if (!made || made->shape == shape) return made;
    TensorValue wide = tensor_of(shape, made->type);
    wide.name = made->name;
    return wide;
  }

  Call& call_;
  Lowering& lowering_;
  TensorValue& tensor_;
  Pattern pattern_;
  std::map<std::string, std::int64_t> sizes_;
  std::map<std::string, std::pair<std::int64_t, Place>> given_;
  std::set<std::string> used_;
};

std::optional<Value> einops_pattern(Call& call) {
  auto tensor = call.tensor("tensor");
  const auto text = call.text("pattern");
  if (!tensor || !text) return std::nullopt;
  std::string reduction;
  if (call.operation.name == "einops.reduce") {
    const auto word = call.text("reduction");
    if (!word) return std::nullopt;
    reduction = *word;
    const std::vector<std::string> known{"sum", "mean", "max", "min", "prod"};
    if (std::find(known.begin(), known.end(), reduction) == known.end()) {
      return call.error_at("reduction", fmt::format("einops.reduce has no reduction {}", in_quotes(reduction)),
                           name_hint(reduction, known, "reductions"));
    }
  }
  const Place quoted = call.argument("pattern").place;
  auto pattern = parse_pattern(*text, {quoted.begin + 1, quoted.end - 1}, call.lowering);
  if (!pattern) return std::nullopt;
  auto made = PatternLowering(call, *tensor, std::move(*pattern)).lower(reduction);
  if (!made) return std::nullopt;
  return call.result(std::move(*made));
}

}  // namespace

void list_patterns(std::vector<Operation>& operations) {
  operations.push_back({"einops.rearrange", "tensor, pattern, *sizes", "", einops_pattern, Dialect::einops});
  operations.push_back({"einops.reduce", "tensor, pattern, reduction, *sizes", "", einops_pattern, Dialect::einops});
}

}  // namespace einflow::python
