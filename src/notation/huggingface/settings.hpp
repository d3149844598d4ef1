// What a config leaves open and --set says: how many sequences of how many tokens, in which phase.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/diagnostic.hpp"
#include "notation/huggingface/model.hpp"

namespace einflow::huggingface {

/// One forward pass.
struct Pass {
  std::int64_t batch = 1;    ///< sequences, or images
  std::int64_t queries = 1;  ///< new tokens of a sequence
  std::int64_t context = 1;  ///< tokens that it then has, the new ones among them
  std::int64_t tokens = 1;   ///< batch x queries
  bool absorbed = false;     ///< latent attention works on the compressed keys and values
  bool last_only = false;    ///< logits of a sequence's last token only
  ElementType cache_type;    ///< of cached keys and values
};

/// Checks the settings against what the model can do. Conventions that they follow are added to the model's, and
/// `type` replaces its type. Unknown settings are errors with the nearest name.
Result<Pass> pass_of(const std::map<std::string, std::string>& settings, Model& model);

}  // namespace einflow::huggingface
