#include "movement/derivation.hpp"

#include <gtest/gtest.h>

#include "movement/movement.hpp"
#include "movement/uniform.hpp"
#include "support/builders.hpp"
#include "support/random_spec.hpp"

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

void expect_formulas_give_the_numbers(const Spec& spec) {
  const Counts counts = *count_movement(spec);
  const auto derivations = derive(spec);
  ASSERT_TRUE(derivations);
  for (const Derivation& derivation : *derivations) {
    EXPECT_EQ(Evaluator(derivation.formula).value(), derivation.value) << derivation.formula;
    for (const HoldCounts& hold : counts.holds) {
      if (hold.tensor == derivation.tensor && hold.hold == derivation.hold) {
        EXPECT_EQ(field(hold, derivation.quantity), derivation.value) << derivation.quantity;
      }
    }
  }
}

TEST(Derivation, FormulasEvaluateToTheCountsOnRandomSpecs) {
  int uniform = 0;
  rc::check("derivations", [&uniform] {
    const Spec spec = testing::decode(*testing::recipes());
    expect_formulas_give_the_numbers(spec);
    // The fast form is the general one wherever it applies.
    Counts fast;
    if (UniformLaw(spec.einsum, spec.machine).count(spec.mapping, fast)) {
      ++uniform;
      RC_ASSERT(fast == *count_movement_general(spec));
    }
    RC_ASSERT(!::testing::Test::HasFailure());
  });
  EXPECT_GT(uniform, 0);
}

TEST(Derivation, TheTextbookProductIsPrintedWhereItHolds) {
  const Spec spec = testing::spec(testing::einsum("Y[m,n] += X[m,k] * W[k,n]", {{"m", 64}, {"n", 32}, {"k", 16}}),
                                  testing::two_level(),
                                  "for n by 8\nfor m by 16\nfor k by 4\nat Buffer: X W Y\nfor m n k by 1\n");
  const auto derivations = derive(spec);
  ASSERT_TRUE(derivations);
  for (const Derivation& derivation : *derivations) {
    if (derivation.tensor == 0 && derivation.hold == 1 && derivation.quantity == "fills") {
      EXPECT_EQ(derivation.symbolic, "(tile(m) * tile(k)) * [for n by 8] * [for m by 16] * [for k by 4]");
      EXPECT_EQ(derivation.formula, "(16 * 4) * 4 * 4 * 4");
    }
  }
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
