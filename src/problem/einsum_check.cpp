#include "problem/einsum_check.hpp"

#include <fmt/format.h>

#include <set>

#include "base/message.hpp"

namespace einflow {
namespace {

using Faults = std::vector<EinsumFault>;

const Count kReachLimit = Count(Count::Int{1} << 62);

const std::string& rank_name(const Einsum& einsum, const Term& term) {
  return einsum.ranks[static_cast<std::size_t>(term.rank)].name;
}

void check_tensor_form(const Einsum& einsum, int index, Faults& faults) {
  const Tensor& tensor = einsum.tensors[static_cast<std::size_t>(index)];
  std::set<int> seen;
  for (std::size_t a = 0; a < tensor.axes.size(); ++a) {
    const Axis& axis = tensor.axes[a];
    const auto add = [&](std::string message, std::string hint = {}) {
      faults.push_back({std::move(message), std::move(hint), -1, index, static_cast<int>(a)});
    };
    for (const Term& term : axis.terms) {
      const std::string rank = in_quotes(rank_name(einsum, term));
      if (term.coefficient < 1) {
        add(fmt::format("the coefficient of rank {} in tensor {} is {}; it must be at least 1", rank,
                        in_quotes(tensor.name), term.coefficient));
      }
      if (!seen.insert(term.rank).second) {
        add(fmt::format("rank {} occurs twice in tensor {}; a rank may be in one axis of a tensor, once", rank,
                        in_quotes(tensor.name)));
      }
    }
    const bool single = axis.terms.size() == 1 && axis.terms[0].coefficient == 1 && axis.constant == 0;
    if (einsum.is_output(index) && !single) {
      add(fmt::format("axis {} of the output {} is not a single rank", in_quotes(to_text(axis, einsum)),
                      in_quotes(tensor.name)),
          "the output's axes are ranks, the inputs' may be sums: O[p] += I[2*p+r] * F[r]");
    }
  }
}

/// Largest position of the axis less its smallest.
Count extent_less_one(const Axis& axis, const Einsum& einsum) {
  Count sum = 0;
  for (const Term& term : axis.terms) {
    sum += Count(term.coefficient) * Count(einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
  }
  return sum;
}

/// Faults of one axis; its number of positions.
Count check_axis_sizes(const Einsum& einsum, int tensor_index, int axis_index, Faults& faults) {
  const Tensor& tensor = einsum.tensors[static_cast<std::size_t>(tensor_index)];
  const Axis& axis = tensor.axes[static_cast<std::size_t>(axis_index)];
  const std::string what =
      fmt::format("axis {} of tensor {}", in_quotes(to_text(axis, einsum)), in_quotes(tensor.name));
  const auto add = [&](std::string message, std::string hint = {}) {
    faults.push_back({std::move(message), std::move(hint), -1, tensor_index, axis_index});
  };
  const Count span = extent_less_one(axis, einsum);
  const Count first = axis.constant;
  const Count reach = span + (first < Count(0) ? Count(0) - first : first);
  if (reach.overflowed() || reach >= kReachLimit) {
    add(what + " reaches 2^62 or beyond");
    return 1;
  }
  const Count last = first + span;
  if (!axis.stored_size) {
    if (first < Count(0)) {
      add(what + " starts below 0, so the size that is stored must be declared",
          fmt::format("shapes: {{{}: [...]}} gives the stored size of each axis; what lies outside is zero",
                      tensor.name));
    }
  } else if (*axis.stored_size < 1) {
    add(fmt::format("{} has stored size {}; it must be at least 1", what, *axis.stored_size));
  } else if (first >= Count(*axis.stored_size) || last < Count(0)) {
    add(fmt::format("{} touches {} to {}, none of which is stored (0 to {})", what, first.str(), last.str(),
                    *axis.stored_size - 1));
  } else if (einsum.is_output(tensor_index) && Count(*axis.stored_size) != last + 1) {
    add(fmt::format("{} is stored with size {}, but rank extents make it {}; an output is stored whole", what,
                    *axis.stored_size, (last + 1).str()));
  }
  return span + 1;
}

}  // namespace

std::vector<EinsumFault> check_form(const Einsum& einsum) {
  Faults faults;
  std::set<std::string> names;
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    const std::string& name = einsum.tensors[t].name;
    const int index = static_cast<int>(t);
    if (!names.insert(name).second) {
      faults.push_back({fmt::format("tensor {} is named twice", in_quotes(name)),
                        "give each operand a name of its own, even where the data are the same", -1, index, -1});
    }
    check_tensor_form(einsum, index, faults);
  }
  if (!einsum.reduce.empty()) return faults;
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    const int rank = static_cast<int>(r);
    if (einsum.has_rank(einsum.output(), rank)) continue;
    faults.push_back({fmt::format("rank {} is not in the output, so it is reduced, but '=' reduces nothing",
                                  in_quotes(einsum.ranks[r].name)),
                      "write '+=' to sum over it (or 'max=', 'min=', '*=')", rank, -1, -1});
  }
  return faults;
}

std::vector<EinsumFault> check_sizes(const Einsum& einsum) {
  Faults faults;
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    const Rank& rank = einsum.ranks[r];
    if (rank.extent >= 1) continue;
    faults.push_back({fmt::format("rank {} has extent {}; it must be at least 1", in_quotes(rank.name), rank.extent),
                      "", static_cast<int>(r), -1, -1});
  }
  if (!faults.empty()) return faults;
  if (einsum.operations().overflowed()) {
    faults.push_back(
        {"the number of operations, the product of all extents, does not fit in 128 bits", "", -1, -1, -1});
  } else if (einsum.executed_operations().overflowed()) {
    faults.push_back({"the executed share of the operations does not fit in 128 bits", "", -1, -1, -1});
  }
  for (std::size_t t = 0; t < einsum.tensors.size(); ++t) {
    Count elements = 1;
    for (std::size_t a = 0; a < einsum.tensors[t].axes.size(); ++a) {
      elements *= check_axis_sizes(einsum, static_cast<int>(t), static_cast<int>(a), faults);
    }
    if (elements.overflowed()) {
      faults.push_back({fmt::format("the number of elements of tensor {} does not fit in 128 bits",
                                    in_quotes(einsum.tensors[t].name)),
                        "", -1, static_cast<int>(t), -1});
    }
  }
  return faults;
}

}  // namespace einflow
