// From a spec's text to a checked Spec: problem, machine and mapping, each inline or by library name.
#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.hpp"
#include "mapping/mapping.hpp"

namespace einflow {

/// Where library entries are looked up: DIR/machines/NAME.yaml, DIR/problems/NAME.yaml, in this order.
struct Library {
  std::vector<std::string> folders;
};

/// What a spec says, before it is known to be complete.
struct ReadSpec {
  Spec spec;
  std::vector<std::string> conventions;  ///< what was assumed where the text is silent ("types: bf16 for every tensor")
};

/// Whether a spec must have a mapping. Where it is optional and left out, `spec.mapping.holds` is empty.
enum class MappingPart { required, optional };

/// Reads YAML (or JSON). All errors of the text that can be told at once.
Result<ReadSpec> read_spec(const SourceText& source, const Library& library,
                           MappingPart mapping = MappingPart::required);

/// Reads one einsum, "Y[m,n] += X[m,k] * W[k,n]"; extents stay 1. Spans count from line 1, column 1 of `text`.
Result<Einsum> parse_einsum(const std::string& text);

/// Reads and checks nest lines against an einsum and a machine: coverage, order, fan-out.
Result<Mapping> parse_mapping(const std::string& text, const Einsum& einsum, const Machine& machine);

}  // namespace einflow
