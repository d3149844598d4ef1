// Arithmetic on shapes: exact, on at most a few thousand whole numbers.
#include <algorithm>
#include <cstdlib>

#include "notation/onnx/inference.hpp"

namespace einflow {

namespace {

constexpr std::size_t kMostElements = 4096;

using Elements = std::vector<std::int64_t>;
using Maybe = std::optional<Elements>;

/// A node with the known elements of its inputs.
class Evaluation {
 public:
  Evaluation(const OnnxGraph& graph, const OnnxNode& node) : graph_(graph), node_(node) {}

  Maybe evaluate() const {
    const std::string& name = node_.operation;
    if (!node_.is_onnx_own() || node_.outputs.empty()) return std::nullopt;
    if (name == "Shape") return shape();
    if (name == "Size") return size();
    if (name == "ConstantOfShape") return filled();
    if (input(0) == nullptr || axes(0) > 1) return std::nullopt;
    if (name == "Identity" || name == "Squeeze" || name == "Unsqueeze" || name == "Reshape" || name == "Flatten") {
      return *input(0);
    }
    if (name == "Cast") return cast();
    if (name == "Gather") return gather();
    if (name == "Concat") return concatenation();
    if (name == "Slice") return slice();
    if (name == "Range") return range();
    if (name == "Neg" || name == "Abs") return unary(name == "Neg");
    if (name == "ReduceProd") return product();
    if (name == "Where") return where();
    return binary();
  }

 private:
  const Elements* input(std::size_t index) const {
    const OnnxValue* value = graph_.input(node_, index);
    return value == nullptr || !value->integers ? nullptr : &*value->integers;
  }
  std::size_t axes(std::size_t index) const { return graph_.input(node_, index)->type.sizes.size(); }

  Maybe shape() const {
    const OnnxValue* value = graph_.input(node_, 0);
    const auto sizes = value == nullptr ? std::nullopt : value->sizes();
    if (!sizes) return std::nullopt;
    const auto count = static_cast<std::int64_t>(sizes->size());
    const auto bound = [count](std::int64_t at) {
      return std::clamp<std::int64_t>(at < 0 ? at + count : at, 0, count);
    };
    const std::int64_t start = bound(node_.integer("start", 0)), end = bound(node_.integer("end", count));
    return start >= end ? Elements{} : Elements(sizes->begin() + start, sizes->begin() + end);
  }

  Maybe size() const {
    const OnnxValue* value = graph_.input(node_, 0);
    const auto sizes = value == nullptr ? std::nullopt : value->sizes();
    const auto count = sizes ? elements(*sizes).to_int64() : std::nullopt;
    return count ? Maybe(Elements{*count}) : std::nullopt;
  }

  /// Only where it is filled with the default, 0 of another type than float, or with nothing.
  Maybe filled() const {
    const Elements* shape = input(0);
    if (shape == nullptr || shape->size() > 1 || node_.attributes.count("value") > 0) return std::nullopt;
    const std::int64_t count = shape->empty() ? 1 : shape->front();
    return count == 0 ? Maybe(Elements{}) : std::nullopt;
  }

  Maybe cast() const {
    const std::int64_t to = node_.integer("to", 0);
    constexpr std::int64_t kInt32 = 6, kInt64 = 7;
    if (to == kInt64) return *input(0);
    if (to != kInt32) return std::nullopt;
    for (const std::int64_t value : *input(0)) {
      if (value < INT32_MIN || value > INT32_MAX) return std::nullopt;
    }
    return *input(0);
  }

  Maybe gather() const {
    const Elements* indices = input(1);
    if (indices == nullptr || axes(1) > 1 || axes(0) != 1) return std::nullopt;
    const auto count = static_cast<std::int64_t>(input(0)->size());
    Elements taken;
    for (std::int64_t index : *indices) {
      if (index < 0) index += count;
      if (index < 0 || index >= count) return std::nullopt;
      taken.push_back((*input(0))[static_cast<std::size_t>(index)]);
    }
    return taken;
  }

  Maybe concatenation() const {
    Elements all;
    for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
      const Elements* part = input(i);
      if (part == nullptr || axes(i) != 1 || all.size() + part->size() > kMostElements) return std::nullopt;
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }

