#include "notation/loops/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/message.hpp"

namespace einflow::loops {

namespace {

/// Where an index occurs: in this axis of this tensor (the output is the last), with this factor.
struct Occurrence {
  int tensor = 0;
  int axis = 0;
  Count factor;
};

/// "m" of "m12" and "m_12"; the name itself where it does not end in digits.
std::string stem_of(const std::string& name) {
  std::size_t end = name.size();
  while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9') --end;
  if (end == name.size()) return name;
  if (end > 1 && name[end - 1] == '_') --end;
  return end == 0 ? name : name.substr(0, end);
}

class Grouping {
 public:
  explicit Grouping(const NestText& text) : text_(text), parent_(text.loops.size()) {
    std::iota(parent_.begin(), parent_.end(), 0);
    places_.resize(text.loops.size());
    if (!text.statement) return;
    int tensor = 0;
    for (const WrittenTensor& input : text.statement->inputs) note(input, tensor++);
    note(text.statement->output, tensor);
    output_ = tensor;
  }

  Result<std::vector<LoopGroup>> by_header() {
    std::set<std::string> ranks;
    for (const Rank& rank : text_.header.einsum->einsum.ranks) ranks.insert(rank.name);
    if (text_.header.ranks) {
      for (const WrittenSize& rank : *text_.header.ranks) ranks.insert(rank.name);
    }
    std::vector<std::string> names(text_.loops.size());
    for (std::size_t i = text_.loops.size(); i-- > 0;) {
      const std::string& variable = text_.loops[i].variable;
      names[i] = ranks.contains(variable) ? variable : stem_of(variable);
      if (ranks.contains(names[i])) continue;
      for (const WrittenIndex& index : text_.indices) {
        if (ranks.contains(index.name) && index.value.coefficient(static_cast<int>(i)) != Count(0))
          names[i] = index.name;
      }
      for (std::size_t inner = i + 1; inner < text_.loops.size(); ++inner) {
        const bool starts = text_.loops[inner].start.coefficient(static_cast<int>(i)) != Count(0);
        if (starts && ranks.contains(names[inner])) names[i] = names[inner];
      }
      if (!ranks.contains(names[i])) names[i] = variable;
    }
    std::vector<LoopGroup> groups;
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto [at, added] = known.emplace(names[i], groups.size());
      if (added) groups.push_back({names[i], {}, {}});
      groups[at->second].loops.push_back(static_cast<int>(i));
    }
    return groups;
  }

  Result<std::vector<LoopGroup>> by_use() {
    join_starts();
    join_indices();
    join_stems();
    join_output_axes();
    join_inseparable();
    if (errors_.empty()) check_together();
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    std::vector<LoopGroup> groups;
    std::map<int, std::size_t> known;
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      const auto [at, added] = known.emplace(root(static_cast<int>(i)), groups.size());
      if (added) groups.emplace_back();
      groups[at->second].loops.push_back(static_cast<int>(i));
    }
    name(groups);
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return groups;
  }

 private:
  void error(const Span& span, std::string message, std::string hint = {}) {
    if (errors_.size() < 100) errors_.push_back({span, std::move(message), std::move(hint), {}});
  }

  const WrittenLoop& loop(int index) const { return text_.loops[static_cast<std::size_t>(index)]; }
  const std::vector<Occurrence>& places(int index) const { return places_[static_cast<std::size_t>(index)]; }

  void note(const WrittenTensor& tensor, int number) {
    for (std::size_t a = 0; a < tensor.axes.size(); ++a) {
      for (const auto& [index, factor] : tensor.axes[a].terms) {
        std::vector<Occurrence>& here = places_[static_cast<std::size_t>(index)];
        if (!here.empty() && here.back().tensor == number) {
          error(tensor.axis_spans[a], fmt::format("{} occurs in two axes of {}; a rank may be in one axis of a tensor",
                                                  in_quotes(loop(index).variable), in_quotes(tensor.name)));
          continue;
        }
        here.push_back({number, static_cast<int>(a), factor});
      }
    }
  }

  int root(int index) {
    while (parent_[static_cast<std::size_t>(index)] != index) {
      int& up = parent_[static_cast<std::size_t>(index)];
      up = parent_[static_cast<std::size_t>(up)];
      index = up;
    }
    return index;
  }
  void join(int a, int b) { parent_[static_cast<std::size_t>(root(a))] = root(b); }

  /// Whether both occur in the same axes of the same tensors.
  bool together(int a, int b) const {
    return std::equal(
        places(a).begin(), places(a).end(), places(b).begin(), places(b).end(),
        [](const Occurrence& x, const Occurrence& y) { return x.tensor == y.tensor && x.axis == y.axis; });
  }
  bool ever_together(int a, int b) const {
    for (const Occurrence& x : places(a)) {
      for (const Occurrence& y : places(b)) {
        if (x.tensor == y.tensor && x.axis == y.axis) return true;
      }
    }
    return false;
  }

