#include "notation/placements/derivation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"
#include "notation/fields.hpp"

namespace einflow::placements {

namespace {

class Derivation {
 public:
  Derivation(Words words, const Einsum& einsum, const StatedMesh& mesh, const std::vector<StatedTensor>& tensors,
             Diagnostics& errors)
      : words_(words), einsum_(einsum), mesh_(mesh), tensors_(tensors), errors_(errors) {}

  std::optional<Assignment> derive() {
    const std::size_t before = errors_.size();
    Assignment assignment;
    for (std::size_t axis = 0; axis < mesh_.names.size(); ++axis) {
      const auto rank = rank_of(axis);
      if (!rank) continue;
      assignment.push_back({mesh_.names[axis], mesh_.sizes[axis], *rank, -1, -1});
      for (int t = 0; *rank >= 0 && t < static_cast<int>(tensors_.size()); ++t) check_state(t, axis, *rank);
    }
    if (errors_.size() != before || !put_in_order(assignment) || !check_cuts(assignment)) return std::nullopt;
    return assignment;
  }

 private:
  const Tensor& tensor(int t) const { return einsum_.tensors[static_cast<std::size_t>(t)]; }
  const Stated& stated(int t, std::size_t axis) const { return tensors_[static_cast<std::size_t>(t)].states[axis]; }
  const std::string& rank_name(int rank) const { return einsum_.ranks[static_cast<std::size_t>(rank)].name; }
  std::string axis_quoted(std::size_t axis) const { return in_quotes(mesh_.names[axis]); }

  /// The rank of a tensor's dimension; nothing where it is not one rank alone.
  std::optional<int> rank_at(int t, const Stated& state) {
    const Axis& axis = tensor(t).axes[static_cast<std::size_t>(state.dimension)];
    std::string fault =
        axis.terms.empty() ? fmt::format("the axis {} of {} has no rank", to_text(axis, einsum_), tensor(t).name) : "";
    std::optional<int> rank;
    for (const Term& term : axis.terms) {
      if (plain_axis(einsum_, t, term.rank) == state.dimension) rank = term.rank;
      if (fault.empty()) fault = axis_fault(einsum_, t, term.rank);
    }
    if (!rank) add_error(errors_, state.span, fault, "a shard of it is no tile of a rank; use a `par` loop in a spec");
    return rank;
  }

  /// The rank that the axis splits; -1 where it has one device. Nothing where an error was added.
  std::optional<int> rank_of(std::size_t axis) {
    std::optional<int> found;
    int found_in = -1;
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
      const Stated& state = stated(t, axis);
      if (state.kind != Stated::Kind::shard) continue;
      const auto rank = rank_at(t, state);
      if (!rank) return std::nullopt;
      if (found && *found != *rank) {
        add_error(
            errors_, state.span,
            fmt::format("{} splits {} of {} here and {} of {}: an axis goes to one rank in one einsum",
                        axis_quoted(axis), rank_name(*rank), tensor(t).name, rank_name(*found), tensor(found_in).name),
            "that is a change of placement: a collective before or after it, or a streamed nest (SUMMA)");
        return std::nullopt;
      }
      if (!found) found_in = t;
      found = rank;
    }
    if (found) return found;
    if (mesh_.sizes[axis] == 1) return check_single(axis);
    add_error(errors_, mesh_.name_spans[axis],
              fmt::format("{} splits no tensor: its {} devices would all do the same work", axis_quoted(axis),
                          mesh_.sizes[axis]),
              "leave the axis out; einflow has no loop that repeats work");
    return std::nullopt;
  }

  /// On an axis of one device nothing is partial that is not whole.
  std::optional<int> check_single(std::size_t axis) {
    for (int t = 0; t < static_cast<int>(tensors_.size()); ++t) {
      if (stated(t, axis).kind != Stated::Kind::partial) continue;
      add_error(errors_, stated(t, axis).span,
                fmt::format("{} is partial over {}, which splits no tensor", tensor(t).name, axis_quoted(axis)),
                "expected Replicate()");
      return std::nullopt;
    }
    return -1;
  }

  std::string spelled(int t, int rank, std::size_t axis) const {
    const auto dimension = plain_axis(einsum_, t, rank);
    if (words_ == Words::jax) return fmt::format("{} in dimension {}", axis_quoted(axis), dimension.value_or(0));
    if (dimension) return fmt::format("Shard({})", *dimension);
    return einsum_.is_output(t) ? fmt::format("Partial(\"{}\")", partial_operation(einsum_)) : "Replicate()";
  }

