// Keys and values (or their latent vectors) of earlier tokens, that inference keeps.
#pragma once

#include <string>

#include "cluster/model.hpp"

namespace einflow::cluster {

struct KvCache {
  Count bytes_per_token;     ///< of all layers
  Count bytes_per_sequence;  ///< of the given tokens; a window keeps the last ones only
  std::string formula;       ///< of bytes_per_token, its ranks with their extents
};

/// Of sequences of so many tokens, each element of so many bits. Errors: those of check(); fewer than one token or bit.
Result<KvCache> kv_cache(const Transformer& model, std::int64_t tokens, int bits = 16);

}  // namespace einflow::cluster
