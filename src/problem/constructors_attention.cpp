// Attention's two matrix products, with grouped KV heads and masks.
#include <fmt/core.h>
#include <algorithm>

#include "problem/constructors.hpp"
#include "problem/constructors_build.hpp"

namespace einflow {
namespace {

/// Sum of min(x, limit) for x = first..last, 1 <= first <= last.
Count sum_up_to(Count first, Count last, Count limit) {
  const auto triangle = [](Count x) {
    // One of x, x + 1 is even: divide first, so that the largest sizes stay in range.
    const Count::Int v = x.value();
    return v % 2 == 0 ? Count(v / 2) * Count(v + 1) : Count(v) * Count((v + 1) / 2);
  };
  const Count below = std::min(last, limit);  // the last x that counts as itself
  Count sum = 0;
  if (first <= below) sum += triangle(below) - triangle(first - 1);
  const Count start = std::max(first, limit + 1);
  if (start <= last) sum += (last - start + 1) * limit;
  return sum;
}

Result<Einsum> masked(Einsum einsum, const Attention& shape) {
  if (shape.causal) {
    const Count all = Count(shape.queries) * Count(shape.keys);
    einsum.executed.share = Ratio(attention_pairs(shape), all);
    einsum.executed.because = shape.window > 0 ? fmt::format("causal mask, sliding window of {} keys", shape.window)
                                               : std::string("causal mask");
  }
  return einsum;
}

/// The ranks that both products share, or what is wrong with the shape.
Result<Einsum> with_head_ranks(const Attention& shape, const char* name) {
  Diagnostics errors;
  if (shape.heads % shape.kv_heads != 0) {
    errors.push_back({{},
                      fmt::format("kv_heads {} does not divide heads {}", shape.kv_heads, shape.heads),
                      "every KV head serves the same number of query heads",
                      {}});
  }
  if (shape.window > 0 && !shape.causal) {
    errors.push_back({{}, "a sliding window needs causal: 1", "the window is that of a causal model", {}});
  }
  if (!errors.empty()) return tl::unexpected(errors);
  Einsum einsum;
  einsum.name = name;
  einsum.ranks.push_back({"b", shape.batch});
  if (shape.kv_heads == shape.heads) {
    einsum.ranks.push_back({"h", shape.heads});
  } else {
    einsum.ranks.push_back({"g", shape.kv_heads});
    einsum.ranks.push_back({"u", shape.heads / shape.kv_heads});
  }
  einsum.ranks.push_back({"q", shape.queries});
  einsum.ranks.push_back({"t", shape.keys});
  return einsum;
}

}  // namespace

Count attention_pairs(const Attention& shape) {
  if (!shape.causal) return Count(shape.queries) * Count(shape.keys);
  const Count keys = shape.keys;
  const Count first = std::max(Count(1), keys - Count(shape.queries) + 1);  // rows above see no key at all
  return sum_up_to(first, keys, shape.window > 0 ? Count(shape.window) : keys);
}

Result<Einsum> attention_scores(const Attention& shape) {
  auto made = with_head_ranks(shape, "attention_scores");
  if (!made) return made;
  Einsum& einsum = *made;
  einsum.ranks.push_back({"e", shape.head_dim});
  einsum.tensors = {indexed_by(einsum, "Q", {"b", "h", "g", "u", "q", "e"}),
                    indexed_by(einsum, "K", {"b", "h", "g", "t", "e"}),
                    indexed_by(einsum, "S", {"b", "h", "g", "u", "q", "t"})};
  return masked(std::move(einsum), shape);
}

Result<Einsum> attention_context(const Attention& shape) {
  auto made = with_head_ranks(shape, "attention_context");
  if (!made) return made;
  Einsum& einsum = *made;
  einsum.ranks.push_back({"f", shape.head_dim});
  einsum.tensors = {indexed_by(einsum, "P", {"b", "h", "g", "u", "q", "t"}),
                    indexed_by(einsum, "V", {"b", "h", "g", "t", "f"}),
                    indexed_by(einsum, "O", {"b", "h", "g", "u", "q", "f"})};
  return masked(std::move(einsum), shape);
}

}  // namespace einflow
