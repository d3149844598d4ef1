#include "simulate/elements.hpp"

#include <algorithm>

namespace einflow::execution {

namespace {

std::string decimal(__int128 value) { return Count(value).str(); }

}  // namespace

Elements::Elements(const Tensor& tensor, const std::vector<Rank>& ranks) : tensor_(tensor.name) {
  for (const Axis& axis : tensor.axes) {
    // The position of every combination of the axis's rank indices, last term running fastest.
    AxisNumbers numbers;
    std::vector<__int128> position_of{axis.constant};
    for (const Term& term : axis.terms) {
      numbers.ranks.push_back(term.rank);
      std::vector<__int128> longer;
      for (__int128 position : position_of) {
        for (std::int64_t i = 0; i < ranks[static_cast<std::size_t>(term.rank)].extent; ++i) {
          longer.push_back(position + static_cast<__int128>(term.coefficient) * i);
        }
      }
      position_of = std::move(longer);
    }
    numbers.radix.assign(axis.terms.size(), 1);
    for (std::size_t t = axis.terms.size(); t-- > 1;) {
      numbers.radix[t - 1] = numbers.radix[t] * ranks[static_cast<std::size_t>(axis.terms[t].rank)].extent;
    }

    const auto stored = [&](__int128 position) {
      return !axis.stored_size || (position >= 0 && position < *axis.stored_size);
    };
    std::copy_if(position_of.begin(), position_of.end(), std::back_inserter(numbers.positions), stored);
    std::sort(numbers.positions.begin(), numbers.positions.end());
    numbers.positions.erase(std::unique(numbers.positions.begin(), numbers.positions.end()), numbers.positions.end());
    for (__int128 position : position_of) {
      const auto place = std::lower_bound(numbers.positions.begin(), numbers.positions.end(), position);
      numbers.number.push_back(stored(position) ? place - numbers.positions.begin() : -1);
    }
    axes_.push_back(std::move(numbers));
  }
  for (std::size_t a = axes_.size(); a-- > 0;) {
    axes_[a].stride = count_;
    count_ *= static_cast<std::int64_t>(axes_[a].positions.size());
  }
  images_.resize(axes_.size());
}

Element Elements::at(Point point) const {
  Element element = 0;
  for (const AxisNumbers& axis : axes_) {
    std::int64_t key = 0;
    for (std::size_t t = 0; t < axis.ranks.size(); ++t) key += axis.radix[t] * point[axis.ranks[t]];
    const std::int64_t number = axis.number[static_cast<std::size_t>(key)];
    if (number < 0) return -1;
    element += number * axis.stride;
  }
  return element;
}

void Elements::image(const AxisNumbers& axis, Box box, std::vector<std::int64_t>& result) {
  std::vector<std::int64_t>& keys = result;
  keys.assign(1, 0);
  for (std::size_t t = 0; t < axis.ranks.size(); ++t) {
    const Interval interval = box[axis.ranks[t]];
    const std::size_t shorter = keys.size();
    // The first index in place, the others appended.
    for (std::int64_t i = interval.begin + 1; i < interval.end; ++i) {
      for (std::size_t k = 0; k < shorter; ++k) keys.push_back(keys[k] + axis.radix[t] * i);
    }
    for (std::size_t k = 0; k < shorter; ++k) keys[k] += axis.radix[t] * interval.begin;
  }
  for (std::int64_t& key : keys) key = axis.number[static_cast<std::size_t>(key)];
  std::erase(result, -1);
  if (result.size() > 1) {
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
  }
}

void Elements::tile(Box box, Tile& result) {
  result.assign(1, 0);
  std::size_t size = 1;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    image(axes_[a], box, images_[a]);
    size *= images_[a].size();
  }
  if (size == 0) {
    result.clear();
    return;
  }
  result.reserve(size);
  // Extends the product from the last axis outwards, so that numbers stay in increasing order.
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const std::size_t inner = result.size();
    for (std::size_t i = 1; i < images_[a].size(); ++i) {
      for (std::size_t k = 0; k < inner; ++k) result.push_back(result[k] + images_[a][i] * axes_[a].stride);
    }
    for (std::size_t k = 0; k < inner; ++k) result[k] += images_[a][0] * axes_[a].stride;
  }
}

std::string Elements::name(Element element) const {
  std::string text = tensor_ + "[";
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const std::int64_t number = element / axes_[a].stride;
    element %= axes_[a].stride;
    text += (a ? "," : "") + decimal(axes_[a].positions[static_cast<std::size_t>(number)]);
  }
  return text + "]";
}

}  // namespace einflow::execution
