#include "search/fused_chain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/message.hpp"
#include "search/staircase.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostTensors = 5;

std::set<std::string> rank_names(const Einsum& einsum, int tensor) {
  std::set<std::string> names;
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    if (einsum.has_rank(tensor, static_cast<int>(r))) names.insert(einsum.ranks[r].name);
  }
  return names;
}

/// Follows the output of one einsum through those behind it.
class Follower {
 public:
  explicit Follower(const Einsum& first) : ranks_(rank_names(first, first.output())) {
    chain_.einsums[0] = first;
    whole_.insert(first.tensors.back().name);
  }

  /// Looks at the next einsum; true where it is the second of the chain.
  Result<bool> take(const Einsum& einsum) {
    std::vector<int> made, outside;
    bool from_whole = false;
    for (int t = 0; t < einsum.output(); ++t) {
      const std::string& name = einsum.tensors[static_cast<std::size_t>(t)].name;
      const bool is_whole = whole_.count(name) > 0;
      from_whole = from_whole || is_whole;
      (is_whole || rows_.count(name) > 0 ? made : outside).push_back(t);
    }
    if (made.empty()) {
      forget(einsum.tensors.back().name);
      return false;
    }
    const std::set<std::string> output = rank_names(einsum, einsum.output());
    const bool inside = std::all_of(einsum.ranks.begin(), einsum.ranks.end(),
                                    [&](const Rank& rank) { return ranks_.count(rank.name) > 0; });
    if (outside.empty() && inside) {
      const std::string& name = einsum.tensors.back().name;
      chain_.between.push_back(einsum.name.empty() ? name : einsum.name);
      if (output == ranks_) {
        whole_.insert(name);
      } else {
        rows_.insert(name);
        chain_.rows.push_back(name);
      }
      return false;
    }
    if (inside && output == ranks_) {
      return fail(fmt::format("between the products {} takes {} from outside: what it moves is not searched",
                              in_quotes(to_text(einsum)), in_quotes(name_of(einsum, outside.front()))));
    }
    if (!from_whole || made.size() != 1) {
      return fail(fmt::format("{} is no product of {} with other tensors", in_quotes(to_text(einsum)),
                              in_quotes(chain_.intermediate().name)));
    }
    chain_.einsums[1] = einsum;
    chain_.taken = made.front();
    return true;
  }

  FusedChain chain() const { return chain_; }

 private:
  static const std::string& name_of(const Einsum& einsum, int tensor) {
    return einsum.tensors[static_cast<std::size_t>(tensor)].name;
  }
  /// A tensor of that name is made anew, from elsewhere.
  void forget(const std::string& name) {
    whole_.erase(name);
    rows_.erase(name);
  }

  FusedChain chain_;
  std::set<std::string> ranks_;
  std::set<std::string> whole_;  ///< tensors made from the intermediate, of all its ranks
  std::set<std::string> rows_;   ///< likewise, of fewer
};

std::optional<Diagnostics> fault_of(const FusedChain& chain) {
  const auto& [first, second] = chain.einsums;
  for (const Einsum& einsum : chain.einsums) {
    if (has_window(einsum)) {
      return fail(fmt::format("{}: a window slides or an axis is padded; only chains without are searched",
                              in_quotes(to_text(einsum))))
          .value();
    }
  }
  const Tensor& taken = second.tensors[static_cast<std::size_t>(chain.taken)];
  bool same = taken.axes.size() == chain.intermediate().axes.size() &&
              rank_names(second, chain.taken) == rank_names(first, first.output());
  for (const Rank& rank : chain.common_ranks()) {
    const int there = second.rank_named(rank.name);
    same = same && there >= 0 && second.ranks[static_cast<std::size_t>(there)].extent == rank.extent;
  }
  for (const Axis& axis : taken.axes) {
    same = same && axis.terms.size() == 1 && axis.terms[0].coefficient == 1 && axis.constant == 0;
  }
  if (!same) {
    return fail(fmt::format("{} of the second einsum has other ranks than {} of the first",
                            in_quotes(to_text(taken, second)), in_quotes(to_text(chain.intermediate(), first))),
                "common ranks have one name and one extent in both")
        .value();
  }
  const std::vector<ChainTensor> moved = moved_tensors(chain);
  if (moved.size() > kMostTensors) {
    return fail(fmt::format("{} tensors beside the intermediate are too many to search; at most {}", moved.size(),
                            kMostTensors))
        .value();
  }
  std::set<std::string> names;
  for (const ChainTensor& at : moved) {
    const std::string& name =
        chain.einsums[static_cast<std::size_t>(at.einsum)].tensors[static_cast<std::size_t>(at.tensor)].name;
    if (!names.insert(name).second) {
      return fail(fmt::format("{} is a tensor of both einsums: moving it once for both is not searched",
                              in_quotes(name)))
          .value();
    }
  }
  return std::nullopt;
}

