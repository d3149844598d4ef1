#include "notation/maestro/classify.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/message.hpp"

namespace einflow::maestro {

namespace {

constexpr std::int64_t kLargestSize = (std::int64_t{1} << 31) - 1;

struct WindowAxis {
  int output = -1;
  int tap = -1;
  std::int64_t stride = 1;
};

class Classifier {
 public:
  explicit Classifier(const Einsum& einsum) : einsum_(einsum) {}

  Result<Classified> classify() {
    const std::string reason = find();
    if (!reason.empty()) {
      return fail(fmt::format("MAESTRO has no layer type for {}: {}", to_text(einsum_), reason),
                  "it has convolutions (plain, depthwise, grouped) without padding and dilation, and matrix products");
    }
    auto canonical = einsum_of(result_.shape);
    if (!canonical) return tl::unexpected(canonical.error());
    result_.canonical = *canonical;
    map_ranks();
    return std::move(result_);
  }

 private:
  const std::string& name(int rank) const { return einsum_.ranks[static_cast<std::size_t>(rank)].name; }
  std::int64_t extent(int rank) const { return rank < 0 ? 1 : einsum_.ranks[static_cast<std::size_t>(rank)].extent; }

  /// What is in the way, or nothing.
  std::string find() {
    if (!einsum_.is_mac()) return "it is no sum of products of two tensors";
    if (!(einsum_.executed.share == Ratio(Count(1)))) return "only a part of its operations is executed";
    for (const Tensor& tensor : einsum_.tensors) {
      for (const Axis& axis : tensor.axes) {
        if (axis.stored_size) return "it has implicit padding";
        if (axis.constant != 0) return "an axis does not begin at 0";
      }
    }
    for (const Rank& rank : einsum_.ranks) {
      if (rank.extent > kLargestSize) return fmt::format("the size of {} is 2^31 or more", rank.name);
    }
    const bool windows_first = has_window(0);
    if (windows_first && has_window(1)) return "both inputs have windows";
    input_ = has_window(1) ? 1 : 0;
    std::string reason = find_windows();
    if (reason.empty()) reason = find_channels();
    if (reason.empty()) set_shape();
    return reason;
  }

  bool has_window(int tensor) const {
    const auto& axes = einsum_.tensors[static_cast<std::size_t>(tensor)].axes;
    return std::any_of(axes.begin(), axes.end(), [](const Axis& axis) {
      return axis.terms.size() > 1 || (axis.terms.size() == 1 && axis.terms[0].coefficient > 1);
    });
  }

  std::string find_windows() {
    const int filter = 1 - input_;
    for (const Axis& axis : einsum_.tensors[static_cast<std::size_t>(input_)].axes) {
      if (axis.terms.size() == 1 && axis.terms[0].coefficient == 1) continue;
      if (axis.terms.size() != 2) return "an axis of the input is not one output position plus one of the filter";
      WindowAxis window;
      for (const Term& term : axis.terms) {
        const bool in_output = einsum_.has_rank(einsum_.output(), term.rank);
        const bool in_filter = einsum_.has_rank(filter, term.rank);
        if (in_output && !in_filter) {
          window.output = term.rank;
          window.stride = term.coefficient;
        } else if (in_filter && !in_output) {
          if (term.coefficient != 1) return "its filter is dilated";
          window.tap = term.rank;
        }
      }
      if (window.output < 0 || window.tap < 0)
        return "an axis of the input is not one output position plus one of the filter";
      if (window.stride > kLargestSize) return "a stride is 2^31 or more";
      windows_.push_back(window);
    }
    if (windows_.size() > 2) return "it has more than two windows";
    return {};
  }

