// A model's bytes in Protocol Buffers' wire format, before a parser builds objects from them.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostic.hpp"

namespace einflow {

/// What is left of a model when everything has gone that no count needs: the values of weights, documentation,
/// metadata, training. Small even where the file holds gigabytes of weights.
struct EssentialModel {
  std::string bytes;
  bool trains = false;  ///< whether it says how it is trained
};

/// Errors: bytes that are no model or end early, each with its offset; more parts, nesting or bytes than any model
/// needs.
Result<EssentialModel> essential_model(std::string_view bytes);

/// Whether the bytes are fields of a model, one of them its graph; looks at the outermost fields only.
bool has_model_fields(std::string_view bytes);

}  // namespace einflow
