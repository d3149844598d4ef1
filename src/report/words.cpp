#include "report/words.hpp"

#include <fmt/format.h>

namespace einflow {

std::string sharding_words(const Einsum& einsum, const Loop& loop) {
  const std::string& rank = einsum.ranks[static_cast<std::size_t>(loop.rank)].name;
  const auto name = [&](int tensor) { return einsum.tensors[static_cast<std::size_t>(tensor)].name; };
  std::string with;
  std::string without;
  int inputs_with = 0;
  int last_with = -1;
  for (int tensor = 0; tensor < einsum.output(); ++tensor) {
    std::string& names = einsum.has_rank(tensor, loop.rank) ? with : without;
    names += (names.empty() ? "" : " and ") + name(tensor);
    if (einsum.has_rank(tensor, loop.rank)) {
      ++inputs_with;
      last_with = tensor;
    }
  }
  if (!einsum.has_rank(einsum.output(), loop.rank)) {
    return fmt::format(
        "row parallel: {} is summed over, so each has partial sums of {} that must be added (an "
        "all-reduce or reduce-scatter between processors)",
        rank, name(einsum.output()));
  }
  if (without.empty()) {
    return fmt::format(
        "every tensor has {}: separate problems side by side (batch or head parallel); nothing is shared", rank);
  }
  if (einsum.output() != 2 || inputs_with != 1) return fmt::format("{} is split, {} copied to each", rank, without);
  const std::optional<int> weights = weights_of(einsum);
  if (!weights) {
    return fmt::format("column parallel if {} holds the weights, data parallel if {} does; {} is copied to each", with,
                       without, without);
  }
  if (*weights == last_with) {
    return fmt::format("column parallel: {} and {} are split along {}, {} is copied to each", with,
                       name(einsum.output()), rank, without);
  }
  return fmt::format("data parallel: {} and {} are split along {}, the weights {} are copied to each", with,
                     name(einsum.output()), rank, without);
}

std::string network_words(const Spec& spec, const Loop& loop, int tensor) {
  if (spec.einsum.has_rank(tensor, loop.rank)) return {};
  const Mesh& mesh = *spec.machine.mesh(loop.mesh);
  if (spec.einsum.is_output(tensor)) {
    return mesh.reduction ? "partial sums merge in the network (spatial reduction)"
                          : "partial sums go to the parent one by one (read-modify-write there)";
  }
  return mesh.multicast ? "one read of the parent serves all (multicast)"
                        : "each reads its own copy from the parent (no multicast)";
}

}  // namespace einflow