  Maybe slice() const {
    if (axes(0) != 1) return std::nullopt;
    std::int64_t bounds[3] = {0, 0, 1};
    if (node_.opset < 10) {
      const Elements *starts = node_.integers("starts"), *ends = node_.integers("ends");
      if (starts == nullptr || ends == nullptr || starts->size() != 1 || ends->size() != 1) return std::nullopt;
      bounds[0] = starts->front();
      bounds[1] = ends->front();
    } else {
      for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t index = i < 2 ? i + 1 : 4;
        if (i == 2 && graph_.input(node_, index) == nullptr) break;
        if (input(index) == nullptr || input(index)->size() != 1) return std::nullopt;
        bounds[i] = input(index)->front();
      }
    }
    const auto count = static_cast<std::int64_t>(input(0)->size());
    const std::int64_t step = bounds[2];
    if (step == 0 || step < -static_cast<std::int64_t>(kMostElements) || step > INT32_MAX) return std::nullopt;
    const auto place = [&](std::int64_t at) {
      if (at < 0) at += count;
      return step > 0 ? std::clamp<std::int64_t>(at, 0, count) : std::clamp<std::int64_t>(at, -1, count - 1);
    };
    // A start or end below -count stays negative after the wrap and is clamped; INT64_MIN + count does not overflow.
    Elements taken;
    for (std::int64_t at = place(bounds[0]), end = place(bounds[1]); step > 0 ? at < end : at > end; at += step) {
      taken.push_back((*input(0))[static_cast<std::size_t>(at)]);
    }
    return taken;
  }

  Maybe range() const {
    if (input(1) == nullptr || input(2) == nullptr) return std::nullopt;
    if (input(0)->size() != 1 || input(1)->size() != 1 || input(2)->size() != 1) return std::nullopt;
    const std::int64_t start = input(0)->front(), limit = input(1)->front(), delta = input(2)->front();
    const auto small = [](std::int64_t value) {
      return value > -(std::int64_t{1} << 40) && value < (std::int64_t{1} << 40);
    };
    if (delta == 0 || !small(start) || !small(limit) || !small(delta)) return std::nullopt;
    Elements all;
    for (std::int64_t at = start; delta > 0 ? at < limit : at > limit; at += delta) {
      if (all.size() == kMostElements) return std::nullopt;
      all.push_back(at);
    }
    return all;
  }

  Maybe unary(bool negate) const {
    Elements all = *input(0);
    for (std::int64_t& value : all) {
      if (value == INT64_MIN) return std::nullopt;
      value = negate ? -value : std::abs(value);
    }
    return all;
  }

  Maybe product() const {
    if (axes(0) != 1) return std::nullopt;
    Count all = 1;
    for (const std::int64_t value : *input(0)) all *= Count(value);
    const auto value = all.overflowed() ? std::nullopt : all.to_int64();
    return value ? Maybe(Elements{*value}) : std::nullopt;
  }

  /// The three inputs have one element or as many as the longest.
  Maybe where() const {
    const Elements *yes = input(1), *no = input(2);
    if (yes == nullptr || no == nullptr || axes(1) > 1 || axes(2) > 1) return std::nullopt;
    const std::size_t count = std::max({input(0)->size(), yes->size(), no->size()});
    Elements all;
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = [i, count](const Elements& from) -> std::optional<std::int64_t> {
        if (from.size() == count) return from[i];
        return from.size() == 1 ? std::optional(from[0]) : std::nullopt;
      };
      const auto chosen = at(*input(0)), left = at(*yes), right = at(*no);
      if (!chosen || !left || !right) return std::nullopt;
      all.push_back(*chosen != 0 ? *left : *right);
    }
    return all;
  }

  Maybe binary() const {
    const std::string& name = node_.operation;
    if (node_.inputs.size() != 2 || input(1) == nullptr || axes(1) > 1) return std::nullopt;
    const Elements &left = *input(0), &right = *input(1);
    if (left.size() != right.size() && left.size() != 1 && right.size() != 1) return std::nullopt;
    const std::size_t count = left.empty() || right.empty() ? 0 : std::max(left.size(), right.size());
    Elements all;
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t a = left[left.size() == 1 ? 0 : i], b = right[right.size() == 1 ? 0 : i];
      const bool divides = b != 0 && !(a == INT64_MIN && b == -1);
      Count value = 0;
      if (name == "Add")
        value = Count(a) + Count(b);
      else if (name == "Sub")
        value = Count(a) - Count(b);
      else if (name == "Mul")
        value = Count(a) * Count(b);
      else if (name == "Div" && divides)
        value = Count(a / b);
      else if (name == "Mod" && divides && a >= 0 && b > 0)
        value = Count(a % b);
      else if (name == "Max")
        value = Count(std::max(a, b));
      else if (name == "Min")
        value = Count(std::min(a, b));
      else if (name == "Equal")
        value = Count(a == b ? 1 : 0);
      else
        return std::nullopt;
      const auto fits = value.overflowed() ? std::nullopt : value.to_int64();
      if (!fits) return std::nullopt;
      all.push_back(*fits);
    }
    return all;
  }

  const OnnxGraph& graph_;
  const OnnxNode& node_;
};

}  // namespace

std::optional<std::vector<std::int64_t>> constant_elements(const OnnxGraph& graph, const OnnxNode& node) {
  return Evaluation(graph, node).evaluate();
}

}  // namespace einflow
