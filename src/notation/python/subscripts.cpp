#include "notation/python/subscripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/message.hpp"

namespace einflow::python {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }

Place part_of(const Place& place, std::size_t begin, std::size_t end) {
  return {place.begin + begin, place.begin + end};
}

/// Splits at "->" into at most two sides; each with its offset.
struct Sides {
  std::string_view left, right;
  std::size_t right_at = 0;
  bool arrow = false;
};

std::optional<Sides> sides_of(std::string_view text, const Place& place, Lowering& lowering) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return Sides{text, {}, 0, false};
  const std::size_t second = text.find("->", arrow + 2);
  if (second != std::string_view::npos) {
    return lowering.error(part_of(place, second, second + 2),
                          "a second '->'; one separates the inputs from the output");
  }
  return Sides{text.substr(0, arrow), text.substr(arrow + 2), arrow + 2, true};
}

/// The labels of one operand, letter by letter.
std::optional<std::vector<Label>> letters_of(std::string_view text, const Place& place, Lowering& lowering) {
  std::vector<Label> labels;
  bool ellipsis = false;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ') {
      ++at;
    } else if (is_letter(c)) {
      labels.push_back({std::string(1, c), part_of(place, at, at + 1)});
      ++at;
    } else if (text.substr(at, 3) == "...") {
      if (ellipsis) return lowering.error(part_of(place, at, at + 3), "a second '...' in one operand");
      ellipsis = true;
      labels.push_back({"...", part_of(place, at, at + 3)});
      at += 3;
    } else {
      return lowering.error(
          part_of(place, at, at + 1),
          fmt::format("found {}, expected a letter, ',', '...' or '->'", in_quotes(text.substr(at, 1))),
          "an axis is one letter: \"bmk,bkn->bmn\"; einops.einsum takes longer names");
    }
  }
  return labels;
}

/// The names of one operand, separated by blanks.
std::optional<std::vector<Label>> names_of(std::string_view text, const Place& place, Lowering& lowering) {
  std::vector<Label> labels;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == ' ') {
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (end == at && text.substr(at, 3) == "...") end = at + 3;
    if (end == at) {
      return lowering.error(part_of(place, at, at + 1),
                            fmt::format("found {}, expected a name of an axis", in_quotes(text.substr(at, 1))),
                            "names have blanks between them: \"b h w c, c d -> b h w d\"");
    }
    const std::string_view name = text.substr(at, end - at);
    const bool good = name == "..." || (is_letter(name.front()) && name.back() != '_');
    if (!good) {
      return lowering.error(part_of(place, at, end), fmt::format("{} is no name of an axis", in_quotes(name)),
                            "einops' names begin with a letter and do not end with '_'");
    }
    labels.push_back({std::string(name), part_of(place, at, end)});
    at = end;
  }
  return labels;
}

std::optional<Subscripts> parse(std::string_view text, const Place& place, Lowering& lowering,
                                std::optional<std::vector<Label>> (*labels_of)(std::string_view, const Place&,
                                                                               Lowering&)) {
  const auto sides = sides_of(text, place, lowering);
  if (!sides) return std::nullopt;
  Subscripts subscripts;
  subscripts.place = place;
  for (std::size_t begin = 0; begin <= sides->left.size();) {
    const std::size_t end = std::min(sides->left.find(',', begin), sides->left.size());
    auto labels = labels_of(sides->left.substr(begin, end - begin), part_of(place, begin, end), lowering);
    if (!labels) return std::nullopt;
    subscripts.inputs.push_back(std::move(*labels));
    if (subscripts.inputs.size() > 64) return lowering.error(place, "more than 64 operands");
    begin = end + 1;
  }
  if (sides->arrow) {
    const std::size_t at = sides->right_at;
    auto labels = labels_of(sides->right, part_of(place, at, text.size()), lowering);
    if (!labels) return std::nullopt;
    subscripts.output = std::move(*labels);
  }
  return subscripts;
}

bool is_ellipsis(const Label& label) { return label.name == "..."; }

/// One einsum while its labels get their extents.
class EinsumLowering {
 public:
  EinsumLowering(const Subscripts& subscripts, std::vector<TensorValue>& operands, const std::vector<Place>& places,
                 const Place& place, Dialect dialect, Lowering& lowering)
      : subscripts_(subscripts),
        operands_(operands),
        places_(places),
        place_(place),
        dialect_(dialect),
        lowering_(lowering) {}