/// The chain that begins with einsum `at`; nothing where no product takes its output.
Result<std::optional<FusedChain>> chain_from(const Cascade& cascade, std::size_t at) {
  Follower follower(cascade.einsums[at]);
  for (std::size_t next = at + 1; next < cascade.einsums.size(); ++next) {
    const auto found = follower.take(cascade.einsums[next]);
    if (!found) return tl::unexpected(found.error());
    if (!*found) continue;
    FusedChain chain = follower.chain();
    if (auto fault = fault_of(chain)) return tl::unexpected(std::move(*fault));
    return chain;
  }
  return std::optional<FusedChain>();
}

bool is_product(const Einsum& einsum) {
  const int output = einsum.output();
  const auto is_reduced = [&](int rank) { return !einsum.has_rank(output, rank); };
  if (output < 2) return false;
  for (int r = 0; r < static_cast<int>(einsum.ranks.size()); ++r) {
    if (is_reduced(r)) return true;
  }
  return false;
}

std::string name_or_text(const Einsum& einsum) { return einsum.name.empty() ? to_text(einsum) : einsum.name; }

}  // namespace

std::vector<Rank> FusedChain::common_ranks() const {
  std::vector<Rank> ranks;
  for (const Axis& axis : intermediate().axes) {
    ranks.push_back(einsums[0].ranks[static_cast<std::size_t>(axis.terms.front().rank)]);
  }
  return ranks;
}

std::vector<ChainTensor> moved_tensors(const FusedChain& chain) {
  std::vector<ChainTensor> moved;
  for (int t = 0; t < chain.einsums[0].output(); ++t) moved.push_back({0, t});
  for (int t = 0; t <= chain.einsums[1].output(); ++t) {
    if (t != chain.taken) moved.push_back({1, t});
  }
  return moved;
}

bool is_in_every_tensor(const FusedChain& chain, int common_rank) {
  const std::string name = chain.common_ranks()[static_cast<std::size_t>(common_rank)].name;
  return std::all_of(chain.einsums.begin(), chain.einsums.end(), [&](const Einsum& einsum) {
    for (int t = 0; t <= einsum.output(); ++t) {
      if (!einsum.has_rank(t, einsum.rank_named(name))) return false;
    }
    return true;
  });
}

Result<FusedChain> fused_chain(const Cascade& cascade, const std::string& first) {
  std::vector<std::string> names;
  std::vector<FusedChain> chains;
  Diagnostics errors;
  for (std::size_t i = 0; i < cascade.einsums.size(); ++i) {
    const Einsum& einsum = cascade.einsums[i];
    names.push_back(name_or_text(einsum));
    if (first.empty() ? !is_product(einsum) : einsum.name != first) continue;
    auto chain = chain_from(cascade, i);
    if (!chain && !first.empty()) return tl::unexpected(chain.error());
    if (!chain) {
      errors.insert(errors.end(), chain.error().begin(), chain.error().end());
    } else if (*chain) {
      chains.push_back(std::move(**chain));
    } else if (!first.empty()) {
      return fail(fmt::format("no product takes the output of {}", in_quotes(first)));
    }
    if (!first.empty()) return std::move(chains.front());
  }
  if (!first.empty())
    return fail(fmt::format("there is no einsum {}", in_quotes(first)), name_hint(first, names, "einsums"));
  if (chains.size() == 1) return std::move(chains.front());
  if (chains.empty()) {
    if (!errors.empty()) return tl::unexpected(std::move(errors));
    return fail("nothing to fuse: no product takes the output of another one",
                names.size() > 1 ? "einsums: " + comma_list(names) : "give both einsums");
  }
  std::vector<std::string> firsts;
  for (const FusedChain& chain : chains) firsts.push_back(name_or_text(chain.einsums[0]));
  return fail(fmt::format("{} chains of two products; choose one", chains.size()),
              "by its first einsum: " + comma_list(firsts));
}

}  // namespace einflow