  void join_starts() {
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      for (const auto& term : text_.loops[i].start.terms) join(term.first, static_cast<int>(i));
    }
  }

  /// `m = 16*m1 + m0`; but not `w = q + s`, whose variables have other uses.
  void join_indices() {
    for (const WrittenIndex& index : text_.indices) {
      const int first = index.value.terms.front().first;
      const bool one = std::all_of(index.value.terms.begin(), index.value.terms.end(),
                                   [&](const auto& term) { return together(term.first, first); });
      for (const auto& term : index.value.terms) {
        if (one) join(term.first, first);
      }
    }
  }

  void join_stems() {
    std::map<std::string, std::vector<int>> stems;
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      stems[stem_of(text_.loops[i].variable)].push_back(static_cast<int>(i));
    }
    for (const auto& [stem, loops] : stems) {
      for (std::size_t i = 1; i < loops.size(); ++i) {
        if (ever_together(loops[i - 1], loops[i])) join(loops[i - 1], loops[i]);
      }
    }
  }

  /// An axis of the output is one rank.
  void join_output_axes() {
    if (!text_.statement) return;
    const WrittenTensor& output = text_.statement->output;
    for (std::size_t a = 0; a < output.axes.size(); ++a) {
      for (const auto& term : output.axes[a].terms) {
        if (term.second < Count(0)) {
          error(output.axis_spans[a],
                fmt::format("{} is subtracted in an index of the output; an axis of the output is one rank",
                            in_quotes(loop(term.first).variable)),
                "loop over the outputs: O[q] += I[q+s] * F[s]");
        }
        join(term.first, output.axes[a].terms.front().first);
      }
    }
  }

  std::optional<Count> trips(int index) const {
    std::optional<Count> least;
    for (const Quotient& term : loop(index).trips) {
      if (term.dividend.is_constant()) least = std::min(least.value_or(term.dividend.constant), term.dividend.constant);
    }
    return least;
  }

  /// Variables that only occur as 8*a + b, with b in [0, 8), count as one rank: their tiles are the same sets.
  void join_inseparable() {
    std::map<std::vector<std::pair<int, int>>, std::vector<int>> alike;
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      std::vector<std::pair<int, int>> where;
      for (const Occurrence& place : places_[i]) where.emplace_back(place.tensor, place.axis);
      if (!where.empty()) alike[where].push_back(static_cast<int>(i));
    }
    for (const auto& entry : alike) {
      const std::vector<int>& loops = entry.second;
      bool chain = loops.size() > 1;
      for (std::size_t i = 1; chain && i < loops.size(); ++i) chain = continues(loops[i - 1], loops[i]);
      for (std::size_t i = 1; chain && i < loops.size(); ++i) join(loops[i - 1], loops[i]);
    }
  }

  /// Whether the outer loop advances, wherever both occur, by all that the inner one covers.
  bool continues(int outer, int inner) const {
    const auto count = trips(inner);
    if (!count) return false;
    for (std::size_t i = 0; i < places(outer).size(); ++i) {
      const Count factor = places(inner)[i].factor;
      if (factor < Count(1) || places(outer)[i].factor != factor * *count) return false;
    }
    return true;
  }

  /// The loops of a rank occur together: where one is missing, the index is wrong.
  void check_together() {
    for (std::size_t i = 0; i < text_.loops.size(); ++i) {
      const int index = static_cast<int>(i);
      const int first = root(index);
      if (together(index, first)) continue;
      const int fewer = places(index).size() < places(first).size() ? index : first;
      const int more = fewer == index ? first : index;
      for (const Occurrence& place : places(more)) {
        const auto& have = places(fewer);
        const bool there = std::any_of(have.begin(), have.end(), [&](const Occurrence& other) {
          return other.tensor == place.tensor && other.axis == place.axis;
        });
        if (there) continue;
        const WrittenTensor& tensor = place.tensor == output_
                                          ? text_.statement->output
                                          : text_.statement->inputs[static_cast<std::size_t>(place.tensor)];
        error(tensor.axis_spans[static_cast<std::size_t>(place.axis)],
              fmt::format("this index of {} has {} but not {}, which elsewhere is a part of the same rank",
                          in_quotes(tensor.name), in_quotes(loop(more).variable), in_quotes(loop(fewer).variable)),
              "a rank that is cut into tiles is indexed by all of its loops: X[16*m1 + m0]");
        return;
      }
    }
  }

  // ---- names

  void name(std::vector<LoopGroup>& groups) {
    std::set<std::string> taken;
    for (LoopGroup& group : groups) {
      const WrittenLoop& innermost = loop(group.loops.back());
      group.name = group.loops.size() == 1 ? innermost.variable : joint_name(group);
      if (taken.insert(group.name).second) continue;
      error(innermost.variable_span, fmt::format("two ranks would be named {}", in_quotes(group.name)),
            "number the loops of a rank: m2, m1, m0");
    }
  }

  std::string joint_name(LoopGroup& group) const {
    for (const WrittenIndex& index : text_.indices) {
      const bool all = std::all_of(group.loops.begin(), group.loops.end(),
                                   [&](int i) { return index.value.coefficient(i) != Count(0); });
      if (all && index.value.terms.size() == group.loops.size()) return index.name;
    }
    const std::string& innermost = loop(group.loops.back()).variable;
    const auto all_of = [&](auto holds) { return std::all_of(group.loops.begin(), group.loops.end(), holds); };
    if (all_of([&](int i) { return stem_of(loop(i).variable) == stem_of(innermost); })) return stem_of(innermost);
    std::string common = innermost;
    std::vector<std::string> variables;
    for (const int i : group.loops) {
      const std::string& variable = loop(i).variable;
      const auto differs = std::mismatch(common.begin(), common.end(), variable.begin(), variable.end());
      common.erase(differs.first, common.end());
      variables.push_back(variable);
    }
    while (!common.empty() && common.back() == '_') common.pop_back();
    const std::string name = common.empty() ? innermost : common;
    group.note = fmt::format("{} are the loops of one rank, {}", comma_list(variables), name);
    return name;
  }

  const NestText& text_;
  std::vector<int> parent_;
  std::vector<std::vector<Occurrence>> places_;
  int output_ = -1;
  Diagnostics errors_;
};

}  // namespace

Result<std::vector<LoopGroup>> group_loops(const NestText& text) {
  return text.header.einsum ? Grouping(text).by_header() : Grouping(text).by_use();
}

}  // namespace einflow::loops