  std::optional<TensorValue> lower() {
    if (subscripts_.inputs.size() != operands_.size()) {
      return lowering_.error(subscripts_.place,
                             fmt::format("the subscripts name {} operand{}, given are {}", subscripts_.inputs.size(),
                                         subscripts_.inputs.size() == 1 ? "" : "s", operands_.size()));
    }
    if (!expand_ellipses() || !find_extents() || !find_output()) return std::nullopt;
    name_ranks();
    const bool reduces = labels_.size() > output_.size();
    if (operands_.size() == 1 && !reduces) return moved();
    std::vector<Operand> inputs;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      auto input = operand(i);
      if (!input) return std::nullopt;
      inputs.push_back(std::move(*input));
    }
    if (operands_.size() > 2) {
      lowering_.convention(
          fmt::format("{} operands are one einsum: the order in which a library would contract them, "
                      "pair by pair, is not chosen",
                      operands_.size()));
    }
    std::vector<std::string> ranks;
    for (const std::string& label : output_) ranks.push_back(ranks_.at(label));
    return lowering_.add(place_, {"einsum", "*", "", {}}, std::move(inputs), ranks, "Y");
  }

 private:
  /// Labels of an operand with "...1", "...0" (from the right) for the axes of the ellipsis.
  bool expand_ellipses() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const std::vector<Label>& written = subscripts_.inputs[i];
      const std::size_t rank = operands_[i].shape.size();
      const bool ellipsis = std::any_of(written.begin(), written.end(), is_ellipsis);
      const std::size_t named = written.size() - (ellipsis ? 1 : 0);
      if (ellipsis ? named > rank : named != rank) {
        lowering_.error(
            written.empty() ? subscripts_.place : Place{written.front().place.begin, written.back().place.end},
            fmt::format("operand {} has {} axes, {}; its subscripts name {}{}", i + 1, rank,
                        shape_text(operands_[i].shape), named, ellipsis ? " beside the '...'" : ""),
            ellipsis ? "" : "'...' stands for the axes that have no letter");
        return false;
      }
      std::vector<Label> labels;
      for (const Label& label : written) {
        if (!is_ellipsis(label)) {
          labels.push_back(label);
          continue;
        }
        most_ellipsis_ = std::max(most_ellipsis_, rank - named);
        for (std::size_t e = rank - named; e-- > 0;) labels.push_back({fmt::format("...{}", e), label.place});
      }
      inputs_.push_back(std::move(labels));
    }
    return true;
  }

  bool find_extents() {
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      for (std::size_t axis = 0; axis < inputs_[i].size(); ++axis) {
        const Label& label = inputs_[i][axis];
        const std::int64_t size = operands_[i].shape[axis];
        const auto known = extents_.emplace(label.name, size);
        if (known.second) labels_.push_back(label.name);
        std::int64_t& extent = known.first->second;
        const bool in_this_operand = std::any_of(inputs_[i].begin(), inputs_[i].begin() + static_cast<long>(axis),
                                                 [&](const Label& l) { return l.name == label.name; });
        if (extent == size) continue;
        if (!in_this_operand && (extent == 1 || size == 1)) {
          extent = std::max(extent, size);
          continue;
        }
        const bool ellipsis = label.name.front() == '.';
        lowering_.error(places_[i].end > places_[i].begin ? places_[i] : label.place,
                        fmt::format("axis {} of operand {} has size {}, but {} has size {} already", axis, i + 1, size,
                                    ellipsis ? "that axis of '...'" : in_quotes(label.name), extent),
                        "equal letters stand for equal sizes; an axis of size 1 broadcasts");
        return false;
      }
    }
    // An operand with "ii" whose i is 1 beside another i that is larger cannot be a diagonal that broadcasts.
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      for (std::size_t axis = 0; axis < inputs_[i].size(); ++axis) {
        if (!repeats(i, inputs_[i][axis].name)) continue;
        if (operands_[i].shape[axis] == extents_.at(inputs_[i][axis].name)) continue;
        lowering_.error(inputs_[i][axis].place, "a repeated letter does not broadcast");
        return false;
      }
    }
    return true;
  }

  bool repeats(std::size_t operand, const std::string& label) const {
    return std::count_if(inputs_[operand].begin(), inputs_[operand].end(),
                         [&](const Label& l) { return l.name == label; }) > 1;
  }

  bool find_output() {
    if (!subscripts_.output) {
      for (std::size_t e = most_ellipsis_; e-- > 0;) output_.push_back(fmt::format("...{}", e));
      std::map<std::string, int> occurrences;
      for (const auto& input : inputs_) {
        for (const Label& label : input) ++occurrences[label.name];
      }
      for (const auto& [label, times] : occurrences) {
        if (times == 1 && label.front() != '.') output_.push_back(label);
      }
      return true;
    }
    bool ellipsis = false;
    for (const Label& label : *subscripts_.output) {
      if (is_ellipsis(label)) {
        ellipsis = true;
        for (std::size_t e = most_ellipsis_; e-- > 0;) output_.push_back(fmt::format("...{}", e));
        continue;
      }
      if (extents_.count(label.name) == 0) {
        lowering_.error(label.place, fmt::format("the output has {}, which no input has", in_quotes(label.name)),
                        "inputs have " + comma_list(named_labels()));
        return false;
      }
      if (std::find(output_.begin(), output_.end(), label.name) != output_.end()) {
        lowering_.error(label.place, fmt::format("{} occurs twice in the output", in_quotes(label.name)));
        return false;
      }
      output_.push_back(label.name);
    }
    if (!ellipsis && most_ellipsis_ > 0) {
      if (dialect_ != Dialect::torch) {
        lowering_.error(subscripts_.place,
                        fmt::format("the inputs' '...' stands for {} axes, which the output lacks", most_ellipsis_),
                        "write '...' into the output: \"...mk,...kn->...mn\"");
        return false;
      }
      lowering_.convention("axes of '...' that the output lacks are summed, as in PyTorch");
    }
    return true;
  }

  std::vector<std::string> named_labels() const {
    std::vector<std::string> names;
    for (const std::string& label : labels_) {
      if (label.front() != '.') names.push_back(label);
    }
    return names;
  }

  void name_ranks() {
    std::set<std::string> taken;
    // The axes of the output that are broadcast come first in the output, but letters have their names first.
    for (const std::string& label : labels_) {
      if (label.front() == '.') continue;
      const std::string rank = lowering_.rank(label, extents_.at(label), taken);
      if (rank != label) {
        lowering_.convention(fmt::format("{} of size {} is named {}: {} has another size above", label,
                                         extents_.at(label), rank, label));
      }
      ranks_[label] = rank;
    }
    for (const std::string& label : labels_) {
      if (label.front() == '.') ranks_[label] = lowering_.rank("b", extents_.at(label), taken);
    }
  }

  std::optional<Operand> operand(std::size_t i) {
    TensorValue& tensor = operands_[i];
    const std::string name = operand_name(i, operands_.size());
    const std::vector<Label>& labels = inputs_[i];
    const bool diagonal =
        std::any_of(labels.begin(), labels.end(), [&](const Label& label) { return repeats(i, label.name); });
    if (diagonal) return diagonal_operand(i, name);
    std::vector<std::string> ranks;
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      const bool broadcasts = tensor.shape[axis] != extents_.at(labels[axis].name);
      ranks.push_back(broadcasts ? "" : ranks_.at(labels[axis].name));
    }
    return Lowering::operand(tensor, name, ranks);
  }

  /// "ii": the axes from the first to the last repeated letter become one, along which i has the sum of the strides.
  std::optional<Operand> diagonal_operand(std::size_t i, const std::string& name) {
    TensorValue& tensor = operands_[i];
    std::vector<std::size_t> stored(tensor.shape.size());  // axis at each stored place
    for (std::size_t axis = 0; axis < stored.size(); ++axis) {
      stored[static_cast<std::size_t>(tensor.stored_at[axis])] = axis;
    }
    std::size_t first = stored.size(), last = 0;
    for (std::size_t place = 0; place < stored.size(); ++place) {
      if (!repeats(i, inputs_[i][stored[place]].name)) continue;
      first = std::min(first, place);
      last = std::max(last, place);
    }
    Operand made{&tensor, name, {}};
    NamedAxis flat;
    Count stride = 1;
    for (std::size_t place = stored.size(); place-- > 0;) {
      const std::size_t axis = stored[place];
      const std::string& label = inputs_[i][axis].name;
      const bool broadcasts = tensor.shape[axis] != extents_.at(label);
      if (place < first || place > last) {
        if (!broadcasts) made.axes.insert(made.axes.begin(), NamedAxis{{{ranks_.at(label), 1}}, 0, std::nullopt});
        continue;
      }
      const auto coefficient = stride.overflowed() ? std::nullopt : stride.to_int64();
      if (!coefficient)
        return lowering_.error(inputs_[i][axis].place, "the tensor has more elements than 64 bits count");
      const std::string& rank = ranks_.at(label);
      const auto term = std::find_if(flat.terms.begin(), flat.terms.end(), [&](auto& t) { return t.first == rank; });
      if (term != flat.terms.end()) {
        if (__builtin_add_overflow(term->second, *coefficient, &term->second)) {
          return lowering_.error(inputs_[i][axis].place, "the tensor has more elements than 64 bits count");
        }
        std::rotate(flat.terms.begin(), term, term + 1);  // terms stand in the order of the axes
      } else if (!broadcasts) {
        flat.terms.insert(flat.terms.begin(), {rank, *coefficient});
      }
      stride *= Count(tensor.shape[axis]);
      if (place == first) made.axes.insert(made.axes.begin(), flat);
    }
    std::string terms;
    for (const auto& [rank, coefficient] : flat.terms) {
      terms += fmt::format("{}{}*{}", terms.empty() ? "" : "+", coefficient, rank);
    }
    lowering_.convention(
        fmt::format("a repeated letter is a diagonal: in operand {} it is the axis {} of the elements "
                    "in their stored order",
                    i + 1, terms));
    return made;
  }

  /// A transposition or a diagonal: nothing is computed.
  std::optional<TensorValue> moved() {
    const std::vector<Label>& labels = inputs_.front();
    lowering_.uncounted("einsum", "one operand, nothing summed: a view or a copy, without arithmetic");
    std::vector<int> order;
    std::vector<std::int64_t> shape;
    bool diagonal = false;
    for (const std::string& label : output_) {
      const auto at = std::find_if(labels.begin(), labels.end(), [&](const Label& l) { return l.name == label; });
      order.push_back(static_cast<int>(at - labels.begin()));
      shape.push_back(extents_.at(label));
      diagonal = diagonal || repeats(0, label);
    }
    if (diagonal) return tensor_of(std::move(shape), operands_.front().type);
    return permuted(operands_.front(), order);
  }

  const Subscripts& subscripts_;
  std::vector<TensorValue>& operands_;
  const std::vector<Place>& places_;
  Place place_;
  Dialect dialect_;
  Lowering& lowering_;
  std::vector<std::vector<Label>> inputs_;
  std::vector<std::string> labels_;  ///< in order of first occurrence
  std::map<std::string, std::int64_t> extents_;
  std::map<std::string, std::string> ranks_;
  std::vector<std::string> output_;
  std::size_t most_ellipsis_ = 0;
};

}  // namespace

