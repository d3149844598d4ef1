// Whose weights an ONNX model's initialisers are.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "notation/onnx/graph.hpp"

namespace einflow {

enum class OnnxRole {
  weight,      ///< trained: of floating-point type, or its quantised form
  statistics,  ///< running mean and variance of BatchNormalization
  other,       ///< shapes, axes, indices, scales of quantisation
};

class OnnxWeights {
 public:
  explicit OnnxWeights(const OnnxGraph& graph);

  /// Weights that the node uses and no node before it did: each initialiser is given out once. Those that reach the
  /// node through constant operations on them (Transpose, Cast, DequantizeLinear) are its own.
  Count take(const OnnxNode& node);

  Count total(OnnxRole role) const;
  std::int64_t initialisers(OnnxRole role) const;
  /// Whether weights are there that are not of floating-point type.
  bool quantised() const;

  struct Bytes {
    Count total;
    std::string derivation;  ///< "5354 x 4 B (fp32)"
  };
  /// Bytes of all weights, those of each type rounded up to whole bytes; nothing where there are none.
  std::optional<Bytes> bytes() const;
  /// Names of weights that nodes asked for again after they had been given out.
  const std::set<std::string>& shared() const { return shared_; }

 private:
  const OnnxGraph& graph_;
  std::vector<OnnxRole> roles_;  ///< by value; of initialisers
  std::vector<bool> carries_;    ///< by value: a weight, or made of weights by constant operations
  std::vector<int> taken_by_;    ///< by value: number of the call that gave it out; 0 = none yet
  int taker_ = 0;
  std::set<std::string> shared_;
};

}  // namespace einflow
