#include "movement/group.hpp"

#include <algorithm>
#include <numeric>

namespace einflow {
namespace {

// Rounds towards plus infinity; divisor > 0.
std::int64_t ceil_divide(std::int64_t dividend, std::int64_t divisor) {
  return dividend >= 0 ? (dividend + divisor - 1) / divisor : -((-dividend) / divisor);
}

Group group_of_axis(const Einsum& einsum, const Axis& axis) {
  Group group;
  group.indexed = true;
  group.terms = axis.terms;
  std::int64_t divisor = 0;
  for (const Term& term : axis.terms) divisor = std::gcd(divisor, term.coefficient);
  if (divisor == 0) divisor = 1;  // an axis without ranks: one position
  std::int64_t reach = 0;
  for (Term& term : group.terms) {
    term.coefficient /= divisor;
    reach += term.coefficient * (einsum.ranks[static_cast<std::size_t>(term.rank)].extent - 1);
  }
  std::sort(group.terms.begin(), group.terms.end(),
            [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
  if (axis.stored_size) {
    // 0 <= divisor * y + constant < size
    const Interval stored{ceil_divide(-axis.constant, divisor),
                          ceil_divide(*axis.stored_size - axis.constant, divisor)};
    if (stored.begin > 0 || stored.end <= reach) group.stored = stored;
  }
  return group;
}

}  // namespace

std::vector<Group> groups_of(const Einsum& einsum, int tensor) {
  std::vector<Group> groups;
  for (const Axis& axis : einsum.tensors[static_cast<std::size_t>(tensor)].axes)
    groups.push_back(group_of_axis(einsum, axis));
  for (int rank = 0; rank < static_cast<int>(einsum.ranks.size()); ++rank) {
    if (einsum.has_rank(tensor, rank)) continue;
    Group absent;
    absent.terms.push_back({rank, 1});
    groups.push_back(absent);
  }
  return groups;
}

}  // namespace einflow