std::optional<Subscripts> parse_subscripts(std::string_view text, const Place& place, Lowering& lowering) {
  return parse(text, place, lowering, letters_of);
}

std::optional<Subscripts> parse_named_subscripts(std::string_view text, const Place& place, Lowering& lowering) {
  auto subscripts = parse(text, place, lowering, names_of);
  if (subscripts && !subscripts->output) {
    return lowering.error(place, "einops.einsum needs '->' and the output", "\"b h w c, c d -> b h w d\"");
  }
  return subscripts;
}

std::optional<Pattern> parse_pattern(std::string_view text, const Place& place, Lowering& lowering) {
  const auto sides = sides_of(text, place, lowering);
  if (!sides) return std::nullopt;
  if (!sides->arrow) return lowering.error(place, "a pattern needs '->'", "\"b h w c -> b c\"");
  Pattern pattern;
  const auto read_side = [&](std::string_view side, std::size_t offset, std::vector<std::vector<Label>>& axes) {
    for (std::size_t at = 0; at < side.size();) {
      if (side[at] == ' ') {
        ++at;
        continue;
      }
      const bool group = side[at] == '(';
      std::size_t end = at;
      if (group) {
        end = side.find(')', at);
        if (end == std::string_view::npos) {
          lowering.error(part_of(place, offset + at, offset + at + 1), "a '(' that is not closed");
          return false;
        }
        ++end;
      } else {
        while (end < side.size() && side[end] != ' ' && side[end] != '(' && side[end] != ')') ++end;
        if (end == at) ++end;
      }
      const std::string_view inside = group ? side.substr(at + 1, end - at - 2) : side.substr(at, end - at);
      const Place where = part_of(place, offset + at + (group ? 1 : 0), offset + end - (group ? 1 : 0));
      if (!group && inside == "1") {
        axes.push_back({});
      } else {
        auto labels = names_of(inside, where, lowering);
        if (!labels) return false;
        if (group && std::any_of(labels->begin(), labels->end(), is_ellipsis)) {
          lowering.error(where, "'...' in brackets is not read");
          return false;
        }
        axes.push_back(std::move(*labels));
      }
      at = end;
    }
    return true;
  };
  if (!read_side(sides->left, 0, pattern.left)) return std::nullopt;
  if (!read_side(sides->right, sides->right_at, pattern.right)) return std::nullopt;
  return pattern;
}

std::optional<TensorValue> lower_einsum(const Subscripts& subscripts, std::vector<TensorValue>& operands,
                                        const std::vector<Place>& places, const Place& place, Dialect dialect,
                                        Lowering& lowering) {
  return EinsumLowering(subscripts, operands, places, place, dialect, lowering).lower();
}

std::string operand_name(std::size_t operand, std::size_t count) {
  if (count <= 2) return operand == 0 ? "X" : "W";
  if (count <= 24) return std::string(1, static_cast<char>('A' + operand));  // Y is the output
  return fmt::format("T{}", operand + 1);
}

}  // namespace einflow::python
