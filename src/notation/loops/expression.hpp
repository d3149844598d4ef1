// Arithmetic in a nest's text: "16*m1 + m0", "min(16, M - 16*m1)", "ceil(M / 16)".
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "notation/loops/affine.hpp"
#include "notation/loops/scanner.hpp"

namespace einflow::loops {

/// What a name stands for, or nothing (the caller has then added an error).
using Meaning = std::function<std::optional<Affine>(const Token&)>;

class ExpressionParser {
 public:
  ExpressionParser(Scanner& scanner, Meaning meaning, Diagnostics& errors)
      : scanner_(scanner), meaning_(std::move(meaning)), errors_(errors) {}

  /// An expression, as far as it goes. With `whole_division`, `/` rounds down as in C. Nothing where an error was
  /// added.
  std::optional<Bound> bound(bool whole_division = false);
  /// One that is a sum of indices.
  std::optional<Affine> affine(bool whole_division = false);
  /// One that is a number.
  std::optional<Count> number();

 private:
  std::optional<Bound> sum_of_terms(int depth, bool in_rounding);
  std::optional<Bound> product(int depth, bool in_rounding);
  std::optional<Bound> factor(int depth, bool in_rounding);
  std::optional<Bound> call(const Token& name, int depth, bool in_rounding);
  std::optional<Bound> divided(const Bound& dividend, const Bound& divisor, const Token& slash, bool in_rounding);
  bool expect(std::string_view symbol);
  /// Whether the work of this text is within bounds.
  bool affordable(const Bound& a, const Bound& b);
  std::nullopt_t fail(const Span& span, std::string message, std::string hint = {});

  Scanner& scanner_;
  Meaning meaning_;
  Diagnostics& errors_;
  bool whole_division_ = false;
  std::size_t work_ = 0;
};

}  // namespace einflow::loops
