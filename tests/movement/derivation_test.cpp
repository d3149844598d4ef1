#include "movement/derivation.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "movement/movement.hpp"
#include "support/builders.hpp"
#include "support/for_random_specs.hpp"

namespace einflow {
namespace {

/// Evaluates integers, + - * and parentheses.
class Evaluator {
 public:
  explicit Evaluator(const std::string& text) : text_(text) {}
  Count value() {
    const Count result = sum();
    if (at_ != text_.size()) throw std::runtime_error("unreadable formula: " + text_);
    return result;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Count sum() {
    Count result = product();
    for (;;) {
      if (take('+')) {
        result += product();
      } else if (take('-')) {
        result -= product();
      } else {
        return result;
      }
    }
  }
  Count product() {
    Count result = factor();
    while (take('*')) result *= factor();
    return result;
  }
  Count factor() {
    if (take('(')) {
      const Count inner = sum();
      if (!take(')')) throw std::runtime_error("unbalanced formula: " + text_);
      return inner;
    }
    blanks();
    std::size_t end = at_;
    while (end < text_.size() && text_[end] >= '0' && text_[end] <= '9') ++end;
    const auto number = parse_count(text_.substr(at_, end - at_));
    if (!number) throw std::runtime_error("no number in the formula: " + text_);
    at_ = end;
    blanks();
    return *number;
  }

  std::string text_;
  std::size_t at_ = 0;
};

Count field(const HoldCounts& hold, const std::string& name) {
  if (name == "tile_elements") return hold.tile_elements;
  if (name == "instances") return hold.instances;
  if (name == "fills") return hold.fills;
  if (name == "parent_reads") return hold.parent_reads;
  if (name == "forwarded") return hold.forwarded;
  if (name == "drains") return hold.drains;
  if (name == "parent_updates") return hold.parent_updates;
  if (name == "parent_rmw_reads") return hold.parent_rmw_reads;
  throw std::runtime_error("unknown quantity " + name);
}

/// What is wrong with the derivations of a spec, or "".
std::string wrong_formula(const Spec& spec) {
  const auto counts = count_movement(spec);
  const auto derivations = derive(spec);
  if (!counts || !derivations) return "not derived";
  std::size_t checked = 0;
  for (const Derivation& derivation : *derivations) {
    if (Evaluator(derivation.formula).value() != derivation.value) return derivation.formula;
    for (const HoldCounts& hold : counts->holds) {
      if (hold.tensor != derivation.tensor || hold.hold != derivation.hold) continue;
      if (field(hold, derivation.quantity) != derivation.value) return derivation.quantity;
      ++checked;
    }
  }
  // Tile and instances of every hold; three numbers more of each below the outermost.
  const std::size_t expected = 5 * counts->holds.size() - 3 * spec.einsum.tensors.size();
  return checked == expected ? "" : "a number without a derivation";
}

TEST(DerivationProperty, FormulasEvaluateToTheCountsOnRandomSpecs) {
  testing::expect_for_random_specs("derivation_property", 2000, wrong_formula);
}

TEST(Derivation, TheTextbookProductIsPrintedWhereItHolds) {
  const Spec spec =
      testing::spec(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 64}, {"n", 32}, {"k", 16}}),
                    testing::two_level(), "for n by 8\nfor m by 16\nfor k by 4\nat Buffer: X W Y\nfor m n k by 1\n");
  const auto derivations = derive(spec);
  ASSERT_TRUE(derivations);
  const auto fills = std::find_if(derivations->begin(), derivations->end(), [](const Derivation& derivation) {
    return derivation.tensor == 0 && derivation.hold == 1 && derivation.quantity == "fills";
  });
  ASSERT_NE(fills, derivations->end());
  EXPECT_EQ(fills->symbolic, "(tile(m) * tile(k)) * [for n by 8] * [for m by 16] * [for k by 4]");
  EXPECT_EQ(fills->formula, "(16 * 4) * 4 * 4 * 4");
}

TEST(Derivation, RolesOfLoops) {
  const Spec spec = testing::spec(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 64}, {"n", 32}, {"k", 16}}),
                                  testing::array_machine(4, 4, {true, true, false}),
                                  "for n by 8\nfor m by 16\nat Buffer: X W Y\nfor n by 4\npar k by 4 on array.x\n"
                                  "at RF: X W Y\nfor m n k by 1\n");
  using Role = LoopRole::Role;
  std::vector<Role> x;
  for (const LoopRole& role : loop_roles(spec, 0, 2)) x.push_back(role.role);
  EXPECT_EQ(x, (std::vector<Role>{Role::refetches, Role::moves, Role::stationary, Role::split}));
  std::vector<Role> y;
  for (const LoopRole& role : loop_roles(spec, 2, 2)) y.push_back(role.role);
  EXPECT_EQ(y, (std::vector<Role>{Role::moves, Role::moves, Role::moves, Role::partial_sums}));
}

}  // namespace
}  // namespace einflow