  std::string find_channels() {
    for (int rank = 0; rank < static_cast<int>(einsum_.ranks.size()); ++rank) {
      const bool windowed = std::any_of(windows_.begin(), windows_.end(),
                                        [&](const WindowAxis& w) { return w.output == rank || w.tap == rank; });
      if (windowed) continue;
      const bool in = einsum_.has_rank(input_, rank);
      const bool filter = einsum_.has_rank(1 - input_, rank);
      const bool out = einsum_.has_rank(einsum_.output(), rank);
      int* role = nullptr;
      const char* what = "";
      if (in && filter && out) {
        role = &group_;
        what = "in all three tensors";
      } else if (in && filter) {
        role = &sum_;
        what = "summed over";
      } else if (in && out) {
        role = &left_;
        what = "of the first input and the output";
      } else if (filter && out) {
        role = &right_;
        what = "of the second input and the output";
      } else {
        return fmt::format("the rank {} belongs to one tensor only", name(rank));
      }
      if (*role >= 0)
        return fmt::format("{} and {} are both {}, and there is one dimension for that", name(*role), name(rank), what);
      *role = rank;
    }
    if (group_ >= 0 && windows_.empty()) return fmt::format("it is a batched product (over {})", name(group_));
    return {};
  }

  void set_shape() {
    Shape& shape = result_.shape;
    const auto take = [&](std::int64_t& size, int rank, const char* as) {
      size = extent(rank);
      if (rank >= 0) roles_.emplace_back(as, rank);
    };
    if (windows_.empty()) {
      shape.type = Type::gemm;
      take(shape.m, left_, "m");
      take(shape.n, right_, "n");
      take(shape.k, sum_, "k");
      return;
    }
    const bool depthwise = group_ >= 0 && sum_ < 0 && right_ < 0;
    shape.type = depthwise ? Type::dsconv : extent(group_) == 1 ? Type::conv : Type::ngconv;
    take(shape.n, left_, "n");
    take(shape.k, right_, "k");
    if (shape.type == Type::dsconv) {
      take(shape.c, group_, "c");
    } else {
      take(shape.c, sum_, "c");
      take(shape.g, group_, "g");
    }
    // One window is X: MAESTRO's one-dimensional convolutions have R and Y of 1.
    const WindowAxis none;
    const WindowAxis& y = windows_.size() == 2 ? windows_.front() : none;
    const WindowAxis& x = windows_.back();
    std::int64_t outputs = 1;
    take(outputs, y.output, "p");
    take(shape.r, y.tap, "r");
    shape.stride_y = y.stride;
    shape.y = rows(outputs, y.stride, shape.r);
    take(outputs, x.output, "q");
    take(shape.s, x.tap, "s");
    shape.stride_x = x.stride;
    shape.x = rows(outputs, x.stride, shape.s);
  }

  /// At most (2^31 - 1)^2 + 2^31: fits.
  static std::int64_t rows(std::int64_t outputs, std::int64_t stride, std::int64_t taps) {
    return (outputs - 1) * stride + taps;
  }

  void map_ranks() {
    const Einsum& canonical = result_.canonical;
    result_.rank_of.assign(canonical.ranks.size(), -1);
    result_.canonical_rank.assign(einsum_.ranks.size(), -1);
    for (const auto& [as, rank] : roles_) {
      const int there = canonical.rank_named(as);
      if (there < 0) continue;  // G of one group
      result_.rank_of[static_cast<std::size_t>(there)] = rank;
      result_.canonical_rank[static_cast<std::size_t>(rank)] = there;
    }
    Einsum compared = canonical;
    compared.name = einsum_.name;
    for (std::size_t t = 0; t < compared.tensors.size() && t < einsum_.tensors.size(); ++t) {
      compared.tensors[t].type = einsum_.tensors[t].type;
    }
    result_.same = compared == einsum_;
  }

  const Einsum& einsum_;
  int input_ = 0;
  std::vector<WindowAxis> windows_;
  int group_ = -1;
  int sum_ = -1;
  int left_ = -1;
  int right_ = -1;
  std::vector<std::pair<const char*, int>> roles_;
  Classified result_;
};

}  // namespace

Result<Classified> classify(const Einsum& einsum) { return Classifier(einsum).classify(); }

}  // namespace einflow::maestro
