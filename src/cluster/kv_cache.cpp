#include "cluster/kv_cache.hpp"

#include <fmt/format.h>

namespace einflow::cluster {

Result<KvCache> kv_cache(const Transformer& model, std::int64_t tokens, int bits) {
  if (bits < 1 || bits > 1024) return fail(fmt::format("{} bits an element, expected 1 to 1024", bits));
  // The cache is what the layers' operations of a decode step have in the role of a cache.
  const auto blocks = blocks_of(model, {.phase = Phase::decode, .batch = 1, .queries = 1, .keys = tokens});
  if (!blocks) return tl::unexpected(blocks.error());
  Count elements_of_token = 0;
  Count elements = 0;
  KvCache cache;
  for (const Block& block : *blocks) {
    std::string terms;
    for (const ModelTensor& tensor : block.tensors) {
      if (tensor.role != Role::cache) continue;
      std::string term;
      Count of_token = 1;
      for (const std::string& rank : tensor.ranks) {
        if (rank == "b" || rank == "t") continue;
        of_token *= Count(block.extent(rank));
        term += fmt::format("{}{} {}", term.empty() ? "" : " * ", rank, block.extent(rank));
      }
      terms += fmt::format("{}{} {}", terms.empty() ? "" : " + ", tensor.name, term);
      elements_of_token += of_token * Count(block.repeat);
      elements += of_token * Count(block.repeat) * Count(block.extent("t"));
    }
    if (terms.empty()) continue;
    cache.formula += fmt::format("{}{} layers * ({})", cache.formula.empty() ? "" : " + ", block.repeat, terms);
  }
  cache.formula = fmt::format("({}) * {} bits / 8", cache.formula, bits);
  cache.bytes_per_token = ceil_div(elements_of_token * Count(bits), 8);
  cache.bytes_per_sequence = ceil_div(elements * Count(bits), 8);
  return cache;
}

}  // namespace einflow::cluster
