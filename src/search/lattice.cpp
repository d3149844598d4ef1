#include "search/lattice.hpp"

#include <algorithm>

namespace einflow {

namespace {

std::vector<std::int64_t> primes_of(std::int64_t number) {
  std::vector<std::int64_t> primes;
  for (std::int64_t p = 2; p <= number / p; ++p) {
    if (number % p != 0) continue;
    primes.push_back(p);
    while (number % p == 0) number /= p;
  }
  if (number > 1) primes.push_back(number);
  return primes;
}

}  // namespace

std::vector<std::int64_t> divisors(std::int64_t number) {
  std::vector<std::int64_t> all{1};
  std::int64_t left = number;
  for (const std::int64_t prime : primes_of(number)) {
    const std::size_t before = all.size();
    for (std::int64_t power = prime; left % prime == 0; left /= prime, power *= prime) {
      for (std::size_t i = 0; i < before; ++i) all.push_back(all[i] * power);
      if (power > number / prime) {
        left /= prime;
        break;
      }
    }
  }
  std::sort(all.begin(), all.end());
  return all;
}

TileLattice::TileLattice(const Einsum& einsum, const std::vector<int>& whole) : size_(1) {
  for (std::size_t r = 0; r < einsum.ranks.size(); ++r) {
    const std::int64_t extent = einsum.ranks[r].extent;
    const bool kept = std::find(whole.begin(), whole.end(), static_cast<int>(r)) != whole.end();
    const std::vector<std::int64_t> values = kept ? std::vector<std::int64_t>{extent} : divisors(extent);
    const std::vector<std::int64_t> primes = kept ? std::vector<std::int64_t>{} : primes_of(extent);
    std::vector<Divisor> rank;
    for (const std::int64_t value : values) {
      Divisor divisor{value, {}};
      for (const std::int64_t prime : primes) {
        if (value % prime != 0) continue;
        const auto at = std::lower_bound(values.begin(), values.end(), value / prime);
        divisor.covered.push_back(static_cast<std::size_t>(at - values.begin()));
      }
      rank.push_back(std::move(divisor));
    }
    strides_.push_back(static_cast<std::size_t>(size_.to_int64().value_or(0)));
    size_ *= Count(static_cast<unsigned long>(rank.size()));
    ranks_.push_back(std::move(rank));
  }
}

std::vector<std::int64_t> TileLattice::shape(std::size_t number) const {
  std::vector<std::int64_t> tile;
  for (const std::vector<Divisor>& rank : ranks_) {
    tile.push_back(rank[number % rank.size()].value);
    number /= rank.size();
  }
  return tile;
}

void TileLattice::append_covered(std::size_t number, std::vector<std::size_t>& covered) const {
  std::size_t rest = number;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::size_t index = rest % ranks_[r].size();
    rest /= ranks_[r].size();
    for (const std::size_t below : ranks_[r][index].covered) covered.push_back(number - (index - below) * strides_[r]);
  }
}

}  // namespace einflow
