#include "search/shapes.hpp"

#include <algorithm>

#include "search/lattice.hpp"

namespace einflow {

Shapes::Shapes(const Einsum& einsum) {
  for (const Rank& rank : einsum.ranks) {
    const std::vector<std::int64_t> values = divisors(rank.extent);
    std::vector<std::vector<Step>> steps(values.size());
    for (std::size_t small = 0; small < values.size(); ++small) {
      for (std::size_t large = small + 1; large < values.size(); ++large) {
        if (values[large] % values[small] != 0) continue;
        const std::int64_t factor = values[large] / values[small];
        // The quotient is prime where no divisor lies between.
        const bool prime = std::none_of(values.begin() + 1, values.end(), [&](std::int64_t divisor) {
          return divisor < factor && factor % divisor == 0;
        });
        if (prime) steps[small].push_back({factor, static_cast<int>(large)});
      }
    }
    strides_.push_back(static_cast<int>(count_.to_int64().value_or(0)));
    count_ *= Count(values.size());
    divisors_.push_back(values);
    steps_.push_back(std::move(steps));
  }
  if (count_.overflowed() || Count(kMost) < count_) return;
  for (int shape = 0; shape < size(); ++shape) {
    for (std::size_t rank = 0; rank < divisors_.size(); ++rank) {
      indices_.push_back(static_cast<std::int16_t>(shape / strides_[rank] % static_cast<int>(divisors_[rank].size())));
    }
  }
}

int Shapes::index_of(int rank, std::int64_t tile) const {
  const std::vector<std::int64_t>& values = divisors_of(rank);
  const auto found = std::lower_bound(values.begin(), values.end(), tile);
  return found != values.end() && *found == tile ? static_cast<int>(found - values.begin()) : -1;
}

}  // namespace einflow
