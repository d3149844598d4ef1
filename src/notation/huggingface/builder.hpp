// Layers of a network in the making, with the formulas of their weights and MACs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "notation/document.hpp"

namespace einflow::huggingface {

/// Elements of weights, with the products that they are.
struct Weights {
  Count count = 0;
  std::string formula;  ///< "4096 x 1024 + 1024"; empty where there are none

  friend Weights operator+(const Weights& a, const Weights& b);
};

/// The product of the sizes.
Weights weights(std::initializer_list<std::int64_t> sizes);

using RankSizes = std::initializer_list<std::pair<const char*, std::int64_t>>;

/// An einsum from its text, with its name and the extents of its ranks; every rank must be given.
Einsum einsum_of(const std::string& name, const std::string& text, RankSizes sizes);

class NetworkBuilder {
 public:
  explicit NetworkBuilder(ElementType type) : type_(std::move(type)) {}

  /// All tensors get the network's type. A layer of one einsum gives it its name.
  void add(const std::string& name, std::int64_t repeat, std::vector<Einsum> einsums, const Weights& own = {});
  /// Likewise; a failed einsum is an error of the document.
  void add(const std::string& name, std::int64_t repeat, Result<Einsum> einsum, const Weights& own = {});
  /// An operation without an einsum, and its weights.
  void leave(const std::string& name, const std::string& operation, std::int64_t repeat, const std::string& because,
             const Weights& own = {});

  Document& document() { return document_; }
  /// Errors of the einsums' sizes.
  const Diagnostics& errors() const { return errors_; }

  /// "2 x 3 + 4 x (5 + ...)" of all weights, and its value.
  Weights all_weights() const;
  /// Likewise of the MACs.
  Weights all_macs() const;

 private:
  struct Addend {
    std::int64_t repeat;
    std::string name;
    Weights value;
  };
  static Weights sum(const std::vector<Addend>& addends);
  void check(const std::string& layer, const Einsum& einsum);

  ElementType type_;
  Document document_;
  std::vector<Addend> weights_;
  std::vector<Addend> macs_;
  Diagnostics errors_;
};

}  // namespace einflow::huggingface