  /// The state of a tensor must be the one that follows from the rank.
  void check_state(int t, std::size_t axis, int rank) {
    const Stated& state = stated(t, axis);
    const std::string& name = tensor(t).name;
    const std::string& r = rank_name(rank);
    if (einsum_.has_rank(t, rank)) {
      if (state.kind == Stated::Kind::shard) return;
      const std::string fault = axis_fault(einsum_, t, rank);
      if (!fault.empty()) {
        add_error(errors_, state.span, fmt::format("{} splits {}: {}", axis_quoted(axis), r, fault),
                  "only a `par` loop in a spec can say this");
        return;
      }
      add_error(errors_, state.span,
                fmt::format("{} is whole on the devices of {}, which split its rank {} in other tensors; expected {}",
                            name, axis_quoted(axis), r, spelled(t, rank, axis)),
                "a tensor that is kept another way is sliced or gathered first, a collective of its own");
      return;
    }
    if (!einsum_.is_output(t)) {
      if (state.kind != Stated::Kind::partial) return;
      add_error(
          errors_, state.span,
          fmt::format("the input {} is partial over {}; expected {}", name, axis_quoted(axis), spelled(t, rank, axis)),
          "an all-reduce of it comes first, a collective of its own");
      return;
    }
    if (state.kind == Stated::Kind::unsaid) return;
    if (state.kind == Stated::Kind::partial && state.operation == partial_operation(einsum_)) return;
    if (state.kind == Stated::Kind::partial) {
      add_error(errors_, state.span,
                fmt::format("{} is reduced by '{}'; expected {}", name, einsum_.reduce, spelled(t, rank, axis)));
      return;
    }
    add_error(errors_, state.span,
              fmt::format("{} sums over {}, which {} splits: each device has partial results; expected {}", name, r,
                          axis_quoted(axis), spelled(t, rank, axis)),
              "to Replicate() is an all-reduce after this einsum, to Shard(DIM) a reduce-scatter");
  }

  /// Axes of one rank in the order that PartitionSpecs give them; all tensors must agree.
  bool put_in_order(Assignment& assignment) {
    const Assignment stated_order = assignment;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      for (const std::vector<int>& order : tensors_[t].orders) {
        std::vector<std::size_t> places(order.begin(), order.end());
        std::sort(places.begin(), places.end());
        for (std::size_t i = 0; i < order.size(); ++i) {
          const SplitAxis& wanted = stated_order[static_cast<std::size_t>(order[i])];
          SplitAxis& place = assignment[places[i]];
          if (ordered_.count(places[i]) != 0 && place.name != wanted.name) {
            add_error(errors_, tensors_[t].states[static_cast<std::size_t>(order[i])].span,
                      fmt::format("{} splits {} over the axes in another order than a tensor before",
                                  tensor(static_cast<int>(t)).name, rank_name(wanted.rank)),
                      "the first axis of a tuple is the major one");
            return false;
          }
          place = wanted;
          ordered_.insert(places[i]);
        }
      }
    }
    return true;
  }

  bool check_cuts(const Assignment& assignment) {
    std::vector<Pieces> pieces;
    for (const Rank& rank : einsum_.ranks) pieces.push_back({rank.extent});
    bool good = true;
    for (const SplitAxis& split : assignment) {
      if (split.rank < 0) continue;
      Pieces& cuts = pieces[static_cast<std::size_t>(split.rank)];
      const std::int64_t tile = 1 + (*cuts.rbegin() - 1) / split.size;
      const std::string fault = cut_fault(words_, cuts, tile, split.size);
      if (!fault.empty()) {
        const auto axis = std::find(mesh_.names.begin(), mesh_.names.end(), split.name) - mesh_.names.begin();
        add_error(errors_, mesh_.size_spans[static_cast<std::size_t>(axis)],
                  fmt::format("rank {} over {}: {}", rank_name(split.rank), in_quotes(split.name), fault),
                  words_ == Words::jax ? "" : "sizes that divide are cut alike");
        good = false;
      }
      cuts = cut(cuts, tile);
    }
    return good;
  }

  Words words_;
  const Einsum& einsum_;
  const StatedMesh& mesh_;
  const std::vector<StatedTensor>& tensors_;
  std::set<std::size_t> ordered_;  // places in the assignment that a tuple has put in order
  Diagnostics& errors_;
};

}  // namespace

std::optional<Assignment> assignment_from(Words words, const Einsum& einsum, const StatedMesh& mesh,
                                          const std::vector<StatedTensor>& tensors, Diagnostics& errors) {
  return Derivation(words, einsum, mesh, tensors, errors).derive();
}

}  // namespace einflow::placements
