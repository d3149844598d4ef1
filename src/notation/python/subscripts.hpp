// Einsum strings: "mk,kn->mn", and einops' patterns "b h w c -> b c".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "notation/python/lowering.hpp"

namespace einflow::python {

struct Label {
  std::string name;  ///< "m"; "..." is the ellipsis; "1" an axis of size 1 (einops)
  Place place;
};

struct Subscripts {
  std::vector<std::vector<Label>> inputs;
  std::optional<std::vector<Label>> output;  ///< absent = implicit: labels that occur once, in order of the alphabet
  Place place;
};

/// Letters, commas, "->" and "..."; `place` is that of the text itself, without quotes.
std::optional<Subscripts> parse_subscripts(std::string_view text, const Place& place, Lowering& lowering);
/// Names with spaces between them, commas and "->": einops.einsum.
std::optional<Subscripts> parse_named_subscripts(std::string_view text, const Place& place, Lowering& lowering);

/// One side of an einops pattern: axes, each of one or several names.
struct Pattern {
  std::vector<std::vector<Label>> left, right;
};
std::optional<Pattern> parse_pattern(std::string_view text, const Place& place, Lowering& lowering);

/// The einsum of these operands. What only moves data is uncounted; its value has the shape all the same.
std::optional<TensorValue> lower_einsum(const Subscripts& subscripts, std::vector<TensorValue>& operands,
                                        const std::vector<Place>& places, const Place& place, Dialect dialect,
                                        Lowering& lowering);

/// The operands' default names: X; X, W; A, B, C, ...
std::string operand_name(std::size_t operand, std::size_t count);

}  // namespace einflow::python
