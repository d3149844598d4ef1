#include "search/imperfect_order.hpp"

#include <algorithm>

namespace einflow::imperfect {
namespace {

class Orders {
 public:
  Orders(const Space& space, const OrderQuestion& question) : space_(space), question_(question) {
    for (int tensor = 0; tensor < space.tensors; ++tensor) matters_.push_back(is_held_further_in(tensor));
    for (int rank = 0; rank < space.ranks; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      const RankCuts& before = (*question.before)[r];
      always_advances_.push_back(before.shortest() > (*question.cuts)[r].temporal);
      spread_.push_back((*question.after)[r].trips_spatial > 1 || space.spread_inside(question.block, rank));
    }
  }

  std::vector<std::vector<int>> all() {
    std::vector<int> left = question_.ranks;
    if (question_.innermost >= 0) {
      inside_first_.push_back(question_.innermost);
      left.erase(std::find(left.begin(), left.end(), question_.innermost));
    }
    extend(left);
    return std::move(found_);
  }

 private:
  bool is_held_further_in(int tensor) const {
    if (!space_.forgets || space_.systolic || (question_.held >> tensor & 1U) != 0) return true;
    for (int block = question_.block + 1; block < space_.last(); ++block) {
      if (space_.holding(block, tensor) != Holding::bypassed) return true;
    }
    return false;
  }

  /// Whether `outer` may be exchanged with the loop directly inside it, the last of `inside_first_`.
  bool may_exchange(int outer) const {
    const std::size_t inside = inside_first_.size() - 1;
    // Which loop is the innermost is asked for.
    if (inside == 0 && space_.any_stationary) return false;
    for (int tensor = 0; tensor < space_.tensors; ++tensor) {
      if (!is_neutral(tensor, outer, inside_first_[inside], inside)) return false;
    }
    return true;
  }

  bool is_neutral(int tensor, int a, int b, std::size_t inside) const {
    if (!matters_[static_cast<std::size_t>(tensor)]) return true;
    for (std::size_t i = 0; i < inside; ++i) {
      const int rank = inside_first_[i];
      if (space_.alone(tensor, rank) && always_advances_[static_cast<std::size_t>(rank)]) return true;
    }
    if (space_.alone(tensor, a) && space_.alone(tensor, b)) return true;
    return !space_.has(tensor, a) && !space_.has(tensor, b) && !spread_[static_cast<std::size_t>(a)] &&
           !spread_[static_cast<std::size_t>(b)];
  }

  void extend(const std::vector<int>& left) {
    if (left.empty()) found_.emplace_back(inside_first_.rbegin(), inside_first_.rend());
    for (std::size_t i = 0; i < left.size(); ++i) {
      // Sorted: of two that may be exchanged, the smaller rank stands outside.
      if (!inside_first_.empty() && left[i] > inside_first_.back() && may_exchange(left[i])) continue;
      std::vector<int> rest = left;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
      inside_first_.push_back(left[i]);
      extend(rest);
      inside_first_.pop_back();
    }
  }

  const Space& space_;
  const OrderQuestion& question_;
  std::vector<bool> matters_;          // per tensor
  std::vector<bool> always_advances_;  // per rank: its loop in this block has two trips or more wherever it runs
  std::vector<bool> spread_;           // per rank: a par line may cut it somewhere
  std::vector<int> inside_first_;
  std::vector<std::vector<int>> found_;
};

}  // namespace

bool order_matters(const Space& space, int block) { return block != space.last() || !space.forgets || space.systolic; }

std::vector<std::vector<int>> orders_of(const Space& space, const OrderQuestion& question) {
  if (!order_matters(space, question.block)) return {question.ranks};
  return Orders(space, question).all();
}

}  // namespace einflow::imperfect
